"""When is a run of pytest green? The table is in docs/github-actions.md."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conftest import FEWER_PLUGINS
from tests.pytest_plugin.project import CASE, write
from tests.support.commands import run

pytestmark = pytest.mark.slow  # each test is a whole run, some with workers

PLUGINS = ("-p", "no:cacheprovider", *FEWER_PLUGINS)
RUN = (
    "pytest",
    "specs",
    *PLUGINS,
    "-W",
    "default",
    "--harness-dialect",
    "shop",
    "--harness-report",
    "out",
)
SHOP = """
import os, time
from harness.adapters.own import ADAPTERS

def replay(exchange):
    number = len(os.listdir("runs"))
    open(f"runs/{number}", "w").close()
    if number == 2:
        %s
    yield {"type": "TEXT_DELTA", "delta": "Hel", "text_id": "text_1"}
"""
CELLS = 9


@pytest.fixture
def shop(project: pytest.Pytester) -> pytest.Pytester:
    """A project with nine cells of a user's adapter."""
    text, *_ = CASE.partition("- case:")
    for number in range(CELLS):
        text += CASE.partition("cases:\n")[2].replace("case: hello", f"case: n{number}")
    write(
        project,
        "specs/hello.yaml",
        text.replace("    anthropic: {$contains: [{type: message_stop}]}\n", ""),
    )
    write(
        project, "pytest.ini", "[pytest]\nharness_adapters =\n    shop: unified-llm = shop:replay\n"
    )
    (project.path / "runs").mkdir()
    return project


def replayed(project: pytest.Pytester, third: str, *arguments: str) -> tuple[int, str]:
    """The status and the output of a run of nine cells, whose third does ``third``."""
    write(project, "shop.py", SHOP % third)
    ended = run(*RUN, *arguments, cwd=project.path)
    return ended.status, ended.output


def first_words(output: str) -> str:
    """The first line of the summary."""
    lines = output.splitlines()
    return lines[next(n for n, line in enumerate(lines) if "Gemini conformance" in line) + 1]


def report(project: pytest.Pytester) -> dict[str, Any]:
    """The document of the report."""
    text = (project.path / "out/results.json").read_text()
    assert text.startswith('{"plan":')
    document: dict[str, Any] = json.loads(text)
    return document


def assert_partial(project: pytest.Pytester, output: str, ran: int, reason: str) -> None:
    """The run says how many cells ran, the others are errors everywhere, and nothing is green."""
    assert first_words(output) == f"{ran} of {CELLS} cells ran."
    document = report(project)
    assert document["plan"] == {"cells": CELLS, "judged": ran}
    missing = [row for row in document["results"] if row.get("missing")]
    assert {row["verdict"] for row in missing} == {"error"}
    assert any(reason in row["reason"] for row in missing)
    assert all(row["adapter"] == "shop" for row in missing)
    cases = [document["cases"][row["case"]] for row in missing]
    assert all(case["features"] == ["text.streaming"] for case in cases)
    assert {document["streams"][row["stream"]]["provider"] for row in missing} == {"gemini-api"}
    out = project.path / "out"
    badges = sorted(out.glob("badges/*.svg"))
    assert len(badges) > 2
    assert not [badge.name for badge in badges if "✓" in badge.read_text()]
    suites = ElementTree.parse(out / "junit.xml").getroot()
    assert int(suites.attrib["errors"]) == CELLS - ran
    assert f"{ran} of {CELLS} cells ran" in (out / "summary.md").read_text()
    page = (out / "index.html").read_text()
    assert f"{ran} of {CELLS} cells ran" in page
    assert reason in page


def test_a_whole_run_is_green(shop: pytest.Pytester) -> None:
    status, output = replayed(shop, "pass")
    assert status == 0
    assert first_words(output).startswith("gemini-api / shop")
    assert report(shop)["plan"] == {"cells": CELLS, "judged": CELLS}
    badge = (shop.path / "out/badges/all.svg").read_text()
    assert "✓" in badge


def test_a_crashed_worker_of_xdist_leaves_an_error(shop: pytest.Pytester) -> None:
    status, output = replayed(
        shop, "os.kill(os.getpid(), 9)", "-n", "1", "--max-worker-restart", "0", "-p", "xdist"
    )
    assert status != 0
    assert_partial(shop, output, 2, "worker 'gw0' crashed")


def test_a_crashed_worker_that_is_restarted_leaves_one_error(shop: pytest.Pytester) -> None:
    status, output = replayed(shop, "os.kill(os.getpid(), 9)", "-n", "1", "-p", "xdist")
    assert status == 1
    assert_partial(shop, output, CELLS - 1, "worker 'gw0' crashed")


@pytest.mark.parametrize("workers", [(), ("-n", "1", "-p", "xdist")], ids=["alone", "xdist"])
def test_a_run_that_stops_at_the_first_failure_is_partial(
    shop: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    status, output = replayed(shop, "return", "-x", *workers)
    assert status != 0
    ran = report(shop)["plan"]["judged"]
    assert 3 <= ran < CELLS
    assert_partial(shop, output, ran, "stopping after 1 failures")


@pytest.mark.usefixtures("ctrl_c_reaches_programs")
def test_ctrl_c_leaves_errors(shop: pytest.Pytester) -> None:
    write(shop, "shop.py", SHOP % "time.sleep(60)")
    with subprocess.Popen(
        [sys.executable, "-m", *RUN],
        cwd=shop.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        for _ in range(1200):
            if len([*(shop.path / "runs").iterdir()]) == 3:
                break
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)
    assert running.returncode == pytest.ExitCode.INTERRUPTED
    assert_partial(shop, output, 2, "the run was interrupted")


def test_a_setup_that_fails_is_an_error_of_its_cell(shop: pytest.Pytester) -> None:
    write(
        shop,
        "conftest.py",
        "def pytest_runtest_setup(item):\n    assert 'n4' not in item.name, 'no room'\n",
    )
    status, output = replayed(shop, "pass")
    assert status == 1
    assert_partial(shop, output, CELLS - 1, "no room")


def test_an_item_that_is_skipped_on_purpose_is_not_run(shop: pytest.Pytester) -> None:
    write(
        shop,
        "conftest.py",
        "import pytest\ndef pytest_runtest_setup(item):\n    'n4' in item.name and pytest.skip('not now')\n",
    )
    status, _ = replayed(shop, "pass")
    assert status == 0
    document = report(shop)
    assert document["plan"] == {"cells": CELLS, "judged": CELLS}
    assert [row["reason"] for row in document["results"] if row["verdict"] == "not-run"] == [
        "not now"
    ]


def test_deselected_cells_are_not_in_the_plan(shop: pytest.Pytester) -> None:
    status, _ = replayed(shop, "pass", "-k", "n3 or n4")
    assert (status, report(shop)["plan"]) == (0, {"cells": 2, "judged": 2})


def test_nothing_compared_is_not_green(shop: pytest.Pytester) -> None:
    path = Path(shop.path / "specs/hello.yaml")
    path.write_text(
        path.read_text().replace(
            "{$contains: [{type: TEXT_DELTA, delta: Hel, text_id: text_1}]}", ""
        )
    )
    status, output = replayed(shop, "pass")
    assert status == 0  # as pytest, when all is skipped
    assert first_words(output) == "Nothing was compared."
    assert "Nothing was compared." in (shop.path / "out/index.html").read_text()
    assert "Nothing was compared" in (shop.path / "out/summary.md").read_text()
    badges = [badge.read_text() for badge in shop.path.glob("out/badges/*.svg")]
    assert badges
    assert all("○ nothing compared" in badge for badge in badges)


def test_the_harness_says_that_it_read_the_wire(shop: pytest.Pytester) -> None:
    write(shop, "pytest.ini", "[pytest]\nharness_adapters =\n    shop: facts = shop:replay\n")
    lines = (
        "import json",
        "from harness.facts import Raw",
        "def replay(exchange):",
        "    for line in exchange.body.splitlines():",
        "        if line.startswith(b'data: '):",
        "            yield {}, [Raw(json.loads(line[6:]))]",
    )
    write(shop, "shop.py", "\n".join(lines))
    ended = run(*RUN, cwd=shop.path)
    assert ended.status == 0
    sentence = f"shop: the harness read the wire for it in {CELLS} cells."
    assert sentence in ended.stdout
    assert sentence in (shop.path / "out/index.html").read_text()
