"""Replaces the secrets in text that leaves the process: reports, messages, the output of commands.

A cassette that contains a secret can be refused. A message must be written, so its secrets are
replaced: the values that the redactor replaces in bodies, and everything that the scanner finds, in
every encoding, also the rest of a secret that was cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from .encodings import Span
from .names import SECRET_KEYS
from .redactor import REDACTED, Redactor
from .scanner import Scanner

Value = TypeVar("Value")
MAX_ROUNDS: Final = 3
"""The maximum number of passes. A replacement may join the halves of another secret."""
MAX_REMEMBERED: Final = 1 << 16
"""The maximum length of a text with a cached result; the output of a command can be much longer."""
_NAMES: Final = sorted(set(map(str.lower, SECRET_KEYS)))
_CUT: Final = "..."
"""The text with which pytest and `reprlib` replace the middle of a long text."""
_ENDS: Final = {name[start:] for name in _NAMES for start in range(len(name))}
_QUOTED: Final = re.compile(
    rf"(?i:(?:(['\"])(?:{'|'.join(map(re.escape, _NAMES))})\1"
    rf"|{re.escape(_CUT)}(?:(?:{'|'.join(map(re.escape, sorted(_ENDS)))})['\"]?|['\"]))"
    r"\s*+[:=]\s*+)[bru]?(['\"])((?:\\.|(?!\2\s*+(?:[,}\])\n]|\Z))[^\\\n])*+)"
)
"""A member in Python's notation, also if only the end of its name is left. A quote with text after
it does not end the value.
"""
_SEPARATOR: Final = "\n\0\n"
"""The separator of texts. The scanner finds a secret across it, as across a line break."""


class Mask:
    """Replaces the secrets that ``scanner`` and a `Redactor` know. JSON text stays JSON text, and a
    text without a secret is unchanged.
    """

    def __init__(self, scanner: Scanner | None = None) -> None:
        self._scanner: Final = scanner or Scanner()
        self._redactor: Final = Redactor()
        self.text: Final = _remember(self._text, 1024)
        self._redacted: Final = _remember(self._redact, 4096)  # most texts of results are repeated
        self._joined: Final = lru_cache(256)(self._masked)  # all texts of one case

    def is_clean(self, texts: Iterable[str]) -> bool:
        """Whether the joined texts contain no secret; faster than `texts` for many short texts."""
        joined = _SEPARATOR.join(dict.fromkeys(texts))
        return self._shown(self._redact(joined)) == joined

    def texts(self, texts: Sequence[str]) -> list[str]:
        """The masked texts; a secret may begin in one text and end in another."""
        is_long = sum(map(len, texts)) > MAX_REMEMBERED
        return list((self._masked if is_long else self._joined)(tuple(texts)))

    def _masked(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        if not texts:
            return ()
        masked = self._shown(_SEPARATOR.join(map(self._redacted, texts))).split(_SEPARATOR)
        return tuple(masked) if len(masked) == len(texts) else (REDACTED,) * len(texts)

    def value(self, write: Callable[[Callable[[str], str]], Value]) -> Value:
        """A value with masked texts. ``write`` builds the value with a function that it calls for
        each text. ``write`` is called twice, the first time to collect the texts.
        """
        texts: list[str] = []

        def collect(text: str) -> str:
            texts.append(text)
            return text

        value = write(collect)
        masked = self.texts(texts)
        if masked == texts:
            return value
        following = iter(masked)
        return write(lambda _: next(following))

    def _text(self, text: str) -> str:
        return self._shown(self._redacted(text))

    def _redact(self, text: str) -> str:
        text = self._redactor.prose(text)
        if _CUT not in text:  # ten times as fast as the pattern
            if not self._redactor.may_name(text.encode("utf-8", "surrogatepass")):
                return text
            lowered = text.lower()
            if not any(name in lowered for name in _NAMES):
                return text
        spans = [(match.start(3), match.end(3)) for match in _QUOTED.finditer(text)]
        return "".join(_without(spans, text))

    def _shown(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        for _ in range(MAX_ROUNDS):
            spans = self._scanner.spans(data)
            if not spans:
                return data.decode("utf-8", "surrogatepass")
            data = "".join(_without(spans, data.decode("latin-1"))).encode("latin-1")
        return REDACTED


def _remember(function: Callable[[str], str], count: int) -> Callable[[str], str]:
    """The function with a cache of its results for ``count`` texts that are not long."""
    remembered = lru_cache(count)(function)

    def call(text: str) -> str:
        return (remembered if len(text) <= MAX_REMEMBERED else function)(text)

    return call


def _without(spans: Sequence[Span], text: str) -> Iterator[str]:
    done = 0
    for start, stop in spans:
        yield text[done:start]
        yield REDACTED
        done = stop
    yield text[done:]
