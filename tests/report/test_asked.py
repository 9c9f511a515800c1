"""Questions about requests in every form of a report."""

from __future__ import annotations

import re
from xml.etree.ElementTree import fromstring

import pytest
from msgspec.structs import replace

from harness.judging.judge_results import JudgeResults, decode_results, encode_results
from harness.judging.rows import QuestionRow
from harness.report import Run, compare_runs, render, render_index
from harness.report.asked import asked_questions
from harness.report.aspect_counts import Findings
from harness.report.aspect_text import results_text
from harness.report.judge_run import compared_runs, merge_results, run_of
from harness.report.layout import placed
from harness.report.matrix import matrix_files
from tests.support.asked_samples import ASKED, KEPT, UNREAD, judged, row
from tests.support.report_samples import HEADER, result


def kinds(before: QuestionRow, *after: QuestionRow) -> list[tuple[str, str]]:
    [(old, new)] = compared_runs(judged(before, row("other")), judged(*after, row("other")))
    return [(change.kind, change.place) for change in compare_runs(old, new)]


def text_of(html: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", html).split())


def test_a_question_has_its_verdicts_as_a_stream_and_unary_with_its_findings() -> None:
    run = run_of(judged(*ASKED))
    names, cells = placed(run)
    [own] = asked_questions(cells, names.providers, names.columns)

    assert own.words == "1 of 2 questions passed, 1 failed"
    marks = {question.name: question.marks for question in own.questions}
    assert marks == {
        "settings-none": ([("passed", 1)], []),
        "settings-zero": ([("failed", 1)], [("passed", 1)]),
    }
    [sentence] = own.questions[1].sentences
    assert sentence == ("settings lost: temperature 0.0 is not sent", "#shim.questions.settings")
    assert own.not_asked == [("tools: the adapter does not read it", ["tools-plain"])]


def test_a_reason_names_the_wires_that_have_it_unless_all_have_it() -> None:
    rows = [
        *(row("tools", provider=wire, finding=UNREAD) for wire in ("gemini-api", "anthropic")),
        *(row("zero", provider="gemini-api"), row("zero", provider="anthropic", finding=UNREAD)),
    ]
    names, cells = placed(run_of(judged(*rows)))
    [own] = asked_questions(cells, names.providers, names.columns)

    [(_, questions)] = own.not_asked
    assert questions == ["tools", f"zero ({names.providers['anthropic']})"]


def test_the_page_of_a_judge_has_the_questions_their_findings_and_links_that_exist() -> None:
    page = render_index(run_of(judged(*ASKED)))
    section = page[page.index('aria-labelledby="asked"') :].partition("</section>")[0]

    assert "tools: the adapter does not read it: tools-plain" in text_of(section)
    for target in re.findall('href="#([^"]*)"', section):
        assert f'id="{target}"' in page
    assert "asked settings.temperature = 0.0" in text_of(page)
    assert "Question gemini-api: settings-zero" in text_of(page)
    assert "--questions settings-zero" in page
    assert "1 finding" in page[page.index('id="shim.questions') :]


def test_a_question_of_several_wires_names_its_wire() -> None:
    run = run_of(judged(row("settings-zero"), row("settings-zero", provider="anthropic")))
    names, cells = placed(run)
    [own] = asked_questions(cells, names.providers, names.columns)

    assert {question.provider for question in own.questions} == {
        "Gemini API",
        names.providers["anthropic"],
    }


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (row("zero", finding=KEPT), row("zero"), "broken"),
        (row("zero", finding=KEPT), row("zero", finding=UNREAD), "broken"),
        (row("zero"), row("zero", finding=KEPT), "fixed"),
        (row("zero"), row("zero", finding=UNREAD), "changed"),
    ],
)
def test_a_question_that_was_kept_and_is_not_now_is_broken(
    before: QuestionRow, after: QuestionRow, kind: str
) -> None:
    assert kinds(before, after) == [(kind, "gemini-api: zero[shim]")]


def test_a_question_that_is_gone_is_named() -> None:
    assert kinds(row("zero")) == [("gone", "gemini-api: zero[shim]")]


def test_the_same_question_of_two_wires_is_two_cells() -> None:
    other = row("zero", provider="anthropic", finding=KEPT)
    assert kinds(row("zero"), other, row("zero")) == [("new", "anthropic: zero[shim]")]


def test_a_report_of_pytest_has_each_question_but_not_among_the_cases() -> None:
    questions = [replace(each, adapter="anthropic") for each in ASKED]
    files = render(Run(HEADER, [result(), *questions]))
    root = fromstring(files["junit.xml"])
    names = {case.get("name"): case.get("classname") for case in root.iter("testcase")}

    assert names.keys() >= {
        "gemini-api: settings-zero[anthropic]",
        "gemini-api: settings-zero (unary)[anthropic]",
        "gemini-api: tools-plain[anthropic]",
    }
    assert names["gemini-api: settings-zero[anthropic]"] == "questions"
    assert "Requests by question" in files["index.html"]
    sentence = "Requests of anthropic: 1 of 2 questions passed, 1 failed."
    assert f"The one cell passed. {sentence}" in text_of(files["index.html"])
    only_questions = text_of(render(Run(HEADER, questions))["index.html"])
    assert sentence in only_questions
    assert "Nothing ran" not in only_questions
    assert "settings-zero" not in files["gemini-api.html"]
    assert "temperature 0.0 is not sent" in files["summary.md"]
    assert '"turn":"question"' in files["results.json"]


def test_documents_are_merged_with_the_questions_of_both() -> None:
    merged = merge_results([judged(row("one")), judged(row("two"), row("one", finding=KEPT))])
    [adapter] = merged.adapters

    assert {cell.question: cell.verdict for cell in adapter.questions} == {
        "one": "passed",
        "two": "failed",
    }
    assert decode_results(encode_results(merged), "x") == merged


def test_the_matrix_has_the_requests_of_each_adapter() -> None:
    results: JudgeResults = judged(*ASKED)
    files = matrix_files({"shim": results.adapters})

    assert "Requests by question" in files["shim/index.html"]
    assert 'id="questions"' in files["index.html"]


def test_a_finding_counts_its_questions_and_names_their_cells() -> None:
    rows = (row("settings-zero"), row("settings-zero", unary=True), row("other"))
    [loss] = Findings(rows).losses

    assert loss.sentence == "settings lost in 2 questions: temperature 0.0 is not sent"
    [loss] = Findings(rows[:2]).losses
    assert loss.sentence == "settings lost: temperature 0.0 is not sent"
    text = results_text(judged(*rows).adapters[0])
    assert "  also in gemini-api: settings-zero (unary), gemini-api: other\n" in text
