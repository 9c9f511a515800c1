"""The outcomes of items, and the transfer of their results from a worker to the controller.

Each result is attached to its test report, so a report has the same bytes with and without workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from .failures import HarnessFailure

RESULT: Final = "harness_result"
"""The attribute of a test report that carries the encoded result to the controller."""


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Collector(config), "harness-results")


@pytest.hookimpl(tryfirst=True)
def pytest_exception_interact(
    node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]
) -> None:
    """Let ``--pdb`` open the stack frames of the adapter that raised the exception."""
    failure = call.excinfo.value if call.excinfo else None
    if isinstance(failure, HarnessFailure) and failure.__cause__ is not None:
        call.excinfo = pytest.ExceptionInfo.from_exception(failure.__cause__)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if call.when == "call" and (encoded := getattr(item, "encoded_result", "")):
        setattr(report, RESULT, encoded)  # for an `items.ResultItem`
    return report


class _Collector:
    """Collects results from test reports on the controller. `summary` writes the report."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.encoded: dict[str, str] = {}  # by the id of the item, because an item may run again
        self.unread: list[str] = []
        self.unshown: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        encoded = getattr(report, RESULT, None)
        if encoded is not None:
            self.encoded[report.nodeid] = encoded

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and report.nodeid.endswith((".yaml", ".yml")):
            lines = str(report.longrepr).splitlines()
            # every spec repeats the error of an unreadable features file
            self.unread += [line for line in lines if line not in self.unread]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a whole run if no cell shows a declared loss or a known failure."""
        declared = ("harness_losses", "harness_known_failing")
        if self.encoded and any(self.config.getini(name) for name in declared):
            from .summary import is_whole, unshown

            self.unshown = unshown(self.encoded.values()) if is_whole(session) else []
            if self.unshown and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        wanted = self.config.getoption("--harness-report")
        if self.encoded or self.unread or wanted:
            from .summary import write_summary

            write_summary(terminalreporter, self.encoded.values(), self.unread, self.unshown)
        selected = self.config.getini("harness_specs") or self.config.getoption("--harness-dialect")
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and selected:
            from .summary import explain_nothing

            explain_nothing(terminalreporter)
