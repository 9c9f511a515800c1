"""Measures the time to write a report of 10,000 cells, and to open it in Chromium."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from time import process_time

from harness.report import Run, render
from harness.report.files import write_files
from tests.support.report_samples import FIVE, run_of

CASES = 2000
SHOWN = "performance.getEntriesByType('navigation')[0].duration"


def reporting(folder: Path, rounds: int = 3) -> dict[str, float]:
    """Seconds of processor time to write the report of 10,000 green cells in five columns; and
    seconds from the request for its largest page until Chromium has loaded it, the least of the
    rounds. Without Chromium, a sentence on stderr reports that this is not measured.
    """
    folder.mkdir(exist_ok=True)
    cells = run_of(CASES, "data: " + "x" * 1600, "passed", ("anthropic", "b", "c", "d", "e"))
    started = process_time()
    write_files(render(Run(FIVE, cells)), folder)
    result = {"written": process_time() - started}
    opened = _opened(max(folder.glob("*.html"), key=lambda page: page.stat().st_size), rounds)
    return result if opened is None else {**result, "opened in Chromium": opened}


def _opened(page: Path, rounds: int) -> float | None:
    path = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        print(
            "Chromium or playwright is not installed; the time to open a page is not measured",
            file=sys.stderr,
        )
        return None
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        times = []
        for _ in range(rounds):
            tab = browser.new_page()
            tab.goto(page.as_uri(), wait_until="load")
            times.append(float(tab.evaluate(SHOWN)) / 1e3)
            tab.close()
        browser.close()
    return min(times)
