"""Lifts literal blocks out of a YAML text, so that a parser reads only what is left.

A cassette is mostly literal blocks, and a parser looks at each of their characters in turn. `lift`
takes out those that stand as we write them (``key: |2-``, then lines that are indented by two more)
and leaves a word in the place of each. It lifts nothing from a text that has any character which
YAML would change or refuse, nor where a block could be read in another way: then the parser has it
all. It works on the bytes of the file, since every other form of a long text is one more copy of
it.

Source: https://yaml.org/spec/1.2.2/#81-block-scalar-styles.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

_WORD: Final = "lifted-block-"
_HEADER: Final = re.compile(rb"\n( +)[a-z0-9]+: (\|(2[+-])?\n)")
_ASCII: Final = bytes(range(0x20, 0x7F)) + b"\t\n"
_CHANGED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Lifted(NamedTuple):
    """``text`` is what is left for a parser; in it a word stands for each of the ``blocks``."""

    text: bytes
    blocks: list[str]

    def put_back(self, data: Any) -> Any:
        """The parsed ``data`` with every block in place of its word; None unless each word was
        found, once and by itself.
        """
        words = {f"{_WORD}{index}": block for index, block in enumerate(self.blocks)}
        whole = _put_back(data, words)
        return None if words else whole


def lift(text: bytes) -> Lifted:
    """The text without its literal blocks, and what they hold; raises UnicodeDecodeError where it
    is not UTF-8.
    """
    whole = Lifted(text, [])
    if not _is_verbatim(text):
        return whole
    kept: list[bytes] = []
    blocks: list[str] = []
    position = 0
    while header := _HEADER.search(text, position):
        indent, start = b" " * (len(header[1]) + 2), header.end()
        in_block, ends = _patterns(indent)
        stop = ends.search(text, start - 1)
        if stop is None or not stop[1] or not (header[3] or _says_its_indent(text, start, indent)):
            return whole
        kept.append(text[position : header.start(2)])
        position = stop.start()
        start += len(indent) if text.startswith(indent, start, position) else 0
        lines = in_block.sub(rb"\n", memoryview(text)[start : position + 1])
        blocks.append(_chomped(lines.decode(), header[3]))
    kept.append(text[position:])
    if any(_WORD.encode() in piece for piece in kept):
        return whole
    words = [f"{_WORD}{index}".encode() for index in range(len(blocks))]
    return Lifted(b"".join(chain.from_iterable(zip(kept, [*words, b""], strict=True))), blocks)


def _is_verbatim(text: bytes) -> bool:
    """Whether YAML reads every character of the text as that character."""
    beyond = text.translate(None, _ASCII)
    return not beyond or not _CHANGED.search(beyond.decode())


@lru_cache(maxsize=64)
def _patterns(indent: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """What stands between two lines of a block; and the line end before the first line that is not
    in it, with group 1 for what that line begins with, None if it is blank."""
    return re.compile(rb"\n" + indent), re.compile(rb"\n(?!" + indent + rb"|\n) *([^\s])?")


def _says_its_indent(text: bytes, start: int, indent: bytes) -> bool:
    """A block without a number is indented as its first line is."""
    return (
        text.startswith(indent, start)
        and not text[start + len(indent) : start + len(indent) + 1].isspace()
    )


def _chomped(lines: str, mark: bytes | None) -> str:
    match mark:
        case b"2+":
            return lines
        case b"2-":
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
