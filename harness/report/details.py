"""The JSON block of a provider's page: the evidence that its script shows when a cell is opened.

Each origin, cassette and stream is in it once. All texts are printable. The evidence of a cell has
a fixed limit (`harness.judging.evidence`), and so has the number of cells with layers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
from markupsafe import Markup

from harness.facts import Finding
from harness.judging.explain import shown_finding
from harness.judging.rows import (
    Evidence,
    LayerView,
    Read,
    Row,
    Stream,
)
from harness.stream.events import INTERRUPTED
from harness.stream.exchange import Origin
from harness.stream.printable import excerpt, printable_lines

from .layout import Section
from .tally import verdict_of

MAX_TEXT: Final = 1000
"""The maximum length of the expected or actual value of a finding on a page."""
MAX_CASE: Final = 8_000
"""The maximum length of the small case for a broken law on a page."""
MAX_WITH_LAYERS: Final = 200
"""The number of cells with findings on a page whose layers are shown; of the other cells only the
findings are shown.
"""
DIGEST: Final = 8
"""Digits of a digest that are shown."""


def detail(provider: str, sections: Sequence[Section], sources: Mapping[str, int]) -> Markup:
    """Return the JSON object for the cases of a page in their order: lists of origins, cassettes
    and streams, and for each case the index of its stream, its documentation and its cells.
    ``kept`` has a row for each cell that did not pass and still carries some of its features: the
    indexes of its case, of the cell in the case, and of the sections of these features.
    """
    blocks = [(section, block) for section in sections for block in section.blocks]
    differing = (cell.anchor for _, block in blocks for cell in block.cells if cell.result.findings)
    with_layers = set(islice(differing, MAX_WITH_LAYERS))
    origins: dict[str, int] = {}
    cassettes: dict[str, int] = {}
    streams: dict[str, int] = {}
    cases = []
    for section, block in blocks:
        facts = max((cell.result for cell in block.cells), key=lambda result: len(result.wire))
        origin = -1
        if facts.origin:
            origin = origins.setdefault(_dump(_origin(facts.origin)), len(origins))
        cassette = _dump([_printable(facts.cassette, 200), origin])
        place = cassettes.setdefault(cassette, len(cassettes))
        stream = _dump([place, facts.exchange, *_stream(facts)])
        known = section.feature.link if section.feature else ""
        source: str | int = 0
        if facts.source and facts.source != known:
            source = sources.get(facts.source, _printable(facts.source, 120))
        cells = [
            _cell(cell.result, with_layers=not cell.result.findings or cell.anchor in with_layers)
            for cell in block.cells
        ]
        more = [source, *block.also] if block.also else source
        cases.append([streams.setdefault(stream, len(streams)), more, *cells])
    text_of_kept = f'"kept":{_dump(_kept(sections))},'
    lists = {"origins": origins, "cassettes": cassettes, "streams": streams}
    text = "".join(f'"{name}":[{",".join(entries)}],' for name, entries in lists.items())
    text = f'{{"provider":{_dump(provider)},{text}{text_of_kept}"cases":{_dump(cases)}}}'
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704  # no tag is left


def _kept(sections: Sequence[Section]) -> list[list[int]]:
    places = {section.feature.name: at for at, section in enumerate(sections) if section.feature}
    blocks = (block for section in sections for block in section.blocks)
    return [
        [number, index, *carried]
        for number, block in enumerate(blocks)
        for index, cell in enumerate(block.cells)
        if cell.result.lost_features is not None
        and (
            carried := [
                places[feature]
                for feature in dict.fromkeys(cell.result.features)
                if verdict_of(cell.result, feature) == "passed"
            ]
        )
    ]


def _origin(origin: Origin) -> list[tuple[str, str]]:
    """Return the known facts about the origin of a stream, each with its name."""
    facts = msgspec.structs.asdict(origin).items()
    return [(name, _printable(value, 300)) for name, value in facts if value]


def _stream(result: Row) -> list[Any]:
    """Return the beginning of a stream, its digest and reads, and an object with its unusual
    properties: a usual stream is complete, has status 200 and no request.
    """
    wire = printable_lines(result.wire.rstrip())
    unusual: dict[str, Any] = {}
    if result.end != "complete":
        unusual["end"] = result.end
    if result.end in INTERRUPTED:
        unusual["broken"] = 1
    evidence = result.evidence or Evidence()
    if evidence.stream and evidence.stream.events:
        lines = [printable_lines(line) for line in evidence.stream.events]
        total = evidence.stream.events_total
        unusual["events"] = [lines, total] if total > len(lines) else [lines]
    if evidence.before:
        unusual["before"] = [_transfer(stream) for stream in evidence.before]
    digest, reads, more = _transfer(evidence.stream) if evidence.stream else ("", [], {})
    return [wire, digest, reads, unusual | more]


def _transfer(stream: Stream) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the digest and reads of a stream, its unusual properties, and its request."""
    unusual: dict[str, Any] = {}
    if stream.status != 200:
        unusual["status"] = stream.status
    if stream.reads_total != sum(read.number for read in stream.reads):
        unusual["total"] = stream.reads_total
    if stream.inside_total > sum(bool(read.inside) for read in stream.reads):  # merged reads
        unusual["cuts"] = stream.inside_total
    if sent := stream.sent:
        texts = [printable_lines(text) for text in (sent.method, sent.url, sent.body)]
        unusual["sent"] = [*texts, sent.size]
    return stream.digest[:DIGEST], [_read(read) for read in stream.reads], unusual


def _read(read: Read) -> list[Any]:
    """Return the time, size, number of reads, the unit that is cut; trailing defaults are left
    out.
    """
    at = int(read.at_ms) if read.at_ms is not None and read.at_ms == int(read.at_ms) else read.at_ms
    row = [at, read.size, read.number, read.inside]
    while row[-1] in (1, "") and len(row) > 2:
        row.pop()
    return row


def _cell(result: Row, *, with_layers: bool) -> Any:
    """Return only the digest for a cell without other evidence, else an object with all
    evidence.
    """
    evidence = result.evidence or Evidence()
    digest = evidence.digest[:DIGEST]
    if not (result.findings or evidence.layers):
        return digest
    layers = [_layer(view) for view in evidence.layers] if with_layers else []
    excerpts = [
        [subject.replace("_", " "), [_layer(view) for view in views]]
        for subject, views in evidence.excerpts.items()
    ]
    members = {
        "digest": digest,
        "findings": [_finding(finding) for finding in result.findings[1:]],
        "total": result.findings_total,
        "first": result.first_layer,
        "layers": layers,
        "excerpts": excerpts if with_layers else [],
        "without": int(not with_layers and bool(evidence.layers or excerpts)),
        "case": _printable(evidence.small_case, MAX_CASE) if with_layers else "",
    }
    return {name: value for name, value in members.items() if value}


def _finding(finding: Finding) -> list[str | None]:
    texts = shown_finding(finding)
    return [text if text is None else _printable(text, MAX_TEXT) for text in texts]


def _layer(view: LayerView) -> list[Any]:
    """Return name, lines, number of the first line, number of all lines, line to mark, and whether
    that line differs.
    """
    lines = [printable_lines(line) for line in view.lines]
    return [view.layer, lines, view.start, view.total, view.first, int(view.differs)]


def _printable(text: str, limit: int) -> str:
    return printable_lines(excerpt(text, limit))


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
