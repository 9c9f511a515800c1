"""Laws as test items: the items, the output of a broken law, and the drawings of the grammars."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import ADAPTERS, EVENTS
from harness.cassettes import Cassette, Origin, dumps
from harness.judging.laws import LAWS, Breach, Law, judge
from tests.support.grammars import draw, grammars
from tests.support.law_outcomes import outcomes
from tests.support.signed_call import EXCHANGE

ROOT = Path(__file__).parents[2]
Items = list[dict[str, Any]]
OUTCOMES = outcomes(EXCHANGE, EVENTS, *ADAPTERS.values())


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one cassette and one ordinary test."""
    monkeypatch.delenv("CI", raising=False)
    folder = pytester.mkdir("cassettes")
    (folder / "hello.yaml").write_text(
        dumps(Cassette((EXCHANGE,), Origin("written"))), encoding="utf-8", newline="\n"
    )
    pytester.makepyfile(test_own="def test_own() -> None: pass")
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", "no:cacheprovider", "-W", "default", *arguments)


@pytest.mark.slow
def test_every_law_exchange_and_adapter_is_an_item(
    project: pytest.Pytester,
) -> None:
    result = run(project, "--harness-laws", "-v", "test_own.py")
    result.assert_outcomes(**OUTCOMES | {"passed": OUTCOMES["passed"] + 1})
    result.stdout.fnmatch_lines(
        ["*cassettes/hello.yaml::law-3-nothing-lost-nothing-invented-1[[]mind[]] PASSED*"]
    )
    result.stdout.fnmatch_lines(
        ["*cassettes/hello.yaml::law-1-cuts-dont-matter-1[[]events[]] PASSED*"]
    )


def test_a_folder_of_recordings_that_is_not_there_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own="def test_own() -> None: pass")
    result = run(pytester, "--harness-laws", "test_own.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*there is no folder */cassettes; * harness_cassettes = FOLDER"])


def test_without_the_option_no_law_is_run(project: pytest.Pytester) -> None:
    run(project).assert_outcomes(passed=1)


@pytest.mark.slow
def test_items_are_selected_by_name_dialect_and_provider(
    project: pytest.Pytester,
) -> None:
    run(project, "--harness-laws", "cassettes/hello.yaml::law-5-same-twice-1[art]").assert_outcomes(
        passed=1
    )
    run(project, "cassettes", "--harness-laws", "--harness-dialect", "anthropic").assert_outcomes(
        **outcomes(EXCHANGE, ADAPTERS["anthropic"])
    )
    run(project, "cassettes", "--harness-laws", "--harness-provider", "vertex-ai").assert_outcomes()


@pytest.mark.slow
def test_workers_give_the_same_results(project: pytest.Pytester) -> None:
    for name, workers in (("one", "0"), ("two", "2")):
        result = project.runpytest_inprocess(
            "cassettes", "--harness-laws", "-n", workers, "--harness-report", name
        )
        result.assert_outcomes(**OUTCOMES)
    folders = [
        sorted(path for path in (project.path / name).rglob("*.html")) for name in ("one", "two")
    ]
    pages = [{path.name: path.read_bytes() for path in paths} for paths in folders]
    assert pages[0] == pages[1]
    assert b"Cuts don" in pages[0]["gemini-api.html"]


def test_a_breach_is_printed_with_a_case_and_reported(
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


@pytest.mark.slow
def test_a_file_that_is_no_cassette_is_an_error_of_collection(project: pytest.Pytester) -> None:
    (project.path / "cassettes" / "bad.yaml").write_text(
        "version: 1\nmetadata:\n  harness: 1\n", encoding="utf-8"
    )
    result = run(project, "cassettes", "--harness-laws")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*bad.yaml*"])


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
        "docs/laws.md shows other grammars than harness.stream.events.ORDER and the dialects'"
        " tables"
    )
    for law in LAWS:
        assert f"| {law.id} {law.title} | {law.sentence} | {', '.join(law.layers)} |" in page
