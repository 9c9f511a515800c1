"""The page of ``harness judge`` in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from harness.report import render_index
from harness.report.judge_run import run_of
from tests.browser.browsing import Reader
from tests.support.aspect_samples import HOSTILE_RESULTS, RESULTS

COUNT = "#shop.documented.finish"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    file = tmp_path / "index.html"
    file.write_text(render_index(run_of(RESULTS)), encoding="utf-8")
    return file


def test_a_count_opens_its_cells_without_a_network(reader: Reader, page_file: Path) -> None:
    visit = reader.open(page_file)
    title = visit.page.locator(f"[id='{COUNT[1:]}']")
    evidence = visit.page.locator("details", has=title).locator(".layers").first
    assert not evidence.is_visible()
    visit.page.locator(f"a[href='{COUNT}']").click()
    assert evidence.is_visible()
    assert (visit.asked, visit.messages) == ([page_file.as_uri()], [])


def test_a_link_to_a_count_opens_its_cells(reader: Reader, page_file: Path) -> None:
    page = reader.open(page_file, COUNT).page
    assert page.locator("details[open]").count() == 1


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_violation_on_any_width(
    reader: Reader, page_file: Path, *, dark: bool
) -> None:
    for width in (1280, 360):
        page = reader.open(page_file, COUNT, dark=dark, width=width).page
        page.add_style_tag(content="article{content-visibility:visible!important}")
        violations = Axe().run(page, options=RULES).response["violations"]
        assert [
            (violation["id"], [node["target"] for node in violation["nodes"]][:3])
            for violation in violations
        ] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_texts_run_nothing(reader: Reader, tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    file.write_text(render_index(run_of(HOSTILE_RESULTS)), encoding="utf-8")
    visit = reader.open(file)
    assert (visit.asked, visit.messages) == ([file.as_uri()], [])
