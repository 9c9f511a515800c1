"""A case with a question states the aspects and counts of its wire, and those that the adapter
keeps.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.judging.judge import judge
from harness.project.project import Project

ROOT = Path(__file__).parents[2]
PROJECT = Project([ROOT / "specs"], ROOT / "cassettes")


def answered(spec: str, case: str, column: str) -> dict[str, str]:
    (cell,) = (
        cell
        for cell in PROJECT.cells(ROOT / "specs" / spec)
        if (cell.case.case, cell.column) == (case, column)
    )
    return {**judge(cell, PROJECT.cassette).result.answered}


@pytest.mark.parametrize(
    ("spec", "case", "has_count"),
    [
        ("gemini-api/thoughts.yaml", "summaries-then-answer", True),
        ("openai-compat/thoughts.yaml", "tags-and-marks", False),
    ],
)
def test_a_count_that_a_wire_lacks_is_not_answered(spec: str, case: str, has_count: bool) -> None:
    verdicts = answered(spec, case, "unified-llm")
    assert verdicts["thoughts"] == verdicts["usage"] == "kept"
    assert ("thought tokens" in verdicts) is has_count


def test_a_declared_loss_is_not_carried() -> None:
    verdicts = answered("openai-compat/thoughts.yaml", "tags-and-marks", "mind")
    assert (verdicts["text"], verdicts["thoughts"]) == ("kept", "not_carried")


def test_layers_and_cases_without_a_question_have_no_answer() -> None:
    assert answered("openai-compat/thoughts.yaml", "tags-and-marks", "events") == {}
    assert answered("openai-compat/thoughts.yaml", "unmarked", "unified-llm") == {}
