"""The results of ``harness judge``: counts, text, page, comparison, and the lines of evidence."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from msgspec.structs import replace

from harness.adapters import EVENTS
from harness.facts import Entry, Text, Transcript
from harness.judging.judge_results import (
    Result,
    JudgeResults,
    Side,
    cell_of,
    decode_results,
    request_lines,
    side_of,
    words_of,
)
from harness.judging.aspects import ExchangeJudgement, judge_transcript, wire_answer
from harness.judging.results import encode_item
from harness.report import ReportError
from harness.report.aspect_compare import compare_results, comparison_text
from harness.report.aspect_counts import command_of, errors_of, losses_of
from harness.report.aspect_pages import aspects_page, merge_results
from harness.report.aspect_text import results_text
from harness.stream.exchange import Exchange
from tests.report.page_reader import Page
from tests.support.aspect_samples import HOSTILE_RESULTS, OTHER, RESULTS, SHOP, VARIANT, cell
from tests.support.report_samples import HOSTILE


def test_losses_with_the_same_reason_but_other_values_are_one() -> None:
    losses = losses_of(SHOP.sections["documented"])
    assert [(loss.aspect, loss.verdict, len(loss.cells)) for loss in losses] == [
        ("ids", "lost", 1),
        ("finish", "wrong", 2),
    ]


def test_text_and_page_count_a_needless_error_once() -> None:
    raised = cell(text="raised", finish="raised", usage="lost", needless_error="raised")
    declared = cell(exchange=2, text="raised", needless_error="not_carried")
    error = Result("gemini-api/d", 1, "documented", error="it never asked")
    adapter = replace(OTHER, cells=(raised, declared, error))
    assert [loss.aspect for loss in losses_of([raised])] == ["usage", "needless_error"]
    assert [loss.aspect for loss in losses_of([declared])] == ["text"], "it is red"
    assert "4 findings, documented wire:" in results_text(adapter)
    page = Page(aspects_page(JudgeResults((adapter,))))
    assert "on the documented wire. It has 4 findings there." in page.text
    assert (
        "finish 0 findings In 1 cell the aspect is missing because of a needless error."
        in page.text
    )
    links = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    assert {link[1:] for link in links if link.startswith("#")} <= set(page.ids)


def test_the_page_counts_the_findings_of_the_second_turn() -> None:
    text = Page(aspects_page(RESULTS)).text
    assert "2 adapters. A red number in a table leads to its findings." in text
    assert "1 of 4 cells passed 2 failed 1 error 3 findings" in text
    assert "1 of 1 cell passed 0 findings" in text
    alone = Page(aspects_page(JudgeResults((SHOP,)))).text
    assert (
        "on the documented wire. It has 3 findings there and 1 finding in the second turn." in alone
    )


def test_losses_of_streamed_and_of_unary_answers_are_separate() -> None:
    cells = (cell(text="lost"), replace(cell(exchange=2, text="lost"), unary=True))
    assert [[item.exchange for item in loss.cells] for loss in losses_of(cells)] == [[1], [2]]
    adapter = replace(OTHER, cells=cells)
    assert "  cassette gemini-api/a, exchange 2, unary\n" in results_text(adapter)
    page = Page(aspects_page(JudgeResults((adapter,))))
    assert "Cassette gemini-api/a, exchange 2, unary." in page.text
    assert "Cassette gemini-api/a, exchange 1." in page.text


@pytest.mark.parametrize(
    "notes",
    [
        (
            "the wire reports 503 UNAVAILABLE Overloaded.; the adapter reports no error",
            "the wire reports 404 <html>\n; the adapter reports no error",
        ),
        (
            "the prompt is blocked (SAFETY); the adapter reports None",
            "the prompt is blocked (OTHER); the adapter reports None",
        ),
        ('1 of 1 calls lost: f({"a": 1})', "2 of 3 calls lost: g({})"),
        ("1 of 1 values lost: Ab+/=", "2 of 2 values lost: clip\n; b … (90 characters)"),
        ("with --cuts pieces: 1 of 1 ids lost: x7", "with --cuts pieces: 1 of 1 ids lost: k"),
        ("the id x7 of call 1 is nowhere", "the id call_b of call 2 is nowhere"),
        ("the id of call 1 is a; the wire's is b", "the id of call 2 is c; the wire's is d"),
        ("the id a of call 1 is sent back as b", "the id c of call 2 is sent back as d"),
        ("result 1 has the id a, its call b", "result 2 has the id c, its call None"),
        ('the call f({"a": 1}) is not sent back', "the call g({}) is not sent back"),
        (
            "the signature of call 1 is not sent back: Aa",
            "the signature of call 2 is not sent back: b",
        ),
        ("not sent back: Ab", "not sent back: Cd"),
        ("lost: ab", "lost: cd"),
        ('the wire has "the id a", the adapter ""', 'the wire has "b", the adapter "the call"'),
        (
            "the calls are ['f'], the results are of []",
            "the calls are ['g', 'f'], the results are of ['f']",
        ),
    ],
)
def test_losses_that_differ_in_values_without_quotes_are_one(notes: tuple[str, str]) -> None:
    cells = tuple(
        replace(cell(exchange=number, error="lost"), notes={"error": note})
        for number, note in enumerate(notes, 1)
    )
    (loss,) = losses_of(cells)
    assert loss.sentence == f"error lost in 2 cells: {notes[0]}"


@pytest.mark.parametrize(
    "notes",
    [
        (
            "the wire reports a; the adapter reports no error",
            "the wire reports a; the adapter reports no error and ends with STOP",
        ),
        (
            "the wire ends with A; the adapter reports stop",
            "the wire ends with B; the adapter reports x",
        ),
        (
            "1 of 1 calls lost: f({})",
            "1 of 1 calls lost: f({}); a later call has its id, and the last call with an id is used",
        ),
        ("the id a of call 1 is not sent back", "the id a of call 1 is sent back as b"),
        ("1 of 1 values lost: a", "with --cuts pieces: 1 of 1 values lost: a"),
        (
            'at character 0 the wire has "a", the adapter ""',
            'at character 15 the wire has "b", the adapter ""',
        ),
    ],
)
def test_losses_with_different_reasons_are_not_one(notes: tuple[str, str]) -> None:
    cells = [replace(cell(error="lost"), notes={"error": note}) for note in notes]
    assert len(losses_of(cells)) == 2


def test_variants_are_never_red_and_errors_are() -> None:
    green = replace(SHOP, cells=SHOP.cells[2:3], second_turn=(), unused_losses=())
    assert not green.red
    assert not replace(green, cells=(SHOP.cells[4],)).red
    assert replace(green, cells=(SHOP.cells[3],)).red
    assert replace(green, second_turn=SHOP.second_turn).red
    assert replace(green, unused_losses=("media",)).red


def test_the_text_has_each_block_and_each_finding() -> None:
    text = results_text(SHOP)
    assert "Documented wire: 1 of 4 cells passed, 2 failed, 1 error\n" in text
    assert "Variants: 0 of 1 cell passed, 1 failed\n" in text
    assert "Second turn: 0 of 1 cell passed, 1 failed\n" in text
    assert "- error: it never asked\n  cassette gemini-api/d, exchange 1\n" in text
    assert '- finish wrong in 2 cells: of "1" nothing is left\n' in text
    assert "  also in gemini-api/a:2\n  wire    frame 7\n  native  another\n" in text
    assert "declared loss media: no cell shows it" in text
    assert "lost: gone" not in text, "a loss in a variant is counted only"
    page_only = "- 1 finding in 1 cell: shown on the page that --report DIR writes\n"
    assert f"1 finding, variants:\n\n{page_only}" in text
    assert "nothing is left" not in results_text(SHOP, with_losses=False)


def test_the_text_has_the_errors_of_variants() -> None:
    broken = replace(VARIANT, exchange=4, aspects={}, error="it hung")
    text = results_text(replace(SHOP, cells=(*SHOP.cells, broken)))
    assert (
        "2 findings, variants:\n\n- error: it hung\n  cassette gemini-api/b, exchange 4\n" in text
    )
    assert "--cassettes gemini-api/b:4\n\n- 1 finding in 1 cell: shown on the page" in text
    alone = results_text(replace(SHOP, cells=(broken,)))
    assert "1 finding, variants:\n\n- error: it hung\n" in alone
    assert "shown on the page" not in alone


def test_an_error_keeps_the_line_ends_of_stderr() -> None:
    error = "node ended with status 1:\nError: no model\n  at shim.mjs:3"
    adapter = replace(SHOP, cells=(replace(SHOP.cells[3], error=error),))
    shown = (
        "- error: node ended with status 1:\n    Error: no model\n      at shim.mjs:3\n  cassette"
    )
    assert shown in results_text(adapter)


def test_errors_with_different_event_numbers_are_one_finding() -> None:
    errors = ("event 3 of f: fact 1: no fact", "event 12 of f: fact 1: no fact", "event 3: other")
    cells = tuple(
        replace(SHOP.cells[3], exchange=number, error=error)
        for number, error in enumerate(errors, 1)
    )
    assert [[cell.exchange for cell in alike] for alike in errors_of(cells).values()] == [
        [1, 2],
        [3],
    ]


def test_errors_with_different_values_of_a_fact_are_one_finding() -> None:
    places = ("shop.py:3: Finish.raw", "shop.py:3: Finish.raw", "shop.py:9: Finish.raw")
    values = ("int 3", 'list [";"]', "int 3")
    cells = tuple(
        replace(SHOP.cells[3], exchange=number, error=f"{place} is {value}; expected a string")
        for number, (place, value) in enumerate(zip(places, values, strict=True), 1)
    )
    by_error = errors_of(cells)
    assert {error: len(alike) for error, alike in by_error.items()} == {
        "shop.py:3: Finish.raw is int 3; expected a string": 2,
        "shop.py:9: Finish.raw is int 3; expected a string": 1,
    }


def test_a_second_turn_that_was_not_asked_is_not_shown() -> None:
    cell = replace(SHOP.cells[3], error="", aspects={"results": "not_asked"})
    assert "Second turn" not in results_text(replace(SHOP, second_turn=(cell,)))


def test_the_second_turn_of_a_variant_is_counted_apart() -> None:
    adapter = replace(OTHER, second_turn=(VARIANT, replace(VARIANT, exchange=4, error="it hung")))
    assert not adapter.red
    text = results_text(adapter)
    assert "Second turn of variants: 0 of 2 cells passed, 1 failed, 1 error\n" in text
    assert "2 findings, second turn of variants:\n\n- error: it hung\n" in text
    assert "- 1 finding in 1 cell: shown on the page that --report DIR writes\n" in text
    assert "Second turn: " not in text
    page = Page(aspects_page(JudgeResults((adapter,)))).text
    assert "It has 0 findings there." in page
    assert "Second turn of variants" in page


def test_a_command_names_the_adapter_as_the_user_did() -> None:
    command = "harness judge 'shop = serve: shims:shop' --cassettes gemini-api/a:2"
    assert command_of(SHOP, SHOP.cells[1]) == command
    assert (
        command_of(OTHER, SHOP.cells[0]) == "harness judge other:replay --cassettes gemini-api/a:1"
    )


def test_a_command_has_the_cuts_that_show_the_finding() -> None:
    note = "with --cuts pieces: nothing is left"
    red = replace(SHOP.cells[1], notes={"finish": note, "ids": "with --cuts, none"})
    command = "harness judge 'shop = serve: shims:shop' --cassettes gemini-api/a:2"
    assert command_of(SHOP, red, "finish") == f"{command} --cuts pieces"
    assert command_of(SHOP, red, "ids") == command
    assert command_of(SHOP, red) == command
    assert command_of(SHOP, replace(red, error=note)) == f"{command} --cuts pieces"


def test_a_count_on_the_page_leads_to_its_cells_with_evidence() -> None:
    page = Page(aspects_page(RESULTS))
    assert ("a", {"class": "mark", "href": "#shop.1.2.3.documented.finish"}) in page.tags
    assert "shop.1.2.3.documented.finish" in page.ids
    for words in (
        "shop 1.2.3 · 2026-11-22",
        "1 of 4 cells passed 2 failed 1 error 3 findings",
        'wrong in 2 cells: of "1" nothing is left',
        "Cassette gemini-api/a, exchange 2.",
        "Wire frame 7 another 2 of 9 Native events frame 7 another Facts nothing",
        "harness judge 'shop = serve: shims:shop' --cassettes gemini-api/a:2",
        "exchange 3: comments.",
        "x.yaml it is no recording",
        "declared loss media: no cell shows it",
    ):
        assert words in page.text


def test_texts_that_try_to_break_out_of_the_page_stay_text() -> None:
    text = aspects_page(HOSTILE_RESULTS)
    page = Page(text)
    assert "</pre></style></script><img src=x onerror=alert(1)>" in page.text
    for tag, attributes in page.tags:
        assert tag not in {"img", "u"}
        assert not {"onclick", "onerror"} & set(attributes)
        assert re.match(r"judge\.json$|#", attributes.get("href", "#"))
    for shown in (text, results_text(HOSTILE_RESULTS.adapters[0])):
        shown.encode()  # no lone surrogate is left
        assert not re.search(r"[\x00\x1b\x9b\u200b\u202e\u2066\U000e0041]", shown)


def test_headings_and_tables_are_accessible_to_a_screen_reader() -> None:
    page = Page(aspects_page(RESULTS))
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    assert len(page.ids) == len(set(page.ids))


def test_documents_are_merged_by_adapter_and_version_in_any_order() -> None:
    newer = replace(SHOP, version="1.3.0")
    again = replace(SHOP, cells=())
    entry, two, three = (replace(RESULTS, adapters=(entry,)) for entry in (SHOP, newer, again))
    assert merge_results([two, entry]) == merge_results([entry, two])
    assert [adapter.version for adapter in merge_results([entry, two]).adapters] == [
        "1.2.3",
        "1.3.0",
    ]
    assert merge_results([entry, three]).adapters == (again,)


def test_two_adapters_with_the_same_name_and_version_have_no_page() -> None:
    other = replace(SHOP, target="elsewhere:replay")
    with pytest.raises(ReportError, match=r"2 adapters have the name shop 1\.2\.3; use one name"):
        aspects_page(replace(RESULTS, adapters=(SHOP, other)))


def test_results_are_read_back_as_they_were_written() -> None:
    assert decode_results(encode_item(RESULTS), "x") == RESULTS
    broken = replace(OTHER, name="\ud83d")
    assert (
        decode_results(encode_item(broken).join([b'{"adapters":[', b"]}"]), "x").adapters[0].name
        == "\\ud83d"
    )
    assert HOSTILE[-1] == "\ud83d"


def test_a_comparison_lists_aspects_that_became_or_were_red() -> None:
    before = replace(OTHER, cells=(cell(text="kept", finish="lost"), cell(exchange=2, ids="kept")))
    after = replace(
        OTHER,
        name="new",
        cells=(cell(text="wrong", finish="kept"), cell(exchange=3, ids="lost")),
    )
    (comparison,) = compare_results(
        replace(RESULTS, adapters=(before,)), replace(RESULTS, adapters=(after,))
    )
    assert [(change.aspect, change.before, change.after) for change in comparison.worse] == [
        ("text", "kept", "wrong")
    ]
    assert [(change.aspect, change.before, change.after) for change in comparison.better] == [
        ("finish", "lost", "kept")
    ]
    assert (comparison.new, comparison.left_out) == (1, 1)
    assert comparison_text(comparison).splitlines()[1:3] == [
        "1 cell not in the baseline: not compared",
        "1 cell of the baseline: not judged now",
    ]


def test_a_baseline_without_any_of_the_cells_is_refused() -> None:
    before = replace(OTHER, cells=(cell(text="kept"),))
    after = replace(OTHER, cells=(cell("cassettes/gemini-api/a.yaml", text="lost"),))
    documents = (replace(RESULTS, adapters=(adapter,)) for adapter in (before, after))
    with pytest.raises(
        ReportError,
        match=r"it has gemini-api/a:1, judged was cassettes/gemini-api/a\.yaml:1; name the same",
    ):
        compare_results(*documents)


def test_a_request_has_a_line_for_each_content() -> None:
    request = {"contents": [{"role": "user"}, {"role": "model"}], "tools": [{}], "model": "x"}
    lines = [
        "tools[0] {}",
        'model "x"',
        'contents[0] {"role": "user"}',
        'contents[1] {"role": "model"}',
    ]
    assert request_lines(request) == lines
    assert request_lines({"request": request}) == [f"request.{line}" for line in lines]


def test_evidence_shows_the_lines_around_the_named_value() -> None:
    lines = [f"line {number}" for number in range(20)]
    lines[11] = f'{"x" * 400} "finish": "MAX_TOKENS" {"y" * 400}'
    words = words_of("the wire ends with MAX_TOKENS; the adapter reports stop")
    side = side_of(lines, words)
    assert (side.start, side.total, side.first) == (9, 20, 11)
    assert "MAX_TOKENS" in side.lines[2]
    assert side.lines[2].startswith("… x")
    assert side.lines[2].endswith("y … (824 characters)")
    assert side_of(["a", "b"], words) == Side(("a", "b"), 0, 2)


def test_the_page_names_the_folder_of_the_commands() -> None:
    page = aspects_page(JudgeResults((replace(SHOP, folder="examples/shop"),)))
    assert "Run the commands in the folder <code>examples/shop</code>." in page
    assert "Run the commands in" not in aspects_page(RESULTS)


def test_the_evidence_begins_at_the_first_piece_that_is_lost() -> None:
    pieces = ["Of", " course,", " but also Jupiter, Uranus and Neptune.", ""]
    body = "".join(
        f'data: {{"candidates": [{{"content": {{"parts": [{{"text": "{piece}"}}]}}}}]}}\n\n'
        for piece in pieces
    )
    exchange = Exchange(None, 200, {}, ((None, body.encode()),), provider="gemini-api")
    kept = (pieces[0], *pieces[2:])
    transcript = Transcript(tuple(Entry({"text": piece}, (Text(piece),)) for piece in kept))
    judged = ExchangeJudgement(
        "gemini-api/a",
        1,
        judge_transcript(wire_answer(exchange, EVENTS, transcript), transcript),
        transcript=transcript,
    )
    evidence = cell_of(judged, exchange).evidence["text"]
    assert (evidence.wire.first, evidence.native.first) == (1, 1)
