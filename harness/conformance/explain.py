"""Explains a red cell in words.

The output of a test run may be public, so everything that looks like a credential is removed.
"""

from __future__ import annotations

import re
from typing import Final

from harness.cassettes.redaction.patterns import SHAPES
from harness.cassettes.redaction.redactor import REDACTED
from harness.cassettes.redaction.scanner import Scanner
from harness.stream.printable import printable, printable_lines

from .results import CaseResult

SCANNER: Final = Scanner()
MAX_GIST: Final = 300
_REST: Final = {"a private key": rb"(?s:.*)"}
"""A shape matches the beginning of a credential; this is the rest of it, by its name."""
_WORD: Final = rb"[0-9A-Za-z+/=_.-]*"


def explain(result: CaseResult, place: str) -> str:
    """The explanation of a red cell.

    The first line says what differs; a short summary shows only this line. Then come the
    requirement, ``place`` (file and line), the first layer that differs, and each finding with its
    path, the expected and the actual value.
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
    if result.reason:
        lines.append(f"{result.verdict}: {shown_lines(result.reason)}")
    if result.first_layer:
        lines.append(f"first layer that differs: {result.first_layer}")
    for finding in result.findings:
        note = f" ({_shown(finding.note)})" if finding.note else ""
        lines.append(
            f"{_shown(finding.path)}: {finding.kind}{note}"
            if finding.path
            else f"{finding.kind}{note}"
        )
        if finding.expected is not None:
            lines.append(f"  expected: {_shown(finding.expected)}")
        if finding.got is not None:
            lines.append(f"  got:      {_shown(finding.got)}")
    more = result.findings_total - len(result.findings)
    if more > 0:
        lines.append(f"and {more} more")
    return "\n".join(lines)


def _gist(result: CaseResult) -> str:
    if result.reason or not result.findings:
        return shown_lines(result.reason or result.verdict).partition("\n")[0]
    first = result.findings[0]
    if first.kind.startswith("law "):  # its note is a whole sentence
        return _shown(first.note or first.got or "").partition("\n")[0]
    sides = [
        f"{word} {_shown(side)}"
        for word, side in (("expected", first.expected), ("got", first.got))
        if side is not None
    ]
    return f"{_shown(first.path)} {', '.join(sides) or _shown(first.note or first.kind)}".replace(
        "\n", " "
    ).strip()[:MAX_GIST]


def _shown(text: str) -> str:
    return printable(_without_credentials(text))


def shown_lines(text: str) -> str:
    """A text with its line ends, without credentials and unprintable characters."""
    return printable_lines(_without_credentials(text))


def _without_credentials(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    for name, shape in SHAPES.items():
        rest = _REST.get(name, _WORD)
        data = re.sub(b"(?:%b)%b" % (shape.pattern, rest), REDACTED.encode(), data)
    if SCANNER.scan(data):  # encoded, so its end is unknown
        return REDACTED
    return data.decode("utf-8", "surrogatepass")
