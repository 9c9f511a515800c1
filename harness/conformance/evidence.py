"""What a cell's verdict rests on: how the stream came, what each layer made of it, and which laws
its exchange breaks.

`examine` judges a cell as `conformance.judge` does and watches what the adapter gives, so that
nothing is replayed for a cell that holds but its own comparison. A cell that differs shows its
layers side by side, each around the item where the difference first appears, and what that item was
made of one layer below. All of it is plain data with a cap, and says so where it is cut.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from hashlib import sha256
from typing import Any, Final, Literal

from msgspec import structs, to_builtins

from harness.cassettes import Cassette, CassetteError, Exchange
from harness.cassettes.redaction.redactor import redact_url
from harness.dialects import DIALECTS
from harness.dialects.dialect import RequestTranslator
from harness.pipeline.replay import ReplayError, frames_of, replay, trace
from harness.providers import declared_tools
from harness.specs import Case
from harness.specs.matching import compare
from harness.stream.framing import Frame
from harness.stream.printable import excerpt
from harness.stream.session import Session

from .judge import Adapter, Cell, Fixture, judge, produce, resolve_fixture
from .laws import LAWS, Law, Replayer
from .laws.judge import LawCell, hold, ready_made_case
from .laws.replayer import difference
from .laws.strangers import Breach as LawBreach
from .laws.strangers import Stranger
from .results import (
    MOST_READS,
    Breach,
    CaseResult,
    Evidence,
    Finding,
    Inside,
    LayerView,
    Read,
    Sent,
    Stream,
    fewer_reads,
)

AROUND: Final = 5
"""Items shown before and after the one to look at."""
MAX_LINE: Final = 260
MANY_READS: Final = 10 * MOST_READS
"""So many are looked at one by one for which go together."""
MAX_BODY: Final = 800
MAX_FINDINGS: Final = 8_000
"""Characters of all findings of a cell."""
MAX_REQUEST: Final = 60
"""Lines of a prompt or a request, of a cell that differs and of one that holds."""
MAX_GREEN_REQUEST: Final = 20
MAX_LAW_BODY: Final = 16 * 1024
"""Bytes of a body that the laws are tried on for a report: they replay it thousands of times."""
MAX_COUNTEREXAMPLES: Final = 3
DIFFERS: Final = frozenset({"failed", "warning", "known-failing"})

_FIRST_INDEX: Final = re.compile(r"\[(\d+)(?:\.\.\d+)?\]")


def examine(
    cell: Cell,
    load: Callable[[str], Cassette],
    adapter: Adapter | None = None,
    *,
    requests: RequestTranslator | None = None,
    today: date | None = None,
) -> CaseResult:
    """The result of `judge` with its evidence; the arguments are the same."""
    came: list[Any] = []
    result = judge(cell, load, adapter, requests=requests, today=today, watch=came.append)
    try:
        ground = resolve_fixture(cell.case, load)
    except (CassetteError, ReplayError):
        return result  # which says what is wrong
    streams = [describe(exchange, result.provider) for exchange in ground.exchanges]
    digest = _digest(json.dumps(came[0], sort_keys=True, default=repr).encode()) if came else ""
    layers: tuple[LayerView, ...] = ()
    if came and cell.layer == "requests":
        layers = _asked(
            cell, came[0], MAX_REQUEST if result.verdict in DIFFERS else MAX_GREEN_REQUEST
        )
    elif came and result.verdict in DIFFERS:
        layers = _layers(cell, ground, came[0])
    found = _fitting(result.findings)
    return structs.replace(
        result,
        findings=found,
        evidence=Evidence(
            streams[-1] if streams else None,
            digest,
            cell.case.tool_code,
            layers,
            before=tuple(streams[:-1]),
        ),
    )


def try_laws(
    result: CaseResult, load: Callable[[str], Cassette], laws: Sequence[Law] = LAWS
) -> CaseResult:
    """The result with the laws that its exchange breaks, tried with our own pipeline; as it is
    where they can't be or the body is long.
    """
    evidence = result.evidence
    if (
        evidence is None
        or evidence.breaches is not None
        or result.layer == "requests"
        or evidence.stream is None
        or evidence.stream.size > MAX_LAW_BODY
        or (result.adapter or "unified-llm") not in DIALECTS
    ):
        return result
    try:
        exchange = load(result.cassette).exchanges[result.exchange - 1]
    except (CassetteError, IndexError):
        return result
    how = Replayer(
        provider=result.provider,
        dialect=result.adapter or "unified-llm",
        tool_code=evidence.tool_code,
    )
    breaches = tuple(
        Breach(
            law.id,
            law.title,
            tuple(excerpt(finding, 2 * MAX_LINE) for finding in findings[:MAX_COUNTEREXAMPLES]),
        )
        for law in laws
        if (findings := law.findings(exchange, how))
    )
    return structs.replace(result, evidence=structs.replace(evidence, breaches=breaches))


def examine_law(cell: LawCell, stranger: Stranger | None = None) -> CaseResult:
    """The result of `hold`; of a broken law with its evidence: how the stream came, each layer of
    the answer that shows the breach, made small as a case.
    """
    seen: list[LawBreach] = []
    result = hold(cell, stranger=stranger, watch=seen.extend)
    if not seen:
        return result
    stream = describe(cell.exchange, result.provider)
    made = ready_made_case(cell, stranger=stranger)
    layers = _layers_of(seen[0], result.provider)
    return structs.replace(
        result,
        evidence=Evidence(
            stream, layers=layers, breaches=(Breach(cell.law.id, cell.law.title, (made,)),)
        ),
    )


def _layers_of(breach: LawBreach, provider: str) -> tuple[LayerView, ...]:
    """Frames and events of the answer that shows a breach, and what the adapter makes of it where
    that is known.
    """
    try:
        steps = list(trace(breach.exchange, provider=provider))
    except ReplayError:
        steps = []
    frames = [_frame_line(frame) for frame, _ in steps if frame is not None]
    events = [_event_line(event) for _, found in steps for event in found]
    views = [
        _view("frames", frames, None, differs=False),
        _view("events", events, None, differs=False),
    ]
    if breach.got is not None:
        parted = difference(breach.expected or [], breach.got)
        first = parted.index if parted else None
        views.append(_view("payloads", [_line(item) for item in breach.got], first, differs=True))
    return tuple(views)


def describe(exchange: Exchange, provider: str) -> Stream:
    """How an answer came: its reads with time and size, where they cut a message or a character,
    and the request that it answers.
    """
    request = exchange.request
    body = exchange.body
    sent = None
    if request is not None:
        text = request.body[:MAX_BODY].decode("utf-8", "backslashreplace")
        sent = Sent(
            request.method, excerpt(redact_url(request.url), MAX_LINE), text, len(request.body)
        )
    inside = _inside(exchange, provider)
    return Stream(
        exchange.status,
        len(body),
        _digest(body),
        _reads(exchange, inside),
        len(exchange.reads),
        sent,
        sum(map(bool, inside)),
    )


def _fitting(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """As many of them as fit into `MAX_FINDINGS` characters, at least one: the result says how many
    there are.
    """
    room = MAX_FINDINGS
    for number, finding in enumerate(findings):
        room -= sum(len(text or "") for text in structs.astuple(finding))
        if room < 0:
            return tuple(findings[: max(number, 1)])
    return tuple(findings)


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:32]


def _reads(exchange: Exchange, inside: Sequence[Inside]) -> tuple[Read, ...]:
    """At most `MOST_READS` of them: of more, neighbours are put together, of very many first so
    many at once between the first and last.
    """
    reads = [
        Read(at, len(data), 1, end) for (at, data), end in zip(exchange.reads, inside, strict=True)
    ]
    step = -(-len(reads) // MANY_READS)
    if step > 1:
        runs = (reads[start : start + step] for start in range(1, len(reads) - 1, step))
        reads = [reads[0], *(one for run in runs for one in fewer_reads(run, 1)), reads[-1]]
    return fewer_reads(reads, MOST_READS)


def _inside(exchange: Exchange, provider: str) -> list[Inside]:
    """For each read, what it ends inside of. A frame says when it was complete; here the clock
    counts reads.
    """
    counted = replace(
        exchange,
        reads=tuple((float(index), data) for index, (_, data) in enumerate(exchange.reads)),
    )
    cut: set[int] = set()
    ends = [0]
    for _, data in exchange.reads:
        ends.append(ends[-1] + len(data))
    if (
        exchange.header("content-encoding") is None
    ):  # else a frame's offset counts other bytes than the reads do
        for frame in frames_of(counted, provider=provider):
            if frame.at_ms is not None:
                begun = bisect_right(ends, frame.offset) - 1
                cut.update(range(begun, int(frame.at_ms)))
    body = exchange.body
    return [
        (
            "character"
            if ends[at + 1] < len(body) and body[ends[at + 1]] & 0xC0 == 0x80
            else "message"
            if at in cut
            else ""
        )
        for at in range(len(exchange.reads))
    ]


def _asked(cell: Cell, got: Any, most: int) -> tuple[LayerView, ...]:
    """What was asked for, and the request that came of it."""
    prompt = (
        cell.case.prompt.get(cell.key)
        if cell.case.prompt
        else [turn.prompt.get(cell.key) for turn in cell.case.turns if turn.prompt]
    )
    texts = {"prompt": prompt, "requests": got}
    views = []
    for layer in ("prompt", "requests"):
        lines = json.dumps(texts[layer], ensure_ascii=False, indent=1, default=repr).splitlines()
        views.append(
            LayerView(layer, tuple(excerpt(line, MAX_LINE) for line in lines[:most]), 0, len(lines))
        )
    return tuple(views)


def _layers(cell: Cell, ground: Fixture, got: Any) -> tuple[LayerView, ...]:
    """Frames, events and payloads around the first difference: each layer's own, else what the
    layer above was made of there.
    """
    exchange = ground.exchanges[0]
    steps = _steps(cell.case, exchange)
    frames = [frame for frame, _ in steps if frame is not None]
    events = [(at, event) for at, (_, found) in enumerate(steps) for event in found]
    event_first = _first(cell, "events", ground, [to_builtins(event) for _, event in events])
    views: list[LayerView] = []
    below: int | None = None
    if cell.layer == "payloads" and isinstance(got, list):
        first = _first_index(cell.case.expect.get(cell.key), got)
        views.append(_view("payloads", [_line(item) for item in got], first, differs=True))
        below = _made_of(cell, exchange, [event for _, event in events], first, len(got))
    if cell.layer != "frames":
        at = below if event_first is None else event_first
        views.append(
            _view(
                "events",
                [_event_line(event) for _, event in events],
                at,
                differs=event_first is not None,
            )
        )
        below = None if at is None or not events else events[min(at, len(events) - 1)][0]
    frame_first = _first(cell, "frames", ground, None)
    at = below if frame_first is None else frame_first
    views.append(
        _view(
            "frames", [_frame_line(frame) for frame in frames], at, differs=frame_first is not None
        )
    )
    return tuple(reversed(views))


def _steps(case: Case, exchange: Exchange) -> list[tuple[Frame | None, list[Any]]]:
    try:
        return list(trace(exchange, provider=case.provider, tool_code=case.tool_code))
    except ReplayError:
        return []


def _first(
    cell: Cell, layer: Literal["frames", "events"], ground: Fixture, got: Sequence[Any] | None
) -> int | None:
    """Where a layer parts from what the case expects of it; None where nothing is expected, or it
    holds.
    """
    expected = cell.case.expect.get(layer)
    if expected is None:
        return None
    return _first_index(
        expected, produce(Cell(cell.case, cell.spec, layer), ground) if got is None else list(got)
    )


def _first_index(expected: Any, got: list[Any]) -> int | None:
    """The index of the first item that differs. Only a plain list says so: under an operator,
    places are not places.
    """
    if not isinstance(expected, list):
        return None
    mismatches = compare(expected, got)
    found = _FIRST_INDEX.match(mismatches[0].path) if mismatches else None
    return min(int(found[1]), len(got)) if found else None


def _made_of(
    cell: Cell, exchange: Exchange, events: Sequence[Any], first: int | None, total: int
) -> int | None:
    """The event that payload ``first`` came from, if the payloads are those of our own pipeline."""
    if first is None or cell.column not in DIALECTS:
        return None
    session, again = Session(), Session()
    replay(
        exchange,
        provider=cell.case.provider,
        dialect=cell.column,
        tool_code=cell.case.tool_code,
        session=session,
    )
    again.streamed = session.streamed
    translator = DIALECTS[cell.column].translator(
        declared_tools(exchange.request.body) if exchange.request else [], again
    )
    counted = 0
    found: int | None = None
    for at, event in enumerate(events):
        counted += len(translator.feed(event))
        if found is None and counted > first:
            found = at
    counted += len(translator.close())
    if counted != total:
        return None
    return len(events) - 1 if found is None else found


def _view(
    layer: Literal["frames", "events", "payloads"],
    lines: list[str],
    first: int | None,
    *,
    differs: bool,
) -> LayerView:
    start = max(0, (first or 0) - AROUND)
    return LayerView(
        layer,
        tuple(lines[start : start + 2 * AROUND + 1]),
        start,
        len(lines),
        first,
        differs and first is not None,
    )


def _line(item: Any) -> str:
    return excerpt(
        json.dumps(item, ensure_ascii=False, separators=(", ", ": "), default=repr), MAX_LINE
    )


def _event_line(event: Any) -> str:
    plain = to_builtins(event)
    kind = plain.pop("kind")
    return f"{kind}  {_line(plain)}" if plain else kind


def _frame_line(frame: Frame) -> str:
    at = "" if frame.at_ms is None else f" {frame.at_ms:g} ms"
    return (
        f"@{frame.offset}{at} "
        f" {_line(frame.json) if frame.raw is None else excerpt(frame.raw, MAX_LINE)}"
    )
