"""The search for secrets: every reading of a text is asked for known values, for the shapes of
credentials and for named values.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from .known_values import KnownValues
from .readings import WINDOW, Reading, Span, merged, readings
from .redactor import Redactor
from .shapes import BEGINNINGS, KINDS, find_cut_shapes, find_shapes, may_match, rest

UNREDACTED: Final = "a value that must be redacted"
"""The kind of a named value."""

Purpose = Literal["file", "part", "mask"]
"""What is searched: the text of a file, a part of an exchange, or a text that gets a mask."""
_NAMED: Final[Mapping[Purpose, Callable[[Reading], bool]]] = {
    "file": lambda _: False,
    "part": lambda reading: not reading.is_plain,
    "mask": lambda reading: reading.in_pieces,
}
"""Purpose → the readings that are asked for named values. The redactor itself reads the plain text
of a part, and of a text that gets a mask. Named values may also be in base64, and in escapes that
no JSON writer produces.
"""
Found = tuple[int, int, str]
"""The start and the end of a secret in a reading, and its kind."""


class Search:
    """Finds the known ``secrets`` (name → value), the shapes of credentials, and the named values
    that ``redactor`` would replace. A credential that a rule of the redactor allows is no secret.
    """

    def __init__(self, secrets: Mapping[str, str], redactor: Redactor) -> None:
        self._known: Final = KnownValues(secrets)
        self._redactor: Final = redactor
        self._words: Final = tuple(map(re.escape, (*BEGINNINGS, *self._known.words)))

    def offsets(self, data: bytes, purpose: Purpose) -> Iterator[tuple[int, str]]:
        """Yield the offset and the kind of each secret; the first of each kind in each reading."""
        for reading, found in self._asked(data, purpose):
            seen: set[str] = set()
            for start, stop, kind in found:
                if kind not in seen and (places := reading.places([(start, stop)])):
                    seen.add(kind)
                    yield places[0][0], kind

    def spans(self, data: bytes) -> list[Span]:
        """Return the spans of a text that gets a mask, in order: all parts of a divided secret, and
        the rest of a cut secret.
        """
        spans: list[Span] = []
        for reading, found in self._asked(data, "mask"):
            hits: list[Span] = []
            for start, stop, kind in found:
                if kind not in KINDS:
                    hits.append((start, stop))
                elif not reading.joined:
                    hits.append((start, rest(reading.text, start, stop)))
                else:  # the next word may be unrelated
                    parts = reading.places([(start, stop)])
                    spans += [(at, rest(data, at, end)) for at, end in parts]
            spans += reading.places(hits)
        return merged(spans)

    def _asked(self, data: bytes, purpose: Purpose) -> Iterator[tuple[Reading, Iterator[Found]]]:
        """Yield every reading with the secrets in it. A text that gets a mask is replaced as a
        whole, so it is not read in windows. A known value with escapes fits in the overlap of two
        windows.
        """
        window = sys.maxsize if purpose == "mask" else max(WINDOW, 64 * self._known.longest)
        for reading in readings(data, window):
            yield reading, self._ask(reading, purpose)

    def _ask(self, reading: Reading, purpose: Purpose) -> Iterator[Found]:
        text = reading.text
        if may_match(text, self._words):
            yield from self._known.find(text)
            for start, stop, kind in find_shapes(text):
                if not self._is_allowed(text, start, stop):
                    yield start, stop, kind
            if purpose == "mask" and not reading.joined and not reading.in_pieces:
                yield from self._known.find_cut(text)
                yield from find_cut_shapes(text)
        if _NAMED[purpose](reading):
            for start, stop in self._redactor.shown(text):
                yield start, stop, UNREDACTED

    def _is_allowed(self, text: bytes, start: int, stop: int) -> bool:
        """Return whether a rule allows a credential with this beginning. A known value is not
        allowed.
        """
        if not self._redactor.allowed:
            return False
        end = start + len(text[start : rest(text, start, stop)].rstrip(b".="))
        return self._redactor.is_allowed(text, start, end)
