"""Explains a red cell in words, and shows a finding by facts with its evidence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from harness.facts import Finding
from harness.stream.printable import printable, printable_lines, short_json

from .rows import LayerView, Row

MAX_GIST: Final = 300
MAX_SIDE: Final = 200
"""Characters of one side of a finding about a request."""
MOST_LOG: Final = 10
"""The number of lines of an adapter's log that are shown."""
FAULTS: Final = "faults"
"""The first part of the name of a row about a service that fails, before that of its answer."""
_FUNCTION: Final = re.compile(r"([\w-]+ *= *)?[\w.]+:[\w.]+")
"""Matches the adapters that certainly send no requests."""
EXACT: Final = ("missing", "extra", "changed", "moved", "recut")
"""The reasons of an exact comparison, which has an expected value."""


def explain(result: Row, place: str) -> str:
    """Return the explanation of a red cell.

    The first line names the difference. A short summary shows only this line. The other lines are
    the requirement, ``place`` (file and line), the first layer that differs, and each finding with
    its path, the expected value and the actual value.
    """
    lines = [
        _gist(result),
        f"requirement: {printable(result.requirement)}",
        f"at:          {printable(place)}",
    ]
    origin = result.origin
    if origin:
        made = f"{origin.kind} {origin.date}" if origin.date else f"{origin.kind}, date unknown"
        end = "its end was not recorded" if result.end == "unknown" else f"end {result.end}"
        lines.append(
            f"cassette:    {printable(result.cassette)}, exchange {result.exchange}"
            f" ({result.provider}; {made}; {end})"
        )
    if "\n" in result.reason:  # otherwise the first line has the reason
        lines.append(f"{result.verdict}: {printable_lines(result.reason)}")
    if result.first_layer:
        lines.append(f"first layer that differs: {result.first_layer}")
    for finding in result.findings:
        lines += _finding_lines(finding)
        if finding.red and finding.subject in result.aspects:
            lines += evidence_lines(result, finding, result.adapter)
    more = result.findings_total - len(result.findings)
    if more > 0:
        lines.append(f"and {more} more")
    return "\n".join(lines)


_EVIDENCE: Final[Mapping[str, str]] = {"frames": "wire", "native": "native", "requests": "request"}
"""The layers of an excerpt of which the line in question is shown, with their words."""
_EMPTY: Final[Mapping[str, str]] = {
    "frames": "no bytes",
    "native": "no event",
    "requests": "no request",
}
"""The words for a layer without a line."""


def evidence_lines(result: Row, finding: Finding, argument: str) -> list[str]:
    """Return the lines below the sentence of a finding by facts: the line of the wire, of the
    native events or of the request, and a command that shows the finding. ``argument``: the adapter
    as ``harness judge`` names it.
    """
    lines = [f"  requests: {printable(result.requests)}"] if result.requests else []
    if result.turn == "question":
        lines += [f"  {line}" for line in sides_of(finding)]
        lines.append(f"  question {printable(f'{result.question}: {result.requirement}')}")
    lines += [f"  {'log':<8}{printable(line)}" for line in result.log.splitlines()[-MOST_LOG:]]
    lines += [
        f"  {_EVIDENCE[view.layer]:<8}{printable(_line_of(view))}"
        for view in _views(result, finding)
        if view.layer in _EVIDENCE
    ]
    return [*lines, f"  run: {printable(judge_command(argument, result, finding))}"]


def sides_of(finding: Finding) -> list[str]:
    """Return what was asked for and what was sent, each with its place, as a line."""
    sides = (
        ("asked", finding.place.asked, finding.wire),
        ("sent", finding.place.sent, finding.adapter),
    )
    return [
        f"{word:<8} {printable(f'{path} = {short_json(value)}')[:MAX_SIDE]}"
        for word, path, value in sides
        if path
    ]


def _views(result: Row, finding: Finding) -> Sequence[LayerView]:
    """Return the excerpts of a finding. The id of a call that is lost has those of the call."""
    if result.evidence is None:
        return ()
    is_call_lost = any(other.reason == "calls-missing" for other in result.findings)
    subject = "calls" if finding.reason == "ids-missing" and is_call_lost else finding.subject
    return result.evidence.excerpts.get(subject, ())


def _line_of(view: LayerView) -> str:
    """Return the marked line, else the last line."""
    if not view.lines:
        return _EMPTY[view.layer]
    return view.lines[-1 if view.first is None else view.first - view.start]


def judge_command(argument: str, cell: Row, finding: Finding | None = None) -> str:
    """Return a shell line that judges the adapter of an argument on this exchange alone, with the
    cuts that show the finding; without one, the first finding of the cell. For a question it asks
    only that.
    """
    words = ["harness", "judge", argument]
    if cell.turn == "question":
        kind, _, answer = cell.cassette.partition("/")
        if kind == FAULTS:
            words += ["--cassettes", f"{answer.rpartition('/')[0]}:{cell.exchange}"]
        return shlex.join([*words, "--questions", cell.question])
    words += ["--cassettes", cell.place]
    shown = finding or next(iter(cell.red_findings), None)
    cuts = shown.place.cuts if shown else ""
    if cuts not in ("", "recorded"):
        words += ["--cuts", cuts]
    if not _FUNCTION.fullmatch(argument):
        words += ["--questions", "none"]
    return shlex.join(words)


def _gist(result: Row) -> str:
    if result.reason or not result.findings:
        verdict = "" if result.verdict == "failed" else f"{result.verdict}: "
        return printable_lines(f"{verdict}{result.reason}").partition("\n")[0]
    first = result.findings[0]
    if first.reason == "law":  # its remark is a whole sentence
        return printable(first.remark).partition("\n")[0]
    if first.reason not in EXACT:
        return printable(first.sentence)[:MAX_GIST]
    shown = shown_finding(first)
    sides = [
        f"{word} {printable(side)}"
        for word, side in (("expected", shown.expected), ("got", shown.got))
        if side is not None
    ]
    difference = ", ".join(sides) or printable(shown.note or shown.kind)
    return f"{printable(shown.path)} {difference}".replace("\n", " ").strip()[:MAX_GIST]


class Shown(NamedTuple):
    """A finding as texts for a list: the path or aspect, the kind of difference, the reason as a
    sentence, and the two sides of an exact comparison.
    """

    path: str
    kind: str
    note: str
    expected: str | None = None
    got: str | None = None


def shown_finding(finding: Finding) -> Shown:
    """Return the texts of a finding."""
    sides = [side if side is None else str(side) for side in (finding.wire, finding.adapter)]
    if finding.reason in EXACT:
        return Shown(finding.subject, finding.reason, finding.note, *sides)
    if finding.reason == "law":
        return Shown(finding.place.path, finding.subject.replace("-", " "), finding.note, *sides)
    return Shown(finding.subject, finding.verdict, finding.note)


def _finding_lines(finding: Finding) -> list[str]:
    shown = shown_finding(finding)
    note = f" ({printable(shown.note)})" if shown.note else ""
    head = f"{printable(shown.path)}: {shown.kind}" if shown.path else shown.kind
    lines = [f"{head}{note}"]
    if shown.expected is not None:
        lines.append(f"  expected: {printable(shown.expected)}")
    if shown.got is not None:
        lines.append(f"  got:      {printable(shown.got)}")
    return lines
