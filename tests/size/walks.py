"""Counts the hops of five walks: how often a run goes from one file of the package to another.

Each walk runs twice in this process, and the second run is counted, so imports and caches do not
matter. The hops of each thread are counted apart.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

import harness
from harness.cli.main import main
from harness.judging.judge import judge
from harness.project.project import Project
from tests.judging.test_walk import CASSETTE, SPEC
from tests.recording.providers import HELLO, ask
from tests.support.raw_server import raw_server

PACKAGE: Final = str(Path(harness.__file__).parent) + "/"
SHIM: Final = """\
from harness.facts import Finish, Text

def replay(exchange):
    yield {"text": "Hello"}, [Text("Hello")]
    yield {"finish": "STOP"}, [Finish("STOP")]
"""
CONTENTS: Final = '[{"parts": [{"text": "Hi"}], "role": "user"}]'
CLIENT: Final = """\
import pytest
from google import genai

@pytest.mark.harness_cassette("hi")
def test_hello(harness_http_options):
    client = genai.Client(api_key="none", http_options=harness_http_options)
    stream = client.models.generate_content_stream(model="m", contents="Hi")
    assert [answer.text for answer in stream] == ["Hello"]
"""


Run = Callable[[], object]
"""A walk, after everything that is not counted."""


def count_walks() -> dict[str, int]:
    """Return the hops of each walk."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        here = Path(folder)
        for name, text in {
            "cassettes/hello.yaml": CASSETTE,
            "cassettes/hi.yaml": CASSETTE.replace('"contents": []', f'"contents": {CONTENTS}'),
            "specs/hello.yaml": SPEC,
            "shim.py": SHIM,
            "test_client.py": CLIENT,
            "pytest.ini": "[pytest]\n",
        }.items():
            (here / name).parent.mkdir(exist_ok=True)
            (here / name).write_text(text, encoding="utf-8")
        walks: dict[str, Callable[[], Run]] = {
            "golden cell": _judge_cell,
            "judge of an own model": lambda: partial(
                _command, "unified-llm", "--questions", "none"
            ),
            "judge of a shim": lambda: partial(_command, "--pdb", "shim:replay"),
            "recording": lambda: _record,
            "playback": lambda: _play,
        }
        return {name: _count(prepare) for name, prepare in walks.items()}


def _judge_cell() -> Run:
    project = Project([Path("specs")], Path("cassettes"))
    (cell,) = project.cells(Path("specs/hello.yaml"))
    return lambda: judge(cell, project.cassette, normalize=project.normalize)


def _command(*words: str) -> None:
    words = *words, "--cuts", "recorded"  # in pieces, each piece is a hop
    assert main(["judge", *words, "--cassettes", "cassettes/hello.yaml"]) == 0


def _record() -> None:
    with raw_server(HELLO) as url:
        assert ask(url, Path("recorded.yaml")).exchanges
    Path("recorded.yaml").unlink()


def _play() -> None:
    options = ("-q", "-p", "no:xdist", "-p", "no:cacheprovider", "test_client.py")
    assert pytest.main([*options]) == 0


def _count(prepare: Callable[[], Run]) -> int:
    """The fewest hops of three runs: on a busy machine, walks with threads have a few more."""
    with ExitStack() as stack:
        out = StringIO()
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(out))
        prepare()()
        return min(_hops(prepare()) for _ in range(3))


def _hops(run: Run) -> int:
    calls: dict[int, list[str]] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
            calls.setdefault(threading.get_ident(), []).append(path)

    with ExitStack() as stack:
        threading.setprofile(note)
        sys.setprofile(note)
        stack.callback(threading.setprofile, None)
        stack.callback(sys.setprofile, None)
        run()
    return sum(first != second for thread in calls.values() for first, second in pairwise(thread))
