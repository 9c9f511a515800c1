"""What a run of the tests prints at its end."""

from __future__ import annotations

import pytest


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
