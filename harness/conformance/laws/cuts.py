"""Laws about where bytes are cut: by the network (1), and by a connection that ends too early (4).

Small bodies are cut at every single place. In larger ones every place is cut too, but many in one
replay, like the teeth of a comb; and they end early behind each line and at seeded places. What
fails is made small before it is told: one cut out of forty says where to look.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from harness.cassettes import Exchange
from harness.pipeline import replay

from .replayer import (
    SMALL,
    Difference,
    Items,
    Replayer,
    difference,
    first_difference,
    seeded,
    shown,
    with_reads,
)

BYTEWISE = 256 * 1024
"""Bodies up to this size are fed byte by byte, and cut at every place."""

COMB = 32
"""A larger body is cut at every place in so many replays: each place stands alone among so many
bytes.
"""

RANDOM_CUTS = 12
PREFIXES = 24
LINES = 64

WHOLE = "read as a whole"
"""What the other reading is called, of which a law of cuts tells the difference."""

Cuts = tuple[int, ...]
Differs = Callable[[Cuts], bool]


def cuts_dont_matter(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 1: as recorded, whole, byte by byte, at every single place of small bodies, at combs and
    seeded sets of places of large ones.
    """
    expected = how.events(exchange, cuts="whole")
    everywhere = tuple(range(1, len(exchange.body)))
    ways: dict[replay.Cuts, tuple[str, Cuts]] = {
        "recorded": ("as recorded", cuts_of(exchange)),
        "bytes": ("byte by byte", everywhere),
    }
    for way, (words, cuts) in (
        ways.items() if len(exchange.body) <= BYTEWISE else list(ways.items())[:1]
    ):
        parted = difference(expected, how.events(exchange, cuts=way))
        if parted is not None:
            seen = cuts and _difference(exchange, how, expected, cuts)
            return [
                _shrunk(exchange, how, expected, cuts)
                if seen
                else f"read {words}, {parted.told('event', WHOLE)}"
            ]
    for cut_set in cut_sets(exchange):
        if _difference(exchange, how, expected, cut_set) is not None:
            return [_shrunk(exchange, how, expected, cut_set)]
    return []


def cuts_of(exchange: Exchange) -> Cuts:
    """The places at which the recorded reads cut the body."""
    return tuple(accumulate(len(data) for _, data in exchange.reads))[:-1]


def cut_sets(exchange: Exchange, small: int = SMALL, comb: int = COMB) -> Iterator[Cuts]:
    """The sets of places at which a body is cut, one a replay; ``small`` bytes are cut at every
    single place, more by a comb.
    """
    size = len(exchange.body)
    if size <= small:
        yield from ((at,) for at in range(1, size))
        return
    if size <= BYTEWISE:
        yield from (tuple(range(first, size, comb)) for first in range(1, min(comb + 1, size)))
    chance = seeded(exchange)
    for _ in range(min(RANDOM_CUTS, comb)):
        yield tuple(sorted(chance.sample(range(1, size), min(size - 1, chance.randint(1, 40)))))


def _difference(
    exchange: Exchange, how: Replayer, expected: Items, cuts: Cuts
) -> Difference | None:
    return difference(expected, how.events(exchange, cuts=cuts))


def _shrunk(exchange: Exchange, how: Replayer, expected: Items, cuts: Cuts) -> str:
    cuts = fewest(cuts, lambda fewer: _difference(exchange, how, expected, fewer) is not None)
    parted = _difference(exchange, how, expected, cuts)
    return f"{told(exchange, cuts)}, {parted.told('event', WHOLE) if parted else 'only sometimes'}"


def told(exchange: Exchange, cuts: Cuts) -> str:
    """Where a body was cut, in words."""
    body = exchange.body
    places = ", ".join(
        f"byte {at} ({shown(body[max(0, at - 12) : at])} | {shown(body[at : at + 12])})"
        for at in cuts[:4]
    )
    return f"cut at {places}" + (f" and {len(cuts) - 4} more" if len(cuts) > 4 else "")


def fewest(cuts: Cuts, differs: Differs) -> Cuts:
    """The failure with as few cuts as it needs: halves, quarters and so on are left out, at last
    single cuts, until none can be.
    """
    size = len(cuts) // 2
    while size:
        at = 0
        while at < len(cuts):
            fewer = cuts[:at] + cuts[at + size :]
            if fewer and differs(fewer):
                cuts = fewer
            else:
                at += size
        size = min(size // 2, len(cuts) // 2)
    return cuts


def breaking_cuts(exchange: Exchange, how: Replayer) -> tuple[Cuts, Items] | None:
    """The fewest places found at which a cut changes the events, and the events of the body as a
    whole; None where law 1 holds.
    """
    expected = how.events(exchange, cuts="whole")

    def differs(cuts: Cuts) -> bool:
        return _difference(exchange, how, expected, cuts) is not None

    recorded = cuts_of(exchange)
    everywhere = tuple(range(1, len(exchange.body)))
    for cuts in (recorded, *cut_sets(exchange), everywhere):
        if cuts and differs(cuts):
            return fewest(cuts, differs), expected
    return None


def cut_short(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 4: a body that ends early gives the same events up to there, then ``incomplete``."""
    broken = breaking_prefix(exchange, how)
    return [told_short(exchange, broken[0], broken[2])] if broken else []


def told_short(exchange: Exchange, at: int, finding: str) -> str:
    """What is wrong where a body ends early, in words."""
    return f"cut short at byte {at} ({shown(exchange.body[max(0, at - 12) : at])}): {finding}"


def breaking_prefix(exchange: Exchange, how: Replayer) -> tuple[int, Items, str] | None:
    """The first prefix whose events are wrong: its length, the events of the whole, what is wrong;
    None where law 4 holds.
    """
    full = how.events(exchange)
    tool_code = how.finds_tool_code(exchange)
    broken = first_prefix(
        exchange,
        prefixes(exchange),
        lambda short: _prefix_finding(full, how.events(short), tool_code),
    )
    return (broken[0], full, broken[1]) if broken else None


def prefixes(
    exchange: Exchange, small: int = SMALL, lines: int = LINES, chosen: int = PREFIXES
) -> Sequence[int]:
    """The lengths at which a body is cut short: all of a small one; else behind the first lines,
    and seeded ones.
    """
    body = exchange.body
    if len(body) <= small:
        return range(len(body))
    ends = [found.end() for found in re.finditer(rb"\n|\r", body)]
    chance = seeded(exchange)
    among = {
        *chance.sample(ends, min(lines, len(ends))),
        *chance.sample(range(len(body)), min(chosen, len(body))),
    }
    return sorted(at for at in among if at < len(body))


def first_prefix(
    exchange: Exchange, places: Sequence[int], judge: Callable[[Exchange], str | None]
) -> tuple[int, str] | None:
    """The shortest wrong prefix: the first of these, or a shorter one that none of these is as
    short as; and what is wrong with it.
    """
    held = -1
    for at in places:
        finding = judge(shortened(exchange, at))
        if finding is not None:
            between = ((less, judge(shortened(exchange, less))) for less in range(held + 1, at))
            return next(
                ((less, wrong) for less, wrong in between if wrong is not None), (at, finding)
            )
        held = at
    return None


def shortened(exchange: Exchange, at: int) -> Exchange:
    """The exchange as it would be if the connection had been cut after so many bytes."""
    reads: tuple[tuple[Any, bytes], ...] = ((None, exchange.body[:at]),) if at else ()
    return replace(exchange, reads=reads, end="cut")


def with_cuts(exchange: Exchange, cuts: Cuts) -> Exchange:
    """The exchange as the network would have cut it there; the times are not known."""
    body, places = exchange.body, [0, *cuts, len(exchange.body)]
    return with_reads(exchange, *(body[start:end] for start, end in pairwise(places)))


def _prefix_finding(full: Items, events: Items, tool_code: bool) -> str | None:
    """What is wrong with the events of a prefix; text that is held back as a possible tag may come
    out at the end.
    """
    if not events or events[-1]["kind"] != "incomplete":
        return f"the last event is {shown(events[-1] if events else None)}, not incomplete"
    told = events[:-1]
    difference = first_difference(full[: len(told)], told)
    if difference and tool_code and told[-1]["kind"] == "text" and told[-1]["text"].startswith("<"):
        return first_difference(full[: len(told) - 1], told[:-1])
    return difference
