"""Law 1: the output does not depend on the places where the network cuts the bytes.

A small body is replayed once for every single cut. A larger body is also cut at every place, but
with many cuts in one replay. It is also cut at seeded sets of places. A failing set is then reduced
to the fewest cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from harness.adapters import Subject
from harness.specs.volatile import as_read
from harness.stream.exchange import Exchange

from ..metamorphic.reads import CutPlaces, cuts_of, seeded, with_cuts
from .law import Breach, Law, difference, shown

BYTEWISE = 256 * 1024
"""A body up to this size, in bytes, is replayed once for every single cut."""

COMB = 32
"""The maximum number of replays in which a larger body is cut at every place: the cuts of one
replay are this number of bytes apart.
"""

RANDOM_CUTS = 12
"""The number of seeded sets of places for a larger body."""

WHOLE = "read as a whole"


def cut_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return the first set of cuts that changes the output, reduced to the fewest cuts.

    The times of the reads are removed from both exchanges, because they do not belong to the new
    reads.
    """
    recorded = cuts_of(exchange)
    whole = with_cuts(exchange, ())
    # The adapter must not fail on the recording itself. For a variant, an error is a normal output.
    expected = subject.outcome(whole) if recorded else subject.items(whole)
    came = subject.items(with_cuts(exchange, recorded)) if recorded else expected

    def differs(cuts: CutPlaces) -> bool:
        got = came if cuts == recorded else subject.outcome(with_cuts(exchange, cuts))
        return got != expected

    for cuts in chain([recorded] if recorded else (), _cut_sets_for(exchange, subject)):
        if differs(cuts):
            few = fewest(cuts, differs)
            shows = with_cuts(exchange, few)
            got = subject.outcome(shows)
            first = difference(expected, got, subject.adapter.noun, WHOLE)
            sentence = first or "the output differs sometimes"
            return [Breach(f"{places(exchange, few)}, {sentence}", shows, as_read(expected), got)]
    return []


def _cut_sets_for(exchange: Exchange, subject: Subject) -> Iterator[CutPlaces]:
    size = len(exchange.body)
    if subject.adapter.effort.bytewise and 1 < size <= BYTEWISE:
        yield tuple(range(1, size))
    yield from cut_sets(exchange, subject.adapter.effort.tries)


def cut_sets(exchange: Exchange, tries: int) -> Iterator[CutPlaces]:
    """Yield the sets of places where a body is cut, one set for each replay. For a body of at most
    ``tries`` bytes, each set is one place, and every place has a set.
    """
    size, comb = len(exchange.body), min(tries, COMB)
    if size <= tries:
        yield from ((at,) for at in range(1, size))
        return
    if size <= BYTEWISE:
        yield from (tuple(range(first, size, comb)) for first in range(1, min(comb + 1, size)))
    chance = seeded(exchange.body)
    for _ in range(min(RANDOM_CUTS, comb)):
        yield tuple(sorted(chance.sample(range(1, size), min(size - 1, chance.randint(1, 40)))))


def places(exchange: Exchange, cuts: CutPlaces) -> str:
    """Describe the cuts and the bytes around them."""
    body = exchange.body
    words = ", ".join(
        f"byte {at} ({shown(body[max(0, at - 12) : at])} | {shown(body[at : at + 12])})"
        for at in cuts[:4]
    )
    return f"cut at {words}" + (f" and {len(cuts) - 4} more" if len(cuts) > 4 else "")


def fewest(cuts: CutPlaces, differs: Callable[[CutPlaces], bool]) -> CutPlaces:
    """Return the fewest of these cuts that still change the output. Removes halves, then quarters,
    and finally single cuts.
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


CUTS = Law(
    1,
    "Cuts don't matter",
    "The output is the same wherever the network cuts the bytes.",
    cut_findings,
    feature="framing.split-reads",
    source="https://html.spec.whatwg.org/multipage/server-sent-events.html",
)
