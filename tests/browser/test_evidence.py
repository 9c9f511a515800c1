"""The evidence of an opened cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from harness.judging.rows import (
    Evidence,
    Read,
)
from harness.report import Run, render
from harness.report.files import write_files
from tests.browser.browsing import Reader, Visit
from tests.browser.samples import STREAM
from tests.support.report_samples import (
    HEADER,
    MIXED,
    result,
    run_of,
)


def evidence_of(visit: Visit) -> dict[str, Any]:
    """The texts of the open panel, part by part."""
    return dict(
        visit.page.locator(".panel .part").evaluate_all(
            "all => all.map(node => [node.querySelector('h6').firstChild.data.trim(), node.textContent])"
        )
    )


def test_a_cell_of_the_index_leads_to_its_evidence(reader: Reader, mixed: Path) -> None:
    visit = reader.open(mixed / "index.html")
    visit.page.locator("#remarks").locator("..").get_by_role("link", name="anthropic").first.click()
    visit.page.wait_for_selector(".panel")
    assert visit.page.url == (mixed / "gemini-api.html").as_uri() + "#tool-calls.lost.anthropic"
    assert visit.page.evaluate("document.activeElement.id") == "tool-calls.lost.anthropic"
    evidence = evidence_of(visit)
    assert list(evidence) == [
        "Expected and got",
        "First difference: events",
        "Reads of the stream",
        "A small case",
        "Request",
        "Beginning of the stream",
        "Origin of the stream",
        "Command",
    ]
    assert '[1].delta changed one letter \nexpected"bee"got"be"' in evidence["Expected and got"]
    assert "1 of 9 findings" in evidence["Expected and got"]
    assert (
        "3 reads, 900 bytes, first byte after 112 ms, last after 512 ms, 1 of them cut"
        in evidence["Reads of the stream"]
    )
    assert evidence["A small case"].endswith("harness: 1")
    assert "POST https://x.example/v1" in evidence["Request"]
    assert evidence["Command"].endswith(
        "pytest 'specs/gemini-api/tool-calls.yaml::lost[anthropic]'"
    )
    assert (visit.asked[1:], visit.messages) == ([(mixed / "gemini-api.html").as_uri()], [])


def test_the_layers_mark_the_first_difference_and_its_source(reader: Reader, mixed: Path) -> None:
    page = reader.open(mixed / "gemini-api.html", "#tool-calls.lost.anthropic").page
    assert page.locator(".layers > section > h6").all_inner_texts() == [
        "Wire",
        "Events",
        "Payloads",
    ]
    assert page.locator(".layers .first").all_inner_texts() == [
        '◀ first difference\ntext  {"text": "b"}',
        '◀ first difference\n{"delta": "b"}',
    ]
    assert page.locator(".layers .from").all_inner_texts() == [
        "◂ made from this\n@300 140.5 ms  {}"
    ]
    assert page.locator(".panel mark").all_inner_texts() == ["e"]


def test_the_timeline_is_a_picture_with_a_table_beside_it(reader: Reader, mixed: Path) -> None:
    page = reader.open(mixed / "gemini-api.html", "#tool-calls.lost.anthropic").page
    bars = page.locator(".timeline rect").evaluate_all(
        "all => all.map(node => [+node.getAttribute('x'), +node.getAttribute('height')])"
    )
    assert [x for x, _ in bars] == sorted(x for x, _ in bars)
    assert [height for _, height in bars] == sorted(
        (bars[1][1], bars[0][1], bars[2][1]), key=[bars[0][1], bars[1][1], bars[2][1]].index
    )
    assert bars[2][1] > bars[0][1] > bars[1][1]
    assert page.locator(".timeline .nick").count() == 1
    page.get_by_text("As a table").click()
    assert (
        page.locator(".part tbody tr").all_inner_texts()[1]
        == "2\t140.5\t100\tends inside a message"
    )


def test_every_turn_shows_its_stream_and_its_request(reader: Reader, tmp_path: Path) -> None:
    first = replace(STREAM, reads=(Read(7.0, 30),), reads_total=1)
    write_files(
        render(
            Run(HEADER, [replace(MIXED[0], evidence=Evidence(STREAM, "b" * 32, before=(first,)))])
        ),
        tmp_path,
    )
    shown = evidence_of(
        reader.open(tmp_path / "gemini-api.html", "#tool-calls.two-calls.anthropic")
    )
    assert [name for name in shown if name.startswith("Turn")] == [
        "Turn 1: reads of the stream",
        "Turn 2: reads of the stream",
        "Turn 1: request",
        "Turn 2: request",
    ]
    assert "1 read, 30 bytes, first byte after 7 ms" in shown["Turn 1: reads of the stream"]
    assert "3 reads, 900 bytes" in shown["Turn 2: reads of the stream"]


def test_a_passed_cell_shows_wire_events_and_payloads_side_by_side(
    reader: Reader, tmp_path: Path
) -> None:
    write_files(render(Run(HEADER, run_of(1, 'data: {"a": 1}\n\n'))), tmp_path)
    visit = reader.open(tmp_path / "gemini-api.html", "#tool-calls.two-calls-0.anthropic")
    evidence = evidence_of(visit)
    assert "Beginning of the stream" not in evidence
    titles = visit.page.locator(".panel .layers h6").all_inner_texts()
    assert titles == ["Wire", "Events", "Payloads"]
    assert visit.page.locator(".panel .layers ol").first.inner_text() == 'data: {"a": 1}'
    assert "4 of 9" in evidence["Layers"]


def test_a_passed_cell_opens_too_and_closes_again(reader: Reader, mixed: Path) -> None:
    visit = reader.open(mixed / "gemini-api.html")
    cell = visit.page.locator("[id='tool-calls.two-calls.unified-llm']")
    cell.click()
    assert list(evidence_of(visit)) == [
        "Beginning of the stream",
        "Origin of the stream",
        "Command",
    ]
    cell.click()
    assert visit.page.locator(".panel").count() == 0
    cell.click()
    visit.page.get_by_role("button", name="Close").click()
    assert visit.page.locator(".panel").count() == 0


def test_the_command_is_right_for_a_folder_named_like_a_placeholder(
    reader: Reader, tmp_path: Path
) -> None:
    command = "pytest 'FILES/MY-CASES[ADAPTER].yaml::two-calls[anthropic]'"
    write_files(
        render(Run(HEADER, [result(command=command, spec="FILES/MY-CASES[ADAPTER].yaml")])),
        tmp_path,
    )
    visit = reader.open(tmp_path / "gemini-api.html")
    visit.page.locator("article a").get_by_text("anthropic").first.click()
    assert evidence_of(visit)["Command"].endswith(command)
