"""Judging one green cell takes the steps that docs/architecture.md lists, and runs every stage
once.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import harness
from harness.judging.judge import Judgement, judge
from harness.project.project import Project

PACKAGE = Path(harness.__file__).parent
PAGE = PACKAGE.parent / "docs" / "architecture.md"
CASSETTE = """\
version: 1
metadata:
  harness: 1
  origin: written
interactions:
- request:
    method: POST
    uri: https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse
    headers: {}
    body:
      string: |2-
        {"contents": []}
  response:
    status: {code: 200}
    headers:
      Content-Type: text/event-stream
    body:
      string: |2+
        data: {"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]}

    end: complete
"""
SPEC = """\
harness: 1
cases:
- case: hello
  requirement: Text arrives.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: hello
  expect:
    art:
    - {type: TOKEN, data: Hello, tokenType: LLM_RESPONSE, threadId: thread, traceId: trace}
    - {type: METADATA, data: {stopReason: STOP, traceId: trace}, threadId: thread, traceId: trace}
    - {type: END, data: null, threadId: thread, traceId: trace}
"""

Call = tuple[str, str]
"""A file below ``harness/`` without its suffix, and the qualified name of a function in it."""


def trace(tmp_path: Path) -> tuple[Judgement, list[Call]]:
    """Judge one green cell; returns its judgement and every call of a function of the package."""
    for name, text in (("cassettes/hello.yaml", CASSETTE), ("specs/hello.yaml", SPEC)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    project = Project([tmp_path / "specs"], tmp_path / "cassettes")
    (cell,) = project.cells(tmp_path / "specs" / "hello.yaml")
    judge(cell, Project([], tmp_path / "cassettes").cassette)  # does the late imports
    calls: list[Call] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            name = frame.f_code.co_qualname.replace(".<locals>", "")
            calls.append((path.relative_to(PACKAGE).as_posix(), name))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        judgement = judge(cell, project.cassette, normalize=project.normalize)
    finally:
        sys.setprofile(before)
    return judgement, calls


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Judgement, list[Call]]:
    return trace(tmp_path_factory.mktemp("walk"))


def steps() -> list[Call]:
    """The numbered steps of the page: file and function."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"^\d+\. `(\S+)` `(\S+)`:", text, re.MULTILINE)


def helpers() -> set[str]:
    """The other files that the page names."""
    text = PAGE.read_text(encoding="utf-8").partition("These files help in the steps above:")[2]
    return set(re.findall(r"`(\S+\.py)`", text.partition("\n\n")[0]))


def test_the_steps_of_the_page_are_taken_in_their_order(
    walk: tuple[Judgement, list[Call]],
) -> None:
    first = {call: at for at, call in reversed(list(enumerate(walk[1])))}
    assert [step for step in steps() if step not in first] == []
    assert sorted(steps(), key=first.__getitem__) == steps()


def test_the_page_names_every_file_of_the_walk(walk: tuple[Judgement, list[Call]]) -> None:
    assert {file for file, _ in walk[1]} == {file for file, _ in steps()} | helpers()


def test_a_green_cell_takes_every_step_once(
    walk: tuple[Judgement, list[Call]],
) -> None:
    judgement, calls = walk
    assert judgement.result.verdict == "passed"
    assert judgement.result.evidence is None
    counts = Counter(calls)
    for step in (
        ("cassettes/load.py", "load"),
        ("providers/detection.py", "detect_provider"),
        ("judging/judge.py", "resolve_fixture"),
        ("pipeline/replay.py", "Normalized.__init__"),
        ("pipeline/replay.py", "_Frames.__init__"),
        ("specs/matching/__init__.py", "compare"),
    ):
        assert counts[step] == 1, step
    assert not any(file == "judging/evidence.py" for file, _ in calls)


def test_the_walk_stays_short(walk: tuple[Judgement, list[Call]]) -> None:
    calls = walk[1]
    hops = sum(first[0] != second[0] for first, second in pairwise(calls))
    assert len({file for file, _ in calls}) <= 37
    assert len(set(calls)) <= 180
    assert hops <= 150
