"""Results as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from harness.judging.rows import (
    Verdict,
)
from harness.report import (
    Run,
    render,
)
from tests.report.document_samples import HEADER, result


def test_junit_has_a_test_case_for_each_cell_and_marks_red_ones() -> None:
    compared: list[Verdict] = ["passed", "failed", "error", "fixed", "warning"]
    others: list[Verdict] = ["known-failing", "not-carried", "not-run", "unreviewed"]
    cells = [result(verdict, verdict, reason="be<cause\x00\ufffe ]]>") for verdict in compared]
    cells += [result(verdict, verdict) for verdict in others]
    root = ET.fromstring(render(Run(HEADER, cells))["junit.xml"])
    (suite,) = root
    assert root.attrib == {"tests": "9", "failures": "2", "errors": "1", "skipped": "4"}
    assert suite.attrib == {"name": "Gemini API", **root.attrib}
    assert {case.attrib["name"]: [child.tag for child in case] for case in suite} == {
        "passed[anthropic]": [],
        "failed[anthropic]": ["failure"],
        "error[anthropic]": ["error"],
        "fixed[anthropic]": ["failure"],
        "warning[anthropic]": ["system-out"],
        "known-failing[anthropic]": ["skipped"],
        "not-carried[anthropic]": ["skipped"],
        "not-run[anthropic]": ["skipped"],
        "unreviewed[anthropic]": ["skipped"],
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib["message"] == "failed: be<cause\\u0000\\ufffe ]]>"
    assert "pytest 'specs/gemini-api/text.yaml::failed[anthropic]'" in (failure.text or "")
