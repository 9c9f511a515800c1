"""Finds the texts that a stream gives in pieces, in all ways in which a reader may join them.

A reader joins the pieces of one name, or those of one path: the thoughts, the text of one candidate
or of one part. Other pieces may be between them. The text may be invalid: a stream of frames, a
file around JSON, or a text that was cut.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final

Span = tuple[int, int]

TEXT_NAMES: Final = (
    b"text", b"thinking", b"text_delta", b"thinking_delta", b"delta", b"data", b"code", b"content",
    b"stringValue", b"string_value", b"output", b"arguments", b"partial_json", b"refusal",
    b"reasoning_content", b"reasoning",
)  # fmt: skip
"""The names of members with a piece of a text."""
_PLACES: Final = frozenset({b"output_index", b"content_index", b"summary_index", b"item_id"})
"""The members with the place of a text in its answer. A path with positions has them."""
MARKS: Final = _PLACES | {b"index", b"jsonPath", b"json_path", b"thought", b"type"}
"""The members that tell the pieces of two texts apart, in the object of a text or around it."""
MAX_DEPTH: Final = 100
"""The paths of deeper texts begin here, so that they are short."""
BLOCK: Final = 1 << 14
"""The number of pieces that are joined at once, of all texts together."""
OVERLAP: Final = 1 << 12
"""The pieces that a block has in common with the one before. A secret that begins in one block and
ends in the next is found if at most so many pieces are between its ends.
"""
MAX_LINE: Final = 1 << 16
"""The length of a line that is compared with others."""
MAX_LINES: Final = 1 << 10
"""The number of kinds of lines that are remembered."""
_DEFAULTS: Final = frozenset({(b"index", b"0"), (b"thought", b"false")})

_BY_LETTER: Final = b"|".join(
    re.escape(letter)
    + b"(?:%b)"
    % b"|".join(
        re.escape(name[1:]) for name in sorted(TEXT_NAMES, reverse=True) if name.startswith(letter)
    )
    for letter in sorted({name[:1] for name in TEXT_NAMES})
)
"""Names with the same first letter are grouped, which takes two thirds of the time."""
_BY_NAME: Final = (
    re.compile(rb'"(?:%b)"\s*+:\s*+"((?:[^"\\]++|\\.)*+)' % _BY_LETTER, re.DOTALL),
    re.compile(
        rb'\\(?<!\\\\)(\\*+)"(?:%b)\\\1"\s*+:\s*+\\\1"((?:[^"\\]++|(?!\\\1")\\++"?)*+)'
        % _BY_LETTER,
        re.DOTALL,
    ),
)
"""Pieces in JSON, and in JSON inside a string, where quotes have backslashes."""
_TOKEN: Final = re.compile(
    rb'"((?:[^"\\\n]++|\\.)*+)"(?:(\s*+:)\s*+(true|[0-9]++)?)?|[{}\[\]]|data:|\0'
)


_NUMBER: Final = re.compile(
    rb'("item_id"\s*+:\s*+"[^"]*+")|[0-9](?<![0-9].)(?<!index":.)(?<!index": .)[0-9]*+', re.DOTALL
)
"""A number that tells no texts apart, or an id, which does."""
_NAMES: Final = frozenset(TEXT_NAMES)

Key = tuple[bytes, bytes]
"""The path and the name of a text."""


class _Node:
    """A list or an object, with its name and its place in the list or object around it."""

    __slots__ = (
        "around",
        "count",
        "depth",
        "is_inner_list",
        "key",
        "keys",
        "known",
        "marks",
        "place",
        "step",
    )

    def __init__(self, around: _Node | None, *, is_list: bool = False) -> None:
        self.around: Final = around
        self.step: Final = around.key if around else None
        self.place: Final = around.count if around and around.is_inner_list else 0
        self.count: int = 0
        self.depth: Final[int] = around.depth + 1 if around else 0
        # A list of frames is no place: its items follow each other.
        self.is_inner_list: Final[bool] = (
            is_list and around is not None and around.around is not None
        )
        self.key: bytes | None = None
        self.keys: tuple[bytes, bytes] | None = None
        self.marks: list[tuple[bytes, bytes]] | None = None  # most objects have none
        # Messages have equal paths, which are in memory only once.
        self.known: Final[dict[object, tuple[bytes, bytes]]] = around.known if around else {}

    def paths(self) -> tuple[bytes, bytes]:
        """Return the path with the marks, without and with the positions in lists."""
        if self.keys is None:
            plain, placed = (
                self.around.paths() if self.around and self.depth < MAX_DEPTH else (b"", b"")
            )
            marks = sorted(self.marks or ())
            step = b"/%b;" % (self.step or b"")
            own = step + b"".join(b"%b=%b;" % mark for mark in marks if mark[0] not in _PLACES)
            step += b"".join(b"%b=%b;" % mark for mark in marks)
            keys = plain + own, b"%b%b%d" % (placed, step, self.place)
            self.keys = self.known.setdefault(keys, keys)
        return self.keys


def joins(data: bytes) -> Iterator[list[Span]]:
    """Yield the spans of the pieces of each text, in order. A text in one piece is omitted. A body
    with many pieces is read in blocks, so that its pieces are never all in memory.
    """
    plain, nested = _BY_NAME
    for start, stop, spans in _blocks(plain, data):
        yield from _joins_in(data, start, stop, spans)
    for _, _, spans in _blocks(nested, data):
        yield from _new(spans, set())


def _blocks(pattern: re.Pattern[bytes], data: bytes) -> Iterator[tuple[int, int, list[Span]]]:
    """Yield the start, the end and the pieces of each block; a block starts and ends after a
    piece.
    """
    start = 0
    spans: list[Span] = []
    for match in pattern.finditer(data):
        if len(spans) == BLOCK:
            yield start, spans[-1][1] + 1, spans
            start = spans[-OVERLAP - 1][1] + 1
            spans = spans[-OVERLAP:]
        spans.append(match.span(pattern.groups))
    yield start, len(data), spans


def _joins_in(data: bytes, start: int, stop: int, spans: list[Span]) -> Iterator[list[Span]]:
    if len(spans) < 2:
        return
    known: set[tuple[Span, ...]] = set()
    yield from _new(spans, known)
    texts: dict[Key, list[Span]] = {}
    for span, keys in _pieces(data, start, stop, spans):
        for key in keys:
            texts.setdefault(key, []).append(span)
    for pieces in texts.values():
        yield from _new(pieces, known)


def _new(spans: list[Span], known: set[tuple[Span, ...]]) -> Iterable[list[Span]]:
    if len(spans) < 2 or (key := tuple(spans)) in known:
        return ()
    known.add(key)
    return (spans,)


def _pieces(
    data: bytes, start: int, end: int, spans: list[Span]
) -> Iterator[tuple[Span, tuple[Key, Key]]]:
    """Yield each piece from ``start`` to ``end`` with the keys of its texts. A stream has few kinds
    of lines, so a line that is whole JSON is read once for all lines that differ only in their
    pieces and numbers.
    """
    lines: dict[bytes, list[tuple[Key, Key]]] = {}
    waiting: list[_Piece] = []
    node = _Node(None)
    first = 0
    while start < end:
        stop = data.find(b"\n", start, end) + 1 or end
        last = bisect_left(spans, (stop, 0), first)
        held, kind = spans[first:last], b""
        if node.around is None and not waiting and stop - start <= MAX_LINE:
            ends = [start, *(place for span in held for place in span), stop]
            parts = [data[ends[at] : ends[at + 1]] for at in range(0, len(ends), 2)]
            kind = b'"'.join(parts)
            if kind not in lines:
                kind = _NUMBER.sub(lambda match: match[1] or b"0", kind)
        if kind in lines:
            yield from zip(held, lines[kind], strict=True)
        else:
            node = _read_line(data, start, stop, node, waiting)
            if node.around is None:
                pieces = [(span, _keys(name, place)) for span, name, place in waiting]
                yield from pieces
                waiting.clear()
                is_kept = kind and len(lines) < MAX_LINES
                if is_kept and [span for span, _ in pieces] == held:
                    lines[kind] = [keys for _, keys in pieces]
        start, first = stop, last
    yield from ((span, _keys(name, node)) for span, name, node in waiting)


def _keys(name: bytes, node: _Node) -> tuple[Key, Key]:
    path, place = node.paths()
    return (path, name), (place, name)


def _read_line(data: bytes, start: int, stop: int, node: _Node, pieces: list[_Piece]) -> _Node:
    """Add the pieces of a line; returns the object in which it ends. The marks of an object may
    follow a piece in it.
    """
    for token in _TOKEN.finditer(data, start, stop):
        match token[0]:
            case b"{" | b"[":
                node.count += 1
                node = _Node(node, is_list=token[0] == b"[")
            case b"}" | b"]":
                node = node.around or _Node(None)
            case b"data:" | b"\0":
                node = _Node(None)
            case _ if token[2]:
                node.key = token[1]
                if token[3] and node.key in MARKS:
                    _mark(node, token[3])
            case _ if node.key in _NAMES:
                pieces.append((token.span(1), node.key or b"", node))
            case _ if node.key in MARKS:
                _mark(node, token[1])
    return node


_Piece = tuple[Span, bytes, _Node]
"""A piece, its name and its object."""


def _mark(node: _Node, value: bytes) -> None:
    if node.key and (node.key, value) not in _DEFAULTS:
        node.marks = node.marks or []
        node.marks.append((node.key, value))
