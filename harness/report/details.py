"""What a page's script shows of a cell when it is opened: one block of JSON, each stream once, all
texts made printable and cut to fit.

A page has room for so much. The fewer cells differ, the more each may say; what is left out is
counted, so that the page can say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from markupsafe import Markup

from harness.conformance.results import (
    CaseResult,
    Evidence,
    Finding,
    LayerView,
    Origin,
    Read,
    Stream,
)
from harness.stream.events import INTERRUPTED
from harness.stream.printable import excerpt, printable_lines

from .budget import cut
from .document import MAX_GREEN_WIRE
from .sections import Section

ROOM: Final = 1_000_000
"""Characters that the evidence of all differing cells may take together, on all pages."""
WIRE_ROOM: Final = 300_000
"""The same for the beginnings of streams."""
LEAST_CELL: Final = 240
"""A cell that has less room than this has none for evidence."""
DIGEST: Final = 8
"""Digits of a digest that are shown."""


def detail(
    provider: str,
    sections: Iterable[Section],
    sources: Mapping[str, int],
    *,
    per_cell: int,
    per_wire: int,
) -> Markup:
    """The JSON for the cases of a page in their order: origins, cassettes, streams once each; for
    each case its stream and its cells.
    """
    origins: dict[str, int] = {}
    cassettes: dict[str, int] = {}
    streams: dict[str, int] = {}
    cases = []
    for section in sections:
        known = section.feature.link if section.feature else ""
        for block in section.blocks:
            facts = max((cell.result for cell in block.cells), key=lambda result: len(result.wire))
            holds = all(cell.result.verdict in ("passed", "not-carried") for cell in block.cells)
            origin = (
                origins.setdefault(_dump(_origin(facts.origin)), len(origins))
                if facts.origin
                else -1
            )
            cassette = cassettes.setdefault(
                _dump([printable_lines(excerpt(facts.cassette, 200)), origin]), len(cassettes)
            )
            stream = _dump(
                [
                    cassette,
                    facts.exchange,
                    *_stream(facts, min(per_wire, MAX_GREEN_WIRE) if holds else per_wire),
                ]
            )
            source = (
                ""
                if facts.source == known
                else sources.get(facts.source, printable_lines(excerpt(facts.source, 120)))
            )
            more = [source or 0, *block.also] if block.also else source or 0
            cases.append(
                [
                    streams.setdefault(stream, len(streams)),
                    more,
                    *(_cell(cell.result, per_cell) for cell in block.cells),
                ]
            )
    lists = {"origins": origins, "cassettes": cassettes, "streams": streams}
    text = "".join(f'"{name}":[{",".join(found)}],' for name, found in lists.items())
    text = f'{{"provider":{_dump(provider)},{text}"cases":{_dump(cases)}}}'
    # no tag is left
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def _origin(origin: Origin) -> list[tuple[str, str]]:
    """What is known of where a stream is from, by name."""
    facts = msgspec.structs.asdict(origin).items()
    return [(name, printable_lines(excerpt(value, 300))) for name, value in facts if value]


def _stream(result: CaseResult, room: int) -> list[Any]:
    """How a stream came: its beginning, digest and reads, and what is unusual, by name: it is
    whole, its status 200, it has no request.
    """
    wire = printable_lines(cut(result.wire.rstrip(), room))
    unusual: dict[str, Any] = {}
    if result.end != "complete":
        unusual["end"] = result.end
    if result.end in INTERRUPTED:
        unusual["broken"] = 1
    evidence = result.evidence or Evidence()
    if evidence.before:
        unusual["before"] = [_how(stream, room) for stream in evidence.before]
    digest, reads, more = _how(evidence.stream, room) if evidence.stream else ("", [], {})
    unusual |= more
    if unusual:
        return [wire, digest, reads, unusual]
    return [wire, digest, reads] if evidence.stream else [wire]


def _how(how: Stream, room: int) -> tuple[str, list[Any], dict[str, Any]]:
    """Digest and reads of a stream, and by name what is unusual about it, and the request that it
    answers.
    """
    unusual: dict[str, Any] = {}
    if how.status != 200:
        unusual["status"] = how.status
    if how.reads_total != sum(read.number for read in how.reads):
        unusual["total"] = how.reads_total
    if how.inside_total > sum(bool(read.inside) for read in how.reads):  # reads were put together
        unusual["cuts"] = how.inside_total
    if how.sent:
        body = printable_lines(excerpt(how.sent.body, room))
        unusual["sent"] = [
            printable_lines(how.sent.method),
            printable_lines(how.sent.url),
            body,
            how.sent.size,
        ]
    return how.digest[:DIGEST], [_read(read) for read in how.reads], unusual


def _read(read: Read) -> list[Any]:
    """Time, size, number, and what it ends inside of, as far as there is something unusual to
    say.
    """
    at = int(read.at_ms) if read.at_ms is not None and read.at_ms == int(read.at_ms) else read.at_ms
    row = [at, read.size, read.number, read.inside]
    while row[-1] in (1, "") and len(row) > 2:
        row.pop()
    return row


def _cell(result: CaseResult, room: int) -> Any:
    """The digest alone for a cell that has nothing more to say, with prompt and request for one of
    those; else all of it by name.
    """
    evidence = result.evidence or Evidence()
    digest = evidence.digest[:DIGEST]
    if not (result.findings or evidence.layers or evidence.capped or evidence.breaches is not None):
        return digest
    if room < LEAST_CELL:
        return digest  # the page says that this is capped, for all of them
    findings, room = _findings(result.findings, room)
    layers, left_out = _layers(evidence, room)
    found: dict[str, Any] = {
        "digest": digest,
        "findings": findings[1:],
        "total": result.findings_total,
    }
    found |= {"first": result.first_layer, "layers": layers, "without": int(left_out)}
    found = {name: value for name, value in found.items() if value}
    if set(found) <= {"digest", "layers"} and [view.layer for view in evidence.layers] == [
        "prompt",
        "requests",
    ]:
        return [
            digest,
            *(lines for view in layers for lines in view[1:2]),
            *_totals(evidence.layers),
        ]
    if evidence.breaches is not None:
        found["laws"] = [
            [
                one.law,
                printable_lines(one.title),
                [printable_lines(text) for text in one.counterexamples],
            ]
            for one in evidence.breaches
        ]
    return found


def size_of(result: CaseResult) -> int:
    """The characters that all evidence of a cell would take."""
    findings = sum(
        len(text or "")
        for one in result.findings
        for text in (one.path, one.kind, one.note, one.expected, one.got)
    )
    return max(LEAST_CELL, findings + (_lines(result.evidence) if result.evidence else 0))


def _lines(evidence: Evidence) -> int:
    return sum(len(line) for view in evidence.layers for line in view.lines)


def _findings(findings: Sequence[Finding], room: int) -> tuple[list[list[str | None]], int]:
    """As many findings as there is room for, at least one, and the room that is left."""
    kept: list[list[str | None]] = []
    side = max(30, min(1000, room // 8))
    for finding in findings:
        texts = [finding.path, finding.kind, finding.note, finding.expected, finding.got]
        texts = [text if text is None else printable_lines(excerpt(text, side)) for text in texts]
        size = sum(len(text or "") for text in texts)
        if kept and size > room:
            break
        kept.append(texts)
        room -= size
    return kept, max(room, 0)


def _layers(evidence: Evidence, room: int) -> tuple[list[list[Any]], bool]:
    """The layers, or none where there is no room for them."""
    if evidence.capped or _lines(evidence) > room:
        return [], True
    views: list[list[Any]] = []
    for view in evidence.layers:
        lines = [printable_lines(line) for line in view.lines]
        views.append([view.layer, lines, view.start, view.total, view.first, view.differs])
        if view.first is None:
            del views[-1][2 if (view.start, view.total) == (0, len(lines)) else 4 :]
    return views, False


def _totals(views: Sequence[LayerView]) -> list[int]:
    """How many lines each has, unless all of them are here."""
    return (
        [view.total for view in views]
        if any(view.total > len(view.lines) for view in views)
        else []
    )


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
