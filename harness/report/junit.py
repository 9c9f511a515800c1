"""Results as JUnit XML: a suite per provider, a test case per cell, without time or host.

JUnit has fewer verdicts than we have. Cells that are known failing, not carried, not run or
unreviewed become skipped test cases with their verdict as the message.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Final

from harness.conformance.results import VERDICTS, CaseResult
from harness.stream.printable import excerpt, printable_lines

from .layout import Cell
from .tally import column

MAX_FINDINGS: Final = 5
"""Findings of a cell that are listed."""
MAX_DETAILS: Final = 4000
"""Characters of the details of a cell."""


def junit(cells: Sequence[Cell], providers: Mapping[str, str]) -> str:
    """The XML document."""
    suites = {
        name: [cell.result for cell in cells if cell.result.provider == name] for name in providers
    }
    body = "".join(_suite(providers[name], results) for name, results in suites.items() if results)
    counts = _counts([cell.result for cell in cells])
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return f"{head}\n<testsuites{counts}>\n{body}</testsuites>\n"


def _suite(title: str, results: Sequence[CaseResult]) -> str:
    cases = "".join(map(_case, results))
    return f'<testsuite name="{_text(title)}"{_counts(results)}>\n{cases}</testsuite>\n'


def _counts(results: Sequence[CaseResult]) -> str:
    kinds = [_kind(result) for result in results]
    counted = (
        ("tests", len(kinds)),
        ("failures", kinds.count("failure")),
        ("errors", kinds.count("error")),
        ("skipped", kinds.count("skipped")),
    )
    return "".join(f' {name}="{number}"' for name, number in counted)


def _kind(result: CaseResult) -> str:
    match result.verdict:
        case "passed" | "warning":
            return ""
        case "failed" | "fixed":
            return "failure"
        case "error":
            return "error"
        case _:
            return "skipped"


def _case(result: CaseResult) -> str:
    opening = (
        f'<testcase classname="{_text(result.spec)}"'
        f' name="{_text(f"{result.case}[{column(result)}]")}"'
    )
    if result.verdict == "passed":
        return f"{opening}/>\n"
    words = VERDICTS[result.verdict].word
    message = _text(excerpt(f"{words}: {result.reason or result.requirement}", 300))
    details = _text(excerpt(_details(result), MAX_DETAILS))
    kind = _kind(result)
    inner = f"<system-out>{message}\n{details}</system-out>"
    if kind:
        inner = f'<{kind} message="{message}">{details}</{kind}>'
    return f"{opening}>{inner}</testcase>\n"


def _details(result: CaseResult) -> str:
    lines = [result.requirement]
    for finding in result.findings[:MAX_FINDINGS]:
        sides = (("expected", finding.expected), ("got", finding.got))
        values = "".join(
            f"\n  {word}: {excerpt(side, 500)}" for word, side in sides if side is not None
        )
        lines.append(f"{finding.path}: {finding.note or finding.kind}{values}")
    return "\n".join([result.command, *lines])


def _text(text: str) -> str:
    """Text for an element or an attribute in XML 1.0; forbidden characters become escapes."""
    return html.escape(printable_lines(text))
