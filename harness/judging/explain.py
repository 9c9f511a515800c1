"""Explains a red cell in words."""

from __future__ import annotations

from typing import Final

from harness.stream.printable import printable, printable_lines

from .results import CaseResult

MAX_GIST: Final = 300


def explain(result: CaseResult, place: str) -> str:
    """The explanation of a red cell.

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
        made = f"{origin.kind} {origin.date or 'at an unknown date'}"
        lines.append(
            f"cassette:    {printable(result.cassette)}, exchange {result.exchange}"
            f" ({result.provider}; {made}; end {result.end})"
        )
    if "\n" in result.reason:  # otherwise the first line has the reason
        lines.append(f"{result.verdict}: {printable_lines(result.reason)}")
    if result.first_layer:
        lines.append(f"first layer that differs: {result.first_layer}")
    for finding in result.findings:
        note = f" ({printable(finding.note)})" if finding.note else ""
        lines.append(
            f"{printable(finding.path)}: {finding.kind}{note}"
            if finding.path
            else f"{finding.kind}{note}"
        )
        if finding.expected is not None:
            lines.append(f"  expected: {printable(finding.expected)}")
        if finding.got is not None:
            lines.append(f"  got:      {printable(finding.got)}")
    more = result.findings_total - len(result.findings)
    if more > 0:
        lines.append(f"and {more} more")
    return "\n".join(lines)


def _gist(result: CaseResult) -> str:
    if result.reason or not result.findings:
        verdict = "" if result.verdict == "failed" else f"{result.verdict}: "
        return printable_lines(f"{verdict}{result.reason}").partition("\n")[0]
    first = result.findings[0]
    if first.kind.startswith("law "):  # its note is a whole sentence
        return printable(first.note or first.got or "").partition("\n")[0]
    if result.layer == "facts":
        note = f": {first.note}" if first.note else ""
        return printable(f"{first.path.replace('_', ' ')} {first.kind}{note}")[:MAX_GIST]
    sides = [
        f"{word} {printable(side)}"
        for word, side in (("expected", first.expected), ("got", first.got))
        if side is not None
    ]
    difference = ", ".join(sides) or printable(first.note or first.kind)
    return f"{printable(first.path)} {difference}".replace("\n", " ").strip()[:MAX_GIST]
