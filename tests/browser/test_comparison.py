"""The comparison with a run that the reader chooses."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from harness.judging.rows import (
    Evidence,
)
from harness.report import Run, render
from harness.report.files import write_files
from tests.browser.browsing import Reader
from tests.browser.samples import RESULTS, STREAM, pages
from tests.support.report_samples import (
    HEADER,
    result,
)


def test_a_page_compares_with_results_chosen_from_disk(
    reader: Reader, mixed: Path, tmp_path: Path
) -> None:
    before = [
        replace(item, verdict="passed" if item.verdict == "failed" else item.verdict)
        for item in RESULTS[:-2]
    ]
    gone = result(case="old", line=99)
    other = replace(before[1], evidence=Evidence(STREAM, "d" * 32))
    before[2] = replace(before[2], end="cut")
    write_files(render(Run(HEADER, [before[0], other, *before[2:], gone])), tmp_path)
    visit = reader.open(mixed / "gemini-api.html")
    assert visit.page.get_by_label("Compare with the results.json of another run").is_visible()
    visit.page.get_by_label("Compare with the results.json of another run").set_input_files(
        tmp_path / "results.json"
    )
    since = visit.page.locator("#since")
    since.locator("p").wait_for()
    assert (
        since.locator("p").inner_text()
        == "1 broken, 0 fixed, 1 new, 1 gone from this page, 2 same verdict with other details since that run."
    )
    since.get_by_text("1 broken", exact=True).click()
    since.get_by_role("link", name="anthropic failed").click()
    visit.page.wait_for_selector(".panel")
    (tmp_path / "cut.json").write_bytes((tmp_path / "results.json").read_bytes()[:-9])
    visit.page.get_by_label("Compare with the results.json of another run").set_input_files(
        tmp_path / "cut.json"
    )
    since.get_by_text("This file has no results of a run").wait_for()
    assert (len(visit.asked), visit.messages) == (1, [])


def test_nothing_changed_since_the_run_itself(
    reader: Reader, specs: Path, mixed: Path, tmp_path: Path
) -> None:
    broken = replace(
        result("error", origin=None, end="unknown", reason="no such file"), provider=""
    )
    write_files(render(Run(HEADER, [broken])), tmp_path)
    for folder in (specs, mixed, tmp_path):
        for file in {page.name for page in pages(folder)} - {"index.html"}:
            page = reader.open(folder / file).page
            if page.locator("article").count():
                page.get_by_label("Compare with the results.json of another run").set_input_files(
                    folder / "results.json"
                )
                page.locator("#since p").wait_for()
                sentence = page.locator("#since p").inner_text()
                assert (
                    sentence
                    == "0 broken, 0 fixed, 0 new, 0 gone from this page, 0 same verdict with other details since that run."
                )
