"""The answers to one question over several wires, side by side on the index page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.judging.judge import resolve_fixture
from harness.judging.rows import Row
from harness.project.folders import yaml_files
from harness.project.project import Project, kind_of
from harness.report import Run, render
from harness.report.document import pack, unpack
from harness.stream.exchange import Exchange
from tests.support.question_samples import ANSWERS, answer
from tests.support.report_samples import HEADER, result

ROOT = Path(__file__).parents[2]


def table_rows(results: list[Row]) -> dict[str, str]:
    """The words of each row of the question tables, by the title of the row."""
    page = render(Run(HEADER, results))["index.html"]
    start = page.find('aria-labelledby="questions"')
    section = page[start : page.find("</section>", start)] if start >= 0 else ""
    rows = re.findall("<tr>(.*?)</tr>", section, re.DOTALL)
    texts = [" ".join(re.sub("<[^>]*>", " | ", row).replace("|  |", "|").split()) for row in rows]
    return {row.split("|")[1].strip(): row for row in texts}


def test_each_aspect_of_any_wire_has_a_row() -> None:
    assert list(table_rows(ANSWERS)) == ["Aspect", "calls", "signatures", "usage"]


def test_an_aspect_that_a_wire_lacks_is_no_loss_of_an_adapter() -> None:
    rows = table_rows(ANSWERS)
    assert rows["signatures"].endswith("not on this wire |")
    assert rows["usage"].endswith("not on this wire |")
    assert "not on this wire" not in rows["calls"]


def test_the_row_of_an_aspect_names_the_adapters_that_lose_it() -> None:
    rows = table_rows(ANSWERS)
    assert "unified-llm" in rows["usage"]
    assert "anthropic" in rows["signatures"]
    assert "unified-llm" in rows["calls"]
    assert "anthropic" not in rows["calls"]


@pytest.mark.parametrize(
    "results",
    [
        ANSWERS[:2],
        [answer("gemini-api", "anthropic", "a", calls="kept"), *ANSWERS[2:]],
        [result()],
    ],
    ids=["one provider", "two questions", "no question"],
)
def test_a_question_that_one_provider_answers_is_not_shown(results: list[Row]) -> None:
    assert table_rows(results) == {}


def test_the_document_keeps_the_answers() -> None:
    back = unpack(pack(Run(HEADER, ANSWERS)))
    expected = {(cell.provider, cell.adapter): cell.answered for cell in ANSWERS}
    assert {(cell.provider, cell.adapter): cell.answered for cell in back.results} == expected
    assert {cell.question for cell in back.results} == {"weather"}


def shipped_questions() -> dict[str, dict[str | None, str]]:
    """The words of each question of the shipped specs, by provider."""
    project, asked = (
        Project([ROOT / "specs"], ROOT / "cassettes"),
        dict[str, dict[str | None, str]](),
    )
    for file in (path for path in yaml_files(ROOT / "specs") if kind_of(path) == "spec"):
        if "\n  question: " not in file.read_text(encoding="utf-8"):
            continue
        for cell in project.cells(file):
            if cell.case.question:
                (exchange,) = resolve_fixture(cell.case, project.cassette).exchanges
                words = asked.setdefault(cell.case.question, {})
                words[exchange.provider] = question_of(exchange)
    return asked


def question_of(exchange: Exchange) -> str:
    """The words of the only turn of a request."""
    assert exchange.request is not None
    assert exchange.request.body is not None
    match json.loads(exchange.request.body):
        case {"contents": [{"parts": [{"text": str(text)}]}]}:
            return text
        case {"input": str(text)} | {"messages": [{"content": str(text)}]}:
            return text
        case other:
            raise AssertionError(other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "words"),
    [("is-91-prime", "Is 91 prime?"), ("weather-in-a-city", "Weather in Bergen?")],
)
def test_a_shipped_question_has_the_same_words_on_three_wires(question: str, words: str) -> None:
    wires = ("gemini-api", "interactions", "openai-compat")
    assert shipped_questions()[question] == dict.fromkeys(wires, words)
