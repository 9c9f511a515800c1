"""Judges the order of text, thoughts and calls in a stream of native events.

Text and thoughts must come as the wire has them. A call may come late, because many event models
give a call only when it is whole, but never before something that precedes it on the wire.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal, NamedTuple

Kind = Literal["text", "thought"]
"""What a piece is a piece of."""


class Run(NamedTuple):
    """A run of text or thoughts, or a call, on the wire: its characters, and the pieces in which
    they came.
    """

    kind: Kind | Literal["call"]
    size: int = 0
    pieces: int = 1
    begins: bool = False
    """Whether it begins a part, such as a block or a part of a summary."""


@dataclass(slots=True)
class Given:
    """The content of one native event of an adapter: characters of text and of thoughts, and the
    numbers of calls, from 0.
    """

    text: int = 0
    thought: int = 0
    calls: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Misplaced:
    """The first content that comes too late: the character of the ``kind`` from which on it is
    missing, and where it belongs: before a call, or before a character of the other kind.
    """

    kind: Kind
    character: int
    call: int | None = None


def thought_parts(order: Sequence[Run], thoughts: str) -> Iterator[str]:
    """Yield the parts of the thoughts: those of the wire, and the thoughts around other content."""
    start = end = 0
    before = ""
    for run in order:
        if run.kind == "thought" and run.size:
            if run.begins or before != run.kind:
                yield from filter(None, [thoughts[start:end]])
                start = end
            end += run.size
        before = run.kind if run.size or run.kind == "call" else before
    yield from filter(None, [thoughts[start:end]])


def find_separators(parts: Iterable[str], given: str) -> list[range]:
    """Return the places of the white space that an adapter puts between two parts, up to the first
    other difference.
    """
    separators: list[range] = []
    at = 0
    for number, part in enumerate(parts):
        start, rest = at, part.lstrip()
        if number and rest:
            space = next((n for n in range(at, len(given)) if not given[n].isspace()), len(given))
            at = max(at, space - (len(part) - len(rest)))
        if at > start:
            separators.append(range(start, at))
        if not given.startswith(part, at):
            break
        at += len(part)
    return separators


def leave_out(separators: Sequence[range], pieces: Sequence[str]) -> list[str]:
    """Return the pieces of an adapter's thoughts without the separators in the joined thoughts."""
    kept = bytearray(b"\1" * sum(map(len, pieces)))
    for place in separators:
        kept[place.start : place.stop] = bytes(len(place))
    left: list[str] = []
    start = 0
    for piece in pieces:
        end = start + len(piece)
        left.append("".join(compress(piece, kept[start:end])))
        start = end
    return left


def find_misplaced(order: Sequence[Run], events: Sequence[Given]) -> Misplaced | None:
    """Return the first text or thought that an adapter gives too late; None if all is in order. A
    kind that came in several pieces and that the adapter gives in one event has no order.
    """
    kinds: tuple[Kind, ...] = ("text", "thought")
    sizes = {"text": [e.text for e in events], "thought": [e.thought for e in events]}
    given = {kind: sum(map(bool, sizes[kind])) for kind in kinds}
    pieces = {
        kind: sum(run.pieces for run in order if run.kind == kind and run.size) for kind in kinds
    }
    asked = [kind for kind in kinds if given[kind] and (given[kind] > 1 or pieces[kind] == 1)]
    if len(events) < 2 or not (len(asked) == len(kinds) or any(event.calls for event in events)):
        return None
    needs = {kind: _needs(order, kind) for kind in kinds}
    before_calls = {kind: _before_calls(order, kind) for kind in kinds}
    so_far = Counter[str]()
    for event in events:
        so_far.update({"text": event.text, "thought": event.thought})
        for kind in asked:
            for call in event.calls:
                if so_far[kind] < before_calls[kind][call]:
                    return Misplaced(kind, so_far[kind], call + 1)
        for kind, other in (("text", "thought"), ("thought", "text")):
            if len(asked) == len(kinds) and so_far[kind] < _need(needs[kind], so_far[other]):
                return Misplaced(kind, so_far[kind])
    return None


def _before_calls(order: Sequence[Run], kind: Kind) -> list[int]:
    """Return the number of characters of a kind before each call."""
    before: list[int] = []
    size = 0
    for run in order:
        if run.kind == "call":
            before.append(size)
        size += run.size if run.kind == kind else 0
    return before


def _needs(order: Sequence[Run], kind: Kind) -> list[tuple[int, int]]:
    """Return, for each run of the other kind: where it begins in that kind, and the number of
    characters of this kind before it.
    """
    needs: list[tuple[int, int]] = []
    sizes = Counter[str]()
    for run in order:
        if run.kind not in (kind, "call") and run.size:
            needs.append((sizes[run.kind], sizes[kind]))
        sizes[run.kind] += run.size
    return needs


def _need(needs: Sequence[tuple[int, int]], other: int) -> int:
    """Return the number of characters that precede the last of ``other`` characters."""
    return max((before for start, before in needs if start < other), default=0)
