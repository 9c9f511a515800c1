"""Finds known secrets in bytes: all of them, in each of their forms, in one pass.

A form of seven bytes or more, wherever it stands, covers four bytes that begin at a multiple of
four. So the data is taken as a row of four-byte words, as they are in memory, and a set says in C
which blocks hold a word of any form; only there somebody looks closely. Fifty secrets cost as much
as one, and twice the data twice as much.
"""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote_plus

MIN_LENGTH: Final = 8
"""Of a value; a shorter one would be found everywhere, and protects nothing."""

_WORD: Final = 4
_BLOCKS: Final = (16_384, 256)
"""Words looked at in one go: a block in which there is something is looked at in smaller ones."""
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


class Needles:
    """Known secrets, as what they are called → their value. A value of several lines (a private
    key) is found by any of them.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms: dict[int, list[tuple[int, bytes, str]]] = {}
        for name, value in secrets.items():
            for line in value.splitlines():
                if len(line.strip()) >= MIN_LENGTH and not line.startswith("-----"):
                    for form in sorted(_forms(line.strip())):
                        self._add(form, name)
        self._words: Final = frozenset(self._forms)

    def search(self, data: bytes) -> Iterator[tuple[int, str]]:
        """Where which secret stands: the offset and what it is called; of each the first place."""
        seen: set[str] = set()
        words = memoryview(data)[: len(data) // _WORD * _WORD].cast("I")
        for place, word in self._suspects(words, 0, _BLOCKS) if self._words else ():
            for before, form, name in self._forms.get(word, ()):
                offset = place * _WORD - before
                if name not in seen and offset >= 0 and data.startswith(form, offset):
                    seen.add(name)
                    yield offset, name

    def _suspects(
        self, words: memoryview, first: int, sizes: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """The words, with their numbers, of the blocks that hold one of a form."""
        if not sizes:
            yield from enumerate(words, first)
            return
        for start in range(0, len(words), sizes[0]):
            block = words[start : start + sizes[0]]
            if not self._words.isdisjoint(block):
                yield from self._suspects(block, first + start, sizes[1:])

    def _add(self, form: bytes, name: str) -> None:
        for before in range(_WORD):
            word = int.from_bytes(form[before : before + _WORD], sys.byteorder)
            self._forms.setdefault(word, []).append((before, form, name))


def _forms(value: str) -> set[bytes]:
    """What a value looks like: plain, as a query spells blanks, and what of its base64 does not
    depend on its neighbours.
    """
    query = quote_plus(value, errors="surrogateescape")
    spelled = {value, query, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    plain, *others = (one.encode("utf-8", "surrogateescape") for one in (value, *spelled))
    return {plain, query.encode(), *(form for one in others for form in _base64_forms(one))}


def _base64_forms(data: bytes) -> Iterable[bytes]:
    for offset, first in enumerate((0, 2, 3)):
        whole = b64encode(bytes(offset) + data)
        form = whole[first : (offset + len(data)) * 8 // 6]
        yield from (form, form.translate(_URL_SAFE))
