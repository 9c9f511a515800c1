"""What tests share: what a machine may lack (a test without it is skipped, unless HARNESS_REQUIRE
names it), and what a run prints.
"""

from __future__ import annotations

import os

import pytest


def need(name: str, there: object, reason: str) -> None:
    """Go on if ``there`` is true; else skip with the reason, or fail where HARNESS_REQUIRE (names
    joined by commas) has the name.
    """
    if there:
        return
    if name in os.environ.get("HARNESS_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here: {reason}")
    pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which case or law caught which faulty adapter; `test_faulty` tells each."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
    ]
    told = [
        text
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == "faulty adapter"
    ]
    if told:
        terminalreporter.section("Faulty adapters, and what caught them")
        terminalreporter.write("".join(f"{text}\n" for text in sorted(told)))
