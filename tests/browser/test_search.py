"""Search and filters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser.browsing import Reader


def test_search_shows_the_cells_that_have_all_the_words(reader: Reader, mixed: Path) -> None:
    visit = reader.open(mixed / "gemini-api.html")
    assert (visit.cells(), visit.count()) == (11, "11 cells")
    search = visit.page.get_by_label("Search")
    search.fill("null  pieces")
    assert (visit.cells(), visit.count()) == (1, "1 of 11 cells")
    assert visit.page.locator("article:visible").count() == 1
    search.fill("nowhere")
    assert (visit.cells(), visit.count()) == (0, "0 of 11 cells")
    search.press("Escape")
    visit.page.locator(".tools output", has_text=re.compile("^11 cells$")).wait_for()
    assert visit.cells() == 11


def test_search_finds_a_thread_that_a_case_guards_against(reader: Reader, mixed: Path) -> None:
    visit = reader.open(mixed / "gemini-api.html")
    visit.page.get_by_label("Search").fill("vercel/ai#10660")
    assert (visit.cells(), visit.count()) == (1, "1 of 11 cells")
    address = "https://github.com/vercel/ai/issues/10660"
    assert visit.page.locator(f"article:visible a[href='{address}']").count() == 1


@pytest.mark.parametrize(
    ("by", "label", "cells"),
    [
        ("verdict", "failed", 1),
        ("verdict", "known failing", 1),
        ("verdict", "not passed", 8),
        ("adapter", "unified-llm", 1),
        ("adapter", "events", 1),
        ("level", "should", 1),
        ("level", "must", 10),
        ("feature", "Parallel calls", 11),
    ],
)
def test_a_filter_shows_the_cells_that_match(
    reader: Reader, mixed: Path, by: str, label: str, cells: int
) -> None:
    visit = reader.open(mixed / "gemini-api.html")
    visit.choose(by, label)
    assert (visit.cells(), visit.count()) == (
        cells,
        "11 cells" if cells == 11 else f"{cells} of 11 cells",
    )


def test_filters_combine_and_are_reset_together(reader: Reader, mixed: Path) -> None:
    visit = reader.open(mixed / "gemini-api.html")
    visit.choose("level", "should")
    visit.choose("verdict", "failed")
    assert visit.cells() == 0
    assert visit.page.locator("section.group:visible").count() == 0
    visit.page.get_by_role("button", name="Show all").click()
    visit.page.locator(".tools output", has_text=re.compile("^11 cells$")).wait_for()
    assert visit.cells() == 11


def test_a_case_of_two_features_is_found_by_both(reader: Reader, mixed: Path) -> None:
    visit = reader.open(mixed / "code-assist.html")
    for feature in ("Usage", "Parallel calls"):
        visit.choose("feature", feature)
        assert visit.cells() == 1


def test_the_index_finds_features(reader: Reader, specs: Path) -> None:
    visit = reader.open(specs / "index.html")
    rows = visit.page.locator(".features tr:has(td)")
    assert rows.count() > 100
    visit.page.get_by_label("Find a feature").fill("split reads")
    assert 0 < visit.page.locator(".features tr:has(td):visible").count() < 10
