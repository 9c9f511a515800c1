"""When are the results of a run green? ``harness report`` and ``harness compare`` of results that
are red, not whole, or without a comparison. The table is in docs/github-actions.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from harness.judging.rows import CaseRow, ResultsError, unjudged
from harness.report import Run, Unread, merge, pack, unpack
from tests.report.document_samples import HEADER, result
from tests.support.commands import harness

CASES = [result(case=f"n{number}") for number in range(9)]
REASON = "the run was interrupted before this cell was judged"
PARTIAL = [*CASES[:4], *(unjudged(cell, REASON) for cell in CASES[4:])]
REST = [*(unjudged(cell, REASON) for cell in CASES[:4]), *CASES[4:]]


def write(name: str, results: list[CaseRow]) -> str:
    Path(name).write_bytes(pack(Run(HEADER, results)))
    return name


def run(*arguments: str) -> tuple[int, str]:
    """The status and the output of a command."""
    ended = harness(*arguments)
    return ended.status, ended.output


def report(*names: str) -> tuple[int, str]:
    return run("report", *names, "-o", "out")


def document() -> Any:
    return json.loads(Path("out/results.json").read_bytes())


def test_a_report_of_passed_cells_is_green() -> None:
    assert report(write("whole.json", CASES)) == (0, "9 of 9 cells passed: out/index.html\n")


def test_a_report_of_red_results_is_red() -> None:
    red = [*CASES[:8], result("failed", "n8")]
    assert report(write("red.json", red)) == (1, "8 of 9 cells passed, 1 failed: out/index.html\n")


def test_a_report_of_a_partial_run_says_so() -> None:
    status, output = report(write("part.json", PARTIAL))
    assert status == 1
    assert output.splitlines()[0] == "4 of 9 cells were judged"
    assert document()["plan"] == {"cells": 9, "judged": 4}
    for name in ("index.html", "gemini-api.html", "junit.xml"):
        assert REASON in Path("out", name).read_text(encoding="utf-8")


def test_a_report_in_which_nothing_was_compared_is_not_green() -> None:
    unrun = [replace(cell, verdict="not-run") for cell in CASES]
    status, output = report(write("unrun.json", unrun))
    assert (status, output.splitlines()[0]) == (1, "Nothing was compared")


def test_a_report_of_a_run_with_an_unread_spec_is_not_green() -> None:
    header = replace(HEADER, unread=(Unread("a.yaml", "a.yaml:1: no"),))
    Path("unread.json").write_bytes(pack(Run(header, CASES)))
    status, output = report("unread.json")
    assert (status, output.splitlines()[0]) == (1, "1 spec could not be read")
    badges = {badge.name: badge.read_text("utf-8") for badge in Path("out/badges").glob("*.svg")}
    assert "○ 1 spec not read" in badges["all.svg"]
    assert not [name for name, badge in badges.items() if "✓" in badge]


@pytest.mark.parametrize("names", [("part.json", "rest.json"), ("rest.json", "part.json")])
def test_parts_of_a_run_are_a_whole_run(names: tuple[str, ...]) -> None:
    write("part.json", PARTIAL)
    write("rest.json", REST)
    assert report(*names)[0] == 0
    assert document()["plan"] == {"cells": 9, "judged": 9}


def test_a_merged_report_of_shards_has_the_union_of_their_plans() -> None:
    one, two = write("one.json", PARTIAL[:6]), write("two.json", PARTIAL[3:])
    status, output = report(one, two)
    assert (status, output.splitlines()[0]) == (1, "4 of 9 cells were judged")


def test_a_cell_that_no_part_judged_has_one_reason() -> None:
    other = [unjudged(CASES[0], "a worker crashed")]
    parts = [Run(HEADER, other), Run(HEADER, REST[:1])]
    assert pack(merge(parts)) == pack(merge(parts[::-1]))
    assert [cell.reason for cell in merge(parts).results] == ["a worker crashed"]


@pytest.mark.parametrize("order", [("part.json", "whole.json"), ("whole.json", "part.json")])
def test_a_comparison_with_a_partial_run_is_not_green(order: tuple[str, str]) -> None:
    write("part.json", PARTIAL)
    write("whole.json", CASES)
    status, output = run("compare", *order)
    assert status == 1
    assert "part.json: 4 of 9 cells were judged" in output


def test_the_plan_is_the_first_member_and_is_checked() -> None:
    content = pack(Run(HEADER, PARTIAL))
    assert content.startswith(b'{"plan":{"cells":9,"judged":4},\n"header":')
    with pytest.raises(ResultsError, match="the plan does not match the results"):
        unpack(content.replace(b'"judged":4', b'"judged":9'))


def test_the_help_of_report_has_the_exit_status() -> None:
    assert "0: the report is green; 1: a verdict is red" in " ".join(
        run("report", "--help")[1].split()
    )


def test_no_badge_of_a_partial_run_is_green() -> None:
    others = [result(case=f"n{number}", adapter="unified-llm") for number in range(9)]
    report(write("part.json", [*PARTIAL, *others]))
    badges = {badge.name: badge.read_text("utf-8") for badge in Path("out/badges").glob("*.svg")}
    assert not [name for name, badge in badges.items() if "✓" in badge]
    assert "○ 13 of 18 cells ran" in badges["gemini-api.unified-llm.svg"]
