"""The rows of a run for CI: JUnit XML, annotations of a change on GitHub, and a summary in
Markdown.

JUnit has a suite per provider and a test case per row, without time or host. It has fewer verdicts
than we have: rows that are known failing, not carried, not run or unreviewed become skipped test
cases with their verdict as the message, and so do red variants.

Annotations are lines that a step of a workflow prints:
https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from harness.facts import Finding
from harness.judging.explain import shown_finding
from harness.judging.rows import VERDICTS, Row
from harness.stream.printable import excerpt, plural, printable_lines

from .aspect_counts import is_of_error
from .compare import KINDS, CellChange, counted_kinds
from .document import Header
from .layout import PlacedResult, ReportNames
from .tally import Tally, by_pair, column, describe_origins, headline, tally

JUNIT: Final = "junit.xml"
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


ANNOTATIONS: Final = "annotations.txt"
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


SUMMARY: Final = "summary.md"
"""The file in the folder of a report."""
MAX_LISTED: Final = 40
"""The maximum number of cells in a list: the summary of a CI step may have 1 MiB, and must be short
enough to read.
"""

MAX_TEXT: Final = 60_000
"""The maximum number of characters of one adapter of ``harness judge``."""

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~@$&-])")


def markdown(
    cells: Sequence[PlacedResult],
    names: ReportNames,
    changes: Sequence[CellChange] | None,
    header: Header,
) -> str:
    """Return the Markdown text."""
    results = [cell.result for cell in cells]
    lines = [
        "## Stream conformance",
        "",
        _text(" ".join(headline(results, names.providers, names.columns, header.unread))),
        "",
    ]
    lines += [_text(describe_origins(results).replace("`", "")), ""]
    lines += [f"- not read: {_text(unread.problem)}" for unread in header.unread[:MAX_LISTED]]
    lines += [*_more(len(header.unread)), ""] if header.unread else []
    tallies = {pair: tally(cells_of_pair) for pair, cells_of_pair in by_pair(results).items()}
    if tallies:
        used = {name for _, name in tallies}
        columns = [name for name in names.columns if name in used]
        lines += [
            "| Provider | " + " | ".join(_text(names.columns[name]) for name in columns) + " |",
            "|---" * (len(columns) + 1) + "|",
        ]
        with_case = {name for name, _ in tallies}
        for name, title in names.providers.items():
            if name not in with_case:
                continue
            row = [_square(tallies.get((name, column))) for column in columns]
            lines.append(f"| {_text(title)} | " + " | ".join(row) + " |")
        lines.append("")
    return "\n".join([*lines, *_changes(changes), *_not_passed(cells, names)]).rstrip("\n") + "\n"


def in_markdown(texts: Iterable[str]) -> str:
    """Return the texts that ``harness judge`` prints, one for each adapter, as a summary."""
    blocks = (f"```text\n{excerpt(text, MAX_TEXT)}\n```" for text in map(_without_fences, texts))
    return "\n\n".join(["## Stream conformance", *blocks]) + "\n"


def _without_fences(text: str) -> str:
    return text.rstrip("\n").replace("```", "`` `")


def _square(counted: Tally | None) -> str:
    if counted is None:
        return "no case"
    others = [
        f"{VERDICTS[verdict].symbol} {VERDICTS[verdict].counted(number)}"
        for verdict, number in counted.counts.items()
        if verdict != "passed"
    ]
    features = counted.passing_features if counted.features else f"{counted.cells} cells"
    return f"{features}<br>cells: {', '.join(others)}" if others else features


def _changes(changes: Sequence[CellChange] | None) -> list[str]:
    if changes is None:
        return []
    lines = [
        "### Since the baseline",
        "",
        f"{counted_kinds(changes)}.",
        "",
    ]
    listed = [change for change in changes if change.kind in ("broken", "fixed")]
    lines += [
        f"- {KINDS[change.kind].symbol} {change.kind}: {_cell_of(change)} ({_text(_words(change))})"
        for change in listed[:MAX_LISTED]
    ]
    return [*lines, *_more(len(listed)), ""]


def _words(change: CellChange) -> str:
    return "; ".join([change.words, *(aspect.sentence for aspect in change.aspects)])


def _cell_of(change: CellChange) -> str:
    if change.cell.turn == "question":
        return _text(change.place)
    return _text(f"{change.cell.spec} {change.cell.case} [{column(change.cell)}]")


def _not_passed(cells: Sequence[PlacedResult], names: ReportNames) -> list[str]:
    listed = [cell for cell in cells if cell.result.verdict not in ("passed", "not-carried")]
    if not listed:
        return []
    listed.sort(key=lambda cell: cell.verdict.order)
    lines = ["### Not passed", ""]
    for cell in listed[:MAX_LISTED]:
        where = _text(f"{names.providers[cell.result.provider]} → {cell.title}")
        requirement = _text(excerpt(cell.result.requirement, 200))
        why = f" {_text(excerpt(cell.gist, 300))}" if cell.gist else ""
        lines.append(f"- {cell.verdict.symbol} **{cell.verdict.word}** {where}: {requirement}{why}")
    return [*lines, *_more(len(listed))]


def _more(number: int) -> list[str]:
    return [f"- and {number - MAX_LISTED:,} more"] if number > MAX_LISTED else []


def _text(text: str) -> str:
    """Return text on one line with every special character of Markdown escaped."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", printable_lines(text))).strip()
