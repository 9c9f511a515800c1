"""The patterns of ``$re``, matched by RE2 in time that is linear in the text.

Specs come from strangers, and Python's own engine backtracks: a pattern of ten characters can keep
it busy for years. RE2 cannot go back, so it lacks look-around and back-references. Only the sizes
of the compiled pattern and of the text need a limit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

MAX_PATTERN: Final = 500
"""Characters of a pattern."""
MAX_PROGRAM: Final = 2_000
"""Instructions of a compiled pattern."""
MAX_SUBJECT: Final = 100_000
"""Characters of a text that a pattern is tried on; a match takes about a second at most."""
MAX_MEMORY: Final = 1 << 20
"""Bytes for a compiled pattern and its states."""

_LACKING: Final = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<=": "look-behind",
    "(?<!": "look-behind",
    "(?>": "atomic group",
    "(?(": "condition",
    "(?P": "back-reference",
    "(?#": "comment",
    "++": "possessive repeat",
    "*+": "possessive repeat",
    "?+": "possessive repeat",
    **{rf"\{number}": "back-reference" for number in range(1, 10)},
}
"""Constructs of Python's patterns that RE2 does not have, by the text that RE2 complains about."""


class Pattern(Struct, frozen=True):
    """A pattern: the compiled one, or the error that says why it cannot be used."""

    compiled: Any
    error: str = ""

    def fits(self, subject: str) -> bool:
        """Whether the whole text matches."""
        return self.compiled.fullmatch(_encoded(subject)) is not None

    def steps(self, subject: str) -> int:
        """The most steps that a match with this text can take."""
        return int(self.compiled.programsize) * len(subject)


@lru_cache(maxsize=256)
def read_pattern(source: str) -> Pattern:
    """The pattern of a ``$re``. RE2 may not take it, and it may be too large."""
    import re2  # not needed before the first pattern, and most runs have none

    if len(source) > MAX_PATTERN:
        characters = f"{len(source):,} characters; at most {MAX_PATTERN} are allowed"
        return Pattern(None, f"the pattern has {characters}")
    options = re2.Options()
    options.log_errors, options.never_capture, options.max_mem = False, True, MAX_MEMORY
    try:
        compiled = re2.compile(_encoded(source), options)
    except re2.error as error:
        return Pattern(None, _reason(error.args[0].decode("utf-8", "replace")))
    if compiled.programsize <= MAX_PROGRAM:
        return Pattern(compiled)
    size = f"{compiled.programsize:,} instructions, at most {MAX_PROGRAM:,} are allowed"
    return Pattern(None, f"the pattern is too large: {size}; use smaller repeats")


def _encoded(text: str) -> bytes:
    """UTF-8, with U+FFFD for each half of a surrogate pair that stands alone."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _reason(message: str) -> str:
    """Our message for an error of RE2."""
    _, _, construct = message.partition(": ")
    name = _LACKING.get(construct)
    if name is None:
        return f"not a valid regular expression: {message}"
    return f"RE2, which matches $re, has no {name} {construct}; write the pattern without it"
