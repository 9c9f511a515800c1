"""The page of public bug threads: made from `docs/threads.yaml`, the `regression_of` of the shipped
cases, and the threads of the questions. ``python -m tests.docs.threads`` writes it.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from harness.cassettes.yaml import parse
from harness.judging.questions.question import own_questions
from harness.project.folders import yaml_files
from harness.project.project import Project, kind_of

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "threads.md"
LIST: Final = ROOT / "docs" / "threads.yaml"

Guards = dict[str, list[tuple[str, str]]]
"""Thread → the names of the cases and questions that guard it, each with its file."""
QUESTIONS: Final = "harness/judging/questions/questions.yaml"

_HEAD = """\
# Public bug threads

Users of Gemini's wire reported these bugs in public. Each thread has its situation on the wire, in our words, and the cases that guard an adapter
against it: they name the thread in `regression_of` ([spec-language.md](spec-language.md)). Bugs of requests are guarded by
[questions](what-is-asked.md). A thread without a case or question has the reason. `make threads` writes this page from [threads.yaml](threads.yaml),
the specs and the questions.

{threads} threads: {guarded} are guarded by {cases} cases and questions, {others} have a reason instead.
"""


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Situation(_Closed):
    """A situation that some threads report. ``no_case``: the reason why no case guards them."""

    situation: str = Field(pattern=r"^\S.*\.$")
    threads: list[str] = Field(min_length=1)
    no_case: str | None = Field(default=None, pattern=r"^\S.*\.$")


class Section(_Closed):
    """The situations of one subject."""

    about: str
    situations: list[Situation] = Field(min_length=1)


def read_list() -> list[Section]:
    """The sections of `LIST`."""
    return [Section.model_validate(item) for item in parse(LIST.read_text(encoding="utf-8"))]


def read_guards() -> Guards:
    """The threads that the shipped cases and questions guard."""
    specs = ROOT / "specs"
    project = Project([specs], ROOT / "cassettes")
    guards: Guards = defaultdict(list)
    for file in yaml_files(specs):
        if kind_of(file) == "spec" and "regression_of:" in file.read_text(encoding="utf-8"):
            for case in project.cases(file):
                for thread in case.regression_of:
                    guards[thread].append((file.relative_to(ROOT).as_posix(), case.case))
    for question in own_questions():
        for thread in question.threads:
            guards[thread].append((QUESTIONS, question.name))
    return dict(guards)


def page(sections: list[Section], guards: Guards) -> str:
    """The text of the page."""
    threads = [name for part in sections for item in part.situations for name in item.threads]
    guarded = [name for name in threads if name in guards]
    cases = {case for name in guarded for case in guards[name]}
    counts = {"threads": len(threads), "guarded": len(guarded), "cases": len(cases)}
    lines = [_HEAD.format(**counts, others=len(threads) - len(guarded))]
    for part in sections:
        lines += [f"## {part.about}\n", "| thread | situation | guarded by |", "|---|---|---|"]
        lines += [
            f"| {_thread(name)} | {item.situation} | {_cases(guards.get(name, [])) or item.no_case} |"
            for item in part.situations
            for name in item.threads
        ]
        lines.append("")
    return "\n".join(lines)


def _thread(name: str) -> str:
    return f"[{name}](https://github.com/{name.replace('#', '/issues/').replace('@', '/commit/')})"


def _cases(cases: list[tuple[str, str]]) -> str:
    return ", ".join(f"[{_label(file)}](../{file}) `{case}`" for file, case in cases)


def _label(file: str) -> str:
    return "question" if file == QUESTIONS else file.removeprefix("specs/").removesuffix(".yaml")


if __name__ == "__main__":
    PAGE.write_text(page(read_list(), read_guards()), encoding="utf-8", newline="\n")
