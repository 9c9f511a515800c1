"""Findings with one cause are one finding, and the property of the wire is in its sentence."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from harness.facts import AspectVerdict, Finding
from harness.judging.judge_results import JudgeResults
from harness.judging.rows import Evidence, ExchangeRow, LayerView, WireProperty
from harness.report import render_index
from harness.report.aspect_counts import Findings, hints_of
from harness.report.aspect_text import results_text
from harness.report.judge_run import run_of
from tests.report.page_reader import Page
from tests.support.aspect_samples import OTHER, cell, with_findings


def answers(
    number: int, wire: str = "", fields: tuple[str, ...] = (), **verdicts: AspectVerdict
) -> list[ExchangeRow]:
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


def sentences(cells: list[ExchangeRow]) -> list[str]:
    return [cause.sentence for cause in Findings(cells).causes]


def test_cells_without_any_fact_that_share_their_line_ends_are_one_finding() -> None:
    silent = answers(4, "CRLF", text="lost", finish="lost", usage="lost")
    right = answers(3, "LF", text="kept", finish="kept", usage="kept")
    single = answers(9, "", text="kept", finish="kept")
    cells = [*silent, *right, *single]
    sentence = "nothing for all 4 streams with CRLF line ends, something for the 3 with LF"
    assert sentences(cells) == [sentence]
    assert (Findings(cells).losses, len(Findings(cells))) == ([], 1)
    adapter = replace(OTHER, cells=tuple(cells))
    text = results_text(adapter)
    assert f"1 finding, documented wire:\n\n- {sentence}\n  cassette gemini-api/CRLF, " in text
    assert "  wire    frame 7\n  native  another\n  run: harness judge other:replay" in text
    page = Page(render_index(run_of(JudgeResults((adapter,)))))
    assert sentence in page.text
    assert r"Remedy: take \r\n, \n and \r as line ends" in page.text
    assert r"  remedy: take \r\n, \n and \r as line ends" in text
    assert ("a", {"class": "mark", "href": "#other.documented"}) in page.tags
    assert "other.documented" in page.ids


def test_a_few_exceptions_do_not_hide_a_cause() -> None:
    silent = answers(20, "CRLF", text="lost")
    other = [replace(own, exchange=99) for own in answers(1, "CRLF", text="kept")]
    right = answers(1, "LF", text="kept")
    assert sentences([*silent, *other, *right]) == [
        "nothing for 20 of the 21 streams with CRLF line ends, something for the 1 with LF"
    ]
    many = [replace(own, exchange=99 + place) for place in range(9) for own in other]
    assert sentences([*silent, *many, *right]) == []


def test_streams_of_one_message_belong_to_a_cause_if_they_are_lost_too() -> None:
    silent = answers(3, "CRLF", text="lost")
    right = answers(1, "LF", text="kept", finish="lost")
    single = answers(4, text="lost")
    ends = (WireProperty("framing", "server-sent events"), WireProperty("last line end", "CRLF"))
    single = [replace(own, properties=ends) for own in single]
    assert sentences([*silent, *single, *right]) == [
        "nothing for all 7 streams with CRLF line ends, something for the 1 with LF"
    ]
    kept = [replace(own, aspects={"text": "kept"}, findings=()) for own in single]
    assert sentences([*silent, *kept, *right]) == [
        "nothing for all 3 streams with CRLF line ends, something for the 1 with LF"
    ]


def test_documents_are_a_cause_beside_the_line_ends_and_no_exception_from_it() -> None:
    silent = answers(3, "CRLF", text="lost")
    right = answers(1, "LF", text="kept")
    documents = [
        replace(own, properties=(WireProperty("framing", "one document"),))
        for own in answers(9, error="lost")
    ]
    first, second = Findings([*documents, *silent, *right]).causes
    assert first.sentence == (
        "nothing for all 9 answers as one document, something for 1 of the 4 as server-sent events"
    )
    assert first.remedy.startswith("read the whole body as one JSON document")
    assert second.sentence == (
        "nothing for all 3 streams with CRLF line ends, something for the 1 with LF"
    )
    assert second.remedy.startswith(r"take \r\n, \n and \r as line ends")


def test_without_a_contrast_there_is_no_cause() -> None:
    assert sentences(answers(4, "CRLF", text="lost")) == []
    assert sentences([*answers(4, "CRLF", text="lost"), *answers(3, text="kept")]) == []


@pytest.mark.parametrize(
    ("wire", "number", "sentence"),
    [
        ("CRLF", 4, "nothing for all 4 streams with CRLF line ends"),
        ("CR", 2, "nothing for all 2 streams with CR line ends"),
    ],
)
def test_without_a_contrast_unexpected_line_ends_are_a_possible_cause(
    wire: str, number: int, sentence: str
) -> None:
    cells = [without_events(own) for own in answers(number, wire, text="lost")]
    (cause,) = Findings(cells).causes
    assert cause.sentence == sentence
    assert cause.remedy.startswith(r"take \r\n, \n and \r as line ends")
    assert "This is only a possible cause, because no other answers were judged." in cause.remedy
    other = [without_events(own) for own in answers(1, "LF", text="lost")]
    assert sentences([*cells, *other]) == [f"no event for {number + 1} answers"]
    assert sentences([*cells, *answers(1, "", text="wrong")]) == []


def without_events(result: ExchangeRow) -> ExchangeRow:
    """The cell of an adapter that gave no event."""
    views = (LayerView("frames", ("data: {}",), 0, 1, 0), LayerView("native", (), 0, 0))
    return replace(result, evidence=Evidence(excerpts={"text": views}))


def test_a_cause_names_the_cells_in_which_the_adapter_crashed() -> None:
    silent = answers(4, "CRLF", text="lost")
    crash = Finding(
        "needless_error", "raised", "crash", adapter={"words": "KeyError", "type": "KeyError"}
    )
    crashed = [
        with_findings(replace(own, exchange=99 + own.exchange), crash)
        for own in answers(3, "CRLF", text="lost")
    ]
    assert sentences([*silent, *crashed, *answers(1, "LF", text="kept")]) == [
        "nothing for all 7 streams with CRLF line ends (3 crashed), something for the 1 with LF"
    ]


@pytest.mark.parametrize(
    ("reason", "given", "error"),
    [
        ("needless", "only an error", "the adapter reports an error: No message"),
        ("crash", "a crash", "the adapter crashed: No message"),
    ],
)
def test_an_adapter_that_reports_an_error_has_the_cause_of_a_silent_one(
    reason: str, given: str, error: str
) -> None:
    words = {"words": "No message", "type": "ValueError"}
    findings = [
        Finding(aspect, "raised", reason, adapter=words) for aspect in ("text", "needless_error")
    ]
    raising = [with_findings(own, *findings) for own in answers(4, "CRLF")]
    right = answers(3, "LF", text="kept", finish="kept")
    assert sentences([*raising, *right]) == [
        f"{given} for all 4 streams with CRLF line ends, something for the 3 with LF: {error}"
    ]
    assert Findings([*raising, *right]).losses == []


def test_one_stream_is_no_sample_for_a_cause() -> None:
    (own,) = answers(1, "CRLF", text="lost")
    assert sentences([without_events(own)]) == ["no event for 1 answer"]


def test_an_error_that_is_lost_too_is_a_cell_without_any_fact_and_a_kept_one_is_not() -> None:
    right = answers(2, "LF", text="kept")
    assert sentences([*answers(3, "CRLF", error="lost", unfinished="kept"), *right])
    assert not sentences([*answers(3, "CRLF", text="lost", finish="kept"), *right])


def test_a_wire_of_which_nothing_is_kept_is_a_cause() -> None:
    unread = [replace(own, provider="interactions") for own in answers(3, "LF", text="lost")]
    right = answers(2, "CRLF", text="kept")
    assert sentences([*unread, *right]) == [
        "nothing for all 3 answers of interactions, something for the 2 of other wires"
    ]


def test_a_wire_that_shares_the_cause_of_another_wire_is_no_cause_of_its_own() -> None:
    silent = answers(3, "CRLF", text="lost")
    other = [
        replace(own, provider="code-assist", cassette="code-assist/x")
        for own in answers(3, "CRLF", text="lost")
    ]
    right = answers(2, "LF", text="kept")
    assert sentences([*silent, *other, *right]) == [
        "nothing for all 6 streams with CRLF line ends, something for the 2 with LF"
    ]


def test_a_field_that_all_red_cells_of_an_aspect_share_is_in_the_sentence() -> None:
    red = answers(3, "LF", ("partialArgs", "name"), calls="lost", finish="kept")
    right = answers(5, "LF", ("args", "name"), calls="kept", finish="kept")
    (loss,) = Findings([*red, *right]).losses
    assert loss.sentence == (
        "calls lost in 3 cells: all 3 answers with the field partialArgs, right for the 5 without"
        " it: the wire ends with 1; the adapter gives no reason"
    )
    other = answers(2, "LF", ("args",), calls="wrong", finish="kept")
    shared = Findings([*red, *right, *other]).losses[0].shared
    assert shared is not None
    assert shared.contrast == "for 5 of the 7 without it"
    assert Findings([*red, *other]).losses[0].shared is None, "the aspect is kept nowhere"
    (few,) = Findings([*red[:2], *right]).losses
    assert few.shared is None, "two cells may share a field by chance"


def test_an_aspect_that_is_lost_everywhere_can_be_declared() -> None:
    cells = [*answers(2, "LF", text="kept", finish="lost"), *answers(3, text="kept", finish="lost")]
    hint = "lost in all 5 cells; if the event model has no place for it: --losses finish"
    assert hints_of(cells) == {"finish": hint}
    adapter = replace(OTHER, cells=tuple(cells))
    assert f"\n  {hint}\n" in results_text(adapter)
    assert hint in Page(render_index(run_of(JudgeResults((adapter,))))).text
    assert hints_of([*cells, cell(exchange=9, finish="kept")]) == {}
    assert hints_of(answers(4, "LF", finish="lost")) == {}, "it gives nothing at all"
    silent = [replace(own, exchange=99) for own in answers(1, text="lost", finish="lost")]
    assert hints_of([*cells, *silent]) == {}, "the adapter does not read some answers"


@pytest.mark.parametrize("aspect", ["text", "calls", "error", "unfinished", "hangs", "sent"])
def test_an_aspect_of_every_event_model_is_not_to_be_declared(aspect: str) -> None:
    verdicts: dict[str, AspectVerdict] = {aspect: "lost", "usage": "kept"}
    assert hints_of([cell("gemini-api/a", place, **verdicts) for place in range(4)]) == {}


def test_exceptions_come_before_the_losses_and_those_before_losses_in_fewer_cells() -> None:
    cells = [
        *answers(1, text="lost", usage="kept"),
        *answers(1, "LF", needless_error="raised", usage="raised"),
        *answers(2, "CRLF", usage="lost", text="kept"),
    ]
    losses = Findings(cells).losses
    assert [(loss.aspect, len(loss.cells)) for loss in losses] == [
        ("needless_error", 1),
        ("usage", 2),
        ("text", 1),
    ]
    page = Page(render_index(run_of(JudgeResults((replace(OTHER, cells=tuple(cells)),)))))
    places = [page.ids.index(f"other.documented.{loss.aspect}") for loss in losses]
    assert places == sorted(places)


def test_a_lost_aspect_that_the_native_events_have_is_not_to_be_declared() -> None:
    finding = Finding("usage", "lost", "counts-unreported", {"input": 1}, {"input": 0})
    cells = [
        replace(with_findings(own, finding), aspects={"text": "kept", "usage": "lost"})
        for own in answers(2, text="kept", usage="lost")
    ]
    assert hints_of(cells) == {}


def test_ids_without_calls_and_counts_of_which_some_are_given_are_not_to_be_declared() -> None:
    lost = [*answers(2, "LF", text="kept", ids="lost"), *answers(2, text="kept", ids="lost")]
    assert hints_of(lost) == {}
    kept = [cell("gemini-api/c", number, calls="kept", ids="lost") for number in (1, 2)]
    assert [*hints_of(kept)] == ["ids"]
    for given, names in ({"input": 6, "thoughts": 0}, []), ({"input": 0, "thoughts": 0}, ["usage"]):
        finding = Finding("usage", "lost", "counts", {"input": 6, "thoughts": 3}, given)
        cells = [
            replace(with_findings(own, finding), aspects={"text": "kept", "usage": "lost"})
            for own in answers(2, text="kept", usage="lost")
        ]
        assert [*hints_of(cells)] == names


def test_losses_that_differ_in_the_word_of_the_reason_are_one_finding() -> None:
    words = ("SAFETY", "RECITATION", "MAX_TOKENS")
    cells = [
        with_findings(cell(exchange=number), Finding("finish", "wrong", "finish", word, "stop"))
        for number, word in enumerate(words, 1)
    ]
    (loss,) = Findings(cells).losses
    assert loss.sentence == (
        "finish wrong in 3 cells: SAFETY → stop ×1, RECITATION → stop ×1, MAX_TOKENS → stop ×1"
    )


def test_a_finish_finding_lists_its_pairs_and_shows_the_most_frequent_one() -> None:
    pairs = [("FINISH_REASON_UNSPECIFIED", "stop"), *[("MAX_TOKENS", "stop")] * 3]
    cells = [
        with_findings(cell(exchange=number), Finding("finish", "lost", "finish", *pair))
        for number, pair in enumerate(pairs, 1)
    ]
    (loss,) = Findings(cells).losses
    assert loss.note == "MAX_TOKENS → stop ×3, FINISH_REASON_UNSPECIFIED → stop ×1"
    assert loss.cells[0].exchange == 2
