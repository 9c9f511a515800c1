"""The answers to one question over several wires in a browser."""

from __future__ import annotations

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe

from harness.report import Run, render
from harness.report.files import write_files
from tests.browser.browsing import Reader
from tests.support.question_samples import ANSWERS
from tests.support.report_samples import HEADER


def test_a_table_shows_the_lacks_of_a_wire_and_leads_to_losses(
    reader: Reader, tmp_path: Path
) -> None:
    write_files(render(Run(HEADER, ANSWERS)), tmp_path / "report")
    visit = reader.open(tmp_path / "report" / "index.html", "#questions")
    page = visit.page
    table = page.locator("section[aria-labelledby=questions] table")
    assert table.is_visible()
    assert table.locator("th[scope=col]").all_inner_texts() == (
        ["Aspect", "Gemini API", "Code Assist"]
    )
    assert table.get_by_text("not on this wire").count() == 2
    violations = Axe().run(page).response["violations"]
    assert [violation["id"] for violation in violations] == []
    table.get_by_role("link", name="unified-llm").first.click()
    page.wait_for_url("**/*.html#*")
    assert visit.messages == []
