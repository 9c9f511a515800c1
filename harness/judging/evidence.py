"""The evidence of a cell: the reads of the stream, the output of each layer, and a small case for a
broken law.

Evidence is made from a `Judgement`, for red cells and for a report. It needs no replay, because the
judgement has the frames, events and payloads of its single replay. For a cell that differs, it
shows the layers around the first difference, and the item of the layer below from which the item
was made. Evidence is plain data of limited size. A mark shows where it is shortened.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final, Literal

from msgspec import structs, to_builtins

from harness.adapters import ADAPTERS, RunOptions
from harness.cassettes import Exchange
from harness.facts import AspectVerdict, Transcript, json_of_fact
from harness.pipeline.replay import Normalized, ReplayError, Trace
from harness.specs.matching import Mismatch, compare
from harness.stream.framing import Frame
from harness.stream.printable import excerpt

from .aspects import judge_output
from .excerpts import Excerpts, excerpts_of_answer
from .judge import Cell, Judgement
from .laws.judge import LawCell, LawJudgement, ready_made_case
from .laws.law import Breach
from .reading import Reading
from .rows import (
    MOST_READS,
    CaseRow,
    CellLayer,
    Evidence,
    Inside,
    LawRow,
    LayerView,
    Read,
    Sent,
    Stream,
)
from .wire_properties import properties_of

AROUND: Final = 5
"""The number of items before and after the item in question."""
MAX_LINE: Final = 260
MAX_BODY: Final = 800
MAX_WIRE: Final = 1500
MAX_REQUEST: Final = 60
"""The number of lines of a prompt or request for a cell that differs."""
MAX_GREEN_REQUEST: Final = 20
"""The number of lines of a prompt or request for a cell that passes."""
MAX_GREEN_LINES: Final = 4
"""The number of items of a layer for a cell that passes."""
MAX_GREEN_LINE: Final = 90
DIFFERS: Final = frozenset({"failed", "warning", "known-failing"})


def with_evidence(judgement: Judgement) -> CaseRow:
    """Return the result of a judgement with its evidence. There is no evidence if the cassette
    can't be read.
    """
    result, fixture, output = judgement.result, judgement.fixture, judgement.output
    if fixture is None:
        return result
    traced = judgement.cell.layer != "requests"
    streams = [
        describe(exchange, result.provider, judgement.trace if traced else None)
        for exchange in fixture.exchanges
    ]
    digest = ""
    layers: tuple[LayerView, ...] = ()
    if output is not None:
        digest = _digest(json.dumps(output.items, sort_keys=True, default=repr).encode())
        layers = _views(judgement, output.items)
    evidence = Evidence(
        streams[-1] if streams else None,
        digest,
        layers,
        before=tuple(streams[:-1]),
        excerpts=_excerpts(judgement),
    )
    return structs.replace(
        result,
        wire=_beginning(fixture.exchanges),
        evidence=evidence,
        aspects=result.aspects or _aspects(judgement),
        properties=properties_of(judgement.reading) if judgement.reading else (),
    )


def _beginning(exchanges: Sequence[Exchange]) -> str:
    """Return the beginning of the last body."""
    body = exchanges[-1].body if exchanges else b""
    return excerpt(body.decode("utf-8", "backslashreplace"), MAX_WIRE)


def _aspects(judgement: Judgement) -> dict[str, AspectVerdict]:
    """Return the verdicts by facts for payloads of our event models; {} for other cells."""
    cell, fixture, output = judgement.cell, judgement.fixture, judgement.output
    own = ADAPTERS.get(cell.key)
    if cell.layer != "payloads" or fixture is None or output is None or own is None:
        return {}
    adapter = replace(own, reference=own if cell.column != cell.key else None)
    reading = Reading(fixture.exchanges[0], RunOptions.of(cell.case))
    judged = judge_output(reading, adapter, output)
    return {aspect: finding.verdict for aspect, finding in judged.aspects.items()}


def examine_law(cell: LawCell, judgement: LawJudgement) -> LawRow:
    """Return the result of a judged law cell. The result of a broken law has evidence: the reads of
    the stream, each layer of the answer that shows the breach, and a small case.
    """
    if not judgement.breaches:
        return judgement.result
    provider = judgement.result.provider
    evidence = Evidence(
        describe(cell.exchange, provider),
        layers=_views_of_breach(judgement.breaches[0], provider),
        small_case=ready_made_case(cell),
    )
    return structs.replace(judgement.result, evidence=evidence)


def _views_of_breach(breach: Breach, provider: str) -> tuple[LayerView, ...]:
    """Return the frames and events of the answer that shows a breach, and the adapter's output if
    it is known.
    """
    views = _views_of_trace(_trace(breach.exchange, provider))
    if breach.got is not None:
        first = _first_index(breach.expected, compare(breach.expected, breach.got), breach.got)
        views.append(_view("payloads", [_line(item) for item in breach.got], first, differs=True))
    return tuple(views)


def _views_of_trace(trace: Trace) -> list[LayerView]:
    """Return the first frames and the first events."""
    frames = [_frame_line(frame) for frame in trace.frames]
    events = [_event_line(event) for event in trace.events]
    return [
        _view("frames", frames, None, differs=False),
        _view("events", events, None, differs=False),
    ]


def _trace(exchange: Exchange, provider: str) -> Trace:
    try:
        return Normalized(exchange, provider, None).trace
    except ReplayError:
        return Trace()


def describe(exchange: Exchange, provider: str, trace: Trace | None = None) -> Stream:
    """Return the transport of an answer: its reads with their times and sizes, the reads that cut a
    message or a character, and the request. ``trace`` is its replay, if there was one.
    """
    request = exchange.request
    body = exchange.body
    sent = None
    if request is not None:
        text = request.body[:MAX_BODY].decode("utf-8", "backslashreplace")
        url = excerpt(request.url, MAX_LINE)
        sent = Sent(request.method, url, text, len(request.body))
    trace = trace or _trace(exchange, provider)
    inside = _inside(exchange, trace)
    events = [_event_line(event, MAX_GREEN_LINE) for event in trace.events[:MAX_GREEN_LINES]]
    return Stream(
        exchange.status,
        len(body),
        _digest(body),
        _reads(exchange, inside),
        len(exchange.reads),
        sent,
        sum(map(bool, inside)),
        tuple(events),
        len(trace.events),
    )


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:32]


def _reads(exchange: Exchange, inside: Sequence[Inside]) -> tuple[Read, ...]:
    """Return at most `MOST_READS` rows. If there are more reads, all but the first and the last are
    merged in runs of equal length.
    """
    reads = [
        Read(at, len(data), 1, end) for (at, data), end in zip(exchange.reads, inside, strict=True)
    ]
    if len(reads) <= MOST_READS:
        return tuple(reads)
    between, rows = len(reads) - 2, MOST_READS - 2
    places = [1 + between * row // rows for row in range(rows + 1)]
    runs = [_merged(reads[start:stop]) for start, stop in pairwise(places)]
    return (reads[0], *runs, reads[-1])


def _merged(reads: Sequence[Read]) -> Read:
    ends = {read.inside for read in reads}
    inside: Inside = "character" if "character" in ends else "message" if "message" in ends else ""
    return Read(reads[-1].at_ms, sum(read.size for read in reads), len(reads), inside)


def _inside(exchange: Exchange, trace: Trace) -> list[Inside]:
    """Return, for each read, whether it ends inside a message, inside a character, or inside
    neither.
    """
    cut: set[int] = set()
    ends = [0]
    for _, data in exchange.reads:
        ends.append(ends[-1] + len(data))
    # With a content encoding, the offsets of frames count decoded bytes, and the reads do not.
    if exchange.header("content-encoding") is None:
        for frame, read in zip(trace.frames, trace.reads, strict=False):
            begun = bisect_right(ends, frame.offset) - 1
            cut.update(range(begun, read))
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


def _views(judgement: Judgement, items: Any) -> tuple[LayerView, ...]:
    cell, differs = judgement.cell, judgement.result.verdict in DIFFERS
    if cell.layer == "requests":
        return _request_views(cell, items, MAX_REQUEST if differs else MAX_GREEN_REQUEST)
    if judgement.result.red_findings and _transcript(judgement):
        return ()  # the excerpts of its findings have the lines
    if transcript := _transcript(judgement):
        items = [json_of_fact(fact) for fact in transcript.facts()]
    return _layer_views(judgement, items) if differs else _own_view(cell, items)


def _own_view(cell: Cell, items: Any) -> tuple[LayerView, ...]:
    """Return the beginning of the output of a cell that passes. The stream has its frames and
    events.
    """
    if cell.layer not in ("payloads", "facts"):
        return ()
    lines = tuple(_line(item, MAX_GREEN_LINE) for item in items[:MAX_GREEN_LINES])
    return (LayerView(cell.layer, lines, 0, len(items)),)


def _transcript(judgement: Judgement) -> Transcript | None:
    """Return the transcript of a cell that is judged by facts."""
    output = judgement.output
    return output.transcript if output and judgement.cell.layer == "facts" else None


def _excerpts(judgement: Judgement) -> Excerpts:
    """Return the lines beside each red finding by facts."""
    reading, transcript = judgement.reading, _transcript(judgement)
    if reading is None or transcript is None:
        return {}
    return excerpts_of_answer(judgement.result.findings, reading, transcript)


def _request_views(cell: Cell, requests: Any, most: int) -> tuple[LayerView, ...]:
    """Return the prompt, and the request that was made from it."""
    prompt = (
        cell.case.prompt.get(cell.key)
        if cell.case.prompt
        else [turn.prompt.get(cell.key) for turn in cell.case.turns if turn.prompt]
    )
    return _json_view("prompt", prompt, most), _json_view("requests", requests, most)


def _json_view(layer: Literal["prompt", "requests"], value: Any, most: int) -> LayerView:
    lines = json.dumps(value, ensure_ascii=False, indent=1, default=repr).splitlines()
    return LayerView(layer, tuple(excerpt(line, MAX_LINE) for line in lines[:most]), 0, len(lines))


def _layer_views(judgement: Judgement, items: list[Any]) -> tuple[LayerView, ...]:
    """Return the frames, events and payloads around the first difference. If a layer has no
    difference, the item in question is the one from which the item of the layer above was made.
    """
    cell, trace = judgement.cell, judgement.trace
    events = [(at, event) for at, (_, step) in enumerate(trace.steps) for event in step]
    views: list[LayerView] = []
    below: int | None = None
    if cell.layer == "payloads" and isinstance(items, list):
        first = _first(judgement, "payloads", items)
        views.append(_view("payloads", [_line(item) for item in items], first, differs=True))
        below = _event_of(trace, first)
    if cell.layer != "frames":
        first = _first(judgement, "events", [event for _, event in events])
        at = below if first is None else first
        lines = [_event_line(event) for _, event in events]
        views.append(_view("events", lines, at, differs=first is not None))
        below = None if at is None or not events else events[min(at, len(events) - 1)][0]
    frames = trace.frames
    first = _first(judgement, "frames", frames)
    at = below if first is None else first
    lines = [_frame_line(frame) for frame in frames]
    views.append(_view("frames", lines, at, differs=first is not None))
    return tuple(reversed(views))


def _first(judgement: Judgement, layer: CellLayer, items: Sequence[Any]) -> int | None:
    """Return the index of the first difference in a layer; None if it has none or was not
    compared.
    """
    key = judgement.cell.key if layer == judgement.cell.layer else layer
    expected = judgement.cell.case.expect.get(key)
    return _first_index(expected, judgement.mismatches.get(layer, []), items)


def _first_index(expected: Any, mismatches: Sequence[Mismatch], items: Sequence[Any]) -> int | None:
    """Return the index of the first item that differs. None if a spec expects an operator, because
    the indexes of that expectation are not those of the items.
    """
    index = mismatches[0].index if mismatches and isinstance(expected, list) else None
    return None if index is None else min(index, len(items))


def _event_of(trace: Trace, payload: int | None) -> int | None:
    """Return the index of the event from which a payload was made; None if the payloads are not
    ours.
    """
    if payload is None or not trace.made:
        return None
    return next((at for at, made in enumerate(trace.made) if made > payload), len(trace.made) - 1)


def _view(
    layer: Literal["frames", "events", "payloads", "facts"],
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


def _line(item: Any, most: int = MAX_LINE) -> str:
    text = json.dumps(item, ensure_ascii=False, separators=(", ", ": "), default=repr)
    return excerpt(text, most)


def _event_line(event: Any, most: int = MAX_LINE) -> str:
    plain = to_builtins(event)
    kind = plain.pop("kind")
    return f"{kind}  {_line(plain, most)}" if plain else kind


def _frame_line(frame: Frame) -> str:
    at = "" if frame.at_ms is None else f" {frame.at_ms:g} ms"
    content = _line(frame.json) if frame.raw is None else excerpt(frame.raw, MAX_LINE)
    return f"@{frame.offset}{at}  {content}"
