"""Writes the pages of findings from the results of `run.py`, and lists reds without a finding.

usage: findings.py RESULTS.json…

``docs/findings.md`` has a line for each version of an adapter, ``docs/findings`` a page for each
adapter, with a section for each version. Versions without results here stay as they are. The file
``findings.yaml`` has the findings: the first finding that fits explains a red. A second
request that the API refuses is of the finding of another red of that request. The script also
lists findings that fit no red, cells whose adapter could not be judged and that no finding
explains, known defects that are not seen and have no reason, and findings without a program and
without a reason for that. The exit status is 1 if anything is listed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from textwrap import indent
from typing import Any, Final, get_args

import yaml
from peers import HERE, NEWEST, PEERS, PREVIOUS, ROOT, SESSIONS, newest

from harness.facts import ACCEPTED, RUN, error_finding
from harness.facts import Finding as Red
from harness.judging.aspect_run import JudgedCuts
from harness.judging.judge_results import AdapterResults, decode_results
from harness.judging.rows import Row
from harness.report.aspect_counts import command_of, in_sections
from harness.stream.printable import plural

DOCS: Final = ROOT / "docs"
PATH: Final = re.compile(r"(?:/[\w.+-]+){3,}/")
"""The folder of a file on the machine that judged."""

HEAD: Final = """\
# Findings in public adapters

These are findings in public adapters, without changes, each at the versions of its locks in
[`examples/adapters`](../examples/adapters/README.md). They are judged on all shipped recordings of
a documented wire, and in the second turn; each page says with which cuts of the reads. Those with
`-live` are judged on [sessions](judge-sessions.md). [What is judged](what-is-judged.md) has the
rules.
`make peers` judges the adapters again and writes these pages; `make matrix` judges only those that
have changed. [Threads](findings/threads.md) has the public threads that were looked for, and the
differences that are not findings.

Maintainers, or anybody else, dispute a finding with a pull request that adds one entry to
[`disputes.yaml`](../examples/adapters/disputes.yaml): `- {adapter: ai-sdk, aspects: [finish], link:
URL}`, where the link is a public discussion. The matrix then marks the adapter as *disputed*.

"""
ADAPTER_HEAD: Final = """\
Each finding has the day on which it was found, the sentence of its first cell, and the command that
shows it in the folder `examples/adapters/{folder}`. *Thread* is a public report of the same defect;
— means that none is known. [Findings](../findings.md) lists all adapters.
"""
GATEWAY_HEAD: Final = """\
Start the gateway first, as [its folder](../../examples/adapters/{folder}/README.md) describes.
"""
MOST_LINES: Final = {False: "", True: "A program with two runs has at most 20.\n"}
"""Whether an adapter has a program of more than ten lines → what the page says about it."""
PROGRAMS_HEAD: Final = """\
The programs have at most ten lines, and show the findings without this package, in an environment
with the lock of the adapter. {limit}\
The server needs only Python, and prints the requests that it gets:

    python examples/adapters/serve_answer.py ANSWER{options}

The *answer* of a finding is a recorded one, and *prints* is a part of what the program then prints,
or the server.
"""
SESSIONS_HEAD: Final = """\
The programs have at most ten lines, and run in an environment with the lock of the adapter. This
command prints an address, the argument of a program, and the file of a certificate:

    harness serve --tls --lenient SESSION

The program needs the file in `SSL_CERT_FILE`, or in `NODE_EXTRA_CA_CERTS` for Node, and
`GOOGLE_API_KEY=none`. The *session* of a finding is a recorded one, and *prints* is a part of what
the program then prints.
"""

SEEN: Final = "seen: "
"""The prefix of a symptom of a finding that shows a known defect."""
THREADS_HEAD: Final = """\
# Threads about public adapters

[Findings](../findings.md) has the findings themselves.
"""
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
MINOR: Final = {"billing", "finish_message", "logprobs", "citations", "urls", "grounding"}
"""The aspects of what comes beside an answer. Findings about the answer itself come first."""
KINDS: Final = {
    "program": "a streamed answer",
    "unary": "a unary answer",
    "again": "the second request",
    "session": "a session",
}
"""The kinds of programs → the answers that they show."""


@dataclass
class Finding:
    """One kind of red. ``cells``, ``aspects``: patterns; ``reasons``: words of the harness's table;
    ``gives``: texts of which a value of the adapter contains one. Without them, any reason and any
    value fits.

    ``cuts``: only other cuts than the recorded ones show it. ``second_turn``: the finding is about
    the request after the answer. ``entry``: the function of the adapter, if it is not the one that
    the last document names. ``found``: the day on which it was first seen. ``answer``: the recorded
    answer for the adapter's program, by default the first cell, or several with spaces between
    them, one for each request. ``prints``: what the program printed for it. ``kind``: the kind of
    the program, if it is not that of the first cell: the first answer may show why something is not
    sent back. ``no_program``: the reason why no program shows it. ``code``: the file and line of
    the installed package that makes the difference.
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
    code: str = ""
    entry: str = ""
    found: str = "2026-11-23"
    answer: str = ""
    prints: str = ""
    kind: str = ""
    no_program: str = ""
    shown: list[tuple[AdapterResults, Row, Red]] = field(default_factory=list)

    def concerns(self, adapter: str) -> bool:
        """Whether it is about an adapter: a pattern names it, or its newest version."""
        names = {adapter, newest(adapter)}
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.adapters)

    def fits(self, adapter: str, cell: Row, red: Red, second_turn: bool) -> bool:
        """Whether the finding explains a red aspect of a cell, or its error."""
        given = [*Red(red.subject, red.verdict, adapter=red.adapter).values(), red.place.adapter]
        return (
            self.second_turn == second_turn
            and self.concerns(adapter)
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
    """Write the pages. Returns the exit status."""
    read = [
        (adapter, path)
        for path in paths
        for adapter in decode_results(Path(path).read_bytes(), path).adapters
    ]
    adapters = [adapter for adapter, _ in read]
    findings, threads, accepted, known, prototype, entries = read_findings()
    unexplained = []
    of_cell: dict[tuple[str, str, bool], Finding] = {}
    for adapter, cell, red, second_turn in reds(adapters):
        fitting = (entry for entry in findings if entry.fits(adapter.name, cell, red, second_turn))
        key = adapter.name, cell.place, second_turn
        refused = of_cell.get(key) if second_turn and red.subject == ACCEPTED else None
        if finding := next(fitting, refused):
            finding.shown.append((adapter, cell, red))
            of_cell.setdefault(key, finding)
        else:
            turn = " second turn" if second_turn else ""
            sentence = red.sentence if red.subject != RUN else f"error: {cell.reason}"
            unexplained.append(f"{adapter.name} {cell.place}{turn} {sentence}")
    names = {adapter.name for adapter in adapters}
    kept = [version for version in published() if version.name not in names]
    kept_text = "\n".join(version.section for version in kept)
    shown = [
        finding.symptom
        for finding in findings
        if finding.shown or f"**{finding.symptom}**" in kept_text
    ]
    unseen = [
        f"not seen: {finding.adapters}: {finding.symptom}"
        for finding in findings
        if finding.symptom not in shown and any(map(finding.concerns, names))
    ]
    unseen += [
        f"not seen: {thread}: {symptom}"
        for thread, here in known.items()
        for _, seen, symptom in [here.partition(SEEN)]
        if seen and not any(other.startswith(symptom) for other in shown)
    ]
    before = prototype_rows(prototype, adapters)
    unseen += [f"no reason: {aspect}" for aspect, row in before.items() if row.endswith("| ")]
    found = [AdapterFindings(adapter, findings, entries, cuts_of(path)) for adapter, path in read]
    unseen += [line for adapter in found for line in adapter.without_program()]
    tables = [
        THREADS_HEAD,
        table("Differences that are not findings", "in a plain comparison", "here", accepted),
        table("Public threads", "thread", "in these versions", threads),
        KNOWN.format(number=sum(threads.count("#") for threads in known)),
        rows("thread", "here", known),
        PROTOTYPE.format(number=sum(len(row["red"]) for row in prototype.values())),
        rows("aspect", "red then | of these still red | reason for the others", before),
    ]
    write_pages({**pages_of(found, kept), "threads": "\n".join(tables)}, index_of(found, kept))
    print("\n".join([*unexplained, *unseen, f"{DOCS / 'findings.md'}: {len(findings)} findings"]))
    return 1 if unexplained or unseen else 0


def cuts_of(path: str) -> str:
    """The cuts with which an adapter was judged, as `run.py` notes them beside its results."""
    key = Path(path).with_suffix(".key")
    lines = key.read_text(encoding="utf-8").splitlines() if key.is_file() else []
    words = lines[1].split() if len(lines) > 1 else []
    return (
        "three cuts of the reads"
        if len(words) == len(get_args(JudgedCuts))
        else "the recorded reads"
    )


def write_pages(pages: Mapping[str, str], index: str) -> None:
    """Write the index and the other pages, and remove the pages of adapters that are not in the
    table of adapters.
    """
    folder = DOCS / "findings"
    folder.mkdir(exist_ok=True)
    for old in {*folder.glob("*.md")} - {
        folder / f"{name}.md" for name in {*pages, *NEWEST, *SESSIONS}
    }:
        old.unlink()
    for name, page in pages.items():
        (folder / f"{name}.md").write_text(page, encoding="utf-8")
    (DOCS / "findings.md").write_text(index, encoding="utf-8")


@dataclass(frozen=True)
class Published:
    """A version of an adapter in the pages: its name in the table of adapters, its section, and its
    line in the index.
    """

    name: str
    section: str
    line: str


def published() -> Iterator[Published]:
    """The versions in the pages. Those that are not in the table of adapters are left out."""
    index = DOCS / "findings.md"
    text = index.read_text(encoding="utf-8") if index.is_file() else ""
    for line in re.findall(r"(?m)^\| \[.*\n", text):
        title, name, version = re.findall(r"\[((.+) (.+?))\]", line)[0]
        path = DOCS / "findings" / f"{name}.md"
        page = path.read_text(encoding="utf-8") if path.is_file() else ""
        section = next((each for each in parts_of(page) if each.startswith(f"## {title}\n")), "")
        if section and name in PEERS:
            yield Published(name_of(name, version), section, line)


def parts_of(page: str) -> list[str]:
    """The head of a page, and its sections."""
    return [f"{part.rstrip()}\n" for part in re.split("(?m)^(?=## )", page)]


def name_of(name: str, version: str) -> str:
    """The name of a version of an adapter in the table of adapters. A version that is not the
    previous one is the newest.
    """
    for other, (last, number) in PREVIOUS.items():
        if last == name and f"{version}.".startswith(f"{number}."):
            return other
    return name


def prototype_rows(
    prototype: Mapping[str, Mapping[str, Any]], adapters: Sequence[AdapterResults]
) -> dict[str, str]:
    """For each aspect, the adapters in which it was red for the first prototype, those in which it
    is red now, and the reason for the others. An adapter without results is as it is in the page.
    """
    judged = {adapter.name for adapter in adapters}
    path = DOCS / "findings" / "threads.md"
    page = path.read_text(encoding="utf-8") if path.is_file() else ""
    red = {
        (adapter.name, red.subject)
        for adapter, _, red, second_turn in reds(adapters)
        if not second_turn
    }
    found = {}
    for aspect, row in prototype.items():
        then = f"| {aspect} | {', '.join(row['red'])} | "
        before = page.partition(then)[2].partition(" | ")[0].split(", ")
        now = [
            name
            for name in row["red"]
            if (name, aspect) in red or (name in before and name not in judged)
        ]
        why = row.get("why", "") if len(now) < len(row["red"]) else "—"
        found[aspect] = f"{', '.join(row['red'])} | {', '.join(now) or '—'} | {why}"
    return found


def reds(
    adapters: Sequence[AdapterResults],
) -> Iterator[tuple[AdapterResults, Row, Red, bool]]:
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


@dataclass
class AdapterFindings:
    """The findings that one version of an adapter shows: those about the answer itself come first,
    the most frequent of them before the others.
    """

    results: AdapterResults
    findings: Sequence[Finding]
    entries: Mapping[str, Mapping[str, Any]]
    cuts: str

    @property
    def name(self) -> str:
        """The name of its newest version."""
        return newest(self.results.name)

    @property
    def entry(self) -> Mapping[str, Any]:
        """Its functions, its programs, and the reasons for programs that it does not have."""
        return self.entries.get(self.results.name) or self.entries.get(self.name, {})

    @cached_property
    def shown(self) -> list[tuple[Finding, list[tuple[Row, Red]]]]:
        """Each finding, with the cells and reds that show it."""
        shown = [
            (finding, [(cell, red) for of, cell, red in finding.shown if of is self.results])
            for finding in self.findings
        ]
        return sorted(
            (item for item in shown if item[1]),
            key=lambda item: (item[1][0][1].subject in MINOR, -len(item[1])),
        )

    @property
    def asked(self) -> tuple[int, int, int]:
        """The numbers of answers, of second requests and of sessions that were judged."""
        sections = in_sections(
            cell for cell in self.results.all_cells if cell.compared or cell.verdict == "error"
        )
        answers = len(sections["documented"]) + len(sections["variant"])
        again = len(sections["second_turn"]) + len(sections["second_turn_of_variants"])
        return answers, again, len(sections["sessions"])

    def program_for(self, kind: str, answer: str) -> str:
        """The program of this kind that reads the wire of an answer, or of the first of several,
        and its argument if it has one; "" if there is none.
        """
        first = answer.partition(" ")[0]
        for patterns, program in patterns_of(self.entry.get(kind, {})).items():
            if any(fnmatchcase(first, pattern) for pattern in patterns.split()):
                return program
        return ""

    def without_program(self) -> Iterator[str]:
        """A line for each finding that has neither a program nor a reason."""
        for finding, cells in self.shown:
            kind, answer = reproduction(finding, [cell for cell, _ in cells])
            is_explained = finding.no_program or f"no_{kind}" in self.entry
            if not self.program_for(kind, answer) and not is_explained:
                yield f"no program: {self.results.name}: {KINDS[kind]}: {finding.symptom}"

    def section(self) -> str:
        """The section of the page."""
        answers, again, sessions = self.asked
        judged = (
            f"{sessions} sessions judged"
            if sessions
            else f"{answers} answers judged, with {self.cuts}; {again} second requests"
        )
        parts = [
            f"## {self.name} {self.results.version}\n\n"
            f"{self.results.day}; {judged}; {plural(len(self.shown), 'finding')}.\n"
        ]
        for finding, cells in self.shown:
            cell, red = cells[0]
            places = dict.fromkeys(each.place for each, _ in cells)
            others = f" and {len(places) - 1} more" if len(places) > 1 else ""
            sentence = " ".join(PATH.sub("…/", red.sentence)[:300].split())
            code = f" Code: `{finding.code}`." if finding.code else ""
            parts.append(
                f"**{finding.symptom}** {cell.place}{others}."
                f" Thread: {finding.thread or '—'}.{code}"
                f" {seen(finding, self.results, self.entry)}\n\n"
                f"    {sentence}\n"
                f"    {command_of(self.results, cell, red)}\n"
                f"{self._program(finding, [each for each, _ in cells])}"
            )
        return "\n".join(parts)

    def _program(self, finding: Finding, cells: Sequence[Row]) -> str:
        """The line of the program of a finding, or of the reason why there is none."""
        kind, answer = reproduction(finding, cells)
        program = self.program_for(kind, answer)
        why = finding.no_program or ("" if program else self.entry.get(f"no_{kind}", ""))
        if why or not program:
            return f"\nNo program: {why}\n" if why else ""
        prints = f" prints {finding.prints}" if finding.prints else ""
        noun = "session" if kind == "session" else "answer"
        named = f"{noun}s" if " " in answer else noun
        return f"    {Path(program).name}, {named} {answer}{prints}\n"


def reproduction(finding: Finding, cells: Sequence[Row]) -> tuple[str, str]:
    """The kind of the program that shows a finding, and the recorded answer for it: a whole stream
    if there is one, else a cut one.
    """
    streams = sorted(
        (cell for cell in cells if not cell.unary), key=lambda cell: cell.end != "complete"
    )
    cell = next(iter(streams), cells[0])
    kind = "again" if finding.second_turn else "unary" if cell.unary else "program"
    kind = "session" if cell.section == "sessions" else kind
    return finding.kind or kind, finding.answer or cell.place


def patterns_of(programs: str | Mapping[str, str]) -> Mapping[str, str]:
    """The programs of a kind by patterns of the answers that they read; one alone reads all."""
    return {"*": programs} if isinstance(programs, str) else programs


def pages_of(adapters: Sequence[AdapterFindings], kept: Sequence[Published]) -> dict[str, str]:
    """The page of each adapter by its name, with a section for each version. ``kept``: the versions
    that stay as they are.
    """
    heads: dict[str, str] = {}
    sections: dict[str, dict[str, str]] = {}
    for adapter in sorted(adapters, key=lambda each: each.results.name != each.name):
        heads.setdefault(adapter.name, head_of(adapter))
        sections.setdefault(adapter.name, {})[adapter.results.name] = adapter.section()
    for version in kept:
        if newest(version.name) in sections:
            sections[newest(version.name)][version.name] = version.section
    return {
        name: "\n".join(
            [
                heads[name],
                *(each[1] for each in sorted(of_name.items(), key=lambda each: each[0] != name)),
            ]
        )
        for name, of_name in sections.items()
    }


def head_of(adapter: AdapterFindings) -> str:
    """The title of a page, and the programs of the adapter."""
    peer = PEERS.get(adapter.name)
    folder = peer.folder if peer else adapter.name
    entry = adapter.entries.get(adapter.name, {})
    parts = [f"# {adapter.name}\n", ADAPTER_HEAD.format(folder=folder)]
    if peer and peer.service:
        parts.append(GATEWAY_HEAD.format(folder=folder))
    programs = {
        path: (HERE / path).read_text(encoding="utf-8")
        for kind in KINDS
        for program in patterns_of(entry.get(kind, {})).values()
        for path in [program.partition(" ")[0]]
    }
    if programs:
        longer = any(len(code.splitlines()) > 10 for code in programs.values())
        options = entry.get("options", "")
        is_of_sessions = "session" in entry
        head = PROGRAMS_HEAD.format(options=options, limit=MOST_LINES[longer])
        parts.append(SESSIONS_HEAD if is_of_sessions else head)
    for program, code in programs.items():
        parts.append(f"`examples/adapters/{program}`:\n\n{indent(code, '    ')}")
    return "\n".join(parts)


def index_of(adapters: Sequence[AdapterFindings], kept: Sequence[Published]) -> str:
    """The page with a line for each version of each adapter, and its first finding. ``kept``: as in
    `pages_of`.
    """
    lines = {version.name: version.line for version in kept}
    for adapter in adapters:
        first, again, sessions = adapter.asked
        answers = plural(sessions, "session") if sessions else first
        strongest = adapter.shown[0][0].symptom if adapter.shown else "—"
        lines[adapter.results.name] = (
            f"| [{adapter.name} {adapter.results.version}](findings/{adapter.name}.md)"
            f" | {adapter.results.day} | {answers} | {again} | {len(adapter.shown)}"
            f" | {strongest} |\n"
        )
    titles = ("adapter", "judged", "answers", "second requests", "findings", "the first of them")
    head = f"{HEAD}| {' | '.join(titles)} |\n{'|---' * len(titles)}|\n"
    names = sorted(lines, key=lambda name: (newest(name), name != newest(name)))
    return head + "".join(lines[name] for name in names)


def seen(finding: Finding, adapter: AdapterResults, entry: Mapping[str, Any]) -> str:
    """Where and when a finding was seen."""
    turn = "converse" if finding.second_turn else "entry"
    name = finding.entry or entry.get(turn, "")
    return f"{f'`{name}`, ' if name else ''}{adapter.version}, {finding.found}."


def table(title: str, left: str, right: str, entries: Mapping[str, str]) -> str:
    """A section with a table."""
    return f"## {title}\n\n{rows(left, right, entries)}"


def rows(left: str, right: str, entries: Mapping[str, str]) -> str:
    """A table; ``right`` may have several columns."""
    lines = [f"| {key} | {value} |\n" for key, value in entries.items()]
    return f"| {left} | {right} |\n|---|---{'|---' * right.count('|')}|\n{''.join(lines)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
