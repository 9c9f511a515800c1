"""Every form of a report is a query over the same rows: all of them have the same red ones."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from harness.facts import Finding
from harness.judging.judge_results import AdapterResults, JudgeResults
from harness.judging.rows import (
    VERDICTS,
    CaseRow,
    ExchangeRow,
    LawRow,
    QuestionRow,
    Row,
    decode,
    encode,
)
from harness.report import Run, pack, render, render_index, render_junit, unpack
from harness.report.ci import annotation_lines
from harness.report.judge_run import run_of
from harness.report.tally import tally
from tests.support.report_samples import HEADER, MIXED, result

LOST = Finding("text", "lost", "text", "a")
LAW = LawRow(
    "failed",
    "anthropic",
    "gemini-api",
    "gemini-api/text",
    2,
    findings=(Finding("law-3", "wrong", "law", remark="It loses a fact."),),
    findings_total=1,
    layer="payloads",
    spec="laws/nothing-lost",
    line=3,
    case="gemini-api/text.2",
    requirement="Law 3.",
    features=("usage.totals",),
)
QUESTION = QuestionRow(
    "failed",
    "anthropic",
    "gemini-api",
    "questions/gemini-api/zero",
    1,
    aspects={"settings": "lost"},
    findings=(Finding("settings", "lost", "asked", 0.0, remark="0.0 is not sent"),),
    findings_total=1,
    block="documented",
    case="zero",
    question="zero",
    requirement="About zero.",
)
ANSWER = ExchangeRow(
    "failed",
    "anthropic",
    "gemini-api",
    "gemini-api/text",
    1,
    aspects={"text": "lost"},
    findings=(LOST,),
    findings_total=1,
    block="documented",
)
AGAIN = ExchangeRow(
    "failed",
    "anthropic",
    "gemini-api",
    "gemini-api/calls",
    1,
    aspects={"calls": "lost"},
    findings=(Finding("calls", "lost", "calls", 1),),
    findings_total=1,
    block="documented",
    turn="second",
)


def test_page_junit_annotations_summary_and_badge_of_a_run_have_the_same_red_rows() -> None:
    rows: list[Row] = [*MIXED, LAW, QUESTION]
    red = [row for row in rows if VERDICTS[row.verdict].red]
    files = render(Run(HEADER, rows))
    counts = ET.fromstring(files["junit.xml"]).attrib
    assert int(counts["failures"]) + int(counts["errors"]) == len(red) == tally(rows).red
    assert len(files["annotations.txt"].splitlines()) == len(red)
    assert "✕ 3 failed, 1 error, 1 fixed of" in files["badges/all.svg"]
    assert files["summary.md"].count("✕ **failed**") == 3
    index = re.sub(r"\s+", " ", files["index.html"])
    assert "2 failed, 1 error, 1 fixed" in index
    assert "Requests of anthropic: 0 of 1 question passed, 1 failed." in index
    for row in red:
        name = row.label if isinstance(row, QuestionRow) else row.case
        assert f"{name}[" in files["junit.xml"]
        assert f"{name.replace(':', '%3A')} [anthropic]" in files["annotations.txt"]


def test_the_report_of_harness_judge_has_the_same_red_rows() -> None:
    adapter = AdapterResults("anthropic", "anthropic", "1", "", "", (), (ANSWER,), (AGAIN,))
    run = run_of(JudgeResults((adapter,)))
    assert [row.section for row in run.results] == ["documented", "second_turn"]
    assert ET.fromstring(render_junit(run)).attrib["failures"] == "2"
    assert len(annotation_lines(run.results).splitlines()) == 2
    page = render_index(run)
    for anchor in ("anthropic.documented.text", "anthropic.second_turn.calls"):
        assert f'id="{anchor}"' in page
        assert f'href="#{anchor}"' in page


def test_a_row_is_read_back_as_what_it_is_about() -> None:
    case = result("passed", spec="laws/a.yaml")
    rows: list[Row] = [case, LAW, QUESTION]
    back = unpack(pack(Run(HEADER, rows))).results
    assert {type(row): row for row in back} == {CaseRow: case, LawRow: LAW, QuestionRow: QUESTION}
    for row in (*rows, ANSWER, AGAIN):
        [again] = decode(encode([row]))
        assert (type(again), again) == (type(row), row)
