"""Pages open without a network, with and without scripts, and with any text in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.judging.rows import (
    VERDICTS,
)
from harness.report import Run, render
from harness.report.files import read_run, write_files
from tests.browser.browsing import Reader
from tests.browser.samples import pages
from tests.support.report_samples import (
    FIVE,
    HOSTILE,
    HOSTILE_HEADER,
    hostile,
    run_of,
)


@pytest.fixture(scope="session")
def dangerous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of texts that try to break out of every field."""
    target = tmp_path_factory.mktemp("dangerous")
    write_files(
        render(
            Run(HOSTILE_HEADER, [hostile("failed"), hostile("passed")]),
            Run(HOSTILE_HEADER, [hostile("known-failing")]),
        ),
        target,
    )
    return target


def test_every_page_opens_without_a_network_or_an_error(
    reader: Reader, specs: Path, mixed: Path
) -> None:
    for file in (*pages(specs), *pages(mixed)):
        visit = reader.open(file)
        assert visit.page.locator("h1").count() == 1
        assert (visit.asked, visit.messages) == ([file.as_uri()], [])


def test_the_report_has_as_many_cells_as_the_run_had_items(reader: Reader, specs: Path) -> None:
    counted = (
        (specs / "said.txt").read_text().splitlines()[-1]
    )  # 1230 passed, 120 skipped, 1 warning in 6.11s
    items = sum(
        int(number) for number in re.findall(r"(\d+) (?:passed|failed|skipped|xfailed)", counted)
    )
    shown = [reader.open(file).cells() for file in pages(specs)]
    assert sum(shown) == items == len(read_run(specs / "results.json").results) > 900


def test_pages_show_verdicts_and_reasons_without_a_script(reader: Reader, mixed: Path) -> None:
    index = reader.open(mixed / "index.html", script=False).page
    assert (
        index.locator(".pairs").inner_text().startswith("Provider\tunified-llm\tanthropic\tevents")
    )
    page = reader.open(mixed / "gemini-api.html", script=False).page
    text = page.locator("main").text_content() or ""
    for words in (
        "Two calls stay two calls.",
        "first in the events",
        "First difference: [1].delta changed one letter",
        '"bee"',
        "null pieces lose their path",
        "pytest 'specs/gemini-api/tool-calls.yaml::lost[anthropic]'",
        *(words.word for words in VERDICTS.values()),
    ):
        assert words in text
    assert page.locator(".tools:visible").count() == 0
    assert page.get_by_text("Two calls stay two calls.").first.is_visible()


def test_text_that_tries_to_break_out_of_every_field_stays_text(
    reader: Reader, dangerous: Path
) -> None:
    start = HOSTILE[: HOSTILE.index("\x00")]
    for file in pages(dangerous):
        visit = reader.open(file)
        page = visit.page
        for cell in page.locator("article > ul a").all():
            cell.click()
            panel = page.locator(".panel").last
            assert start in str(panel.text_content())
            assert panel.locator("img, script, u, [onclick], [onerror]").count() == 0
        assert page.locator("main img, main script, main [onclick], main [onerror]").count() == 0
        assert page.locator("script").count() <= 2
        links = page.locator("a").evaluate_all("all => all.map(node => node.getAttribute('href'))")
        assert not [link for link in links if link.startswith(("javascript:", "data:"))]
        page.locator("[data-search]").first.fill(HOSTILE[:40])
        assert (visit.messages, len(visit.asked)) == ([], 1)


def test_a_page_of_ten_thousand_cells_opens_and_is_searched(reader: Reader, tmp_path: Path) -> None:
    columns = tuple(adapter.name for adapter in FIVE.adapters)
    cells = run_of(2000, "data: " + "x" * 1500, columns=columns)
    write_files(render(Run(FIVE, cells)), tmp_path)
    visit = reader.open(tmp_path / "gemini-api.html")
    assert visit.cells() == 10_000
    visit.page.locator("[data-search]").fill("two-calls-1999")
    output = visit.page.locator(".tools output")
    assert output.inner_text() == "5 of 10,000 cells"
