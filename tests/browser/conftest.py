"""A browser, and the reports that it opens."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, sync_playwright

from harness.report import Run, render
from harness.report.files import write_files
from tests.browser.browsing import Reader
from tests.browser.samples import RESULTS, ROOT
from tests.support.need import need
from tests.support.report_samples import (
    HEADER,
)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder as slow, since it opens a browser."""
    item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    need("browser", path, "no chromium here; install Debian's: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def reader(chromium: Browser) -> Iterator[Reader]:
    browser_reader = Reader(chromium)
    yield browser_reader
    browser_reader.close()


@pytest.fixture(scope="session")
def specs(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the golden specs, made with the same options as a user's."""
    target = tmp_path_factory.mktemp("specs")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "specs",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--harness-report",
        str(target),
    ]
    run = subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=300
    )
    (target / "said.txt").write_text(run.stdout)
    return target


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every verdict, and the changes since a baseline."""
    target = tmp_path_factory.mktemp("mixed")
    before = [
        replace(result, verdict="passed" if result.verdict == "failed" else result.verdict)
        for result in RESULTS[:-1]
    ]
    write_files(render(Run(HEADER, RESULTS), Run(HEADER, before)), target)
    return target
