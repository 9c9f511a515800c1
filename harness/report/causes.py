"""Finds what red cells have in common: a property of the wire that all of them share, and that the
cells which are right do not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.facts import RED
from harness.judging.results import Result, WireProperty
from harness.stream.printable import plural

FEWEST: Final = 3
"""The minimum number of cells that must share a property."""
MOST_EXCEPTIONS: Final = 10
"""One of this number of cells may be an exception from the cause of cells without any fact."""
_ORDER: Final = ("framing", "line ends", "field")
_WITH: Final = {
    "wire": "of {}",
    "framing": "as {}",
    "line ends": "with {} line ends",
    "field": "with the field {}",
}
_WITHOUT: Final = {
    "wire": "of other wires",
    "framing": "as {}",
    "line ends": "with {}",
    "field": "without it",
}


@dataclass(frozen=True, slots=True)
class Shared:
    """A property that red cells share."""

    wire: WireProperty
    number: int
    """The number of red cells with the property."""
    of: int
    """The number of judged cells with the property."""
    right: int
    """The number of cells without the property that are right."""
    others: tuple[str, ...]
    """The other values of the same kind that these cells have."""

    @property
    def subject(self) -> str:
        """``200 of the 204 streams with CRLF line ends``."""
        noun = "stream" if self.wire.kind == "line ends" else "answer"
        number = (
            f"all {plural(self.number, noun)}"
            if self.number == self.of
            else f"{self.number:,} of the {plural(self.of, noun)}"
        )
        return f"{number} {_WITH[self.wire.kind].format(self.wire.value)}"

    @property
    def contrast(self) -> str:
        """``right for the 4 with LF``."""
        others = " or ".join(self.others)
        return f"right for the {self.right:,} {_WITHOUT[self.wire.kind].format(others)}"


@dataclass(frozen=True, slots=True)
class Cause:
    """Cells of which an adapter gives nothing, and the property that they share."""

    shared: Shared
    cells: list[Result]

    @property
    def sentence(self) -> str:
        """``nothing for all 40 streams with CRLF line ends, right for the 3 with LF``."""
        return f"nothing for {self.shared.subject}, {self.shared.contrast}"


def find_causes(cells: Iterable[Result]) -> list[Cause]:
    """Return the causes of the cells in which every fact is lost; the cause of most cells first.

    A wire of which the adapter keeps no text and no call is a cause, unless its cells share the
    property that is the cause on the other wires.
    """
    judged = [cell for cell in cells if cell.compared]
    silent = [cell for cell in judged if _is_silent(cell)]
    if not silent:
        return []
    read = {cell.provider for cell in judged if "kept" in map(cell.aspects.get, ("text", "calls"))}
    causes: list[Cause] = []
    if found := _cause([cell for cell in judged if cell.provider in read]):
        causes.append(found)
    for provider in dict.fromkeys(cell.provider for cell in silent if cell.provider not in read):
        own = [cell for cell in silent if cell.provider == provider]
        if found and sum(found.shared.wire in cell.properties for cell in own) * 2 > len(own):
            found.cells.extend(own)
        elif cause := _cause_of_wire(provider, own, judged):
            causes.append(cause)
    if found:
        having = [cell for cell in judged if found.shared.wire in cell.properties]
        found.cells[:] = [cell for cell in found.cells if cell in having]
        causes[0] = replace(
            found, shared=replace(found.shared, number=len(found.cells), of=len(having))
        )
    return sorted(causes, key=lambda cause: -len(cause.cells))


def _cause(judged: Sequence[Result]) -> Cause | None:
    """Return the property of the wire that nearly all cells without any fact share, and few
    others.
    """
    silent = [cell for cell in judged if _is_silent(cell)]
    right = [cell for cell in judged if not cell.red_findings]
    for kind in ("framing", "line ends"):
        for wire in dict.fromkeys(_of_kind(silent, kind)):
            own = [cell for cell in silent if wire in cell.properties]
            having = [cell for cell in judged if wire in cell.properties]
            exceptions = max(len(having) - len(own), len(silent) - len(own))
            if len(own) < FEWEST or exceptions * MOST_EXCEPTIONS > len(having):
                continue
            if shared := _shared(wire, own, having, right):
                return Cause(shared, own)
    return None


def _cause_of_wire(provider: str, silent: list[Result], judged: Sequence[Result]) -> Cause | None:
    right = [cell for cell in judged if cell.provider != provider and not cell.red_findings]
    number = sum(cell.provider == provider for cell in judged)
    if len(silent) < FEWEST or len(silent) * 2 < number or not right:
        return None
    wire = WireProperty("wire", provider)
    return Cause(Shared(wire, len(silent), number, len(right), ()), silent)


def share_property(red: Sequence[Result], judged: Iterable[Result]) -> Shared | None:
    """Return the property that all red cells share, and no other judged cell has."""
    if len(red) < FEWEST:
        return None
    judged = list(judged)
    places = {cell.place for cell in red}
    right = [cell for cell in judged if cell.place not in places]
    common = set.intersection(*(set(cell.properties) for cell in red))
    common -= {wire for cell in right for wire in cell.properties}
    for wire in sorted(common, key=lambda wire: (_ORDER.index(wire.kind), wire.value)):
        if shared := _shared(wire, red, red, right):
            return shared
    return None


def _shared(
    wire: WireProperty, red: Sequence[Result], having: Sequence[Result], right: Iterable[Result]
) -> Shared | None:
    """Return the property with its contrast; None if no cell without it is right."""
    without = [cell for cell in right if wire not in cell.properties]
    others: tuple[str, ...] = ()
    if wire.kind != "field":
        without = [cell for cell in without if any(_of_kind([cell], wire.kind))]
        others = tuple(dict.fromkeys(other.value for other in _of_kind(without, wire.kind)))
    if not without:
        return None
    return Shared(wire, len(red), len(having), len(without), others)


def _of_kind(cells: Iterable[Result], kind: str) -> Iterator[WireProperty]:
    return (wire for cell in cells for wire in cell.properties if wire.kind == kind)


def _is_silent(cell: Result) -> bool:
    """Return whether every fact of the wire is lost. An end that nobody reported may be right."""
    lost = [aspect for aspect, verdict in cell.aspects.items() if verdict == "lost"]
    given = {
        aspect
        for aspect, verdict in cell.aspects.items()
        if verdict == "kept" or (verdict in RED and verdict != "lost")
    }
    return bool(lost) and given <= {"unfinished"}
