"""The results of ``harness judge``: counts, text, page and comparison."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from msgspec.structs import replace

from harness.facts import ASPECTS, AspectVerdict, Finding, Place
from harness.judging.judge_results import (
    AdapterResults,
    JudgeResults,
    decode_results,
    encode_results,
)
from harness.judging.rows import CaseRow, Evidence, Stream, unjudged
from harness.report import ReportError, Run, compare_runs, render_index
from harness.report.aspect_counts import Findings, command_of, in_sections
from harness.report.aspect_text import LEGEND, closing_text, results_text
from harness.report.causes import plainest_first
from harness.report.compare import ChangeKind, changes_text, count_kinds
from harness.report.judge_run import compared_runs, merge_results, run_of
from harness.report.matrix import matrix_files
from tests.report.page_reader import Page
from tests.support.aspect_samples import (
    HOSTILE_RESULTS,
    OTHER,
    RESULTS,
    SHOP,
    VARIANT,
    again,
    cell,
    error,
    red,
    with_findings,
)
from tests.support.report_samples import HEADER, HOSTILE


def test_losses_with_the_same_reason_but_other_values_are_one() -> None:
    losses = Findings(in_sections(SHOP.all_cells)["documented"]).losses
    assert [(loss.aspect, loss.verdict, len(loss.cells)) for loss in losses] == [
        ("finish", "wrong", 2),
        ("ids", "lost", 1),
    ]


def test_text_and_page_count_a_needless_error_once() -> None:
    raised = cell(text="raised", finish="raised", usage="lost", needless_error="raised")
    declared = cell(exchange=2, text="raised", needless_error="not_carried")
    adapter = replace(OTHER, cells=(raised, declared, error("it never asked")))
    assert [loss.aspect for loss in Findings([raised]).losses] == ["needless_error", "usage"]
    assert [loss.aspect for loss in Findings([declared]).losses] == ["text"], "it is red"
    assert "4 findings, documented wire:" in results_text(adapter)
    page = Page(render_index(run_of(JudgeResults((adapter,)))))
    assert "on the documented wire. It has 4 findings there." in page.text
    assert (
        "finish 0 findings In 1 cell the aspect is missing because of a needless error."
        in page.text
    )
    links = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    assert {link[1:] for link in links if link.startswith("#")} <= set(page.ids)


def test_the_page_counts_the_findings_of_the_second_turn() -> None:
    text = Page(render_index(run_of(RESULTS))).text
    assert "2 adapters. A red number in a table leads to its findings." in text
    assert "1 of 4 cells passed 2 failed 1 error 3 findings" in text
    assert "1 of 1 cell passed 0 findings" in text
    alone = Page(render_index(run_of(JudgeResults((SHOP,))))).text
    assert (
        "on the documented wire. It has 3 findings there and 1 finding in the second turn." in alone
    )


def test_sessions_are_a_section_of_their_own() -> None:
    session = replace(cell("live/a", text="lost"), provider="live")
    both = replace(OTHER, cells=(*OTHER.cells, session))
    text = results_text(both)
    assert "Documented wire: 1 of 1 cell passed\n" in text
    assert "Sessions: 0 of 1 cell passed, 1 failed\n" in text
    assert "1 finding, sessions:\n" in text
    page = Page(render_index(run_of(JudgeResults((both,))))).text
    assert "It has 0 findings there and 1 finding in the sessions." in page
    alone = replace(both, cells=(session,), unused_losses=("media",))
    page = Page(render_index(run_of(JudgeResults((alone,))))).text
    assert "0 of 1 cell passed, 1 failed in the sessions. It has 1 finding there." in page
    assert "no cell shows it; delete the declaration" in page, (
        "the first section of an adapter names its unused losses"
    )
    entry = json.loads(matrix_files({"other": [both]})["matrix.json"])["adapters"][0]
    assert entry["aspects"]["sessions"] == {"text": {"lost": 1}}


def test_losses_of_streamed_and_of_unary_answers_are_separate() -> None:
    cells = (cell(text="lost"), replace(cell(exchange=2, text="lost"), unary=True))
    assert [[item.exchange for item in loss.cells] for loss in Findings(cells).losses] == [[1], [2]]
    adapter = replace(OTHER, cells=cells)
    assert "  cassette gemini-api/a, exchange 2, unary\n" in results_text(adapter)
    page = Page(render_index(run_of(JudgeResults((adapter,)))))
    assert "Cassette gemini-api/a, exchange 2, unary." in page.text
    assert "Cassette gemini-api/a, exchange 1." in page.text


def test_losses_that_differ_only_in_values_are_one() -> None:
    cells = [
        with_findings(
            cell(exchange=number), Finding("error", "lost", "no-error", wire=[str(number), words])
        )
        for number, words in enumerate(("503 Overloaded.; the adapter", "404 <html>\n"), 1)
    ]
    (loss,) = Findings(cells).losses
    assert loss.sentence == (
        "error lost in 2 cells: the wire reports 1 503 Overloaded.; the adapter; the adapter"
        " reports no error"
    )
    assert [finding.wire for finding in loss.findings] == [
        ["1", "503 Overloaded.; the adapter"],
        ["2", "404 <html>\n"],
    ]


@pytest.mark.parametrize(
    "findings",
    [
        (
            Finding("error", "lost", "no-error", wire=["a"]),
            Finding("error", "lost", "no-error-but-end", wire=["a"], adapter="STOP"),
        ),
        (
            Finding("error", "lost", "no-error", wire=["a"]),
            Finding("error", "lost", "no-error", wire=["a"], place=Place(cuts="pieces")),
        ),
        (
            Finding("error", "lost", "no-error", wire=["a"]),
            Finding("error", "wrong", "no-error", wire=["a"]),
        ),
        (
            Finding("error", "raised", "needless", adapter={"words": "a", "type": "KeyError"}),
            Finding("error", "raised", "needless", adapter={"words": "a", "type": "IndexError"}),
        ),
    ],
)
def test_losses_with_different_reasons_are_not_one(findings: tuple[Finding, Finding]) -> None:
    assert len(Findings([with_findings(cell(), finding) for finding in findings]).losses) == 2


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
    assert "Variants (never red): 0 of 1 cell passed, 1 failed\n" in text
    assert "Second turn: 0 of 1 cell passed, 1 failed\n" in text
    assert "- error: it never asked\n  cassette gemini-api/d, exchange 1\n" in text
    assert "- finish wrong in 2 cells: 1 → no reason ×1, 2 → no reason ×1\n" in text
    assert "  also in gemini-api/a:2\n  wire    frame 7\n  native  another\n" in text
    assert text.count(f"\n\n{LEGEND}\n\n") == 1
    assert "declared loss media: no cell shows it" in text
    assert "lost: gone" not in text, "a loss in a variant is counted only"
    page_only = "- 1 finding in 1 cell: shown on the page that --report DIR writes\n"
    assert f"1 finding, variants (never red):\n\n{page_only}" in text
    assert "gives no reason" not in results_text(SHOP, with_losses=False)


def test_many_findings_end_with_the_first_one_and_its_command() -> None:
    assert len(Findings(in_sections(SHOP.all_cells)["documented"]).losses) == 2
    assert "red" not in closing_text(replace(SHOP, second_turn=())), "three findings fit a screen"
    assert closing_text(SHOP).splitlines() == [
        "4 of 5 cells are red.",
        "Begin with the first finding: it never asked",
        "  run: harness judge 'shop = serve: shims:shop' --cassettes gemini-api/d:1 --questions none",
    ]
    hostile = HOSTILE_RESULTS.adapters[0]
    many = [red(f"aspect-{number}", "lost", HOSTILE) for number in range(4)]
    text = closing_text(replace(hostile, cells=(with_findings(hostile.cells[0], *many),)))
    assert text.count("\n") == 3
    text.encode()
    assert not re.search(r"[\x00\x1b\x9b\u200b\u202e\u2066\U000e0041]", text)


@pytest.mark.parametrize(
    ("reason", "who"), [("crash", "the adapter crashed"), ("shim-crash", "the shim crashed")]
)
def test_a_crash_is_named_before_the_number_of_its_cells(reason: str, who: str) -> None:
    given = {"words": "KeyError at shim.py:7: 'parts'", "type": "KeyError", "place": "shim.py:7"}
    crash = Finding("needless_error", "raised", reason, adapter=given)
    cells = [with_findings(cell(exchange=number), crash) for number in (1, 2)]
    assert [loss.sentence for loss in Findings(cells).losses] == [
        f"{who} in 2 cells: KeyError at shim.py:7: 'parts'"
    ]


def test_a_finding_shows_its_plainest_cell() -> None:
    plain = replace(cell("gemini-api/text", text="lost"), provider="gemini-api")
    several = replace(cell("gemini-api/a", text="lost", usage="kept"), provider="gemini-api")
    broken = replace(cell("gemini-api/b", text="lost", error="kept"), provider="gemini-api")
    whole = replace(cell("gemini-api/c", text="lost"), provider="gemini-api", unary=True)
    foreign = replace(cell("gemini-cli/a", text="lost"), provider="gemini-cli")
    for other in (several, broken, foreign):
        (loss,) = Findings([other, plain]).losses
        assert [own.cassette for own in loss.cells] == ["gemini-api/text", other.cassette]
    assert plainest_first([whole, broken, foreign, plain]) == [plain, whole, broken, foreign]


def test_a_loss_shows_a_cell_of_the_cassette_with_most_of_its_cells() -> None:
    odd = replace(cell("gemini-api/a", signatures="lost"), provider="gemini-api")
    usual = [
        replace(cell("gemini-api/b", number, signatures="lost", text="kept"), provider="gemini-api")
        for number in (1, 2)
    ]
    (loss,) = Findings([odd, *usual]).losses
    assert [own.place for own in loss.cells][:2] == ["gemini-api/b:1", "gemini-api/a:1"]


def test_usage_is_divided_by_the_counts_that_are_missing() -> None:
    wire = {"input": 6, "output": 4, "thoughts": 2}
    lost = [
        with_findings(cell(exchange=at), Finding("usage", "lost", "counts", wire, given))
        for at, given in enumerate([{**wire, "thoughts": 0}, {**wire, "output": 0}], 1)
    ]
    assert len(Findings(lost).losses) == 2
    assert len(Findings([lost[0], replace(lost[0], exchange=3)]).losses) == 1


def test_the_reasons_of_cells_that_were_not_run_are_below_the_table() -> None:
    reasons = ["only streams"] * 3 + ["a"] * 2 + ["b"] * 2 + ["c"]
    cells = [replace(cell(exchange=at), reason=reason) for at, reason in enumerate(reasons, 1)]
    text = results_text(replace(OTHER, cells=(*cells, cell(exchange=99, text="kept"))))
    assert "  not run: 3 (only streams), 2 (a), 2 (b), 1 for other reasons\n" in text
    assert "not run:" not in results_text(replace(OTHER, cells=(cell(text="kept"),)))


def test_the_text_has_the_errors_of_variants() -> None:
    broken = error("it hung", "gemini-api/b", 4, block="variant")
    text = results_text(replace(SHOP, cells=(*SHOP.cells, broken)))
    head = "2 findings, variants (never red):\n\n- error: it hung\n"
    assert f"{head}  cassette gemini-api/b, exchange 4\n" in text
    assert (
        "--cassettes gemini-api/b:4 --questions none\n\n- 1 finding in 1 cell: shown on the page"
        in text
    )
    alone = results_text(replace(SHOP, cells=(broken,)))
    assert "1 finding, variants (never red):\n\n- error: it hung\n" in alone
    assert "shown on the page" not in alone


def test_an_error_keeps_the_line_ends_of_stderr() -> None:
    message = "node ended with status 1:\nError: no model\n  at shim.mjs:3"
    adapter = replace(SHOP, cells=(error(message),))
    shown = (
        "- error: node ended with status 1:\n    Error: no model\n      at shim.mjs:3\n  cassette"
    )
    assert shown in results_text(adapter)


def test_errors_with_different_event_numbers_are_one_finding() -> None:
    errors = {"event 3 of f: fact 1": "f", "event 12 of f: fact 1": "f", "event 3: other": ""}
    cells = [
        error(message, exchange=number, group=group)
        for number, (message, group) in enumerate(errors.items(), 1)
    ]
    assert [[cell.exchange for cell in alike] for alike in Findings(cells).errors] == [[1, 2], [3]]


def test_an_error_with_other_cuts_is_another_finding() -> None:
    cells = [error("it hung", cuts=cuts) for cuts in ("", "pieces")]
    assert len(Findings(cells).errors) == 2


def test_a_second_turn_that_was_not_asked_is_named_with_the_reason() -> None:
    reason = "there is no final answer for mine; offer an exchange for the later turn"
    unasked = replace(cell(results="not_asked"), verdict="not-run", reason=reason)
    text = results_text(replace(SHOP, second_turn=(again(unasked),)))
    assert "\nSecond turn: no cell was judged, 1 not run\n" in text
    assert f"\n  not run: 1 ({reason})\n" in text


def test_the_second_turn_of_a_variant_is_counted_apart() -> None:
    adapter = replace(
        OTHER,
        second_turn=(again(VARIANT), again(error("it hung", "gemini-api/b", 4, block="variant"))),
    )
    assert not adapter.red
    text = results_text(adapter)
    assert "Second turn of variants (never red): 0 of 2 cells passed, 1 failed, 1 error\n" in text
    assert "2 findings, second turn of variants (never red):\n\n- error: it hung\n" in text
    assert "- 1 finding in 1 cell: shown on the page that --report DIR writes\n" in text
    assert "Second turn: " not in text
    page = Page(render_index(run_of(JudgeResults((adapter,))))).text
    assert "It has 0 findings there." in page
    assert "Second turn of variants" in page


def test_a_command_names_the_adapter_as_the_user_did() -> None:
    command = "harness judge 'shop = serve: shims:shop' --cassettes gemini-api/a:2 --questions none"
    assert command_of(SHOP, SHOP.cells[1]) == command
    assert (
        command_of(OTHER, SHOP.cells[0]) == "harness judge other:replay --cassettes gemini-api/a:1"
    )


def test_a_command_has_the_cuts_that_show_the_finding() -> None:
    finish = replace(red("finish", "wrong", "nothing is left"), place=Place(cuts="pieces"))
    ids = red("ids", "lost", "with --cuts, none")
    both = with_findings(SHOP.cells[1], finish, ids)
    command = "harness judge 'shop = serve: shims:shop' --cassettes gemini-api/a:2"
    whole, in_pieces = f"{command} --questions none", f"{command} --cuts pieces --questions none"
    assert command_of(SHOP, both, finish) == in_pieces
    assert command_of(SHOP, both, ids) == whole
    assert command_of(SHOP, both) == in_pieces, "the first finding"
    assert command_of(SHOP, with_findings(both, ids, finish)) == whole
    failed = error("it hung", "gemini-api/a", 2, cuts="pieces")
    assert command_of(SHOP, failed) == in_pieces


def test_a_count_on_the_page_leads_to_its_cells_with_evidence() -> None:
    page = Page(render_index(run_of(RESULTS)))
    assert ("a", {"class": "mark", "href": "#shop.documented.finish"}) in page.tags
    assert "shop.documented.finish" in page.ids
    for words in (
        "shop 1.2.3 · 2026-11-22",
        "1 of 4 cells passed 2 failed 1 error 3 findings",
        "wrong in 2 cells: 1 → no reason ×1, 2 → no reason ×1",
        "Cassette gemini-api/a, exchange 2.",
        "Wire frame 7 another 2 of 9 Native events frame 7 another Facts nothing",
        "harness judge 'shop = serve: shims:shop' --cassettes gemini-api/a:2 --questions none",
        "exchange 3: comments.",
        "x.yaml it is no recording",
        "declared loss media: no cell shows it",
    ):
        assert words in page.text


def test_texts_that_try_to_break_out_of_the_page_stay_text() -> None:
    text = render_index(run_of(HOSTILE_RESULTS))
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
    page = Page(render_index(run_of(RESULTS)))
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    assert len(page.ids) == len(set(page.ids))


def test_documents_are_merged_by_adapter_and_version_in_any_order() -> None:
    newer = replace(SHOP, version="1.3.0")
    again = replace(SHOP, day="2026-12-01", cells=SHOP.cells[:1])
    entry, two, three = (replace(RESULTS, adapters=(entry,)) for entry in (SHOP, newer, again))
    assert merge_results([two, entry]) == merge_results([entry, two])
    assert [adapter.version for adapter in merge_results([entry, two]).adapters] == [
        "1.2.3",
        "1.3.0",
    ]
    assert merge_results([entry, three]).adapters == (replace(SHOP, day="2026-12-01"),)


def test_two_adapters_with_the_same_name_and_version_have_no_page() -> None:
    other = replace(SHOP, target="elsewhere:replay")
    with pytest.raises(ReportError, match=r"2 adapters have the name shop 1\.2\.3; use one name"):
        render_index(run_of(replace(RESULTS, adapters=(SHOP, other))))


def test_results_are_read_back_as_they_were_written() -> None:
    assert decode_results(encode_results(RESULTS), "x") == RESULTS
    broken = replace(OTHER, name="\ud83d")
    assert (
        decode_results(encode_results(JudgeResults((broken,))), "x").adapters[0].name == "\\ud83d"
    )
    assert HOSTILE[-1] == "\ud83d"


def test_a_comparison_lists_aspects_that_became_or_were_red() -> None:
    before = replace(OTHER, cells=(cell(text="kept", finish="lost"), cell(exchange=2, ids="kept")))
    after = replace(
        OTHER,
        name="new",
        cells=(cell(text="wrong", finish="kept"), cell(exchange=3, ids="lost")),
    )
    [pair] = compared_runs(*(replace(RESULTS, adapters=(run,)) for run in (before, after)))
    changes = compare_runs(*pair)
    assert count_kinds(changes) == {"broken": 1, "fixed": 0, "new": 1, "gone": 1, "changed": 0}
    assert [
        (aspect.aspect, aspect.before, aspect.after, aspect.is_worse)
        for aspect in changes[0].aspects
    ] == [("text", "kept", "wrong", True), ("finish", "lost", "kept", False)]
    shown: list[ChangeKind] = ["broken"]
    assert changes_text(changes, {"new": "new = other:replay"}, shown).splitlines() == [
        "broken: gemini-api/a:1[new] (failed)",
        "  text: kept → wrong: the wire ends with 1; the adapter gives no reason",
        "  finish: lost → kept",
        "  run: harness judge 'new = other:replay' --cassettes gemini-api/a:1",
        "1 broken, 0 fixed, 1 new, 1 gone, 0 same verdict with other details",
    ]


def test_the_page_of_a_comparison_lists_its_changes() -> None:
    before = replace(OTHER, cells=(cell(text="kept"),), second_turn=(again(cell(calls="kept")),))
    after = replace(OTHER, cells=(cell(text="lost"),), second_turn=(again(cell(calls="kept")),))
    runs = [run_of(JudgeResults((adapter,))) for adapter in (before, after)]
    text = Page(render_index(runs[1], runs[0])).text
    assert "Since the baseline ▼ 1 broken ▲ 0 fixed" in text
    assert "gemini-api/a:1[other] text: kept → lost: the wire ends with 1" in text
    assert "Since the baseline" not in Page(render_index(runs[1])).text


def test_the_cells_of_facts_of_a_pytest_run_are_compared_by_aspect() -> None:
    verdicts: dict[str, AspectVerdict] = {"text": "kept", "ids": "kept"}
    case = CaseRow("passed", "shop", aspects=verdicts, spec="a.yaml", case="one")
    lost = replace(case, aspects={"text": "kept"})
    [change] = compare_runs(*(Run(HEADER, [side]) for side in (case, lost)))
    assert (change.kind, change.words) == ("broken", "passed")
    assert [aspect.sentence for aspect in change.aspects] == ["ids: kept → absent"]
    streams = [Stream(200, 3, digest) for digest in ("old", "new")]
    recorded = [
        replace(side, evidence=Evidence(stream))
        for side, stream in zip((case, lost), streams, strict=True)
    ]
    [change] = compare_runs(*(Run(HEADER, [side]) for side in recorded))
    assert change.kind == "changed", "another answer need not have the aspect"


def test_a_cell_that_the_baseline_did_not_reach_is_new() -> None:
    cells = (cell(text="kept"), cell(exchange=2, text="kept"))
    runs = [
        Run(HEADER, [replace(own, adapter="shop") for own in side])
        for side in ((cells[0], unjudged(cells[1], "killed")), cells)
    ]
    assert [change.kind for change in compare_runs(*runs)] == ["new"]
    assert [change.kind for change in compare_runs(*runs[::-1])] == ["broken"]


def test_a_baseline_without_any_of_the_cells_is_refused() -> None:
    before = replace(OTHER, cells=(cell(text="kept"),))
    after = replace(OTHER, cells=(cell("cassettes/gemini-api/a.yaml", text="lost"),))
    documents = [replace(RESULTS, adapters=(adapter,)) for adapter in (before, after)]
    with pytest.raises(
        ReportError,
        match=r"has gemini-api/a:1\[other\], judged was cassettes/gemini-api/a\.yaml:1\[other\]",
    ):
        compared_runs(*documents)
    killed = replace(before, cells=(unjudged(before.cells[0], "killed"),))
    with pytest.raises(ReportError, match="it has nothing, judged was"):
        compared_runs(*(replace(RESULTS, adapters=(adapter,)) for adapter in (killed, before)))


def test_a_baseline_without_the_adapter_is_refused() -> None:
    with pytest.raises(ReportError, match="does not have new; it has other, shop: name the"):
        compared_runs(RESULTS, replace(RESULTS, adapters=(replace(OTHER, name="new"),)))


def test_the_page_names_the_folder_of_the_commands() -> None:
    page = render_index(run_of(JudgeResults((replace(SHOP, folder="examples/shop"),))))
    assert "Run the commands in the folder <code>examples/shop</code> of the repository." in page
    assert "Run the commands in" not in render_index(run_of(RESULTS))


def test_findings_come_before_the_wires_that_the_adapter_does_not_read() -> None:
    unread = [
        replace(cell(exchange=number), provider="openai", block=block, reason="another wire")
        for number, block in ((2, "documented"), (3, "documented"), (4, "variant"))
    ]
    adapter = replace(OTHER, cells=(cell(text="lost"), *unread))
    page = Page(render_index(run_of(JudgeResults((adapter,)))))
    assert page.ids.index("findings") < page.ids.index("pairs") < page.ids.index("remarks")
    assert "No comparison ran for OpenAI (2 cells)." in page.text
    assert "3 not run (2 on the documented wire, 1 in variants) No comparison ran." in page.text


def lede_of(*adapters: AdapterResults) -> str:
    page = render_index(run_of(JudgeResults(adapters)))
    return page.partition('<p class="lede">')[2].partition("</p>")[0]


def test_the_page_begins_with_the_numbers_and_the_first_finding() -> None:
    lost, kept = replace(OTHER, cells=(cell(text="lost"),)), replace(SHOP, cells=(), second_turn=())
    assert lede_of(lost).startswith("other, version unknown: 0 of 1 cell passed, 1 failed")
    assert "there. The first finding: text lost: the wire ends with 1; the" in lede_of(lost)
    assert "findings. The first finding: other: text lost: the wire" in lede_of(lost, kept)
    assert "The first" not in lede_of(replace(OTHER, cells=(cell(text="kept"),)))


@pytest.mark.parametrize(("number", "is_open"), [(2, True), (11, False)])
def test_few_findings_are_open(number: int, is_open: bool) -> None:
    lost = (Finding(aspect, "lost", "no-finish", wire="x") for aspect in ASPECTS[:number])
    adapter = replace(OTHER, cells=(with_findings(cell(), *lost),))
    page = render_index(run_of(JudgeResults((adapter,))))
    assert ('<details class="list" open><summary><h4' in page) is is_open


def test_an_answer_of_another_wire_is_no_number_of_the_table() -> None:
    unread = replace(cell(exchange=2, text="not_asked"), verdict="not-run", reason="another wire")
    adapter = replace(OTHER, cells=(cell(text="lost"), unread))
    text = Page(render_index(run_of(JudgeResults((adapter,))))).text
    assert "1 not run" in text
    assert "1 not asked" not in text


def test_one_line_declares_all_opaque_losses() -> None:
    cells = tuple(
        cell(exchange=at, text="kept", finish="lost", grounding="lost", finish_message="lost")
        for at in (1, 2)
    )
    adapter = replace(OTHER, cells=cells)
    line = (
        "grounding, finish message: lost wherever the wire has them; if the event model has no"
        " place: --losses 'grounding, finish_message'"
    )
    assert results_text(adapter).count(line) == 1
    assert line.replace("'", "&#39;") in render_index(run_of(JudgeResults((adapter,))))


@pytest.mark.parametrize(("number", "corner"), [(3, "Provider"), (4, "Adapter")])
def test_many_adapters_are_the_rows_of_their_matrix(number: int, corner: str) -> None:
    """A pair without a comparison is an empty square."""
    first = replace(cell(text="kept"), provider="anthropic")
    other = replace(cell(exchange=2, text="kept"), provider="openai")
    adapters = [
        replace(OTHER, name=f"a{at}", cells=(first, other) if at else (first,))
        for at in range(number)
    ]
    page = render_index(run_of(JudgeResults(tuple(adapters))))
    table = page[page.index('<table class="pairs"') :].partition("</table>")[0]
    heads = re.findall('<th scope="col">(.*?)</th>', table)
    assert heads[0] == corner
    assert len(heads) == (3 if corner == "Adapter" else 1 + number)
    assert table.count("<td></td>") == 1
