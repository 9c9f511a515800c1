"""The page of findings in requests: it is current, and each finding has a program."""

from __future__ import annotations

from types import ModuleType

import pytest

from harness.judging.judge_results import AdapterResults
from harness.judging.questions.comparison import found
from harness.judging.rows import QuestionRow
from tests.docs.test_findings import FOLDER, imported

MOST_LINES = 10


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return imported("request_findings")


def test_the_page_is_current(script: ModuleType) -> None:
    way_out = "run examples/adapters/request_findings.py"
    assert script.PAGE.read_text(encoding="utf-8") == script.page(script.read()), way_out


def test_each_finding_has_a_program_of_ten_lines_and_what_it_prints(script: ModuleType) -> None:
    for adapter in script.read():
        for finding in adapter.findings:
            program = FOLDER / adapter.program_of(finding)
            assert len(program.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, program
            assert not finding.prints.isupper(), finding.symptom


def test_each_program_shows_a_finding(script: ModuleType) -> None:
    named = {
        adapter.program_of(finding) for adapter in script.read() for finding in adapter.findings
    }
    kinds = ("*/request*.py", "*/request*.mjs")
    programs = {path.relative_to(FOLDER).as_posix() for kind in kinds for path in FOLDER.glob(kind)}
    assert programs <= named


def test_a_red_without_a_finding_and_a_finding_without_a_red_are_listed(
    script: ModuleType,
) -> None:
    lost = found("schema", "lost", "const A of f.k is not sent", word="const")
    row = QuestionRow(
        "failed", case="schema-enums", cassette="questions/gemini-api/schema-enums", exchange=1,
        provider="gemini-api", question="schema-enums", findings=(lost,), findings_total=1,
    )  # fmt: skip
    results = AdapterResults("shop", "serve: shop:replay", "1", questions=(row,))
    seen = script.Finding("Constants are dropped.", ["schema lost const"], "{}", ["schema-*"])
    unseen = script.Finding("Zeros are dropped.", ["settings lost *"], "{}")

    def lines(*findings: object) -> list[str]:
        return list(script.compare(script.Asked("shop", "1", "", findings=[*findings]), results))

    assert lines(seen) == []
    assert lines(seen, unseen) == ["shop: not seen: Zeros are dropped."]
    assert lines()[0].startswith("shop schema-enums: schema lost const: ")
    previous = script.Asked("shop-1", "0", "")
    assert list(script.compare(previous, results, [seen, unseen])) == []
