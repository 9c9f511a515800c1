"""Laws about where bytes are cut: by the network (1), and by a connection that ends too early (4).

Small bodies are cut everywhere. A failing set of cuts is shrunk before it is told: one cut out of forty says where to look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from ..cassette import Exchange
from .replayer import SMALL, Items, Replayer, first_difference, seeded, shown, with_reads

BYTEWISE = 256 * 1024
"""Bodies up to this size are fed byte by byte."""

RANDOM_CUTS = 12
PREFIXES = 24


def cuts_dont_matter(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 1: as recorded, whole, byte by byte, at every single place of small bodies, at seeded sets of places of large ones."""
    expected = how.events(exchange)
    for cuts in ("whole", "bytes") if len(exchange.body) <= BYTEWISE else ("whole",):
        difference = first_difference(expected, how.events(exchange, cuts=cuts))
        if difference is not None and cuts == "whole":
            return [f"read as a whole, {difference}"]
        if difference is not None:
            everywhere = tuple(range(1, len(exchange.body)))
            seen = _difference(exchange, how, expected, everywhere)
            return [_shrunk(exchange, how, expected, everywhere) if seen else f"read byte by byte, {difference}"]
    for cut_set in _cut_sets(exchange):
        if _difference(exchange, how, expected, cut_set) is not None:
            return [_shrunk(exchange, how, expected, cut_set)]
    return []


def _cut_sets(exchange: Exchange) -> Iterator[tuple[int, ...]]:
    size = len(exchange.body)
    if size <= SMALL:
        yield from ((at,) for at in range(1, size))
        return
    chance = seeded(exchange)
    for _ in range(RANDOM_CUTS):
        yield tuple(sorted(chance.sample(range(1, size), chance.randint(1, 40))))


def _difference(exchange: Exchange, how: Replayer, expected: Items, cuts: tuple[int, ...]) -> str | None:
    return first_difference(expected, how.events(exchange, cuts=cuts))


def _shrunk(exchange: Exchange, how: Replayer, expected: Items, cuts: tuple[int, ...]) -> str:
    cuts = _fewest(exchange, how, expected, cuts)
    body = exchange.body
    places = ", ".join(f"byte {at} ({shown(body[max(0, at - 12) : at])} | {shown(body[at : at + 12])})" for at in cuts[:4])
    more = f" and {len(cuts) - 4} more" if len(cuts) > 4 else ""
    return f"cut at {places}{more}, {_difference(exchange, how, expected, cuts)}"


def _fewest(exchange: Exchange, how: Replayer, expected: Items, cuts: tuple[int, ...]) -> tuple[int, ...]:
    """The failure with as few cuts as halving finds."""
    while len(cuts) > 1:
        half = len(cuts) // 2
        smaller = next((part for part in (cuts[:half], cuts[half:]) if _difference(exchange, how, expected, part)), None)
        if smaller is None:
            break
        cuts = smaller
    return cuts


def breaking_cuts(exchange: Exchange, how: Replayer) -> tuple[tuple[int, ...], Items] | None:
    """The fewest places found at which a cut changes the events, and the events of the body as a whole; None where law 1 holds."""
    expected = how.events(exchange, cuts="whole")
    recorded = tuple(accumulate(len(data) for _, data in exchange.reads))[:-1]
    everywhere = tuple(range(1, len(exchange.body)))
    for cuts in (recorded, *_cut_sets(exchange), everywhere):
        if cuts and _difference(exchange, how, expected, cuts) is not None:
            return _fewest(exchange, how, expected, cuts), expected
    return None


def cut_short(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 4: a body that ends early gives the same events up to there, then ``incomplete``."""
    broken = breaking_prefix(exchange, how)
    if broken is None:
        return []
    at, _, finding = broken
    return [f"cut short at byte {at} ({shown(exchange.body[max(0, at - 12) : at])}): {finding}"]


def breaking_prefix(exchange: Exchange, how: Replayer) -> tuple[int, Items, str] | None:
    """The first tried prefix whose events are wrong: its length, the events of the whole, what is wrong; None where law 4 holds."""
    full = how.events(exchange)
    body = exchange.body
    chance = seeded(exchange)
    places = range(len(body)) if len(body) <= SMALL else sorted(chance.sample(range(len(body)), PREFIXES))
    for at in places:
        finding = _prefix_finding(full, how.events(shortened(exchange, at)), how.finds_tool_code(exchange))
        if finding is not None:
            return at, full, finding
    return None


def shortened(exchange: Exchange, at: int) -> Exchange:
    """The exchange as it would be if the connection had been cut after so many bytes."""
    return replace(with_reads(exchange, exchange.body[:at]), end="cut")


def _prefix_finding(full: Items, events: Items, tool_code: bool) -> str | None:
    """What is wrong with the events of a prefix; text that is held back as a possible tag may come out at the end."""
    if not events or events[-1]["kind"] != "incomplete":
        return f"the last event is {shown(events[-1] if events else None)}, not incomplete"
    told = events[:-1]
    difference = first_difference(full[: len(told)], told)
    if difference and tool_code and told[-1]["kind"] == "text" and told[-1]["text"].startswith("<"):
        return first_difference(full[: len(told) - 1], told[:-1])
    return difference
