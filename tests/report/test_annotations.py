"""Red cells as annotations of a change."""

from __future__ import annotations

from msgspec.structs import replace

from harness.facts import Finding
from harness.judging.rows import CaseRow
from harness.report.ci import MAX_SHOWN, annotation_lines

RED = CaseRow(
    "failed",
    "shop",
    spec="a/b.yaml",
    line=7,
    case="two, or more",
    requirement="100 % of the calls\nare given.",
    findings=(Finding("calls", "lost", "skipped", adapter="one"),),
)


def test_a_red_cell_names_file_line_and_finding() -> None:
    assert annotation_lines([RED, CaseRow("passed", "shop")]) == (
        "::error file=specs/a/b.yaml,line=7,title=failed%3A two%2C or more [shop]::"
        "100 %25 of the calls%0Aare given.%0Acalls lost: one\n"
    )


def test_without_a_red_cell_there_is_nothing() -> None:
    assert annotation_lines([CaseRow("passed", "shop"), CaseRow("not-run", "shop")]) == ""


def test_a_text_can_not_begin_a_command_of_its_own() -> None:
    evil = CaseRow("error", "shop", case="x", reason="a\n::set-output name=x::y\r\n::error::z")
    assert len(annotation_lines([evil]).splitlines()) == 1


def test_findings_come_before_more_cells_with_the_same_finding() -> None:
    """GitHub shows ten errors of a step."""
    other = Finding("usage", "wrong", "counts", wire={"input": 1}, adapter={"input": 2})
    last = replace(RED, case="last", findings=(*RED.findings, other))
    lines = annotation_lines([RED, replace(RED, case="same"), last]).splitlines()
    titles = [line.split("title=failed%3A ")[1].split(" [")[0] for line in lines]
    assert titles == ["two%2C or more", "last", "same"]
    assert "usage wrong" in lines[1]


def test_many_red_cells_are_counted_in_the_last_line_that_is_shown() -> None:
    lines = annotation_lines(replace(RED) for _ in range(MAX_SHOWN + 3)).splitlines()
    assert len(lines) == MAX_SHOWN
    assert lines[-1] == (
        "::error title=Conformance::1 finding in 13 red cells; the report has them all"
    )
