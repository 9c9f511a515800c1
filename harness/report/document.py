"""The results of a run as one JSON document: plan, header, cases, streams, results and footer.

The plan counts the cells that the run selected before the first one ran, and those that it judged.
A cell that it did not judge is among the results as an error with ``missing``.

A run is a header (the names of everything in the results) and the results. Many results share a
case or a stream: the document has each case and each stream once, and a result has their indexes.
The footer counts the entries, so that an incomplete document is detected.

Several runs can be merged. Their order does not matter, and a repeated run has no effect. The plan
of the merged run has every cell of the plans. A cell that one run did not reach has its result from
another run.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from inspect import cleandoc, getsource
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from harness.facts import AspectVerdict, Finding
from harness.judging.judge_results import Unjudged
from harness.judging.rows import (
    Block,
    CaseRow,
    CellLayer,
    Evidence,
    ExchangeRow,
    FirstLayer,
    LawRow,
    LayerView,
    Level,
    QuestionRow,
    ResultsError,
    Row,
    Stream,
    TurnName,
    Verdict,
    WireProperty,
    decode_as,
    encode_item,
    sort_key,
)
from harness.stream.events import End
from harness.stream.exchange import Origin
from harness.stream.printable import plural

RESULTS: Final = "results.json"
"""The file name of the document in a report's folder."""

Count = Annotated[int, Meta(ge=0)]
Entry = TypeVar("Entry", bound=Struct)


class Named(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A provider, an adapter, a feature or a declared loss."""

    name: str
    title: str
    order: Count
    """The position among its kind, from 0."""
    meaning: str = ""
    link: str = ""
    of: str = ""
    """The adapter that declares a loss."""


class Unread(Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """A spec that could not be read: its path, and a line of its error."""

    spec: str
    problem: str


class Judged(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An adapter that ``harness judge`` judged, or a user's adapter in a run of pytest."""

    name: str
    """The name of its column."""
    argument: str = ""
    """The name on the command line."""
    target: str = ""
    version: str = ""
    day: str = ""
    """The day on which it was judged, YYYY-MM-DD."""
    folder: str = ""
    """The folder in which the commands run."""
    unused_losses: tuple[str, ...] = ()
    """The declared losses that no cell shows."""
    suite: str = ""
    """The suite whose recordings were judged."""
    rules: int = 0
    """The version of the rules; 0 if it is not known."""
    fixed: tuple[str, ...] = ()
    """A sentence for each known failure that matches cells of which none fails."""


class Header(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The names in a run."""

    format: Literal[1] = 1
    tools: tuple[str, ...] = ()
    day: str = ""
    """The day for the report, YYYY-MM-DD; "" if none was given."""
    providers: tuple[Named, ...] = ()
    adapters: tuple[Named, ...] = ()
    features: tuple[Named, ...] = ()
    losses: tuple[Named, ...] = ()
    unread: tuple[Unread, ...] = ()
    """The errors of specs that could not be read."""
    judged: tuple[Judged, ...] = ()
    skipped: tuple[Unjudged, ...] = ()
    """Paths that `harness judge` left out."""
    project: str = ""
    """The name of the user's project; "" if it is not known."""
    commit: str = ""
    """The commit of the user's repository; "" if it is not known."""
    ran: str = ""
    """The day of the run, YYYY-MM-DD; "" if it is not known."""
    suite: str = ""
    """The version and the digest of the suite of the package; "" if no recording of it was read."""

    @property
    def is_of_pytest(self) -> bool:
        """Whether a run of pytest made it, not ``harness judge``, which names no tool."""
        return bool(self.tools)


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """The cells that a run selected before the first one ran, and how many of them it judged."""

    cells: Count
    judged: Count

    @property
    def is_whole(self) -> bool:
        """Whether every cell was judged."""
        return self.judged == self.cells

    @property
    def sentence(self) -> str:
        """``4 of 9 cells were judged``."""
        return f"{self.judged:,} of {plural(self.cells, 'cell')} were judged"


@dataclass(frozen=True, slots=True)
class Run:
    """A header and the results under it. There is a result for every cell of the plan."""

    header: Header
    results: Sequence[Row] = field(default_factory=list)

    @property
    def plan(self) -> Plan:
        """The number of cells, and of those that were judged."""
        return plan_of(self.results)


def plan_of(results: Sequence[Row]) -> Plan:
    """Return the plan of a run with these results."""
    return Plan(len(results), sum(result.judged for result in results))


class CaseEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The common part of all cells of a case."""

    spec: str
    line: Annotated[int, Meta(ge=1)]
    case: str
    requirement: str
    features: tuple[str, ...]
    level: Level
    source: str
    command: str = ""
    """The command that runs a cell. ``[ADAPTER]`` is a placeholder for the adapter of the cell, or
    for its layer if it has none.
    """
    regression_of: tuple[str, ...] = ()
    question: str = ""


class StreamEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stream on which cells were judged; nearly empty if a case has none or if it
    can't be read.
    """

    provider: str = ""
    cassette: str = ""
    exchange: Annotated[int, Meta(ge=0)] = 1
    origin: Origin | None = None
    end: End = "unknown"
    how: Stream | None = None
    wire: str = ""
    before: tuple[Stream, ...] = ()
    properties: tuple[WireProperty, ...] = ()


class ResultEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One cell."""

    case: Count
    """An index into the cases of the document, from 0."""
    stream: Count
    """An index into the streams of the document, from 0."""
    adapter: str
    verdict: Verdict
    layer: CellLayer = "payloads"
    reason: str = ""
    link: str = ""
    first_layer: FirstLayer = ""
    findings: tuple[Finding, ...] = ()
    findings_total: Count = 0
    command: str = ""
    """Set if it differs from the case's."""
    judged: bool = True
    """True if there is evidence."""
    digest: str = ""
    layers: tuple[LayerView, ...] = ()
    small_case: str = ""
    lost_features: tuple[str, ...] | None = None
    aspects: dict[str, AspectVerdict] = {}
    declared: dict[str, bool] = {}
    known: dict[str, bool] = {}
    answered: dict[str, AspectVerdict] = {}
    block: Block | Literal[""] = ""
    variants: tuple[str, ...] = ()
    turn: TurnName = "first"
    unary: bool = False
    requests: str = ""
    log: str = ""
    missing: bool = False
    raw: bool = False
    excerpts: dict[str, tuple[LayerView, ...]] = {}


class Footer(Struct, frozen=True, forbid_unknown_fields=True):
    """The number of entries in each list, and of results with each verdict."""

    cases: Count
    streams: Count
    results: Count
    verdicts: dict[Verdict, Count]


class Document(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON document."""

    plan: Plan
    header: Header
    cases: tuple[CaseEntry, ...]
    streams: tuple[StreamEntry, ...]
    results: tuple[ResultEntry, ...]
    """Have indexes into ``cases`` and ``streams``, from 0."""
    footer: Footer


SCHEMA_ID: Final = "https://gemini-conformance.github.io/gemini-conformance/results.schema.json"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the document, as plain JSON data."""
    (reference,), definitions = msgspec.json.schema_components(
        [Document], ref_template="#/$defs/{name}"
    )
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(definitions))
    texts = {struct.__name__: _field_texts(struct) for struct in _structs(Document)}
    for name, definition in plain.items():
        if "description" in definition:  # a docstring, which Python 3.13 strips of its indents
            definition["description"] = cleandoc(definition["description"])
        for field_name, shape in definition.get("properties", {}).items():
            if text := texts[name].get(field_name):
                shape["description"] = text
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Results of gemini-conformance, format 1",
        **reference,
        "$defs": {name: plain[name] for name in sorted(plain)},
    }


def _structs(kind: Any) -> Iterator[type[Struct]]:
    """Yield the structs of a type and of its fields."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        yield kind
        for hint in get_type_hints(kind).values():
            yield from _structs(hint)
    for argument in get_args(kind):
        yield from _structs(argument)


def _field_texts(struct: type[Struct]) -> dict[str, str]:
    """Return the strings below the fields of a struct, which Python itself does not keep."""
    (definition,) = ast.parse(dedent(getsource(struct))).body
    return {
        statement.target.id: cleandoc(text)
        for statement, below in pairwise(getattr(definition, "body", ()))
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(text := below.value.value, str)
    }


def pack(run: Run) -> bytes:
    """Return a run as its document, UTF-8. The same results give the same bytes in any order."""
    ordered = sorted(run.results, key=sort_key)
    cases = {key: number for number, key in enumerate(dict.fromkeys(map(_case, ordered)))}
    streams = {key: number for number, key in enumerate(dict.fromkeys(map(_stream, ordered)))}
    rows = [_row(result, cases[_case(result)], streams[_stream(result)]) for result in ordered]
    lists: dict[str, Iterable[Struct]] = {"cases": cases, "streams": streams, "results": rows}
    parts = [
        b'"plan":' + encode_item(run.plan),
        b'"header":' + encode_item(run.header),
        *(
            f'"{name}":[\n'.encode() + b",\n".join(map(encode_item, entries)) + b"\n]"
            for name, entries in lists.items()
        ),
        b'"footer":' + encode_item(_footer(cases, streams, rows)),
    ]
    return b"{" + b",\n".join(parts) + b"}\n"


def unpack(data: bytes, name: str = "results") -> Run:
    """Read a document that `pack` wrote. Raises `ResultsError`, whose message begins with
    ``name``.
    """
    if data.startswith((b'{"plan":{"adapters"', b'{"adapters"')):
        raise ResultsError(
            f"{name}: these are results of harness judge; `harness judge FILE… --report DIR` writes"
            " a page of them"
        )
    way_out = "expected the whole document that a run writes; run the specs again to get one"
    document = decode_as(Document, data, name, way_out)
    footer = _footer(document.cases, document.streams, document.results)
    if footer != document.footer:
        raise ResultsError(
            f"{name}: the footer does not match the results ({document.footer}, found {footer});"
            f" {way_out}"
        )
    if document.plan != (plan := _plan(document.results)):
        raise ResultsError(
            f"{name}: the plan does not match the results ({document.plan}, found {plan});"
            f" {way_out}"
        )
    try:
        results = [
            _result(row, document.cases[row.case], document.streams[row.stream])
            for row in document.results
        ]
    except IndexError as error:
        raise ResultsError(
            f"{name}: a result has the index of a case or stream that does not exist; {way_out}"
        ) from error
    return Run(document.header, results)


def _footer(cases: Sized, streams: Sized, rows: Sequence[ResultEntry]) -> Footer:
    verdicts = Counter(row.verdict for row in rows)
    counts = {verdict: verdicts[verdict] for verdict in sorted(verdicts)}
    return Footer(len(cases), len(streams), len(rows), counts)


def _plan(rows: Sequence[ResultEntry]) -> Plan:
    return Plan(len(rows), sum(not row.missing for row in rows))


def _case(row: Row) -> CaseEntry:
    return _entry(CaseEntry, row, command=shared_command(row))


def shared_command(result: Row) -> str:
    """Return the command of a cell with ``[ADAPTER]`` in the place of its adapter or layer; "" if
    it has another form.
    """
    head = result.command.removesuffix(f"[{result.adapter or result.layer}]'")
    has_form = head != result.command and _ANY not in head
    return f"{head}{_ANY}" if has_form else ""


def _stream(row: Row) -> StreamEntry:
    evidence = row.evidence or Evidence()
    return _entry(StreamEntry, row, how=evidence.stream, before=evidence.before)


def _row(row: Row, case: int, stream: int) -> ResultEntry:
    evidence = asdict(row.evidence or Evidence())
    command = "" if shared_command(row) else row.command
    own = {"case": case, "stream": stream, "command": command, "judged": row.evidence is not None}
    return _entry(ResultEntry, row, **(evidence | own))


def _entry(kind: type[Entry], row: Row, **own: Any) -> Entry:
    """Return an entry with the values of a row, and with values of its own."""
    fields = kind.__struct_fields__
    values = {name: getattr(row, name) for name in fields if hasattr(row, name)} | own
    return kind(**{name: values[name] for name in fields if name in values})


def _result(entry: ResultEntry, case: CaseEntry, stream: StreamEntry) -> Row:
    values = asdict(entry) | asdict(stream) | asdict(case)
    values["command"] = entry.command or case.command.replace(
        _ANY, f"[{entry.adapter or entry.layer}]'"
    )
    if entry.judged:
        own = {name: values[name] for name in Evidence.__struct_fields__ if name in values}
        values["evidence"] = Evidence(**(own | {"stream": stream.how}))
    kind: type[Row] = CaseRow if case.spec.endswith((".yaml", ".yml")) else LawRow
    if entry.turn != "first" or not case.case:
        kind = QuestionRow if entry.turn == "question" else ExchangeRow
    return kind(**{name: values[name] for name in kind.__struct_fields__ if name in values})


_ANY: Final = "[ADAPTER]'"


def merge(runs: Iterable[Run]) -> Run:
    """Return one run with every result of the given runs once. Raises `ResultsError` if two results
    of a cell differ.
    """
    headers = []
    counts: Counter[bytes] = Counter()
    results: dict[bytes, Row] = {}
    for run in runs:
        headers.append(run.header)
        encoded = [encode_item(result) for result in run.results]
        counts |= Counter(encoded)
        results |= zip(encoded, run.results, strict=True)
    for content in _superseded(results):
        del results[content], counts[content]
    cells: dict[tuple[object, ...], Row] = {}
    for result in results.values():
        other = cells.setdefault((*result.cell, result.command), result)
        if other is not result:
            verdicts = " and ".join(sorted({other.verdict, result.verdict}))
            raise ResultsError(
                f"{result.spec}: case {result.case!r} for {result.adapter or result.layer} has"
                f" different results in two runs ({verdicts}); only parts of one run can be merged;"
                " make a report of each run, or compare them with `harness compare`"
            )
    return Run(_merge_headers(headers), [results[content] for content in counts.elements()])


def _superseded(results: Mapping[bytes, Row]) -> list[bytes]:
    """Return the cells that a run did not reach and another run judged. If no run judged a cell,
    only one of its reasons is kept.
    """
    judged = {(*result.cell, result.command) for result in results.values() if result.judged}
    missing = sorted(content for content, result in results.items() if result.missing)
    superseded = []
    for content in missing:
        cell = (*results[content].cell, results[content].command)
        if cell in judged:
            superseded.append(content)
        judged.add(cell)
    return superseded


def _merge_headers(headers: Sequence[Header]) -> Header:
    return Header(
        tools=tuple(sorted({tool for header in headers for tool in header.tools})),
        day=max((header.day for header in headers), default=""),
        providers=_union(header.providers for header in headers),
        adapters=_union(header.adapters for header in headers),
        features=_union(header.features for header in headers),
        losses=_union(header.losses for header in headers),
        unread=tuple(sorted({problem for header in headers for problem in header.unread})),
        judged=_merge_judged(own for header in headers for own in header.judged),
        skipped=tuple(dict.fromkeys(path for header in headers for path in header.skipped)),
        project=_common({header.project for header in headers}),
        commit=_common({header.commit for header in headers}),
        ran=max((header.ran for header in headers), default=""),
        suite=_common({header.suite for header in headers}),
    )


def _merge_judged(adapters: Iterable[Judged]) -> tuple[Judged, ...]:
    """Return each version of an adapter once, with its latest day, in the order of the names."""
    latest: dict[Judged, Judged] = {}
    for adapter in sorted(adapters, key=msgspec.structs.astuple):
        latest[replace(adapter, day="")] = adapter
    return tuple(latest.values())


def _common(names: set[str]) -> str:
    """Return the only name; "" if the runs differ."""
    known = names - {""}
    return known.pop() if len(known) == 1 else ""


def _union(lists: Iterable[Sequence[Named]]) -> tuple[Named, ...]:
    """Return each name once. If two entries of a name differ, the first in sort order is kept."""
    kept: dict[tuple[str, str], Named] = {}
    for named in (named for names in lists for named in names):
        key = (named.of, named.name)
        kept[key] = min(kept.get(key, named), named, key=msgspec.structs.astuple)
    return tuple(sorted(kept.values(), key=lambda named: (named.order, named.of, named.name)))
