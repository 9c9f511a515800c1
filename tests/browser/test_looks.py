"""Keyboard, focus, screen readers, narrow screens, paper and ages."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from harness.judging.rows import (
    VERDICTS,
)
from harness.report import Run, render
from harness.report.files import write_files
from harness.stream.exchange import Origin
from tests.browser.browsing import Reader
from tests.browser.samples import pages
from tests.support.report_samples import (
    HEADER,
    result,
)


def test_everything_works_by_keyboard_alone(reader: Reader, mixed: Path) -> None:
    page = reader.open(mixed / "gemini-api.html").page

    def active() -> str:
        return str(page.evaluate("document.activeElement.id || document.activeElement.textContent"))

    page.keyboard.press("Tab")
    assert active() == "Skip to content"
    page.keyboard.press("Enter")
    for _ in range(200):
        page.keyboard.press("Tab")
        if active() == "tool-calls.lost.anthropic":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel")
    for _ in range(12):
        page.keyboard.press("Tab")
        if active() == "Close":
            break
    page.keyboard.press("Enter")
    assert page.locator(".panel").count() == 0
    assert active() == "tool-calls.lost.anthropic"


def test_focus_is_never_under_the_tools_that_stay_on_top(reader: Reader, specs: Path) -> None:
    page = reader.open(specs / "gemini-api.html").page
    page.locator("[data-search]").focus()
    page.locator("article a").nth(40).focus()
    for _ in range(30):
        page.keyboard.press("Shift+Tab")
        top, bottom = page.evaluate(
            "[document.activeElement.getBoundingClientRect().bottom, document.querySelector('.tools').getBoundingClientRect().bottom]"
        )
        inside = page.evaluate("!!document.activeElement.closest('.tools, header, nav')")
        assert inside or top > bottom


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_no_violation(
    reader: Reader, specs: Path, mixed: Path, dark: bool, width: int
) -> None:
    files = [(mixed / "index.html", ""), (mixed / "gemini-api.html", "#tool-calls.lost.anthropic")]
    if dark == (width == 360):  # a large page on a dark phone and on a light desktop
        files.append((specs / ("vertex-ai.html" if dark else "index.html"), ""))
    for file, anchor in files:
        page = reader.open(file, anchor, dark=dark, width=width).page
        page.add_style_tag(
            content="article{content-visibility:visible!important}"
        )  # axe ignores content that is not rendered yet
        options = {
            "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
        }
        violations = Axe().run(page, options=options).response["violations"]
        assert [
            (violation["id"], [node["target"] for node in violation["nodes"]][:3])
            for violation in violations
        ] == [], file.name


@pytest.mark.parametrize("width", [320, 768])
def test_a_narrow_page_never_scrolls_sideways(
    reader: Reader, specs: Path, mixed: Path, width: int
) -> None:
    for file, anchor in (
        (mixed / "gemini-api.html", "#tool-calls.lost.anthropic"),
        *((file, "") for file in (*pages(mixed), *(pages(specs) if width == 320 else ()))),
    ):
        page = reader.open(file, anchor, width=width).page
        assert page.evaluate("document.documentElement.scrollWidth") <= width, file.name


def test_the_matrix_of_all_providers_is_a_table_on_a_usual_screen(
    reader: Reader, specs: Path
) -> None:
    page = reader.open(specs / "index.html", width=1280).page
    lefts = page.locator("table.pairs tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.getBoundingClientRect().left))"
    )
    assert len(lefts) > 5
    assert all(row == lefts[0] for row in lefts)


def test_every_verdict_looks_different_from_passed(reader: Reader, mixed: Path) -> None:
    marks = reader.open(mixed / "index.html").page.locator("#words + dl i")
    look = "['color', 'backgroundColor', 'borderStyle'].map(name => getComputedStyle(node)[name]).join()"
    looks = dict(marks.evaluate_all(f"all => all.map(node => [node.className, {look}])"))
    assert set(looks) == {"", *VERDICTS} - {"passed"}
    assert len(set(looks.values())) == len(looks)


def test_paper_has_room_for_every_column(reader: Reader, specs: Path) -> None:
    for file in pages(specs):
        page = reader.open(file, width=1020).page  # A4 across, less its margins
        page.emulate_media(media="print")
        wide = page.locator("table:visible").evaluate_all(
            "all => all.map(node => node.getBoundingClientRect().right)"
        )
        assert all(right <= 1021 for right in wide)


def test_print_shows_all_of_it_and_no_tools(reader: Reader, mixed: Path) -> None:
    page = reader.open(mixed / "gemini-api.html", "#tool-calls.lost.anthropic").page
    page.emulate_media(media="print")
    assert page.locator(".tools:visible, .panel button:visible").count() == 0
    assert page.locator(".panel:visible").count() == 1
    assert (
        page.locator("body").evaluate("node => getComputedStyle(node).backgroundColor")
        == "rgb(255, 255, 255)"
    )


def test_the_page_calculates_ages_and_marks_stale_recordings(
    reader: Reader, tmp_path: Path
) -> None:
    run = Run(
        HEADER,
        [
            result(origin=Origin("recorded", "2026-01-01")),
            result(case="b", line=9),
            result(case="c", line=12, origin=Origin("recorded", "soon")),
        ],
    )
    write_files(render(run), tmp_path)
    page = reader.context(dark=False, width=1280, height=900, script=True).new_page()
    page.clock.set_fixed_time(datetime(2026, 11, 22, tzinfo=UTC))
    page.goto((tmp_path / "gemini-api.html").as_uri())
    assert [element.inner_text() for element in page.locator("article > p").all()] == [
        "two-calls recorded 2026-01-01 (325 days old) stale docs",
        "b written 2026-11-22 (0 days old) docs",
        "c recorded soon docs",
    ]
    assert [element.inner_text() for element in page.locator("article > ul a").all()] == [
        "anthropic passed stale",
        "anthropic passed",
        "anthropic passed",
    ]
    page.locator("[data-by=verdict]").select_option(label="stale recording")
    assert page.locator("article:visible").count() == 1


@pytest.mark.skipif(
    not os.environ.get("HARNESS_SCREENSHOTS"),
    reason="pictures are made where HARNESS_SCREENSHOTS names a folder",
)
def test_pictures(reader: Reader, specs: Path, mixed: Path) -> None:
    folder = Path(os.environ["HARNESS_SCREENSHOTS"])
    for name, file, anchor in (
        ("index", specs / "index.html", ""),
        ("provider", specs / "code-assist.html", ""),
        ("evidence", mixed / "gemini-api.html", "#tool-calls.lost.anthropic"),
    ):
        for kind, dark, width in (
            ("light", False, 1440),
            ("dark", True, 1440),
            ("phone", False, 390),
        ):
            reader.open(file, anchor, dark=dark, width=width, height=1130).page.screenshot(
                path=folder / f"{name}-{kind}.png"
            )
    assert len(list(folder.glob("*.png"))) >= 9
