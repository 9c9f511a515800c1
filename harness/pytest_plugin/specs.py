"""Specs as test items: one item for each case and column. Its verdict becomes its outcome.

An item is judged in the process in which pytest-xdist runs it. With ``--harness-accept`` it reports
the value for its own expectation if that is empty, with ``--harness-update`` if it does not hold
(`harness.project.update`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from harness.adapters import AdapterError
from harness.cassettes import CassetteError
from harness.judging.explain import EXACT
from harness.judging.judge import Cell, Fixture, Judgement, judge, resolve_fixture, run_cell
from harness.judging.rows import VERDICTS, Row
from harness.pipeline.replay import ReplayError, has_content
from harness.project.project import Project
from harness.project.update import Proposal, Update
from harness.specs.checks import RECORDED
from harness.specs.volatile import expectation_of
from harness.stream.printable import printable

from .items import Planned, RowItem
from .project import project_of

WITH_PATH: Final = frozenset(EXACT) - {"extra"}
"""The reasons of findings with a path in the expectation."""


def provider_of(project: Project, cell: Cell) -> str | None:
    """Return the provider of a cell; None if its cassette can't be read."""
    try:
        return resolve_fixture(cell.case, project.cassette).provider
    except (CassetteError, ReplayError):
        return None  # the item itself reports the error, if a run selects it


class CellItem(RowItem):
    """One cell: ``spec.yaml::case[column]``."""

    cell: Cell
    fill: str | None = None

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.line = self.cell.case.line
        self.keywords.update(dict.fromkeys(self.cell.case.features, True))

    @staticmethod
    def cells(path: Path, config: pytest.Config) -> Sequence[Planned]:
        project = project_of(config)
        providers = config.getoption("--harness-provider")
        dialects = config.getoption("--harness-dialect")
        return [
            cell
            for cell in project.cells(path)
            if (not dialects or cell.column in dialects)
            and (not providers or provider_of(project, cell) in providers)
        ]

    @classmethod
    def blank(cls, cell: Cell, config: pytest.Config) -> Row:
        return replace(cell.blank, provider=provider_of(project_of(config), cell) or "")

    def runtest(self) -> None:
        project = project_of(self.config)
        fault = ""
        try:
            if self.config.getoption("--harness-accept"):
                self.fill = self._value_to_fill(project)
        except (AdapterError, CassetteError) as error:
            fault = f"nothing could be filled in: {error}"
        judgement = judge(
            self.cell,
            project.cassette,
            project.adapter(self.cell.column),
            today=date.today(),
            normalize=project.normalize,
        )
        result = judgement.result
        try:
            if self.config.getoption("--harness-update") and judgement.output:
                self.fill = self.fill or self._update(project, judgement)
        except (AdapterError, CassetteError) as error:
            fault = f"nothing could be updated: {error}"
        if self.config.getoption("--harness-report") or VERDICTS[result.verdict].red:
            from harness.judging.evidence import with_evidence  # imports all laws

            result = with_evidence(judgement)
        if self.fill:
            is_empty = self.cell.case.expect.get(self.cell.key) is None
            was = "empty" if is_empty else "out of date"
            reason = f"{was}; its value is written to {self.path.name} at the end of the run"
            result = replace(result, verdict="unreviewed", reason=reason)
        if fault:
            result = replace(result, verdict="error", reason=fault)
        strict = self.config.getoption("--harness-strict")
        kept, way_out = self.keep(result), ""
        if not self.fill and not fault and self._can_update(project, judgement):
            way_out = printable(f"intended? {kept.command} --harness-update, then harness review")
        self.conclude(kept, judgement.exception, strict=strict, way_out=way_out)

    def line_of(self, result: Row) -> int:
        """Return the line of the expectation for the first finding."""
        first = result.findings[0] if result.findings else None
        path = "" if first is None or first.reason not in WITH_PATH else first.subject
        return self.cell.case.expected_line(self.cell.key, path)

    def _value_to_fill(self, project: Project) -> str | None:
        """Return the value for an empty expectation of this cell, which the controller writes.
        Raises `AdapterError`, and `CassetteError` for a value that shows a secret.
        """
        case, key = self.cell.case, self.cell.key
        if self.cell.layer == "facts":
            return None  # an expectation of facts is read from the recording
        if case.expect.get(key, ...) is not None or not project.fills(self.cell.column, key):
            return None
        try:
            fixture = resolve_fixture(case, project.cassette)
            got = run_cell(self.cell, fixture, project.adapter(self.cell.column)).items
        except (CassetteError, ReplayError):
            return None  # the judge reports it
        value = self._expectation(project, fixture, got)
        return self._propose(None, got, value)

    def _propose(self, before: Any, got: Any, value: Any) -> str:
        update = Update(self.cell.case.case, self.cell.key, before, got, value)
        return Proposal(str(self.path), update, self.named()).encode()

    def _update(self, project: Project, judgement: Judgement) -> str | None:
        """Return the value for the expectation of this cell, if it does not hold. A known failure
        and an expectation that is filled by another column are never updated. Raises as
        `_value_to_fill`.
        """
        case, key, fixture = self.cell.case, self.cell.key, judgement.fixture
        if not self._can_update(project, judgement):
            return None
        assert judgement.output, "a cell with mismatches has an output"
        assert fixture, "a cell with mismatches has a fixture"
        got, before = judgement.output.items, case.expect[key]
        value = self._expectation(project, fixture, got)
        return self._propose(before, got, value)

    def _can_update(self, project: Project, judgement: Judgement) -> bool:
        """Return whether the expectation of this cell does not hold, and may be rewritten. If the
        requests of the recording are expected, nothing in the spec can be rewritten.
        """
        key, is_red = self.cell.key, judgement.result.verdict in ("failed", "warning")
        return bool(
            is_red
            and judgement.mismatches
            and project.fills(self.cell.column, key)
            and self.cell.case.expect[key] != RECORDED
        )

    def _expectation(self, project: Project, fixture: Fixture, got: Any) -> Any:
        """Return the expectation for an output. The adapter runs again, because a value that
        differs is not expected. Our own adapters always give the same. Raises `AdapterError` for
        an output without an event of an answer that has content.
        """
        if got == [] and any(map(has_content, fixture.exchanges)):
            raise AdapterError(
                f"{self.cell.column} gives nothing of an answer with content; mend the adapter, or"
                " write the expectation by hand"
            )
        adapter = project.adapter(self.cell.column)
        if adapter is None:
            return expectation_of(got, got, None)
        again = run_cell(self.cell, fixture, adapter).items
        recorded = "".join(
            exchange.body.decode("utf-8", "replace") for exchange in fixture.exchanges
        )
        return expectation_of(got, again, recorded)
