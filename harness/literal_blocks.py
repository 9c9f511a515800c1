"""Lifts literal blocks out of a YAML text, so that a parser reads only what is left.

A cassette is mostly literal blocks, and a parser looks at each of their characters in turn. `lift` takes out those that stand as we write
them (``key: |2-``, then lines that are indented by two more) and leaves a word in the place of each. It lifts nothing from a text that
has any character which YAML would change or refuse, nor where a block could be read in another way: then the parser has it all.

Source: https://yaml.org/spec/1.2.2/#81-block-scalar-styles.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

_WORD: Final = "lifted-block-"
_HEADER: Final = re.compile(r"\n( +)[a-z0-9]+: (\|(2[+-])?\n)")
_ASCII: Final = bytes(range(0x20, 0x7F)) + b"\t\n"
_CHANGED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Lifted(NamedTuple):
    """``text`` is what is left for a parser; in it a word stands for each of the ``blocks``."""

    text: str
    blocks: list[str]

    def put_back(self, data: Any) -> Any:
        """The parsed ``data`` with every block in place of its word; None unless each word was found, once and by itself."""
        words = {f"{_WORD}{index}": block for index, block in enumerate(self.blocks)}
        whole = _put_back(data, words)
        return None if words else whole


def lift(text: str) -> Lifted:
    """The text without its literal blocks, and what they hold."""
    whole = Lifted(text, [])
    if not _is_verbatim(text):
        return whole
    kept: list[str] = []
    blocks: list[str] = []
    position = 0
    while header := _HEADER.search(text, position):
        indent, start = " " * (len(header[1]) + 2), header.end()
        stop = _ends_of(indent).search(text, start - 1)
        if stop is None or not stop[1] or not (header[3] or _says_its_indent(text, start, indent)):
            return whole
        kept.append(text[position : header.start(2)])
        position = stop.start()
        blocks.append(_content(text, start, position + 1, indent, header[3]))
    kept.append(text[position:])
    if any(_WORD in piece for piece in kept):
        return whole
    words = [f"{_WORD}{index}" for index in range(len(blocks))]
    return Lifted("".join(chain.from_iterable(zip(kept, [*words, ""], strict=True))), blocks)


def _is_verbatim(text: str) -> bool:
    """Whether YAML reads every character of the text as that character."""
    try:
        beyond = text.encode().translate(None, _ASCII)
    except UnicodeEncodeError:
        return False
    return not beyond or not _CHANGED.search(beyond.decode())


@lru_cache(maxsize=64)
def _ends_of(indent: str) -> re.Pattern[str]:
    """Finds the line end before the first line that is not in a block; group 1 is what that line begins with, None if it is blank."""
    return re.compile(rf"\n(?!{indent}|\n) *([^\s])?")


def _says_its_indent(text: str, start: int, indent: str) -> bool:
    """A block without a number is indented as its first line is."""
    return text.startswith(indent, start) and not text[start + len(indent) : start + len(indent) + 1].isspace()


def _content(text: str, start: int, stop: int, indent: str, mark: str | None) -> str:
    start += len(indent) if text.startswith(indent, start, stop) else 0
    lines = "\n".join(text[start:stop].split(f"\n{indent}"))  # faster than replacing
    match mark:
        case "2+":
            return lines
        case "2-":
            return lines.rstrip("\n")
        case _:
            return lines.rstrip("\n") + "\n"


def _put_back(value: Any, words: dict[str, str]) -> Any:
    """``value`` with its blocks; ``words`` loses those that were found."""
    match value:
        case dict():
            return {key: _put_back(inner, words) for key, inner in value.items()}
        case list():
            return [_put_back(inner, words) for inner in value]
        case str() if value in words:
            return words.pop(value)
        case _:
            return value
