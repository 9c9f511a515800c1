"""Finds what red cells have in common: a property of the wire that all of them share, and that
cells with a better verdict do not have. Chooses the cell that a reader understands first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.facts import RED
from harness.judging.rows import PropertyKind, Row, WireProperty
from harness.judging.wire_properties import DOCUMENT, EVENTS
from harness.providers import PROVIDERS
from harness.stream.printable import plural

Alike = tuple[WireProperty, ...]
"""Properties of which a cell has one: the line ends of a stream of several messages, or of one."""
FEWEST: Final = 3
"""The minimum number of cells that must share a property of a loss."""
FEWEST_SILENT: Final = 2
"""The minimum number of cells without any fact that must share a property."""
MOST_EXCEPTIONS: Final = 10
"""One of this number of cells may be an exception from the cause of cells without any fact."""
_COMPARED: Final[Sequence[Sequence[PropertyKind]]] = (
    ("line ends", "last line end"),
    ("line ends",),
    ("framing",),
)
"""The kinds of properties that may be a cause, in order."""
_UNEXPECTED: Final[Mapping[tuple[PropertyKind, ...], Sequence[str]]] = {
    ("line ends", "last line end"): ("CRLF", "CR"),
    ("framing",): (DOCUMENT,),
}
"""The properties that are a possible cause if no cell with a fact was judged."""
_MISSING: Final = frozenset({"lost", "raised"})
"""The verdicts of a fact that an adapter did not give."""
_ORDER: Final = ("line ends", "framing", "field")
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
_REMEDIES: Final = {
    "line ends": (
        r"take \r\n, \n and \r as line ends, in the adapter and in the shim; a reader that splits"
        r" at \n\n finds no message in a stream with other line ends"
    ),
    DOCUMENT: (
        "read the whole body as one JSON document, and report the error of a status such as 503; if"
        " the adapter reads only streams, skip the answers that are not streamed in the shim"
    ),
    EVENTS: "read a message of the stream after each blank line",
    "wire": "if the adapter does not read this wire, leave it out of the wires that the shim names",
}
"""What mends a cause, by its framing or its kind."""
_UNPROVEN: Final = (
    "This is only a possible cause, because no other answers were judged. If the adapter gives"
    " events, the shim does not yield them"
)
_NO_EVENT: Final = (
    "call the adapter in the shim, and yield each event of the adapter with the facts in it"
)


@dataclass(frozen=True, slots=True)
class Shared:
    """A property that red cells share."""

    wire: WireProperty
    number: int
    """The number of red cells with the property."""
    of: int
    """The number of judged cells with the property."""
    right: int
    """The number of cells without the property that are better."""
    without: int
    """The number of judged cells without the property."""
    others: tuple[str, ...]
    """The other values of the same kind that the better cells have."""
    crashed: int = 0
    """The number of judged cells with the property in which the adapter crashed."""

    @property
    def subject(self) -> str:
        """``200 of the 204 streams with CRLF line ends (4 crashed)``."""
        noun = "stream" if self.wire.kind == "line ends" else "answer"
        number = f"{self.number:,} of the {plural(self.of, noun)}"
        if self.number == self.of:
            number = f"{'the' if self.of == 1 else 'all'} {plural(self.of, noun)}"
        some_crashed = 0 < self.crashed < self.of
        crashed = f" ({self.crashed:,} crashed)" if some_crashed else ""
        return f"{number} {_WITH[self.wire.kind].format(self.wire.value)}{crashed}"

    @property
    def contrast(self) -> str:
        """``for the 4 with LF``, or ``for 3 of the 4 with LF``."""
        number = f"{self.right:,} of " if self.right != self.without else ""
        others = _WITHOUT[self.wire.kind].format(" or ".join(self.others))
        return f"for {number}the {self.without:,} {others}"


@dataclass(frozen=True, slots=True)
class Cause:
    """Cells of which an adapter gives nothing or only an error, and why."""

    sentence: str
    """``nothing for all 40 streams with CRLF line ends, something for the 3 with LF``. Without a
    cell of another property, it ends before the comma.
    """
    remedy: str
    """What to change, "" if that is not known."""
    cells: list[Row]
    """The plainest one comes first."""
    is_wire: bool = False
    """Whether the cells share only their wire."""


def _cause(shared: Shared, cells: Sequence[Row]) -> Cause:
    """Return the cause of cells that share a property."""
    wire = shared.wire
    contrast = f", something {shared.contrast}" if shared.right else ""
    remedy = _REMEDIES.get(wire.value if wire.kind == "framing" else wire.kind, "")
    if not shared.right:
        remedy = f"{remedy}. {_UNPROVEN}"
    cells = plainest_first(cells)
    given, error = "nothing", ""
    if all("raised" in cell.aspects.values() for cell in cells):
        given = "a crash" if all(map(_has_crashed, cells)) else "only an error"
        error = f": {next(found.note for found in cells[0].red_findings if found.is_exception)}"
    sentence = f"{given} for {shared.subject}{contrast}{error}"
    return Cause(sentence, remedy, cells, wire.kind == "wire")


def find_causes(cells: Iterable[Row]) -> list[Cause]:
    """Return the causes of the cells in which every fact is lost, also because of an error; the
    cause of most cells first.

    A wire of which the adapter keeps no text and no call is a cause, unless most of its cells have
    a property that is a cause on the other wires.
    """
    judged = [cell for cell in cells if is_silent(cell) or _facts_given(cell)]
    silent = [cell for cell in judged if is_silent(cell)]
    if not silent:
        return []
    places = {cell.place for cell in silent}
    read = {cell.provider for cell in judged if _is_read(cell)}
    common = _common([cell for cell in judged if cell.provider in read], places)
    own = {
        wire: [cell for cell in silent if cell.provider in read and _has(cell, alike)]
        for wire, alike in common.items()
    }
    unread: dict[str, list[Row]] = {}
    for cell in silent:
        if cell.provider not in read:
            unread.setdefault(cell.provider, []).append(cell)
    causes = []
    for provider, others in unread.items():
        shared = {
            wire: [cell for cell in others if _has(cell, alike)] for wire, alike in common.items()
        }
        if sum(map(len, shared.values())) * 2 > len(others):
            for wire, more in shared.items():
                own[wire] += more
        elif cause := _cause_of_wire(provider, others, judged):
            causes.append(cause)
    for wire, cells_of_cause in own.items():
        if found := _shared(common[wire], cells_of_cause, judged, filter(_is_read, judged)):
            causes.append(_cause(found, cells_of_cause))
    if not causes and len(silent) == len(judged) and all(map(_has_no_event, silent)):
        causes.append(_possible_cause(silent))
    return sorted(causes, key=lambda cause: -len(cause.cells))


def _common(judged: Sequence[Row], silent: Container[str]) -> dict[WireProperty, Alike]:
    """Return the properties of the wire that nearly all cells without any fact share, and few
    others; ``silent``: the places of the cells without any fact. Line ends come first, and are
    compared among server-sent events only: among all streams, or else among those of several
    messages, because one message may be read to the end of the body. The framing is that of the
    cells whose line ends are no cause.
    """
    found: dict[WireProperty, Alike] = {}
    for kinds in _COMPARED:
        rest = [cell for cell in judged if not any(_has(cell, alike) for alike in found.values())]
        scope = [cell for cell in rest if any(_of_kind([cell], kinds))]
        own = [cell for cell in scope if cell.place in silent]
        for value in dict.fromkeys(wire.value for wire in _of_kind(own, kinds)):
            alike = tuple(WireProperty(kind, value) for kind in kinds)
            if _is_common(alike, scope, own):
                found[alike[0]] = alike
                break
    return found


def _is_common(alike: Alike, scope: Sequence[Row], silent: Sequence[Row]) -> bool:
    """Return whether nearly all silent cells have the property, and nearly no other cell."""
    own = [cell for cell in silent if _has(cell, alike)]
    having = sum(_has(cell, alike) for cell in scope)
    exceptions = max(having - len(own), len(silent) - len(own))
    if len(own) < FEWEST_SILENT or exceptions * MOST_EXCEPTIONS > having:
        return False
    return _shared(alike, own, scope, filter(_is_read, scope)) is not None


def _cause_of_wire(provider: str, silent: list[Row], judged: Sequence[Row]) -> Cause | None:
    others = [cell for cell in judged if cell.provider != provider]
    right = sum(map(_is_read, others))
    number = len(judged) - len(others)
    if len(silent) < FEWEST_SILENT or len(silent) * 2 < number or not right:
        return None
    wire = WireProperty("wire", provider)
    return _cause(Shared(wire, len(silent), number, right, len(others), ()), silent)


def _possible_cause(silent: Sequence[Row]) -> Cause:
    """Return the cause of cells that are all without any event: a property that all of them have
    and that a simple reader does not expect, or else the shim. One cell is too few for a property.
    """
    for kinds, values in _UNEXPECTED.items() if len(silent) >= FEWEST_SILENT else ():
        for value in values:
            if all(_has(cell, [WireProperty(kind, value) for kind in kinds]) for cell in silent):
                number = len(silent)
                shared = Shared(WireProperty(kinds[0], value), number, number, 0, 0, ())
                return _cause(shared, silent)
    return Cause(f"no event for {plural(len(silent), 'answer')}", _NO_EVENT, plainest_first(silent))


def _has_no_event(cell: Row) -> bool:
    """Return whether the adapter gave no native event, with or without a fact."""
    excerpts = cell.evidence.excerpts.values() if cell.evidence else ()
    native = [view for views in excerpts for view in views if view.layer == "native"]
    return bool(native) and not any(view.lines for view in native)


def share_property(aspect: str, red: Sequence[Row], judged: Iterable[Row]) -> Shared | None:
    """Return the property that all red cells share, and no other judged cell has. Some cell without
    it keeps the aspect.
    """
    if len(red) < FEWEST:
        return None
    judged = list(judged)
    places = {cell.place for cell in red}
    others = [cell for cell in judged if cell.place not in places]
    right = [cell for cell in others if cell.aspects.get(aspect) == "kept"]
    common = {wire for wire in red[0].properties if wire.kind in _ORDER}
    common.intersection_update(*(cell.properties for cell in red[1:]))
    common -= {wire for cell in others for wire in cell.properties}
    for wire in sorted(common, key=lambda wire: (_ORDER.index(wire.kind), wire.value)):
        if shared := _shared((wire,), red, judged, right):
            return shared
    return None


def _shared(
    alike: Alike, red: Sequence[Row], judged: Sequence[Row], right: Iterable[Row]
) -> Shared | None:
    """Return the property with its contrast; None if no cell without it is right."""
    wire, kinds = alike[0], {own.kind for own in alike}
    having = sum(_has(cell, alike) for cell in judged)
    better = [cell for cell in right if not _has(cell, alike)]
    without = [cell for cell in judged if not _has(cell, alike)]
    others: tuple[str, ...] = ()
    if wire.kind != "field":
        properties = tuple(dict.fromkeys(_of_kind(better, kinds)))
        others = tuple(dict.fromkeys(other.value for other in properties))
        better = [cell for cell in better if _has(cell, properties)]
        without = [cell for cell in without if _has(cell, properties)]
    if not better:
        return None
    crashed = sum(map(_has_crashed, (cell for cell in judged if _has(cell, alike))))
    return Shared(wire, len(red), having, len(better), len(without), others, crashed)


def _has(cell: Row, alike: Iterable[WireProperty]) -> bool:
    return any(wire in cell.properties for wire in alike)


def _of_kind(cells: Iterable[Row], kinds: Container[str]) -> Iterator[WireProperty]:
    return (wire for cell in cells for wire in cell.properties if wire.kind in kinds)


def _has_crashed(cell: Row) -> bool:
    """Return whether the adapter or its shim crashed."""
    return any(finding.is_crash for finding in cell.red_findings)


def is_silent(cell: Row) -> bool:
    """Return whether every fact of the wire is lost, and not only at a border of reads. An error
    alone has no fact. An end that nobody reported may be right.
    """
    is_whole = not any(finding.place.cuts for finding in cell.red_findings)
    is_lost = not _MISSING.isdisjoint(cell.aspects.values())
    return is_whole and is_lost and not _facts_given(cell)


def _facts_given(cell: Row) -> set[str]:
    """Return the aspects for which the adapter gave something, right or wrong."""
    return {
        aspect
        for aspect, verdict in cell.aspects.items()
        if verdict == "kept" or (verdict in RED and verdict not in _MISSING)
    } - {"unfinished"}


def _is_read(cell: Row) -> bool:
    """Return whether the adapter keeps text or a call of the answer."""
    return "kept" in map(cell.aspects.get, ("text", "calls"))


_BROKEN: Final = frozenset({"blocked", "error", "unfinished"})
"""The aspects of an answer that does not end as its model wanted."""
_WIRES: Final = {name: place for place, name in enumerate(PROVIDERS)}


def plainest_at(cells: Sequence[Row], *, typical: bool = False) -> int:
    """Return the place of the cell whose answer is complete, is of the first wire of the table of
    providers, is a stream, and has the fewest aspects and fields. Of equal ones the first. There
    is at least one cell. ``typical``: it is of the cassette with most of such cells.
    """
    ranks = [_rank(cell) for cell in cells]
    often = Counter((rank, cell.cassette) for rank, cell in zip(ranks, cells, strict=True))

    def how_plain(place: int) -> tuple[object, ...]:
        cell = cells[place]
        number = often[ranks[place], cell.cassette] if typical else 0
        return *ranks[place], -number, len(cell.aspects), len(cell.properties)

    return min(range(len(cells)), key=how_plain)


def plainest_first(cells: Sequence[Row]) -> list[Row]:
    """Return the cells with the plainest one first, and the others in their order."""
    at = plainest_at(cells)
    return [cells[at], *cells[:at], *cells[at + 1 :]]


def _rank(cell: Row) -> tuple[bool, int, bool]:
    return (
        not _BROKEN.isdisjoint(cell.aspects),
        _WIRES.get(cell.provider, len(_WIRES)),
        cell.unary,
    )
