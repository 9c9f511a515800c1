"""Evidence: the reads of a stream, the first difference of each layer and its source, and the laws
that an exchange breaks.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness import replay
from harness.adapters import Adapter, Output, RunOptions, user_adapter
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request
from harness.cassettes.redaction.mask import Mask
from harness.judging.evidence import (
    MAX_GREEN_REQUEST,
    MAX_LINE,
    MAX_WIRE,
    describe,
    with_evidence,
)
from harness.judging.judge import MAX_FINDING_TEXT, Cell, judge
from harness.judging.rows import MOST_READS, CaseRow, Evidence, Read
from harness.project.folders import yaml_files
from harness.project.project import Project, kind_of
from harness.providers import with_provider
from harness.specs.models import Case

URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse&key=AIzaSecret"
FIRST = 'data: {"candidates": [{"content": {"parts": [{"text": "Hé"}]}}]}\r\n\r\n'.encode()
LAST = b'data: {"candidates": [{"content": {"parts": [{"text": "llo"}]}, "finishReason": "STOP"}]}\r\n\r\n'
WHOLE = with_provider(
    Exchange(
        Request("POST", URL, body=b'{"contents": []}'),
        200,
        {},
        ((12.5, FIRST), (40.0, LAST)),
        "complete",
    )
)


def judged(
    expected: Any,
    column: str = "unified-llm",
    exchange: Exchange = WHOLE,
    adapter: Adapter | None = None,
    **keys: Any,
) -> CaseRow:
    def load(name: str) -> Cassette:
        if name != "x/y":
            raise CassetteError(f"no cassette {name}")
        return Cassette((exchange,), Origin("written", date="2026-11-21"))

    facts: dict[str, Any] = {
        "case": "c",
        "requirement": "r",
        "features": ("f",),
        "source": "https://s.example",
        "cassette": "x/y",
    }
    case = Case(**(facts | {"expect": {column: expected}} | keys))
    return with_evidence(judge(Cell(case, "a.yaml", column), load, adapter))


def evidence(result: CaseRow) -> Evidence:
    assert result.evidence is not None
    return result.evidence


def test_a_stream_is_described() -> None:
    stream = describe(WHOLE, "gemini-api")
    assert stream.reads == (Read(12.5, len(FIRST)), Read(40.0, len(LAST)))
    assert (stream.status, stream.size, stream.reads_total, len(stream.digest)) == (
        200,
        len(FIRST + LAST),
        2,
        32,
    )
    assert stream.sent is not None
    assert stream.sent.body == '{"contents": []}'
    assert "AIza" not in Mask().value(stream.sent).url


def test_the_beginning_of_a_stream_is_shown() -> None:
    assert judged([]).wire == (FIRST + LAST).decode()
    long = replace(WHOLE, reads=((None, b"\xff" + FIRST * 100),))
    shown = f"\\xff{FIRST.decode() * 100}"
    end = f" … ({len(shown):,} characters)"
    assert judged([], exchange=long).wire == shown[:MAX_WIRE] + end


@pytest.mark.parametrize(
    ("cuts", "inside"),
    [
        ((len(FIRST),), ["", ""]),
        ((20,), ["message", ""]),
        ((FIRST.index("é".encode()) + 1,), ["character", ""]),
        ((20, 40, len(FIRST), len(FIRST) + 1), ["message", "message", "", "message", ""]),
    ],
)
def test_a_read_names_the_unit_inside_which_it_ends(
    cuts: tuple[int, ...], inside: list[str]
) -> None:
    places = [0, *cuts, len(FIRST + LAST)]
    reads = tuple((None, (FIRST + LAST)[start:stop]) for start, stop in pairwise(places))
    assert [
        read.inside for read in describe(replace(WHOLE, reads=reads), "gemini-api").reads
    ] == inside


def test_many_reads_are_merged_and_none_is_lost() -> None:
    reads = tuple((float(at), bytes([byte])) for at, byte in enumerate(FIRST + LAST))
    stream = describe(replace(WHOLE, reads=reads), "gemini-api")
    assert len(stream.reads) <= MOST_READS
    assert (
        sum(read.size for read in stream.reads)
        == sum(read.number for read in stream.reads)
        == stream.reads_total
        == len(reads)
    )


def test_a_green_cell_has_a_digest_and_the_beginning_of_its_layers() -> None:
    held = evidence(judged({"$any": True}))
    other = evidence(judged({"$any": True}, exchange=replace(WHOLE, reads=((1.0, LAST),))))
    (view,) = held.layers
    assert (view.layer, view.lines[0]) == ("payloads", '{"type": "STREAM_START"}')
    assert (len(view.lines), view.total, view.first) == (4, 6, None)
    assert held.stream is not None
    assert held.stream.events[0].startswith("start")
    assert held.stream.events_total >= len(held.stream.events)
    assert len(held.digest) == 32
    assert held.digest == evidence(judged({"$contains": []})).digest != other.digest


def test_layers_show_the_first_difference_and_its_event() -> None:
    got = _payloads()
    wrong = [
        {**item, "text": "?"} if item.get("delta") == "llo" or item.get("text") == "llo" else item
        for item in got
    ]
    place = next(
        index for index, (pair, other) in enumerate(zip(got, wrong, strict=True)) if pair != other
    )
    layers = {view.layer: view for view in evidence(judged(wrong)).layers}
    assert [view.layer for view in evidence(judged(wrong)).layers] == [
        "frames",
        "events",
        "payloads",
    ]
    assert layers["payloads"].first == place
    assert layers["payloads"].differs
    assert "llo" in layers["payloads"].lines[place - layers["payloads"].start]
    event = layers["events"]
    assert event.first is not None
    assert "llo" in event.lines[event.first - event.start]
    assert not event.differs
    assert layers["frames"].first == 1


def _payloads() -> list[dict[str, Any]]:
    return replay(WHOLE)


def test_the_lowest_layer_that_differs_is_marked() -> None:
    result = judged(None, expect={"events": [{"kind": "start"}], "unified-llm": []})
    layers = {view.layer: view for view in evidence(result).layers}
    assert result.first_layer == "events"
    assert layers["events"].differs
    assert layers["events"].first == 0
    assert layers["payloads"].differs


def test_a_users_payloads_have_layers_but_no_event() -> None:
    def run(exchange: Exchange, options: RunOptions) -> Output:
        return Output([{"say": "Hé"}, {"say": "llo"}])

    mine = user_adapter("mine", "mine", run)
    views = evidence(judged([{"say": "Hé"}, {"say": "?"}], "mine", adapter=mine)).layers
    assert [(view.layer, view.first) for view in views] == [
        ("frames", None),
        ("events", None),
        ("payloads", 1),
    ]


def test_evidence_of_a_dialect_replays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("replayed again")

    case = Case(
        case="c",
        requirement="r",
        features=("f",),
        source="https://s.example",
        cassette="x/y",
        expect={"events": [], "art": []},
    )
    judgement = judge(
        Cell(case, "a.yaml", "art"), lambda name: Cassette((WHOLE,), Origin("written"))
    )
    monkeypatch.setattr("harness.judging.judge.Normalized", refuse)
    monkeypatch.setattr("harness.judging.evidence.Normalized", refuse)
    assert len(evidence(with_evidence(judgement)).layers) == 3


def test_under_an_operator_no_place_is_marked() -> None:
    payloads = evidence(judged({"$contains": [{"type": "nothing"}]})).layers[-1]
    assert payloads.first is None
    assert not payloads.differs
    assert payloads.total == len(_payloads())


def test_a_request_case_shows_the_prompt_and_the_request() -> None:
    prompt = {"anthropic": {"messages": [{"role": "user", "content": "Hi"}]}}
    result = judged({"request": {}}, "anthropic", cassette="", prompt=prompt)
    assert [view.layer for view in evidence(result).layers] == ["prompt", "requests"]
    assert any("Hi" in line for line in evidence(result).layers[0].lines)
    assert evidence(result).stream is None
    held = judged({"$any": True}, "anthropic", cassette="", prompt=prompt)
    assert held.verdict == "passed"
    assert 0 < len(evidence(held).layers[1].lines) <= MAX_GREEN_REQUEST


@pytest.mark.slow
def test_every_turn_of_a_conversation_has_its_stream() -> None:
    root = Path(__file__).parents[2]
    project = Project([root / "specs"], root / "cassettes")
    specs = (file for file in yaml_files(root / "specs") if kind_of(file) == "spec")
    cell = next(cell for file in specs for cell in project.cells(file) if len(cell.case.turns) > 1)
    shown = evidence(with_evidence(judge(cell, project.cassette)))
    assert len(shown.before) == len(cell.case.turns) - 1
    assert all(stream and stream.sent for stream in (*shown.before, shown.stream))
    assert len({stream.digest for stream in (*shown.before, shown.stream) if stream}) == len(
        cell.case.turns
    )


def test_a_cassette_that_is_not_there_gives_no_evidence() -> None:
    assert judged([], cassette="z").evidence is None


def test_a_shortened_line_states_its_length() -> None:
    long = replace(WHOLE, reads=((1.0, LAST.replace(b"llo", b"o" * 3000)),))
    lines = [line for view in evidence(judged([], exchange=long)).layers for line in view.lines]
    assert max(map(len, lines)) <= MAX_LINE + 40
    assert any("characters)" in line for line in lines)


def test_findings_are_kept_as_far_as_they_fit_and_counted_all() -> None:
    frame = 'data: {"candidates": [{"content": {"parts": [{"text": "%s"}]}}]}\n\n'
    exchange = replace(
        WHOLE,
        reads=tuple((None, (frame % f"{number}{'o' * 990}").encode()) for number in range(12)),
    )
    wrong = [
        {**item, "extra": [item["delta"] * 2]} if "delta" in item else item
        for item in replay(exchange)
    ]
    result = judged(wrong, exchange=exchange)
    assert (len(result.findings), result.findings_total) == (6, 12)
    assert (
        sum(len(str(finding.wire)) + len(str(finding.adapter)) for finding in result.findings)
        <= MAX_FINDING_TEXT
    )


def test_evidence_is_plain_data() -> None:
    result = judged([])
    assert msgspec.json.decode(msgspec.json.encode(result), type=CaseRow) == result
