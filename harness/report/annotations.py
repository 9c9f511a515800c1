"""Red cells as annotations of a change on GitHub: lines that a step of a workflow prints.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harness.judging.explain import shown_finding
from harness.judging.results import VERDICTS, Result
from harness.stream.printable import excerpt, plural, printable_lines

from .tally import column

NAME: Final = "annotations.txt"
"""The file in the folder of a report."""
MAX_SHOWN: Final = 10
"""The number of errors that GitHub shows of one step."""
MAX_MESSAGE: Final = 1000


def annotation_lines(results: Iterable[Result]) -> str:
    """Return the lines for all red cells, the worst first; "" without a red cell.

    A line names the spec below the folder ``specs``. A cell of ``harness judge`` has no spec, so
    its line names no file.
    """
    red = [result for result in results if VERDICTS[result.verdict].red]
    red.sort(key=lambda result: VERDICTS[result.verdict].order)
    lines = [_line(result) for result in red[:MAX_SHOWN]]
    if len(red) > MAX_SHOWN:
        rest = plural(len(red) - MAX_SHOWN, "more red cell")
        lines.append(f"::error title=Conformance::{_data(f'{rest} in the report')}")
    return "".join(f"{line}\n" for line in lines)


def _line(result: Result) -> str:
    name = f"{result.case or result.place} [{column(result)}]"
    fields = {"title": f"{VERDICTS[result.verdict].word}: {name}"}
    if result.spec:
        fields = {"file": f"specs/{result.spec}", "line": str(result.line)} | fields
    properties = ",".join(f"{key}={_property(value)}" for key, value in fields.items())
    return f"::error {properties}::{_data(_message(result))}"


def _message(result: Result) -> str:
    reasons = [result.requirement, result.reason]
    for finding in result.red_findings[:1]:
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
