"""Writes docs/findings.md from the results of `run.py`, and lists reds that no finding explains.

usage: findings.py RESULTS.json…

``findings.yaml`` has the findings: the first finding that fits explains a red. The script also
lists findings that fit no red, cells whose adapter could not be judged and that no finding
explains, and known defects that are not seen and have no reason. The exit status is 1 if anything
is listed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import yaml

from harness.facts import RUN, error_finding
from harness.facts import Finding as Red
from harness.judging.judge_results import AdapterResults, decode_results
from harness.judging.results import Result
from harness.report.aspect_counts import command_of

HERE: Final = Path(__file__).resolve().parent
PAGE: Final = HERE.parent.parent / "docs" / "findings.md"
PATH: Final = re.compile(r"(?:/[\w.+-]+){3,}/")
"""The folder of a file on the machine that judged."""

HEAD: Final = """\
# Findings in public adapters

These are findings in public adapters, without changes, each at the version of its lock in
[`examples/adapters`](../examples/adapters/README.md). They are judged on all shipped recordings of
a documented wire, with three cuts of the reads, and in the second turn.
[What is judged](what-is-judged.md) has the rules. `make peers` judges the adapters again and
writes this page.

Each finding has the day on which it was found, the sentence of its first cell, and the command that
shows it. Run the command in the folder of the adapter. For a gateway, start it first, as its folder
describes. *Thread* is a public report of the same defect; — means that none is known.

A program of at most ten lines, `reproduce.py` or `reproduce.mjs` in the folder of the adapter, is
at the head of each section. It shows a finding without this package, in an environment with the
lock of the adapter:

    python examples/adapters/serve_answer.py openai-compat/calls:1    # needs only Python
    python examples/adapters/openai/reproduce.py                      # in another shell

The first command serves a recorded answer, and *answer* names it for each finding. The second
prints all that the adapter reads in it. Findings in the second request, in unary answers, in cut
answers, at gateways, and of the Gemini CLI and llm-gemini have no such program.
"""

SEEN: Final = "seen: "
"""The prefix of a symptom of a finding that shows a known defect."""
KNOWN: Final = """\
## Defects that were known before

{number} public threads were known before any adapter was judged. They are about adapters that
misread a stream of Gemini or an event that is cut by the reads. Most are about adapters that are
not judged here.
"""
PROTOTYPE: Final = """\
The first prototype of this judge had {number} red pairs of an adapter and an aspect, in eight of
these adapters at their versions of that time. It counted 17 known and 13 new defects, but did not
list them. Therefore the pairs are compared here.
"""


@dataclass
class Finding:
    """One kind of red. ``cells``, ``aspects``: patterns; ``reasons``: words of the harness's table;
    ``gives``: texts of which a value of the adapter contains one. Without them, any reason and any
    value fits.

    ``cuts``: only other cuts than the recorded ones show it. ``second_turn``: the finding is about
    the request after the answer. ``entry``: the function of the adapter, if it is not the one that
    the last document names. ``found``: the day on which it was first seen. ``answer``: the recorded
    answer for the adapter's program, by default the first cell. ``prints``: what the program
    printed for it.
    """

    adapters: list[str]
    symptom: str
    cells: list[str] = field(default_factory=lambda: ["*"])
    aspects: list[str] = field(default_factory=lambda: ["*"])
    reasons: list[str] = field(default_factory=list)
    gives: list[str] = field(default_factory=list)
    cuts: bool = False
    second_turn: bool = False
    thread: str = ""
    entry: str = ""
    found: str = "2026-11-23"
    answer: str = ""
    prints: str = ""
    shown: list[tuple[AdapterResults, Result, Red]] = field(default_factory=list)

    def fits(self, adapter: str, cell: Result, red: Red, second_turn: bool) -> bool:
        """Whether the finding explains a red aspect of a cell, or its error."""
        given = [*Red(red.subject, red.verdict, adapter=red.adapter).values(), red.place.adapter]
        return (
            self.second_turn == second_turn
            and any(fnmatchcase(adapter, pattern) for pattern in self.adapters)
            and any(fnmatchcase(cell.place, f"*{pattern}") for pattern in self.cells)
            and any(fnmatchcase(red.subject, pattern) for pattern in self.aspects)
            and (not self.reasons or red.reason in self.reasons)
            and (not self.gives or any(text in value for text in self.gives for value in given))
            and (red.subject != RUN or bool(self.gives))
            and (bool(red.place.cuts) or not self.cuts)
        )


def read_findings() -> list[Any]:
    """The documents of ``findings.yaml``; the first as a list of `Finding`."""
    listed, *others = yaml.safe_load_all((HERE / "findings.yaml").read_text(encoding="utf-8"))
    return [[Finding(**entry) for entry in listed], *others]


def main(paths: Sequence[str]) -> int:
    """Write the page. Returns the exit status."""
    adapters = [
        adapter
        for path in paths
        for adapter in decode_results(Path(path).read_bytes(), path).adapters
    ]
    findings, threads, accepted, known, prototype, entries = read_findings()
    unexplained = []
    for adapter, cell, red, second_turn in reds(adapters):
        fitting = (entry for entry in findings if entry.fits(adapter.name, cell, red, second_turn))
        if finding := next(fitting, None):
            finding.shown.append((adapter, cell, red))
        else:
            turn = " second turn" if second_turn else ""
            sentence = red.sentence if red.subject != RUN else f"error: {cell.reason}"
            unexplained.append(f"{adapter.name} {cell.place}{turn} {sentence}")
    names = {adapter.name for adapter in adapters}
    unseen = [
        f"not seen: {finding.adapters}: {finding.symptom}"
        for finding in findings
        if not finding.shown and any(fnmatchcase(n, p) for n in names for p in finding.adapters)
    ]
    shown = [finding.symptom for finding in findings if finding.shown]
    unseen += [
        f"not seen: {thread}: {symptom}"
        for thread, here in known.items()
        for _, seen, symptom in [here.partition(SEEN)]
        if seen and not any(other.startswith(symptom) for other in shown)
    ]
    before = prototype_rows(prototype, adapters)
    unseen += [f"no reason: {aspect}" for aspect, row in before.items() if row.endswith("| ")]
    page = page_of(adapters, findings, entries)
    page += [
        table("Differences that are not findings", "in a plain comparison", "here", accepted),
        table("Public threads", "thread", "in these versions", threads),
        KNOWN.format(number=sum(threads.count("#") for threads in known)),
        rows("thread", "here", known),
        PROTOTYPE.format(number=sum(len(row["red"]) for row in prototype.values())),
        rows("aspect", "red then | of these still red | reason for the others", before),
    ]
    PAGE.write_text("\n".join(page), encoding="utf-8")
    print("\n".join([*unexplained, *unseen, f"{PAGE}: {len(findings)} findings"]))
    return 1 if unexplained or unseen else 0


def prototype_rows(
    prototype: Mapping[str, Mapping[str, Any]], adapters: Sequence[AdapterResults]
) -> dict[str, str]:
    """For each aspect, the adapters in which it was red for the first prototype, those in which it
    is red now, and the reason for the others.
    """
    red = {
        (adapter.name, red.subject)
        for adapter, _, red, second_turn in reds(adapters)
        if not second_turn
    }
    found = {}
    for aspect, row in prototype.items():
        now = [name for name in row["red"] if (name, aspect) in red]
        why = row.get("why", "") if len(now) < len(row["red"]) else "—"
        found[aspect] = f"{', '.join(row['red'])} | {', '.join(now) or '—'} | {why}"
    return found


def reds(
    adapters: Sequence[AdapterResults],
) -> Iterator[tuple[AdapterResults, Result, Red, bool]]:
    """The red aspects of the documented wire, and whether each is of the second turn; also the
    cells whose adapter could not be judged.
    """
    for adapter in adapters:
        for second_turn, cells in ((False, adapter.cells), (True, adapter.second_turn)):
            for cell in cells:
                if cell.verdict == "error":
                    yield adapter, cell, error_finding(cell.reason), second_turn
                for red in cell.red_findings if cell.block == "documented" else ():
                    if red.subject != RUN:
                        yield adapter, cell, red, second_turn


def page_of(
    adapters: Sequence[AdapterResults],
    findings: Sequence[Finding],
    entries: Mapping[str, Mapping[str, str]],
) -> list[str]:
    """The head of the page, and a section for each adapter, most frequent findings first."""
    parts = [HEAD]
    for adapter in adapters:
        shown = [
            (finding, [entry for entry in finding.shown if entry[0] is adapter])
            for finding in findings
        ]
        shown = sorted((item for item in shown if item[1]), key=lambda item: -len(item[1]))
        asked, asked_again = (
            sum(cell.compared or cell.verdict == "error" for cell in cells)
            for cells in (adapter.cells, adapter.second_turn)
        )
        parts.append(
            f"## {adapter.name} {adapter.version}\n\n"
            f"{adapter.day}; {len(adapter.cells)} exchanges, {asked} of them judged;"
            f" {asked_again} second requests; {len(shown)} findings.\n"
        )
        entry = entries.get(adapter.name, {})
        if program := program_of(entry):
            parts.append(program)
        for finding, reds_shown in shown:
            _, cell, red = reds_shown[0]
            cells = dict.fromkeys(shown_red[1].place for shown_red in reds_shown)
            others = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
            sentence = PATH.sub("…/", red.sentence)[:300]
            parts.append(
                f"**{finding.symptom}** {cell.place}{others}. Thread: {finding.thread or '—'}."
                f" {seen(finding, adapter, entry)}\n\n"
                f"    {' '.join(sentence.split())}\n"
                f"    {command_of(adapter, cell, red)}\n"
            )
            if program and (answer := answer_of(finding, [each[1] for each in reds_shown])):
                prints = f" prints {finding.prints}" if finding.prints else ""
                parts[-1] += f"    answer {answer}{prints}\n"
    return parts


def seen(finding: Finding, adapter: AdapterResults, entry: Mapping[str, str]) -> str:
    """Where and when a finding was seen."""
    turn = "converse" if finding.second_turn else "entry"
    name = finding.entry or entry.get(turn, "")
    return f"{f'`{name}`, ' if name else ''}{adapter.version}, {finding.found}."


def program_of(entry: Mapping[str, str]) -> str:
    """The program of an adapter as a block of code; "" if it has none."""
    if "program" not in entry:
        return ""
    code = (HERE / entry["program"]).read_text(encoding="utf-8")
    return f"`examples/adapters/{entry['program']}`:\n\n{indent(code, '    ')}"


def answer_of(finding: Finding, cells: Sequence[Result]) -> str:
    """The recorded answer that shows a finding in a program; "" if no program shows it."""
    if finding.answer or finding.second_turn:
        return finding.answer
    return next((cell.place for cell in cells if not cell.unary and cell.end == "complete"), "")


def table(title: str, left: str, right: str, entries: Mapping[str, str]) -> str:
    """A section with a table."""
    return f"## {title}\n\n{rows(left, right, entries)}"


def rows(left: str, right: str, entries: Mapping[str, str]) -> str:
    """A table; ``right`` may have several columns."""
    lines = [f"| {key} | {value} |\n" for key, value in entries.items()]
    return f"| {left} | {right} |\n|---|---{'|---' * right.count('|')}|\n{''.join(lines)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
