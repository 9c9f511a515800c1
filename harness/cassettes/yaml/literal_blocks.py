"""Removes the literal blocks from a YAML text, so that a parser reads only the rest.

A cassette is mostly literal blocks, and a parser reads each of their characters. `lift` replaces
each block in the form of our writer (``key: |2-``, then lines indented by two more) with a
placeholder. It removes nothing from a text with a character that YAML would change or refuse, or
with a block that could be read in another way; then the parser reads the whole text. It uses the
bytes of the file, because any other form is a copy of a long text.

Source: https://yaml.org/spec/1.2.2/#81-block-scalar-styles.
"""

from __future__ import annotations

import re
from io import BytesIO
from itertools import islice
from typing import Final, NamedTuple

_PLACEHOLDER: Final = "lifted-block-"
_HEADER: Final = re.compile(rb"\n( +)[a-z0-9]+: (\|(2[+-])?\n)")
_ASCII: Final = bytes(range(0x20, 0x7F)) + b"\t\n"
_BATCH: Final = 4096
"""The number of lines of a block that are in memory at the same time; a line needs much more memory
than its bytes. A block of fewer lines is not copied again.
"""
# Characters that a parser refuses or changes: controls, other line breaks, a byte order mark and
# noncharacters.
_CHANGED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Lifted(NamedTuple):
    """A YAML text and the literal blocks that were taken out of it, all in UTF-8."""

    text: bytes
    """The rest for a parser; it has a placeholder for each block."""
    blocks: dict[str, bytes]
    """Placeholder → the content of the block."""


def lift(text: bytes) -> Lifted:
    """Return the text without its literal blocks, and the blocks; raises UnicodeDecodeError for a
    text that is not UTF-8.
    """
    whole = Lifted(text, {})
    if not _is_verbatim(text):
        return whole
    kept: list[bytes] = []
    blocks: dict[str, bytes] = {}
    position, lines = 0, BytesIO(text)
    while header := _HEADER.search(text, position):
        indent, start, mark = b" " * (len(header[1]) + 2), header.end(), header[3]
        if not (mark or _has_indent(text, start, indent)):
            return whole
        lines.seek(start)
        block, rest = _read_block(lines, indent)
        if rest.lstrip(b" ")[:1] in b"\t\n":
            return whole  # the text ends, or this line could be part of the block
        block = _chomped(block, mark)
        if not block.isascii():
            block.decode()
        word = f"{_PLACEHOLDER}{len(blocks)}"
        blocks[word] = block
        kept += text[position : header.start(2)], word.encode()
        position = lines.tell() - len(rest) - 1
    kept.append(text[position:])
    rest = b"".join(kept)
    return Lifted(rest, blocks) if rest.count(_PLACEHOLDER.encode()) == len(blocks) else whole


def _is_verbatim(text: bytes) -> bool:
    """Return whether YAML neither changes nor refuses any character of the text."""
    beyond = text.translate(None, _ASCII)
    return not beyond or not _CHANGED.search(beyond.decode())


def _read_block(lines: BytesIO, indent: bytes) -> tuple[bytes, bytes]:
    """Return the lines of a block without their indent, and the line after them, which is empty at
    the end of the text.
    """
    inner, above = slice(len(indent), None), indent[:-1] + b"!"
    joined: list[bytes] = []
    while True:
        batch: list[bytes] = []
        take = batch.append
        for line in islice(lines, _BATCH):
            if (
                indent <= line < above
            ):  # the line begins with the indent; this is faster than a method
                take(line[inner])
            elif line == b"\n":
                take(line)
            else:
                joined.append(b"".join(batch))
                return b"".join(joined), line
        if not batch:
            return b"", b""
        joined.append(b"".join(batch))


def _has_indent(text: bytes, start: int, indent: bytes) -> bool:
    """Return whether the first line, and therefore the block, has this indentation."""
    return (
        text.startswith(indent, start)
        and not text[start + len(indent) : start + len(indent) + 1].isspace()
    )


def _chomped(lines: bytes, mark: bytes | None) -> bytes:
    match mark:
        case b"2+":
            return lines
        case b"2-":
            return lines.rstrip(b"\n")
        case _:
            return lines.rstrip(b"\n") + b"\n"
