"""The page of public bug threads: made from `docs/threads.yaml` and the `regression_of` of the
shipped cases. ``python -m tests.docs.threads`` writes it.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from harness.cassettes.yaml import parse
from harness.project.folders import yaml_files
from harness.project.project import Project, kind_of

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "threads.md"
LIST: Final = ROOT / "docs" / "threads.yaml"

Guards = dict[str, list[tuple[str, str]]]
"""Thread → the spec files, below ``specs``, and the names of the cases that guard it."""

_HEAD = """\
# Public bug threads

Users of Gemini's wire reported these bugs in public. Each thread has its situation on the wire, in our words, and the cases that guard an adapter
against it: they name the thread in `regression_of` ([spec-language.md](spec-language.md)). A thread without a case has the reason. `make threads`
writes this page from [threads.yaml](threads.yaml) and the specs.

{threads} threads: {guarded} are guarded by {cases} cases, {others} have a reason instead.
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
    """The threads that the shipped cases guard."""
    specs = ROOT / "specs"
    project = Project([specs], ROOT / "cassettes")
    guards: Guards = defaultdict(list)
    for file in yaml_files(specs):
        if kind_of(file) == "spec" and "regression_of:" in file.read_text(encoding="utf-8"):
            for case in project.cases(file):
                for thread in case.regression_of:
                    guards[thread].append((file.relative_to(specs).as_posix(), case.case))
    return dict(guards)


def page(sections: list[Section], guards: Guards) -> str:
    """The text of the page."""
    threads = [name for part in sections for item in part.situations for name in item.threads]
    guarded = [name for name in threads if name in guards]
    cases = {case for name in guarded for case in guards[name]}
    counts = {"threads": len(threads), "guarded": len(guarded), "cases": len(cases)}
    lines = [_HEAD.format(**counts, others=len(threads) - len(guarded))]
    for part in sections:
        lines += [f"## {part.about}\n", "| thread | situation | cases |", "|---|---|---|"]
        lines += [
            f"| {_thread(name)} | {item.situation} | {_cases(guards.get(name, [])) or item.no_case} |"
            for item in part.situations
            for name in item.threads
        ]
        lines.append("")
    return "\n".join(lines)


def _thread(name: str) -> str:
    repository, _, number = name.partition("#")
    return f"[{name}](https://github.com/{repository}/issues/{number})"


def _cases(cases: list[tuple[str, str]]) -> str:
    return ", ".join(
        f"[{file.removesuffix('.yaml')}](../specs/{file}) `{case}`" for file, case in cases
    )


if __name__ == "__main__":
    PAGE.write_text(page(read_list(), read_guards()), encoding="utf-8", newline="\n")
