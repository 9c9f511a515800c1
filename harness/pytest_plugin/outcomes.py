"""The outcomes of items, the transfer of their results from a worker to the controller, and the
plan of the run: the ids of all selected cells, known before the first one runs.

Each result is attached to its test report, so a report has the same bytes with and without workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pytest

from .failures import Gap, HarnessFailure

if TYPE_CHECKING:
    from harness.judging.rows import Row
    from harness.project.update import Filled

FILL: Final = "harness_fill"
"""The attribute of a test report that carries the value for an expectation."""
ENDED: Final = "the run ended before this cell was judged"
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
        setattr(report, RESULT, encoded)  # for an `items.RowItem`
        if fill := getattr(item, "fill", None):
            setattr(report, FILL, fill)
    return report


class _Collector:
    """Collects results from test reports on the controller. `summary` writes the report."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.rows: dict[str, Row] = {}  # by the id of the item, because an item may run again
        self.unread: dict[str, str] = {}  # the problem of a spec → the path of the spec
        self.unshown: list[str] = []
        self.plan: dict[str, None] = {}  # the ids of the selected items that can be cells
        self.gaps: dict[str, Gap] = {}  # by the id of the item
        self.stopped = ENDED
        self.fills: dict[str, str] = {}  # the encoded proposals, by the id of the item
        self.filled: dict[str, Filled] = {}
        self.unreached: dict[str, Row] = {}  # the rows of the cells that have a gap
        self.reruns: dict[str, Row] = {}  # the rows of items that a plugin runs again, by id

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Mark an earlier report, because the run may end before it can write its own."""
        folder = self.config.getoption("--harness-report")
        if folder and not self.config.option.collectonly:
            from harness.report.files import mark_unfinished

            mark_unfinished(self.config.invocation_params.dir / folder)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not self.config.option.collectonly:
            self._add_to_plan(item.nodeid for item in session.items if hasattr(item, "cell"))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Learn the ids that a worker of pytest-xdist collected. All workers collect the same."""
        self._add_to_plan(
            nodeid for nodeid in ids if nodeid.partition("::")[0].endswith((".yaml", ".yml"))
        )

    def _add_to_plan(self, ids: Iterable[str]) -> None:
        self.plan |= dict.fromkeys(ids)

    def pytest_keyboard_interrupt(self) -> None:
        self.stopped = "the run was interrupted before this cell was judged"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        encoded = getattr(report, RESULT, None)
        outcome: str = report.outcome  # plugins have further ones
        if encoded is not None:
            from harness.judging.rows import decode

            (row,) = decode(encoded.encode())
            if outcome == "rerun":
                self.reruns.setdefault(report.nodeid, row)
                return
            self.rows[report.nodeid] = row
            if fill := getattr(report, FILL, None):
                self.fills[report.nodeid] = fill
        elif report.nodeid in self.plan and not report.passed:
            self.gaps.setdefault(report.nodeid, _gap(report))

    def _gap_of(self, nodeid: str, session: pytest.Session) -> Gap:
        stop = session.shouldfail or session.shouldstop
        stopped = f"{ENDED}: {stop}" if isinstance(stop, str) else self.stopped
        return self.gaps.get(nodeid, Gap(stopped))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and report.nodeid.endswith((".yaml", ".yml")):
            for line in str(report.longrepr).splitlines():
                # every spec repeats the error of an unreadable features file
                self.unread.setdefault(line, report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Note the cells that the run did not reach. Fail a whole run if no cell shows a declared
        loss or a known failure, and a strict one if a cassette is not used.
        """
        if self.fills:
            self._write_fills()
            if any(filled.fault for filled in self.filled.values()):
                session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        if self.reruns:
            from .summary import with_rerun

            for nodeid, first in self.reruns.items():
                if nodeid in self.rows:
                    self.rows[nodeid] = with_rerun(self.rows[nodeid], first)
        ids = [nodeid for nodeid in self.plan if nodeid not in self.rows]
        gaps = {nodeid: self._gap_of(nodeid, session) for nodeid in ids}
        if gaps:
            from .summary import unreached

            self.unreached = unreached(self.config, gaps)
        all_reached = all(gaps[nodeid].skipped for nodeid in self.unreached)
        if not all_reached and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        declared = ("harness_losses", "harness_known_failing")
        strict = self.config.getoption("--harness-strict")
        if self.rows and (strict or any(self.config.getini(name) for name in declared)):
            from .summary import is_whole, unshown, unused

            whole = all_reached and is_whole(session)
            self.unshown = unshown(self.rows.values()) if whole else []
            if whole and strict:
                self.unshown += unused(self.config)
            if self.unshown and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write_fills(self) -> None:
        """Write expectations into their files, and correct the results of their cells."""
        from harness.project.update import write_all

        from .summary import with_filled

        # Workers report in any order.
        fills = {nodeid: self.fills[nodeid] for nodeid in self.plan if nodeid in self.fills}
        self.filled = write_all(fills)
        for nodeid, filled in self.filled.items():
            self.rows[nodeid] = with_filled(self.rows[nodeid], filled)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        wanted = self.config.getoption("--harness-report")
        if self.rows or self.unreached or self.unread or wanted:
            from harness.report import Unread

            from .summary import write_summary

            rows = [*self.rows.values(), *self.unreached.values()]
            unread = [Unread(spec, problem) for problem, spec in self.unread.items()]
            filled = list(self.filled.values())
            write_summary(terminalreporter, rows, unread, self.unshown, filled)
        selected = self.config.getini("harness_specs") or self.config.getoption("--harness-dialect")
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and selected:
            from .summary import explain_nothing

            explain_nothing(terminalreporter)


def _gap(report: pytest.TestReport) -> Gap:
    """Return why an item has no result: the reason of its skip, or the message of its failure."""
    match report.longrepr:
        case (_, _, str(reason)) if report.skipped:
            return Gap(reason.removeprefix("Skipped: "), skipped=True)
    crash = getattr(report.longrepr, "reprcrash", None)
    reason = (crash.message if crash else str(report.longrepr)).strip() or "no reason is known"
    return Gap(f"the item failed before the cell was judged: {reason.splitlines()[0]}")
