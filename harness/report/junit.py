"""Results as JUnit XML: a suite per provider, a test case per cell, without time or host.

JUnit has fewer verdicts than we have. Cells that are known failing, not carried, not run or
unreviewed become skipped test cases with their verdict as the message, and so do red variants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from harness.judging.explain import shown_finding
from harness.judging.rows import VERDICTS, Row
from harness.stream.printable import excerpt, printable_lines

from .layout import PlacedResult
from .tally import column

NAME: Final = "junit.xml"
MAX_FINDINGS: Final = 5
"""Findings of a cell that are listed."""
MAX_DETAILS: Final = 4000
"""Characters of the details of a cell."""


_GROUPS: Final = {"first": "recordings", "second": "second turn", "question": "questions"}
"""Turn → the class name of the cells without a spec."""


def junit(cells: Sequence[PlacedResult], providers: Mapping[str, str]) -> str:
    """Return the XML document."""
    root = Element("testsuites", _counts([cell.result for cell in cells]))
    for name, title in providers.items():
        results = [cell.result for cell in cells if cell.result.provider == name]
        if results:
            attributes = {"name": printable_lines(title), **_counts(results)}
            SubElement(root, "testsuite", attributes).extend(map(_case, results))
    indent(root, "")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}\n'


def _counts(results: Sequence[Row]) -> dict[str, str]:
    kinds = Counter(map(_kind, results))
    return {
        "tests": str(len(results)),
        "failures": str(kinds["failure"]),
        "errors": str(kinds["error"]),
        "skipped": str(kinds["skipped"]),
    }


def _kind(result: Row) -> str:
    match result.verdict:
        # JUnit has no warnings, so a warning is a passed test with output.
        case "passed" | "warning":
            return ""
        case "failed" | "error" if result.block == "variant":
            return "skipped"  # never red
        case "failed" | "fixed":
            return "failure"
        case "error":
            return "error"
        case _:
            return "skipped"


def _case(result: Row) -> Element:
    label, group = result.case, result.spec
    if not group:  # of `harness judge`, or a question
        label, group = result.label, _GROUPS[result.turn]
    name = printable_lines(f"{label}[{column(result)}]")
    case = Element("testcase", {"classname": printable_lines(group), "name": name})
    if result.verdict == "passed":
        return case
    words = VERDICTS[result.verdict].word
    message = printable_lines(excerpt(f"{words}: {result.reason or result.requirement}", 300))
    details = printable_lines(excerpt(_details(result), MAX_DETAILS))
    if kind := _kind(result):
        SubElement(case, kind, {"message": message}).text = details
    else:
        SubElement(case, "system-out").text = f"{message}\n{details}"
    return case


def _details(result: Row) -> str:
    lines = [result.requirement]
    for finding in result.findings[:MAX_FINDINGS]:
        shown = shown_finding(finding)
        sides = (("expected", shown.expected), ("got", shown.got))
        values = "".join(
            f"\n  {word}: {excerpt(side, 500)}" for word, side in sides if side is not None
        )
        lines.append(f"{shown.path}: {shown.note or shown.kind}{values}")
    return "\n".join([result.command, *lines])
