"""Red cells as annotations of a change on GitHub: lines that a step of a workflow prints.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from harness.facts import Finding
from harness.judging.explain import shown_finding
from harness.judging.rows import VERDICTS, Row
from harness.stream.printable import excerpt, plural, printable_lines

from .aspect_counts import is_of_error
from .tally import column

NAME: Final = "annotations.txt"
"""The file in the folder of a report."""
MAX_SHOWN: Final = 10
"""The number of errors that GitHub shows of one step. If there are more, the last one counts them.
"""
MAX_MESSAGE: Final = 1000


def annotation_lines(results: Iterable[Row]) -> str:
    """Return a line for each finding, those of the worst cells first, then a line for each other
    red cell; "" without a red cell.

    A line names the spec below the folder ``specs``. A cell of ``harness judge`` has no spec, so
    its line names no file.
    """
    red = [result for result in results if VERDICTS[result.verdict].red]
    red.sort(key=lambda result: VERDICTS[result.verdict].order)
    first: dict[tuple[object, ...], tuple[Row, Finding | None]] = {}
    for result in red:
        for finding in _findings(result):
            group = finding.group if finding else (result.reason,)
            first.setdefault((result.adapter, result.verdict, *group), (result, finding))
    named = {id(result) for result, _ in first.values()}
    others = [(result, _findings(result)[0]) for result in red if id(result) not in named]
    shown = [_line(result, finding) for result, finding in (*first.values(), *others)]
    if len(shown) > MAX_SHOWN:
        words = f"{plural(len(first), 'finding')} in {plural(len(red), 'red cell')}"
        shown[MAX_SHOWN - 1 :] = [f"::error title=Conformance::{words}; the report has them all"]
    return "".join(f"{line}\n" for line in shown)


def _findings(result: Row) -> Sequence[Finding | None]:
    own = [each for each in result.red_findings if not is_of_error(result, each.subject)]
    return own or [None]


def _line(result: Row, finding: Finding | None) -> str:
    name = f"{result.label} [{column(result)}]"
    fields = {"title": f"{VERDICTS[result.verdict].word}: {name}"}
    if result.spec:
        fields = {"file": f"specs/{result.spec}", "line": str(result.line)} | fields
    properties = ",".join(f"{key}={_property(value)}" for key, value in fields.items())
    return f"::error {properties}::{_data(_message(result, finding))}"


def _message(result: Row, finding: Finding | None) -> str:
    reasons = [result.requirement, result.reason]
    if finding:
        shown = shown_finding(finding)
        exact = f"{shown.path}: {shown.note or shown.kind}"
        reasons.append(finding.sentence if result.layer == "facts" else exact)
    reasons.append(f"run: {result.command}" if result.command else "")
    return "\n".join(dict.fromkeys(filter(None, reasons)))


def _data(text: str) -> str:
    shown = printable_lines(excerpt(text, MAX_MESSAGE))
    # GitHub's workflow commands escape these three, and in a property also the colon and the comma.
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
