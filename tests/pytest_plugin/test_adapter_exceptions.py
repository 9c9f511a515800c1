"""An adapter that raises shows its own frames and causes; ``--tb`` and ``--pdb`` reach them."""

from __future__ import annotations

import sys

import pytest

SPEC = """\
harness: 1
cases:
- case: hello
  requirement: The text arrives.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: hello
  provider: gemini-api
  expect:
    own: [1]
"""
CASSETTE = """\
version: 1
metadata:
  harness: 1
  origin: written
interactions:
- request: null
  response:
    status: {code: 200}
    body:
      string: |2+
        data: {"candidates":[{"content":{"parts":[{"text":"Hello"}]},"finishReason":"STOP"}]}

    end: complete
"""
SHIM = """
def read(line):
    try:
        return {}["candidates"]
    except KeyError as error:
        raise ValueError(f"no answer in {line}") from error

def replay(exchange):
    word = "a local word"
    yield read("line 1"), []

async def later(exchange):
    yield read("line 2"), []
"""
PROGRAM = """
import json, os, sys
os.write(int(os.environ["HARNESS_OUT"]), b'{"hello": 1}\\n')
sys.stdin.readline()
sys.stderr.write("one\\n  two\\n")
sys.stderr.flush()
sys.exit(3)
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    files = {
        "specs/hello.yaml": SPEC,
        "cassettes/hello.yaml": CASSETTE,
        "raising_shim.py": SHIM,
        "program.py": PROGRAM,
        "pytest.ini": "[pytest]\nharness_adapters =\n    a: facts = raising_shim:replay\n    b: facts = raising_shim:later\n"
        f"    own = raising_shim:replay\n    p: facts = run: {sys.executable} program.py\n",
    }
    for name, text in files.items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return pytester


def run(project: pytest.Pytester, adapter: str, *more: str) -> pytest.RunResult:
    return project.runpytest_inprocess(
        "specs", "-p", "no:cacheprovider", "--harness-dialect", adapter, *more
    )


@pytest.mark.slow
@pytest.mark.parametrize(("adapter", "line"), [("a", 10), ("b", 13), ("own", 10)])
def test_a_red_cell_shows_the_chained_traceback(
    project: pytest.Pytester, adapter: str, line: int
) -> None:
    result = run(project, adapter)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "requirement: The text arrives.",
            "*raising_shim.py:4: KeyError",
            "The above exception was the direct cause of the following exception:",
            f"raising_shim.py:{line}: *",
            "*raising_shim.py:6: ValueError",
        ]
    )
    result.stdout.no_fnmatch_line("*conformance?adapters*")


@pytest.mark.slow
@pytest.mark.parametrize(("adapter", "law"), [("own", "law-5"), ("a", "law-3")])
def test_a_law_shows_the_chained_traceback_too(
    project: pytest.Pytester, adapter: str, law: str
) -> None:
    result = project.runpytest_inprocess(
        *("cassettes", "--harness-laws", "-k", law, "-p", "no:cacheprovider"),
        *("--harness-dialect", adapter),
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*raising_shim.py:4: KeyError", "*raising_shim.py:6: ValueError"])


@pytest.mark.slow
def test_the_style_of_the_traceback_is_chosen_as_usual(project: pytest.Pytester) -> None:
    short = run(project, "a", "--tb=short")
    short.stdout.fnmatch_lines(
        ["raising_shim.py:6: in read", "E   ValueError: no answer in line 1"]
    )
    native = run(project, "a", "--tb=native")
    native.stdout.fnmatch_lines(
        ["Traceback (most recent call last):", "ValueError: no answer in *"]
    )
    line = run(project, "a", "--tb=line")
    line.stdout.fnmatch_lines(["text raised: the adapter reports an error: ValueError: no answer*"])
    line.stdout.no_fnmatch_line("requirement: *")


@pytest.mark.slow
def test_the_debugger_opens_the_frames_of_the_shim(project: pytest.Pytester) -> None:
    result = project.run(
        *(sys.executable, "-m", "pytest", "specs", "-p", "no:cacheprovider"),
        *("--harness-dialect", "a", "--pdb"),
        stdin=b"up\np 'the word is', word\nquit\n",
    )
    result.stdout.fnmatch_lines(["*('the word is', 'a local word')*"])


@pytest.mark.slow
def test_the_stderr_of_a_program_keeps_its_line_ends(project: pytest.Pytester) -> None:
    result = run(project, "p")
    result.stdout.fnmatch_lines(
        ["error: adapter p: * ended with status 3 before it answered:", "one", "  two"]
    )
