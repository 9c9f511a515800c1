"""Links between pages and cells."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.providers import PROVIDERS
from tests.browser.browsing import Reader


def test_a_link_to_a_cell_that_a_filter_hides_shows_it(reader: Reader, mixed: Path) -> None:
    visit = reader.open(mixed / "gemini-api.html")
    visit.choose("verdict", "passed")
    visit.page.evaluate("location.hash = '#tool-calls.lost.anthropic'")
    visit.page.wait_for_selector(".panel:visible")
    assert visit.cells() == 11


def test_a_link_to_a_hidden_cell_shows_and_focuses_it(reader: Reader, mixed: Path) -> None:
    visit = reader.open(mixed / "gemini-api.html")
    visit.page.get_by_label("Search").fill("nowhere")
    visit.page.evaluate("location.hash = '#tool-calls.lost.anthropic'")
    visit.page.wait_for_selector(".panel")
    cell = visit.page.locator("[id='tool-calls.lost.anthropic']")
    assert visit.page.evaluate("document.activeElement.id") == "tool-calls.lost.anthropic"
    assert cell.get_attribute("aria-expanded") == "true"
    visit.choose("verdict", "passed")
    assert visit.page.locator(".panel").count() == 0
    assert cell.get_attribute("aria-expanded") == "false"
    visit.page.evaluate("location.hash = '#100%'")
    assert visit.messages == []


def test_a_pair_of_the_index_leads_to_the_cells_of_that_adapter(
    reader: Reader, mixed: Path
) -> None:
    visit = reader.open(mixed / "index.html")
    visit.page.get_by_role(
        "link", name="Gemini API → unified-llm: 1 of 1 feature", exact=True
    ).first.click()
    visit.page.wait_for_selector(".tools output")
    assert visit.count() == "1 of 11 cells"


def test_every_link_of_the_index_leads_somewhere(reader: Reader, specs: Path, mixed: Path) -> None:
    for folder in (specs, mixed):
        links = (
            reader.open(folder / "index.html")
            .page.locator("#remarks ~ * a, a.pair")
            .evaluate_all("all => all.map(node => node.href)")
        )
        anchored = {link for link in links if "#" in link}
        assert len(anchored) > 10
        for file in {link.partition("#")[0] for link in anchored}:
            page = reader.open(Path(file.removeprefix("file://"))).page
            wanted = [
                link.partition("#")[2]
                for link in anchored
                if link.startswith(f"{file}#") and not re.search("#feature:.*:", link)
            ]
            assert (
                page.evaluate("all => all.filter(node => !document.getElementById(node))", wanted)
                == []
            )


def test_the_checklist_of_a_page_equals_that_of_the_index(
    reader: Reader, specs: Path, mixed: Path
) -> None:
    words = "all => all.map(row => [...row.children].map(node => node.innerText.replace(/ docs$/, '').trim()))"
    for folder in (specs, mixed):
        tables = reader.open(folder / "index.html").page.locator(".matrix table")
        names = [name for name in PROVIDERS if (folder / f"{name}.html").exists()]
        for place, name in enumerate(names):
            rows = (
                reader.open(folder / f"{name}.html")
                .page.locator("#table tbody tr")
                .evaluate_all(words)
            )
            assert len(rows) > 1
            assert rows == tables.nth(place).locator("tbody tr").evaluate_all(words)


def test_a_mark_of_a_checklist_leads_to_its_first_cell(reader: Reader, mixed: Path) -> None:
    for visit in (reader.open(mixed / "index.html"), reader.open(mixed / "gemini-api.html")):
        row = visit.page.get_by_role("row", name="Parallel calls").filter(has_text="1 of 9")
        row.get_by_role("link", name="failed").click()
        visit.page.wait_for_selector(".panel")
        assert visit.page.url == (mixed / "gemini-api.html").as_uri() + "#tool-calls.lost.anthropic"
        assert visit.page.evaluate("document.activeElement.id") == "tool-calls.lost.anthropic"


def test_links_lead_to_documentation_and_to_other_features(reader: Reader, mixed: Path) -> None:
    page = reader.open(mixed / "code-assist.html").page
    links = page.get_by_role("link", name="docs").evaluate_all("all => all.map(node => node.href)")
    assert set(links) == {
        "https://ai.google.dev/gemini-api/docs",
        "https://ai.google.dev/gemini-api/docs/function-calling",
    }
    page.locator(".also").get_by_role("link", name="gemini-api-tool-calls.sum").click()
    page.wait_for_selector(".panel")


@pytest.mark.parametrize("width", [700, 1200, 1600])
def test_the_target_of_a_link_is_not_under_the_tools(
    reader: Reader, specs: Path, width: int
) -> None:
    page = reader.open(specs / "gemini-api.html", "#feature:usage.totals", width=width).page
    heading = page.locator(":target h4").evaluate("node => node.getBoundingClientRect().top")
    tools = page.locator(".tools").evaluate("node => node.getBoundingClientRect().bottom")
    assert tools <= heading <= tools + 60
    page = reader.open(
        specs / "gemini-api.html", "#tool-calls.call-then-safety.mind", width=width
    ).page
    page.wait_for_function(
        "document.querySelector('.panel') && new Promise(done => setTimeout(() => done(true), 300))"
    )
    title = page.locator("article:has(.panel) h5").first.evaluate(
        "node => node.getBoundingClientRect().top"
    )
    tools = page.locator(".tools").evaluate("node => node.getBoundingClientRect().bottom")
    assert tools <= title <= tools + 80
