"""A red cell in words, for whoever reads the output of a test run."""

from __future__ import annotations

from .matching import visible
from .results import CaseResult


def explain(result: CaseResult, line: int) -> str:
    """A red cell in words: requirement, line of its expectation, first layer that differs, path, expected and got of each finding."""
    lines = [f"requirement: {visible(result.requirement)}", f"at:          {visible(result.spec)}:{line}"]
    origin = result.origin
    if origin:
        made = f"{origin.kind} {origin.date or 'at an unknown date'}"
        lines.append(f"cassette:    {visible(result.cassette)}, exchange {result.exchange} ({result.provider}; {made}; end {result.end})")
    if result.reason:
        lines.append(f"{result.verdict}: {visible(result.reason)}")
    if result.first_layer:
        lines.append(f"first layer that differs: {result.first_layer}")
    for finding in result.findings:
        note = f" ({visible(finding.note)})" if finding.note else ""
        lines.append(f"{finding.path}: {finding.kind}{note}")
        if finding.expected is not None:
            lines.append(f"  expected: {visible(finding.expected)}")
        if finding.got is not None:
            lines.append(f"  got:      {visible(finding.got)}")
    more = result.findings_total - len(result.findings)
    if more > 0:
        lines.append(f"and {more} more")
    return "\n".join(lines)
