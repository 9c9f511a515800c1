"""The size of pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.judging.evidence import with_evidence
from harness.judging.judge import judge
from harness.judging.laws.judge import cells as law_cells
from harness.judging.laws.judge import judge_law
from harness.judging.rows import (
    CaseRow,
    Evidence,
    LayerView,
)
from harness.project.folders import yaml_files
from harness.project.project import Project, kind_of
from harness.report import Header, Run, render
from harness.report.details import MAX_WITH_LAYERS
from harness.report.header import make_header
from tests.report.page_reader import Page, pages
from tests.support.report_samples import (
    FIVE,
    HEADER,
    run_of,
)


@pytest.fixture(scope="module")
def shipped() -> tuple[Header, list[CaseRow]]:
    """The results of the shipped specs, as in a run."""
    root = Path(__file__).parents[2]
    project = Project([root / "specs"], root / "cassettes")
    results = []
    for file in yaml_files(root / "specs"):
        if kind_of(file) == "spec":
            for cell in project.cells(file):
                command = f"pytest '{file.relative_to(root).as_posix()}::{cell.name}'"
                results.append(
                    replace(
                        with_evidence(judge(cell, project.cassette, normalize=project.normalize)),
                        command=command,
                    )
                )
    assert len(results) > 1000
    return make_header(results, project.features, "", ()), results


BUDGET = 1_000
"""Bytes of all pages per cell, with script and style sheet: 1 MB for 1,000 cells."""


def html_size(files: Mapping[str, str]) -> int:
    return sum(len(text.encode()) for name, text in files.items() if name.endswith(".html"))


@pytest.mark.slow
def test_the_pages_of_the_shipped_cells_keep_to_the_budget(
    shipped: tuple[Header, list[CaseRow]],
) -> None:
    header, results = shipped
    assert html_size(render(Run(header, results))) <= BUDGET * len(results)


@pytest.mark.slow
def test_the_pages_of_a_thousand_green_cells_keep_to_the_budget() -> None:
    cells = run_of(200, "data: " + "x" * 1600, "passed", ("anthropic", "b", "c", "d", "e"))
    assert len(cells) == 1000
    assert html_size(render(Run(FIVE, cells))) <= BUDGET * len(cells)


@pytest.mark.slow
def test_a_report_of_all_laws_keeps_to_the_budget() -> None:
    """For a fifth of the shipped cassettes: among them are those of each provider."""
    root = Path(__file__).parents[2]
    project = Project([root / "specs"], root / "cassettes")
    results = []
    for file in [*yaml_files(root / "cassettes")][::5]:
        name = file.relative_to(root / "cassettes").with_suffix("").as_posix()
        cassette = project.cassette(name)
        for cell in law_cells(name, cassette.exchanges, project.law_adapters(), cassette.origin):
            held = judge_law(
                dataclasses.replace(
                    cell, law=dataclasses.replace(cell.law, findings=lambda exchange, adapter: [])
                )
            ).result
            results.append(
                replace(held, command=f"pytest --harness-laws 'cassettes/{name}.yaml::{cell.name}'")
            )
    assert len(results) > 2_000
    files = render(Run(make_header(results, project.features, "", ()), results))
    assert html_size(files) <= BUDGET * len(results)


@pytest.mark.slow
def test_a_failing_cell_takes_as_much_room_among_many_as_alone() -> None:
    def failing(number: int) -> int:
        return html_size(render(Run(HEADER, run_of(number, "", "failed", ("anthropic",)))))

    each = failing(2) - failing(1)
    assert (failing(300) - failing(1)) / 299 == pytest.approx(each, rel=0.1)


@pytest.mark.slow
def test_a_page_shows_the_layers_of_its_first_failing_cells() -> None:
    layers = (LayerView("payloads", ("x" * 200,) * 11, 0, 11, 0, True),)
    cells = [
        replace(page, findings_total=20, evidence=Evidence(layers=layers))
        for page in run_of(MAX_WITH_LAYERS + 1, "", "failed", ("anthropic",), 20)
    ]
    *first, last = (cell for _, _, cell in Page(pages(*cells)["gemini-api.html"]).data["cases"])
    for cell in first:
        assert (len(cell["findings"]), len(cell["layers"]), "without" in cell) == (19, 1, False)
    assert (len(last["findings"]), "layers" in last, last["without"]) == (19, False, 1)
