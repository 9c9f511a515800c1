"""Finds the texts that a stream gives in pieces, in all ways in which a reader may join them.

A reader joins the pieces of one name, or those of one path: the thoughts, the text of one candidate
or of one part. Other pieces may be between them. The text may be invalid: a stream of frames, a
file around JSON, or a text that was cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

Span = tuple[int, int]

TEXT_NAMES: Final = (
    b"text", b"thinking", b"text_delta", b"thinking_delta", b"delta", b"data", b"code", b"content",
    b"stringValue", b"string_value", b"output", b"arguments", b"partial_json", b"refusal",
    b"reasoning_content", b"reasoning",
)  # fmt: skip
"""The names of members with a piece of a text."""
MARKS: Final = frozenset({b"index", b"jsonPath", b"json_path", b"role", b"thought", b"type"})
"""The members that tell the pieces of two texts apart, in the object of a text or around it."""
MAX_DEPTH: Final = 100
"""The paths of deeper texts begin here, so that they are short."""
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


class _Node:
    """A list or an object, with its name and its place in the list or object around it."""

    __slots__ = (
        "around",
        "count",
        "depth",
        "is_inner_list",
        "key",
        "keys",
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
        self.marks: list[tuple[bytes, bytes]] = []

    def paths(self) -> tuple[bytes, bytes]:
        """The path with the marks, without and with the positions in lists."""
        if self.keys is None:
            plain, placed = (
                self.around.paths() if self.around and self.depth < MAX_DEPTH else (b"", b"")
            )
            marks = b"".join(b"%b=%b;" % mark for mark in sorted(self.marks))
            step = b"/%b;%b" % (self.step or b"", marks)
            self.keys = plain + step, b"%b%b%d" % (placed, step, self.place)
        return self.keys


def joins(data: bytes) -> Iterator[list[Span]]:
    """The spans of the pieces of each text, in order. A text in one piece is omitted."""
    known: set[tuple[Span, ...]] = set()
    for pattern in _BY_NAME:
        yield from _new([match.span(pattern.groups) for match in pattern.finditer(data)], known)
    if not known:
        return
    plain: dict[tuple[bytes, bytes], list[Span]] = {}
    placed: dict[tuple[bytes, bytes], list[Span]] = {}
    for span, name, node in _pieces(data):
        path, place = node.paths()
        plain.setdefault((path, name), []).append(span)
        placed.setdefault((place, name), []).append(span)
    for spans in (*plain.values(), *placed.values()):
        yield from _new(spans, known)


def _new(spans: list[Span], known: set[tuple[Span, ...]]) -> Iterable[list[Span]]:
    if len(spans) < 2 or (key := tuple(spans)) in known:
        return ()
    known.add(key)
    return (spans,)


def _pieces(data: bytes) -> list[tuple[Span, bytes, _Node]]:
    """Each piece with its name and its object. The marks of an object may follow the piece."""
    names = frozenset(TEXT_NAMES)
    pieces: list[tuple[Span, bytes, _Node]] = []
    node = _Node(None)
    for token in _TOKEN.finditer(data):
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
            case _ if node.key in names:
                pieces.append((token.span(1), node.key or b"", node))
            case _ if node.key in MARKS:
                _mark(node, token[1])
    return pieces


def _mark(node: _Node, value: bytes) -> None:
    if node.key and (node.key, value) not in _DEFAULTS:
        node.marks.append((node.key, value))
