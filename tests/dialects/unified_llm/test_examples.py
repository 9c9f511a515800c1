"""The pipelines of examples/ run as programs, against a cassette served on loopback."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

from harness.server import serve
from tests.support.commands import Ended, run

ROOT = Path(__file__).parents[3]
CASSETTE = ROOT / "cassettes/gemini-api/unified-llm-attractor.yaml"
THREE = ROOT / "cassettes/pipelines/three-providers.yaml"
VENDORS = ("GEMINI", "ANTHROPIC", "OPENAI")
KEYS = (
    "GOOGLE_API_KEY",
    *(f"{vendor}_{name}" for vendor in VENDORS for name in ("API_KEY", "BASE_URL")),
)
pytestmark = pytest.mark.slow

REVERSE = "Write a function that reverses a string, in Go."


def attractor(*arguments: str, **environment: str) -> Ended:
    """Runs the program without any key in its environment."""
    clean = {name: value for name, value in os.environ.items() if name not in KEYS}
    command = ("python", str(ROOT / "examples" / "attractor.py"), *arguments)
    return run(*command, cwd=ROOT, environment={**clean, **environment})


def test_attractor_run_completes_a_codergen_turn() -> None:
    with serve(CASSETTE, pace="instant") as server:
        done = attractor(
            "run",
            "examples/gemini.dot",
            "--seed",
            REVERSE,
            GEMINI_API_KEY="any",
            GEMINI_BASE_URL=server.base_url,
        )
        assert server.misses == []
    assert (done.status, done.stderr) == (0, "")
    assert (
        done.stdout
        == "agent: func Reverse(s string) string {\n\tr := []rune(s)\n\tslices.Reverse(r)\n\treturn string(r)\n}\n"
    )


@pytest.mark.parametrize(("name", "nodes"), [("gemini", 3), ("search", 4), ("three", 5)])
def test_attractor_lint_passes_without_a_key(name: str, nodes: int) -> None:
    done = attractor("lint", f"examples/{name}.dot")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout == f"examples/{name}.dot: {nodes} nodes, no faults\n"


def test_the_agent_searches_and_its_answer_goes_to_the_next_node() -> None:
    """Use case 3. The server answers only the recorded requests, with each result and signature."""
    seed = ("--project", "examples/project", "--seed", "Who calls Run, and why?")
    with serve(CASSETTE, pace="instant") as server:
        done = attractor(
            "run",
            "examples/search.dot",
            *seed,
            GEMINI_API_KEY="any",
            GEMINI_BASE_URL=server.base_url,
        )
        assert server.misses == []
        assert len(server.unused) == 1, "all but the exchange of gemini.dot"
    assert (done.status, done.stderr) == (0, "")
    assert (
        done.stdout
        == "find: main in cmd/main.go calls Run, for the night.\nreview: Main calls Run at night.\n"
    )


def test_three_providers_share_one_conversation() -> None:
    """Use case 2. Gemini is overloaded at first; the server answers only the recorded requests."""
    with serve(THREE, pace="instant") as server:
        done = attractor(
            "run",
            "examples/three.dot",
            *("--project", "examples/project", "--seed", "Who calls Run?"),
            **{f"{vendor}_API_KEY": "any" for vendor in VENDORS},
            **{f"{vendor}_BASE_URL": server.base_url for vendor in VENDORS},
        )
        assert server.misses == []
        assert server.unused == []
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout == (
        "find: main in cmd/main.go calls Run.\n"
        "write: // Run waits until the given time of day.\n"
        "review: It fits: main calls Run for the night.\n"
    )


def test_without_a_key_the_program_fails_with_a_message() -> None:
    done = attractor("run", "examples/gemini.dot", "--seed", REVERSE)
    assert (done.status, done.stdout) == (1, "")
    assert (
        done.stderr
        == "attractor: no API key; pass api_key, or set GEMINI_API_KEY or GOOGLE_API_KEY\n"
    )


def test_an_error_of_the_provider_is_printed() -> None:
    with serve(CASSETTE, pace="instant", fault="status:401") as server:
        done = attractor(
            "run",
            "examples/gemini.dot",
            "--seed",
            REVERSE,
            GEMINI_API_KEY="any",
            GEMINI_BASE_URL=server.base_url,
        )
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith("attractor: ")


WRONG = {
    "": "1: expected digraph NAME { … }, got the end of the file",
    "graph x {}": "1: expected digraph NAME { … }, got graph",
    "digraph x {": "1: expected the name of a node, got the end of the file",
    "digraph x { a [type=start": "1: expected , or ], got the end of the file",
    "digraph x { a [type] }": "1: the attributes of a need the form [key=value, key=value]",
    "digraph x { a [type=start] a ->": "1: expected the name of a node, got the end of the file",
    "digraph x { a [type=magic] }": "1: a has the unknown type 'magic'; known ones are start, codergen, exit",
    "digraph x { a [type=start, modle=m] }": "1: a has an unknown attribute 'modle'; known ones are type",
    "digraph x {\n a [type=codergen, model=m] }": "2: a has no prompt",
    'digraph x { a [type=codergen, prompt=p, model="gemini-2.0-flash"] }': "1: 'gemini-2.0-flash' is not a model; write provider:model",
    'digraph x { a [type=codergen, prompt=p, model="gemini:m", max_turns=0] }': "1: max_turns is '0'; it must be a number from 1",
    "digraph x { a [type=exit] }": "1: the pipeline has 0 nodes of the type start; it needs one",
    "digraph x {\n a [type=start]\n}": "2: no path leads from a to an exit",
    "digraph x { a [type=start] b [type=exit] a -> b a -> c }": "1: a has two outgoing edges; a node may have one",
    "digraph x { a [type=start] b [type=exit] c [type=exit] a -> b }": "1: no path leads from start to c",
    'digraph x { a [type=start] b [type=codergen, model="g:m", prompt="{{.c_output}}"] c [type=exit] a -> b -> c }': (
        "1: the prompt of b has c_output, which has no value yet; known ones are seed"
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_lint_gives_the_fault_and_its_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.dot"
    path.write_text(text, encoding="utf-8")
    main = runpy.run_path(str(ROOT / "examples" / "attractor.py"))["main"]
    assert main(["lint", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"attractor: {path}:{WRONG[text]}")
