"""Questions as test items: those in files of the specs, and with ``--harness-questions`` those of
the package, about requests and about a service that fails. An item is one question for one wire and
adapter, as a stream or unary, or about one recorded answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from harness.adapters import Adapter
from harness.judging.facts_cells import with_known
from harness.judging.questions.question import own_questions
from harness.judging.questions.run import AskedItem as Asked
from harness.judging.questions.run import plan_questions
from harness.judging.questions.service_faults import SERVICE_FAULTS, answers_of, plan_faults
from harness.judging.rows import QuestionRow
from harness.judging.run import shown_only
from harness.project.folders import read_text, shown_path
from harness.project.project import Project
from harness.project.questions import read_questions
from harness.project.recordings import load_recording
from harness.project.suite import CASSETTES
from harness.providers import PROVIDERS

from .items import Planned, RowItem
from .paths import QUESTIONS
from .project import project_of


@dataclass(frozen=True, slots=True)
class QuestionCell:
    """One question for one wire and one adapter."""

    item: Asked
    adapter: Adapter
    line: int = 1
    """The line of the question in its file."""

    @property
    def blank(self) -> QuestionRow:
        """Its row before it is asked."""
        return replace(self.item.blank, adapter=self.adapter.name)

    @property
    def name(self) -> str:
        """The name of its test item, such as ``settings-zero-gemini-api-unary[shop]``."""
        row, recorded = self.item.blank, self.item.recorded
        words = [row.question, row.provider]
        if recorded:
            cassette = recorded.cassette.removeprefix(f"{row.provider}/")
            words += [cassette.replace("/", "-"), str(recorded.number)]
        elif row.unary:
            words.append("unary")
        return f"{'-'.join(words)}[{self.adapter.name}]"


def _cells_of(path: Path, config: pytest.Config) -> list[QuestionCell]:
    """Return the selected cells of a file of questions. Raises `SpecError` and `CassetteError`."""
    project = project_of(config)
    own = path == QUESTIONS
    questions = own_questions() if own else read_questions(read_text(path), shown_path(path))
    load = partial(load_recording, cassettes=CASSETTES) if own else project.cassette
    asked = [question for question in questions if _is_chosen(question.name, config)]
    faults = [fault for fault in SERVICE_FAULTS if own and _is_chosen(fault.name, config)]
    cells = []
    for adapter in _adapters(project, config):
        wires = _wires(adapter, config)
        cells += [
            QuestionCell(item, adapter, item.question.line)
            for item in plan_questions(asked, wires, load, adapter)
        ]
        if faults and adapter.ask_failing:
            # a client may pause between its attempts for ever
            stoppable = project.stoppable(adapter)
            failing = plan_faults(faults, answers_of(wires, load), stoppable)
            cells += [QuestionCell(item, stoppable) for item in failing]
    return cells


def _is_chosen(name: str, config: pytest.Config) -> bool:
    names = config.getoption("--harness-questions") or ["all"]
    return "all" in names or name in names


def _adapters(project: Project, config: pytest.Config) -> Iterator[Adapter]:
    """Yield the selected adapters that send requests."""
    chosen = config.getoption("--harness-dialect")
    for name in project.adapters:
        adapter = project.adapter(name)
        if adapter is not None and adapter.ask is not None and (not chosen or name in chosen):
            yield adapter


def _wires(adapter: Adapter, config: pytest.Config) -> list[str]:
    """Return the wires of ``--harness-provider``, else those that the adapter names, else the first
    one, because a request is judged on the wire that it uses.
    """
    if chosen := config.getoption("--harness-provider"):
        return list(chosen)
    named = [*adapter.providers()]
    return named if len(named) < len(PROVIDERS) else named[:1]


class QuestionItem(RowItem):
    """One question: ``questions.yaml::settings-zero-gemini-api[shop]``."""

    cell: QuestionCell

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.line = self.cell.line

    @staticmethod
    def cells(path: Path, config: pytest.Config) -> Sequence[Planned]:
        return _cells_of(path, config)

    @classmethod
    def options_of(cls, cell: QuestionCell) -> Sequence[str]:
        return ["--harness-questions", cell.blank.question]

    def runtest(self) -> None:
        adapter = self.cell.adapter
        row = with_known(self.cell.item.judge(adapter), adapter)
        if self.config.getoption("--harness-questions") != ["all"]:
            # A selection of questions may have none that shows a loss or a known failure.
            row = replace(row, declared=shown_only(row.declared), known=shown_only(row.known))
        self.conclude(self.keep(replace(row, adapter=adapter.name)), None)
