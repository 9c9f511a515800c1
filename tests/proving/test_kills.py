"""A case names the mutation that must break it, under ``kill``: `harness check` knows the names,
`harness check --prove` runs the mutations, and those of the shipped cases break them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassettes import Cassette, Exchange, Origin
from harness.judging.judge import Cell
from harness.project.folders import yaml_files
from harness.project.project import Project, kind_of
from harness.proving.mutation import kill_names, named_mutant_fault, prove
from harness.specs.models import Case

ROOT = Path(__file__).parents[2]
BODY = b'data: {"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]}\n\n'
HELLO = Exchange(None, 200, {}, ((None, BODY),), "complete", "", "gemini-api", True)


def cell(kill: str, expected: object) -> Cell:
    case = Case(
        case="hello",
        requirement="Text is text.",
        features=("text.streaming",),
        source="https://ag-ui.com",
        cassette="a",
        expect={"ag-ui": expected},
        kill={"ag-ui": kill},
    )
    return Cell(case, "s.yaml", "ag-ui")


def load(_: str) -> Cassette:
    return Cassette((HELLO,), Origin("written"))


TEXT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "msg_1", "delta": "Hello"}


@pytest.mark.parametrize(
    ("kill", "fault"),
    [
        ("text-lost", ""),
        ("usage-wrong", "kill names usage-wrong, but it changes nothing here"),
        ("stop-reason-wrong", "kill names stop-reason-wrong, but the case does not notice it"),
    ],
)
def test_a_named_mutation_must_break_its_case(kill: str, fault: str) -> None:
    named = cell(kill, {"$contains": [TEXT]})
    assert named_mutant_fault(named, load) == fault
    proof = prove([named], load, ["ag-ui"])
    assert proof.spared == ([f"s.yaml: hello[ag-ui]: {fault}"] if fault else [])
    assert set(proof.spared) <= set(proof.faults)


def shipped() -> list[Cell]:
    project = Project([ROOT / "specs"], ROOT / "cassettes")
    return [
        cell
        for file in yaml_files(ROOT / "specs")
        if kind_of(file) == "spec"
        for cell in project.cells(file)
        if cell.column == "ag-ui" or cell.column in cell.case.kill
    ]


@pytest.mark.slow
def test_each_shipped_case_is_broken_by_the_mutation_that_it_names() -> None:
    project = Project([ROOT / "specs"], ROOT / "cassettes")
    named = [cell for cell in shipped() if cell.column in cell.case.kill]
    faults = {
        f"{cell.spec}: {cell.name}": fault
        for cell in named
        if (fault := named_mutant_fault(cell, project.cassette))
    }
    assert faults == {}
    assert len(named) > 100


@pytest.mark.slow
def test_each_case_of_ag_ui_names_a_mutation_that_exists() -> None:
    names = kill_names("ag-ui")
    assert [
        f"{cell.spec}: {cell.name}"
        for cell in shipped()
        if cell.column == "ag-ui" and cell.case.kill.get("ag-ui") not in names
    ] == []
