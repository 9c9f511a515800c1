"""Results as one JSON document: header, cases, streams, results, footer; written whole or not at
all.

A run is a header (the names that its results go by) and results. In the document every case and
every stream stands once, and a result points to both, since most of a run is the same sentence and
the same stream five times. The footer counts what stands above it: a document without one was cut
off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from harness.cassettes.validation import msgspec_fault
from harness.conformance.results import (
    Breach,
    CaseResult,
    Evidence,
    Finding,
    FirstLayer,
    Layer,
    LayerView,
    Level,
    Origin,
    ResultsError,
    Stream,
    Verdict,
    sort_key,
    spell_surrogates,
)
from harness.stream.events import End

from .budget import MARK, cap, cut, rooms

RESULTS: Final = "results.json"
"""The file name of the document in a report's folder."""
MAX_GREEN_WIRE: Final = 240
"""Characters of the stream that are kept of one whose cells all hold."""

Count = Annotated[int, Meta(ge=0)]


class Named(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A provider, an adapter, a feature or a declared loss; ``order`` is its place among its kind,
    ``of`` the adapter that a loss is of.
    """

    name: str
    title: str
    order: Count
    meaning: str = ""
    link: str = ""
    of: str = ""

    @property
    def id(self) -> str:
        """What results call a feature."""
        return self.name


class Header(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a run was made with. ``day`` (YYYY-MM-DD) is there if somebody gave it; ``unread`` are
    the errors of specs that didn't run.
    """

    format: Literal[1] = 1
    tools: tuple[str, ...] = ()
    day: str = ""
    providers: tuple[Named, ...] = ()
    adapters: tuple[Named, ...] = ()
    features: tuple[Named, ...] = ()
    losses: tuple[Named, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A header and the results under it."""

    header: Header
    results: Sequence[CaseResult] = field(default_factory=list)


class CaseEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What all cells of a case have in common; ``[ADAPTER]`` in its ``command`` is a cell's
    adapter, or its layer if it has none.
    """

    spec: str
    line: Annotated[int, Meta(ge=1)]
    case: str
    requirement: str
    features: tuple[str, ...]
    level: Level
    source: str
    command: str = ""


class StreamEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stream that cells were judged on; nearly empty where a case has none, or it could not be
    read.
    """

    provider: str = ""
    cassette: str = ""
    exchange: Annotated[int, Meta(ge=1)] = 1
    origin: Origin | None = None
    end: End = "unknown"
    how: Stream | None = None
    wire: str = ""
    before: tuple[Stream, ...] = ()


class ResultEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One cell. ``case`` and ``stream`` are places in the lists of the document, from 0;
    ``judged``: there is evidence; ``command`` is its own if that of its case is not.
    """

    case: Count
    stream: Count
    adapter: str
    verdict: Verdict
    layer: Layer = "payloads"
    reason: str = ""
    link: str = ""
    first_layer: FirstLayer = ""
    findings: tuple[Finding, ...] = ()
    findings_total: Count = 0
    command: str = ""
    judged: bool = True
    digest: str = ""
    tool_code: bool | None = None
    layers: tuple[LayerView, ...] = ()
    breaches: tuple[Breach, ...] | None = None
    capped: bool = False


class Footer(Struct, frozen=True, forbid_unknown_fields=True):
    """How much stands above."""

    cases: Count
    streams: Count
    results: Count
    verdicts: dict[Verdict, Count]


class Document(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON document: ``results`` point into ``cases`` and ``streams``, both counted from 0."""

    header: Header
    cases: tuple[CaseEntry, ...]
    streams: tuple[StreamEntry, ...]
    results: tuple[ResultEntry, ...]
    footer: Footer


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the document, as plain JSON data."""
    (reference,), definitions = msgspec.json.schema_components(
        [Document], ref_template="#/$defs/{name}"
    )
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(definitions))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of gemini-conformance, format 1",
        **reference,
        "$defs": {name: plain[name] for name in sorted(plain)},
    }


def pack(run: Run) -> bytes:
    """A run as its document, UTF-8, its texts capped: the same results give the same bytes, in
    whatever order they came.
    """
    given = rooms(run.results)
    ordered = sorted((cap(result, given) for result in run.results), key=sort_key)
    wires = _longest_wires(ordered, given.body)
    cases = {key: number for number, key in enumerate(dict.fromkeys(map(_case, ordered)))}
    streams = {key: number for number, key in enumerate(dict.fromkeys(map(_stream, ordered)))}
    kept = {replace(key, wire=wires[key]): None for key in streams}
    rows = [_row(result, cases[_case(result)], streams[_stream(result)]) for result in ordered]
    verdicts = Counter(row.verdict for row in rows)
    footer = Footer(
        len(cases),
        len(kept),
        len(rows),
        {verdict: verdicts[verdict] for verdict in sorted(verdicts)},
    )
    parts: dict[str, Sequence[Struct]] = {
        "cases": list(cases),
        "streams": list(kept),
        "results": rows,
    }
    lists = [
        f'"{name}":[\n'.encode() + b",\n".join(encode_item(item) for item in items) + b"\n]"
        for name, items in parts.items()
    ]
    return (
        b"{"
        + b",\n".join(
            [b'"header":' + encode_item(run.header), *lists, b'"footer":' + encode_item(footer)]
        )
        + b"}\n"
    )


def unpack(data: bytes, name: str = "results") -> Run:
    """Read what `pack` wrote; ``name`` stands in front of errors. Raises `ResultsError`."""
    way_out = "expected the whole document that a run writes; run the specs again to get one"
    try:
        document = msgspec.json.decode(data, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a ValidationError is a DecodeError
        _, fact = msgspec_fault(error, Document, "the document")
        raise ResultsError(f"{name}: {fact}; {way_out}") from error
    counted = Counter(row.verdict for row in document.results)
    footer = Footer(
        len(document.cases), len(document.streams), len(document.results), dict(counted)
    )
    if footer != document.footer:
        raise ResultsError(
            f"{name}: the footer counts other results than there are ({document.footer}, found"
            f" {footer}); {way_out}"
        )
    try:
        results = [
            _result(row, document.cases[row.case], document.streams[row.stream])
            for row in document.results
        ]
    except IndexError as fault:
        raise ResultsError(
            f"{name}: a result points to a case or stream that is not there; {way_out}"
        ) from fault
    return Run(document.header, results)


def _longest_wires(results: Iterable[CaseResult], room: int) -> Mapping[StreamEntry, str]:
    """The longest excerpt of each stream; a short one where every cell holds, since nobody looks
    for a fault in it.
    """
    wires: dict[StreamEntry, str] = {}
    differ: set[StreamEntry] = set()
    for result in results:
        key = _stream(result)
        wires[key] = max(
            wires.get(key, ""), result.wire, key=lambda text: (len(text.removesuffix(MARK)), text)
        )
        if result.verdict not in ("passed", "not-carried"):
            differ.add(key)
    return {
        key: cut(wire, room if key in differ else min(room, MAX_GREEN_WIRE))
        for key, wire in wires.items()
    }


def _case(result: CaseResult) -> CaseEntry:
    facts = (
        result.spec,
        result.line,
        result.case,
        result.requirement,
        result.features,
        result.level,
        result.source,
    )
    head = result.command.removesuffix(f"[{result.adapter or result.layer}]'")
    return CaseEntry(*facts, f"{head}{_ANY}" if head != result.command and _ANY not in head else "")


def _stream(result: CaseResult) -> StreamEntry:
    evidence = result.evidence or Evidence()
    key = (result.provider, result.cassette, result.exchange, result.origin, result.end)
    return StreamEntry(*key, evidence.stream, before=evidence.before)


def _row(result: CaseResult, case: int, stream: int) -> ResultEntry:
    evidence = result.evidence or Evidence()
    same = {name: getattr(result, name) for name in _SAME}
    seen = {name: getattr(evidence, name) for name in _SEEN}
    own = "" if _case(result).command else result.command
    return ResultEntry(
        case=case, stream=stream, command=own, judged=result.evidence is not None, **same, **seen
    )


def _result(row: ResultEntry, case: CaseEntry, stream: StreamEntry) -> CaseResult:
    evidence = (
        Evidence(stream.how, before=stream.before, **{name: getattr(row, name) for name in _SEEN})
        if row.judged
        else None
    )
    same = {name: getattr(row, name) for name in _SAME}
    shared = {
        name: getattr(stream, name)
        for name in ("provider", "cassette", "exchange", "origin", "end", "wire")
    }
    facts = msgspec.structs.asdict(case)
    command = row.command or facts["command"].replace(_ANY, f"[{row.adapter or row.layer}]'")
    return CaseResult(**(facts | shared | same | {"command": command}), evidence=evidence)


_SAME: Final = (
    "adapter",
    "layer",
    "verdict",
    "reason",
    "link",
    "first_layer",
    "findings",
    "findings_total",
)
_SEEN: Final = ("digest", "tool_code", "layers", "breaches", "capped")
_ANY: Final = "[ADAPTER]'"


def encode_item(item: Struct) -> bytes:
    """One item as JSON, with a lone surrogate written out."""
    try:
        return msgspec.json.encode(item)
    except (
        UnicodeEncodeError
    ):  # only a lone surrogate can't be encoded, and only model text holds one
        return msgspec.json.encode(spell_surrogates(msgspec.to_builtins(item)))
