"""The page of ``harness judge`` in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from msgspec.structs import replace

from harness.facts import ASPECTS, AspectVerdict
from harness.judging.judge_results import JudgeResults
from harness.report import render_index
from harness.report.judge_run import run_of
from tests.browser.browsing import Reader
from tests.support.aspect_samples import HOSTILE_RESULTS, OTHER, RESULTS, cell

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
    assert evidence.is_visible(), "few findings are open from the beginning"
    visit.page.locator(f"a[href='{COUNT}']").click()
    assert evidence.is_visible()
    assert (visit.asked, visit.messages) == ([page_file.as_uri()], [])


def test_a_link_to_a_count_opens_its_cells(reader: Reader, page_file: Path) -> None:
    page = reader.open(page_file, COUNT).page
    assert page.locator("details[open]", has=page.locator(f"[id='{COUNT[1:]}']")).count() == 1


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


@pytest.mark.parametrize("width", [1280, 375])
def test_no_column_is_cut(
    reader: Reader, page_file: Path, specs: Path, tmp_path: Path, width: int
) -> None:
    verdicts: dict[str, AspectVerdict] = dict.fromkeys(ASPECTS, "lost")
    wide = (cell(exchange=number, **verdicts) for number in range(1, 1235))
    every_aspect = replace(OTHER, cells=tuple(wide))
    wide_file = tmp_path / "wide.html"
    wide_file.write_text(render_index(run_of(JudgeResults((every_aspect,)))), encoding="utf-8")
    for file in (page_file, wide_file, specs / "index.html", specs / "gemini-api.html"):
        page = reader.open(file, width=width).page
        assert page.locator(".scroll:visible").count()
        cut = page.locator(".scroll:visible").evaluate_all(
            "all => all.filter(node => node.scrollWidth > node.clientWidth + 1).map(node => node.ariaLabel)"
        )
        assert cut == [], file.name


def test_only_the_documented_wire_is_drawn_in_red(reader: Reader, page_file: Path) -> None:
    page = reader.open(page_file).page
    colour = "all => all.map(node => getComputedStyle(node).backgroundColor)"
    red = page.locator("section[aria-labelledby=documented] i.failed").evaluate_all(colour)
    section = "section[aria-labelledby=variant], section[aria-labelledby^='shop.variant']"
    marks = page.locator(section).locator("i").evaluate_all(colour)
    assert red
    assert marks
    assert not set(red) & set(marks)
