"""Laws as test items: which there are, what a breach prints, and that the drawings of the grammars
are the tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes import Cassette, Exchange, Origin, Request, dumps, loads
from harness.conformance.adapters import ADAPTERS, EVENTS, Adapter
from harness.conformance.laws import LAWS, Breach, Law, judge
from harness.conformance.laws.judge import LawCell, cells, judge_law, ready_made_case
from harness.conformance.laws.shrink import shrink
from harness.conformance.laws.variants import cuts_of
from harness.conformance.metamorphic.catalogue import SPELLINGS
from harness.dialects import DIALECTS
from harness.pipeline.replay import replay as our_replay
from harness.providers import PROVIDERS
from harness.specs import read_spec
from harness.stream.exchange import Exchange as AnyExchange
from tests.support.adapters import events_of, payloads_of
from tests.support.grammars import draw, grammars

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
Items = list[dict[str, Any]]
URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
ANSWER = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hel"}],"role": "model"},"index": 0}],"modelVersion": "gemini-x"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "lo"}],"role": "model"},"index": 0}]}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f","args": {"a": 1}},"thoughtSignature": "QQ=="}]},'
    b'"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 2}}\r\n\r\n'
)
EXCHANGE = Exchange(
    Request("POST", URL),
    200,
    {},
    ((1.0, ANSWER[:50]), (9.0, ANSWER[50:])),
    "complete",
    "",
    "gemini-api",
    True,
)
PER_EXCHANGE = sum(len(DIALECTS) + ("events" in law.layers) for law in LAWS)
SENDS_NOTHING = 2
"""Event models of which no call goes back: art and agent-events."""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one cassette and one test that is none of ours."""
    monkeypatch.delenv("CI", raising=False)
    folder = pytester.mkdir("cassettes")
    (folder / "hello.yaml").write_text(
        dumps(Cassette((EXCHANGE,), Origin("written"))), encoding="utf-8", newline="\n"
    )
    pytester.makepyfile(test_own="def test_own() -> None: pass")
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", "no:cacheprovider", "-W", "default", *arguments)


def test_every_law_exchange_and_dialect_is_an_item_beside_the_tests(
    project: pytest.Pytester,
) -> None:
    result = run(project, "--harness-laws", "-v", "test_own.py")
    result.assert_outcomes(passed=PER_EXCHANGE - SENDS_NOTHING + 1, skipped=SENDS_NOTHING)
    result.stdout.fnmatch_lines(
        ["*cassettes/hello.yaml::law-3-nothing-lost-nothing-invented-1[[]mind[]] PASSED*"]
    )
    result.stdout.fnmatch_lines(
        ["*cassettes/hello.yaml::law-1-cuts-dont-matter-1[[]events[]] PASSED*"]
    )


def test_without_the_option_nothing_is_held_against_cassettes(project: pytest.Pytester) -> None:
    run(project).assert_outcomes(passed=1)


def test_an_item_is_chosen_by_its_name_and_by_dialect_and_provider(
    project: pytest.Pytester,
) -> None:
    run(project, "--harness-laws", "cassettes/hello.yaml::law-5-same-twice-1[art]").assert_outcomes(
        passed=1
    )
    run(project, "cassettes", "--harness-laws", "--harness-dialect", "anthropic").assert_outcomes(
        passed=len(LAWS)
    )
    run(project, "cassettes", "--harness-laws", "--harness-provider", "vertex-ai").assert_outcomes()


def test_workers_give_the_same_results(project: pytest.Pytester) -> None:
    for name, workers in (("one", "0"), ("two", "2")):
        result = project.runpytest_subprocess(
            "cassettes", "--harness-laws", "-n", workers, "--harness-report", name
        )
        result.assert_outcomes(passed=PER_EXCHANGE - SENDS_NOTHING, skipped=SENDS_NOTHING)
    folders = [
        sorted(path for path in (project.path / name).rglob("*.html")) for name in ("one", "two")
    ]
    pages = [{path.name: path.read_bytes() for path in paths} for paths in folders]
    assert pages[0] == pages[1]
    assert b"Cuts don" in pages[0]["gemini-api.html"]


def test_a_breach_prints_its_sentence_and_a_case_and_stands_in_the_report(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = Law(
        2,
        "No calls",
        "Nothing is called.",
        lambda exchange, adapter: (
            [Breach("it calls", exchange)] if b"functionCall" in exchange.body else []
        ),
    )
    monkeypatch.setattr(judge, "LAWS", (law,))
    result = run(
        project,
        "cassettes",
        "--harness-laws",
        "--harness-dialect",
        "art",
        "--harness-report",
        "report",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "requirement: Law 2, No calls. Nothing is called.",
            f"at:          {Path('cassettes', 'hello.yaml')}:1",
            "*it calls*",
            "A case that shows it:",
            "# specs/shrunk.yaml",
        ]
    )
    assert "it calls" in (project.path / "report" / "gemini-api.html").read_text(encoding="utf-8")


def test_a_file_that_is_no_cassette_is_an_error_of_collection(project: pytest.Pytester) -> None:
    (project.path / "cassettes" / "bad.yaml").write_text(
        "version: 1\nmetadata:\n  harness: 1\n", encoding="utf-8"
    )
    result = run(project, "cassettes", "--harness-laws")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*bad.yaml*"])


Fault = Callable[[Items, AnyExchange], Items]


def cell(number: int, adapter: Adapter = EVENTS) -> LawCell:
    return LawCell(LAWS[number - 1], "gemini-api/hello", 1, EXCHANGE, adapter, Origin("written"))


def faulty(number: int, fault: Fault, dialect: str = "") -> LawCell:
    def replay(recorded: AnyExchange, **options: Any) -> Items:
        return fault(our_replay(recorded, **options), recorded)

    return cell(number, payloads_of(replay, dialect) if dialect else events_of(replay))


def verdict(cell: LawCell) -> str:
    return judge_law(cell).result.verdict


def signed(items: Items) -> Items:
    return [{key: value for key, value in item.items() if key != "signature"} for item in items]


BREACHES: dict[int, Fault] = {
    1: lambda items, cut: items[:-1] if 60 in cuts_of(cut) else items,
    2: lambda items, _: [item for item in items if item.get("kind") != "start"],
    3: lambda items, _: signed(items),
    4: lambda items, cut: items[:-1] if cut.end == "cut" else items,
    6: lambda items, spelled: [] if spelled.body.startswith(b"[") else items,
    7: lambda items, damaged: items if damaged.body == ANSWER else [],
}


@pytest.mark.parametrize("number", BREACHES)
def test_a_breach_becomes_a_small_case_that_can_be_read_back(number: int) -> None:
    broken = faulty(number, BREACHES[number])
    assert verdict(cell(number)) == "passed"
    assert verdict(broken) == "failed"
    spec, cassette = ready_made_case(broken).split("\n# cassettes/gemini-api/shrunk.yaml\n")
    features = {law.feature for law in LAWS} | {one.feature for one in SPELLINGS if one.feature}
    (case,) = read_spec(
        spec, "shrunk.yaml", dialects=DIALECTS, providers=PROVIDERS, features=features, losses={}
    )
    (small,) = loads(cassette).exchanges
    assert case.cassette == "gemini-api/shrunk"
    assert len(small.body) < len(ANSWER)


IN_PAYLOADS: dict[int, Fault] = {
    1: lambda items, cut: items[1:] if len(cut.reads) > 1 and len(cut.reads[0][1]) == 1 else items,
    4: lambda items, cut: items if cut.end != "cut" else items[:-2],
    6: lambda items, spelled: items if b"\r\n" in spelled.body else items[:-1],
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("number", IN_PAYLOADS)
def test_a_fault_in_the_payloads_of_any_dialect_is_found(number: int, dialect: str) -> None:
    broken = faulty(number, IN_PAYLOADS[number], dialect)
    assert verdict(cell(number, ADAPTERS[dialect])) == "passed"
    assert verdict(broken) == "failed"


def test_the_case_of_a_cut_has_the_one_cut_and_what_should_have_come() -> None:
    text = ready_made_case(
        faulty(1, lambda items, cut: items[:-1] if len(cut.reads) > 1 else items)
    )
    assert len(re.findall(r"^ {6}- \d+$", text, re.MULTILINE)) == 2, text
    assert '- {"kind": "start"' in text


def test_the_case_of_a_prefix_ends_cut_and_expects_incomplete() -> None:
    text = ready_made_case(faulty(4, BREACHES[4]))
    assert "end: cut" in text
    assert '"$contains": {"kind": "incomplete", "end": "cut"}' in text


def test_what_is_small_is_as_small_as_the_breach_allows() -> None:
    small = shrink(
        EXCHANGE,
        lambda exchange: b"thoughtSignature" in exchange.body and b"functionCall" in exchange.body,
        tries=4000,
    )
    assert (
        small.body
        == b'data: {"candidates": [{"content": {"parts": [{"functionCall": {}, "thoughtSignature": "Q"}]}}]}\r\n\r\n'
    )


def test_a_body_that_is_no_json_stays_whole() -> None:
    garbage = replace(EXCHANGE, reads=((None, b"<html>"),))
    assert shrink(garbage, lambda exchange: True, tries=9) == garbage


def test_shrinking_ends_when_its_tries_are_used_up() -> None:
    asked: list[AnyExchange] = []

    def breaks(exchange: AnyExchange) -> bool:
        asked.append(exchange)
        return len(asked) == 1

    shrink(EXCHANGE, breaks, tries=7)
    assert len(asked) == 7


def test_results_say_law_exchange_and_dialect() -> None:
    told = [
        judge_law(one).result
        for one in cells(
            "gemini-api/hello",
            [EXCHANGE, replace(EXCHANGE, generates=False)],
            [EVENTS, ADAPTERS["art"]],
            Origin("written"),
        )
    ]
    assert [(one.spec, one.case, one.adapter, one.layer) for one in told[:3]] == [
        ("laws/cuts-dont-matter", "gemini-api/hello.1", "", "events"),
        ("laws/cuts-dont-matter", "gemini-api/hello.1", "art", "payloads"),
        ("laws/legal-order", "gemini-api/hello.1", "", "events"),
    ]
    assert (told[-1].verdict, told[-1].reason) == ("not-run", "art declares calls as lost")
    assert {one.line for one in told if one.adapter == "art"} == {law.id for law in LAWS}
    assert {one.origin.kind for one in told if one.origin} == {"written"}


def test_a_grammar_is_drawn_arrow_by_arrow() -> None:
    drawn = draw(
        {"fresh": {"a": "in it", "b": "in it", "c": "over"}, "in it": {"c": "over"}, "over": {}},
        {"over"},
    )
    assert drawn.splitlines() == [
        "stateDiagram-v2",
        "    [*] --> fresh",
        "    fresh --> in_it: a, b",
        "    fresh --> over: c",
        "    in_it --> over: c",
        "    over --> [*]",
    ]


def test_the_drawings_of_the_page_are_the_tables() -> None:
    page = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")
    drawn = re.findall(r"```mermaid\n(.*?)```", page, re.DOTALL)
    assert drawn == list(grammars().values()), (
        "docs/laws.md shows other grammars than harness.stream.events.ORDER and the dialects' tables"
    )
    for law in LAWS:
        assert f"| {law.id} {law.title} | {law.sentence} | {', '.join(law.layers)} |" in page
