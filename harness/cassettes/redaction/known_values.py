"""Finds known secrets, whole and in parts: at a gap in an excerpt, and after a redacted
beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from .placeholders import REDACTED
from .readings import Span, unescape

MIN_LENGTH: Final = 8
"""The minimum length of a known secret; a shorter secret would be found everywhere."""
_GAP_AFTER: Final = re.compile(rb" ?(?:\xe2\x80\xa6|\.\.\.)|\n?\0|\Z")
_GAP_BEFORE: Final = re.compile(rb"(?:\xe2\x80\xa6|\.\.\.) ?\Z|\0\n?\Z|\A\Z")


class KnownValues:
    """Finds ``secrets`` (name → value). If a value has several lines, like a private key, each line
    is searched for.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms: Final = dict(_forms(secrets))
        self.longest: Final = max(map(len, self._forms), default=0)
        """The length of the longest value, in bytes."""
        self.words: Final = tuple(
            sorted({end for form in self._forms for end in (form[:MIN_LENGTH], form[-MIN_LENGTH:])})
        )
        """A text without one of these has neither a value nor a part of one."""

    def find(self, text: bytes) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and name of each value, and of each end after a redacted beginning."""
        for form, name in self._forms.items():
            start = text.find(form)
            while start >= 0:
                yield start, start + len(form), name
                start = text.find(form, start + len(form))
            for start, stop in _ends(form, text):
                if text.endswith(REDACTED.encode(), 0, start):
                    yield start, stop, name

    def find_cut(self, text: bytes) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and name of the beginnings and the ends of values at a gap."""
        for form, name in self._forms.items():
            start = text.find(form[:MIN_LENGTH])
            while start >= 0:
                stop = start + _common(form, text[start : start + len(form)])
                if stop < start + len(form) and _GAP_AFTER.match(text, stop):
                    yield start, stop, name
                start = text.find(form[:MIN_LENGTH], stop)
            for start, stop in _ends(form, text):
                if stop - start < len(form) and _GAP_BEFORE.search(text[max(start - 5, 0) : start]):
                    yield start, stop, name


def _ends(form: bytes, text: bytes) -> Iterator[Span]:
    """Yield the spans of ends of a secret, each as long as possible."""
    start = text.find(form[-MIN_LENGTH:])
    while start >= 0:
        stop = start + MIN_LENGTH
        before = text[max(stop - len(form), 0) : stop]
        yield stop - _common(form[::-1], before[::-1]), stop
        start = text.find(form[-MIN_LENGTH:], start + 1)


def _common(first: bytes, second: bytes) -> int:
    """Return the length of the common beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next(
        (place for place, (left, right) in pairs if left != right), min(len(first), len(second))
    )


def _forms(secrets: Mapping[str, str]) -> Iterator[tuple[bytes, str]]:
    """Yield the bytes to search for, with the name of the secret: each value unchanged, and each
    value without escapes, because the readings have no escapes. A blank may be a ``+`` in a URL.
    """
    for name, secret in secrets.items():
        for line in map(str.strip, secret.splitlines()):
            if len(line) < MIN_LENGTH or line == REDACTED or line.startswith("-----"):
                continue
            value = line.encode("utf-8", "surrogateescape")
            for form in (value, unescape(value), unescape(value.replace(b" ", b"+"))):
                if len(form) >= MIN_LENGTH:
                    yield form, name
