"""Findings with one cause are one finding, and the property of the wire is in its sentence."""

from __future__ import annotations

from msgspec.structs import replace

from harness.facts import AspectVerdict, Finding
from harness.judging.judge_results import JudgeResults
from harness.judging.results import Result, WireProperty
from harness.report import render_index
from harness.report.aspect_counts import causes_of, hints_of, losses_of, number_of_findings
from harness.report.aspect_text import results_text
from harness.report.judge_run import run_of
from tests.report.page_reader import Page
from tests.support.aspect_samples import OTHER, cell, with_findings


def answers(
    number: int, wire: str = "", fields: tuple[str, ...] = (), **verdicts: AspectVerdict
) -> list[Result]:
    """Streams with these line ends, or without any, whose messages have these fields."""
    properties = [WireProperty("framing", "server-sent events")]
    properties += [WireProperty("line ends", wire)] if wire else []
    properties += [WireProperty("field", name) for name in fields]
    return [
        replace(
            cell(f"gemini-api/{wire}{'-'.join(fields)}", place, **verdicts),
            properties=tuple(properties),
            provider="gemini-api",
        )
        for place in range(1, number + 1)
    ]


def sentences(cells: list[Result]) -> list[str]:
    return [cause.sentence for cause in causes_of(cells)]


def test_cells_without_any_fact_that_share_their_line_ends_are_one_finding() -> None:
    silent = answers(4, "CRLF", text="lost", finish="lost", usage="lost")
    right = answers(3, "LF", text="kept", finish="kept", usage="kept")
    single = answers(9, "", text="kept", finish="kept")
    cells = [*silent, *right, *single]
    sentence = "nothing for all 4 streams with CRLF line ends, right for the 3 with LF"
    assert sentences(cells) == [sentence]
    assert (losses_of(cells), number_of_findings(cells)) == ([], 1)
    adapter = replace(OTHER, cells=tuple(cells))
    text = results_text(adapter)
    assert f"1 finding, documented wire:\n\n- {sentence}\n  cassette gemini-api/CRLF, " in text
    assert "  wire    frame 7\n  native  another\n  run: harness judge other:replay" in text
    page = Page(render_index(run_of(JudgeResults((adapter,)))))
    assert sentence in page.text
    assert ("a", {"class": "mark", "href": "#other.documented"}) in page.tags
    assert "other.documented" in page.ids


def test_a_few_exceptions_do_not_hide_a_cause() -> None:
    silent = answers(20, "CRLF", text="lost")
    other = [replace(own, exchange=99) for own in answers(1, "CRLF", text="kept")]
    right = answers(1, "LF", text="kept")
    assert sentences([*silent, *other, *right]) == [
        "nothing for 20 of the 21 streams with CRLF line ends, right for the 1 with LF"
    ]
    many = [replace(own, exchange=99 + place) for place in range(9) for own in other]
    assert sentences([*silent, *many, *right]) == []


def test_without_a_contrast_there_is_no_cause() -> None:
    assert sentences(answers(4, "CRLF", text="lost")) == []
    assert sentences([*answers(4, "CRLF", text="lost"), *answers(3, text="kept")]) == []


def test_an_error_that_is_lost_too_is_a_cell_without_any_fact_and_a_kept_one_is_not() -> None:
    right = answers(2, "LF", text="kept")
    assert sentences([*answers(3, "CRLF", error="lost", unfinished="kept"), *right])
    assert not sentences([*answers(3, "CRLF", text="lost", finish="kept"), *right])


def test_a_wire_of_which_nothing_is_kept_is_a_cause() -> None:
    unread = [replace(own, provider="interactions") for own in answers(3, "LF", text="lost")]
    right = answers(2, "CRLF", text="kept")
    assert sentences([*unread, *right]) == [
        "nothing for all 3 answers of interactions, right for the 2 of other wires"
    ]


def test_a_wire_that_shares_the_cause_of_another_wire_is_no_cause_of_its_own() -> None:
    silent = answers(3, "CRLF", text="lost")
    other = [
        replace(own, provider="code-assist", cassette="code-assist/x")
        for own in answers(3, "CRLF", text="lost")
    ]
    right = answers(2, "LF", text="kept")
    assert sentences([*silent, *other, *right]) == [
        "nothing for all 6 streams with CRLF line ends, right for the 2 with LF"
    ]


def test_a_field_that_all_red_cells_of_an_aspect_share_is_in_the_sentence() -> None:
    red = answers(3, "LF", ("partialArgs", "name"), calls="lost", finish="kept")
    right = answers(5, "LF", ("args", "name"), calls="kept", finish="kept")
    (loss,) = losses_of([*red, *right])
    assert loss.sentence == (
        "calls lost in 3 cells: all 3 answers with the field partialArgs, right for the 5 without"
        " it: the wire ends with 1; the adapter gives no reason"
    )
    (few,) = losses_of([*red[:2], *right])
    assert few.shared is None, "two cells may share a field by chance"


def test_an_aspect_that_is_lost_everywhere_can_be_declared() -> None:
    cells = [*answers(2, "LF", text="kept", finish="lost"), *answers(3, text="kept", finish="lost")]
    hint = "finish is lost in 5 of 5 cells; if the event model has no place for it: --losses finish"
    assert hints_of(cells) == {"finish": hint}
    adapter = replace(OTHER, cells=tuple(cells))
    assert f"\n  {hint}\n" in results_text(adapter)
    assert hint in Page(render_index(run_of(JudgeResults((adapter,))))).text
    assert hints_of([*cells, cell(exchange=9, finish="kept")]) == {}
    assert hints_of(answers(4, "LF", finish="lost")) == {}, "it gives nothing at all"


def test_a_lost_aspect_that_the_native_events_have_is_not_to_be_declared() -> None:
    finding = Finding("usage", "lost", "counts-unreported", {"input": 1}, {"input": 0})
    cells = [
        replace(with_findings(own, finding), aspects={"text": "kept", "usage": "lost"})
        for own in answers(2, text="kept", usage="lost")
    ]
    assert hints_of(cells) == {}


def test_losses_that_differ_in_the_word_of_the_reason_are_one_finding() -> None:
    words = ("SAFETY", "RECITATION", "MAX_TOKENS")
    cells = [
        with_findings(cell(exchange=number), Finding("finish", "wrong", "finish", word, "stop"))
        for number, word in enumerate(words, 1)
    ]
    (loss,) = losses_of(cells)
    assert loss.sentence == (
        "finish wrong in 3 cells: the wire ends with SAFETY; the adapter reports stop"
    )
