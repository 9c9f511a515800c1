"""Writes the page of findings in the requests of public adapters, and compares them with results.

usage: request_findings.py [RESULTS.json…]

``request_findings.yaml`` has the findings of each adapter. The page ``docs/request-findings.md`` is
made from it alone. ``RESULTS.json`` are results of `harness judge` with questions: the script lists
the reds that no finding explains, and the findings that explain none. The exit status is 1 if
anything is listed. A question with a recorded conversation is left out: its reds are findings of
the second turn.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import yaml
from peers import HERE, ROOT, newest

from harness.judging.judge_results import AdapterResults, decode_results

PAGE: Final = ROOT / "docs" / "request-findings.md"
FINDINGS: Final = HERE / "request_findings.yaml"
HEAD: Final = """\
# Findings in requests

These are findings in the requests of public adapters, without changes, each at the version of its
lock. They were found with the [questions](what-is-asked.md), as `harness judge` asks them with the
shims of [`examples/adapters`](../examples/adapters/README.md). Each was compared with the body that
was sent, and a program of at most ten lines shows it. *Code* is the place in the installed package
that makes the difference. No finding: {clean}.

Run the server first, then the program in its folder, in an environment with the lock of the
adapter. The server prints the body of the request; *prints* is a part of it, or of the error:

    python examples/adapters/serve_answer.py {answer}

The previous versions of these adapters are asked by the same shims; the matrix of `make matrix` has
their results. [Findings](findings.md) has those of the answers.
"""


@dataclass
class Finding:
    """One kind of red. ``reds``: patterns of subject, verdict and word, such as ``schema lost
    const``; ``questions``: patterns of names. ``run``: the arguments of the program; ``program``:
    another program than that of the adapter; ``thread``: a public report of the same defect.
    ``code``: the file and line of the installed package that makes the difference.
    """

    symptom: str
    reds: list[str]
    prints: str
    questions: list[str] = field(default_factory=lambda: ["*"])
    run: str = ""
    program: str = ""
    thread: str = ""
    code: str = ""

    def explains(self, question: str, red: str) -> bool:
        """Whether it explains a red of a question."""
        return any(fnmatchcase(question, each) for each in self.questions) and any(
            fnmatchcase(red, each) for each in self.reds
        )


@dataclass
class Asked:
    """An adapter with its findings; a previous version has only those that the newest does not
    have. ``program``: the program that shows them.
    """

    adapter: str
    version: str
    day: str
    program: str = ""
    answer: str = "gemini-api/unified-llm-attractor:1"
    findings: list[Finding] = field(default_factory=list)

    def program_of(self, finding: Finding) -> str:
        """The program of a finding, below the folder of this script."""
        return finding.program or self.program


def read() -> list[Asked]:
    """The adapters of `FINDINGS`."""
    items: list[dict[str, Any]] = yaml.safe_load(FINDINGS.read_text(encoding="utf-8"))
    return [
        Asked(**{**item, "findings": [Finding(**each) for each in item.get("findings", ())]})
        for item in items
    ]


def page(adapters: Sequence[Asked]) -> str:
    """The text of the page."""
    clean = ", ".join(f"{each.adapter} {each.version}" for each in adapters if not each.findings)
    parts = [HEAD.format(clean=clean, answer="gemini-api/unified-llm-attractor:1")]
    for adapter in adapters:
        if adapter.findings:
            parts.append(f"## {newest(adapter.adapter)} {adapter.version}\n\n{adapter.day}.\n")
            parts += (_entry(adapter, finding) for finding in adapter.findings)
            path = HERE / adapter.program
            code = indent(path.read_text(encoding="utf-8"), "    ")
            parts.append(f"`examples/adapters/{adapter.program}`:\n\n{code}")
    return "\n".join(parts)


def _entry(adapter: Asked, finding: Finding) -> str:
    program = adapter.program_of(finding)
    other = adapter.answer if adapter.answer != Asked.answer else ""
    served = f", answer {other}" if other else ""
    names = ", ".join(f"`{each}`" for each in finding.questions)
    code = f" Code: `{finding.code}`." if finding.code else ""
    return (
        f"**{finding.symptom}** Questions: {names}. Thread: {finding.thread or '—'}.{code}\n\n"
        f"    {Path(program).name} {finding.run}".rstrip()
        + f"{served}\n"
        f"    prints {finding.prints}\n"
    )


def compare(asked: Asked, results: AdapterResults, others: Sequence[Finding] = ()) -> Iterator[str]:
    """A line for each red that no finding explains, and for each finding that explains none.
    ``others``: the findings of the newest version, which a previous one need not have.
    """
    used: list[Finding] = []
    for row in results.questions:
        if row.verdict != "failed" or "/" in row.case:
            continue
        for red in row.red_findings:
            words = f"{red.subject} {red.verdict} {red.word}".strip()
            known = (*asked.findings, *others)
            finding = next((each for each in known if each.explains(row.question, words)), None)
            if finding is None:
                yield f"{asked.adapter} {row.case}: {words}: {red.sentence[:200]}"
            else:
                used.append(finding)
    yield from (
        f"{asked.adapter}: not seen: {each.symptom}" for each in asked.findings if each not in used
    )


def main(paths: Sequence[str]) -> int:
    """Write the page and compare it with results. Returns the exit status."""
    adapters = read()
    PAGE.write_text(page(adapters), encoding="utf-8")
    by_name = {each.adapter: each for each in adapters}
    lines: list[str] = []
    for path in paths:
        for results in decode_results(Path(path).read_bytes(), path).adapters:
            name, last = results.name, newest(results.name)
            others = by_name[last].findings if name != last and last in by_name else ()
            lines += compare(by_name.get(name, Asked(name, "", "")), results, others)
    print("\n".join([*lines, f"{PAGE}: {sum(len(each.findings) for each in adapters)} findings"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
