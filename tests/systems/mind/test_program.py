"""The mind program as a process: its records, its requests, its exit codes and its settings."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from harness import request
from harness.dialects.mind.request import DEFAULT_MODEL
from harness.dialects.mind.tools import DECLARATIONS, READERS
from harness.providers.gemini.spelling import in_one_spelling
from harness.server import serve
from harness.systems.mind.main import NO_KEY, main, read_settings
from tests.systems.mind.loopback import (
    CASSETTES,
    Finished,
    Json,
    Reply,
    body_of,
    called,
    code,
    frame,
    gemini,
    result_of,
    run,
    text,
    whole,
)

pytestmark = pytest.mark.slow
"""Each test starts a process that imports google-genai."""


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An empty working folder and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith(("GEMINI", "GOOGLE")):
            monkeypatch.delenv(name)
    return monkeypatch


# Against a recorded conversation: the program's requests equal the recorded ones, or the server
# refuses them


def test_a_recorded_conversation_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two\n")
    asked = (
        "--prompt",
        "Which file is longer, a.txt or b.txt?",
        "--system-prompt",
        "Follow the protocol.",
    )
    with serve([CASSETTES / "gemini-api" / "mind-tools.yaml"], pace="instant") as server:
        ran = run(server.base_url, tmp_path, *asked)
        misses, unused = [miss for miss in server.misses if "POST" in miss], server.unused
    a, b, c = (
        code("read_file", path="a.txt"),
        code("read_file", path="b.txt"),
        code("glob", pattern="*.txt"),
    )
    assert (ran.code, misses, unused) == (0, [], []), ran
    assert ran.records == [
        text("I read "),
        text("both. "),
        a,
        b,
        result_of(a, {"content": "one two\n"}),
        result_of(b, {"error": "No such file or directory"}),
        c,
        result_of(c, {"matches": ["a.txt"], "count": 1}),
        text("Only a.txt "),
        text("is there."),
        whole("I read both. Only a.txt is there."),
    ]


# The documented behaviours, by name


@pytest.mark.parametrize("output_format", ["stream-json", "text"])
def test_without_a_key_nothing_is_sent(tmp_path: Path, output_format: str) -> None:
    with gemini() as server:
        ran = run(
            server.base_url,
            tmp_path,
            "--prompt",
            "hi",
            "--output-format",
            output_format,
            GEMINI_API_KEY="",
        )
    assert (ran.code, json.loads(ran.out)) == (1, {"error": NO_KEY})
    assert (server.asked, server.listed) == ([], [])


def test_each_piece_is_a_record_and_the_whole_text_the_last(tmp_path: Path) -> None:
    with gemini(
        [
            frame("Hel", finish=None),
            frame({"text": "hm", "thought": True}, "", finish=None),
            frame("lo"),
        ]
    ) as server:
        ran = run(server.base_url, tmp_path, "-p", "hi")
    assert (ran.code, ran.records) == (
        0,
        [text("Hel"), text("lo"), whole("Hello")],
    )  # E1, A3: no empty record, and never a thought
    ((path, body),) = server.asked
    options = {"allowed_tools": list(READERS)}
    assert path.endswith(f"/models/{DEFAULT_MODEL}:streamGenerateContent?alt=sse")
    assert in_one_spelling(body) == in_one_spelling(
        request({"prompt": "hi"}, dialect="mind", options=options)
    )


def test_text_mode_prints_the_text_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with gemini(
        frame({"text": "hm", "thought": True}, "I read. ", called("read_file", path="a.txt")),
        frame("Grüße\n世界"),
    ) as server:
        ran = run(server.base_url, tmp_path, "-p", "hi", "--output-format", "text")
    assert (ran.code, ran.out) == (0, "I read. Grüße\n世界\n")  # A1, A2
    assert [path.rpartition(":")[2] for path, _ in server.asked] == [
        "generateContent",
        "generateContent",
    ]
    assert server.asked[1][1]["contents"][-1]["parts"] == [
        {"functionResponse": {"name": "read_file", "response": {"content": "x"}}}
    ]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (Reply('{"models": [{"name": "models/gemini-x"}]}'), "models: models/gemini-x"),
        (Reply("gone", 500), "the models could not be listed: 500"),  # E2
    ],
)
def test_models_are_listed_on_stderr(tmp_path: Path, models: Reply, message: str) -> None:
    with gemini([frame("Hi")]) as server:
        server.models = models
        ran = run(server.base_url, tmp_path, "-p", "hi")
    assert (ran.code, ran.records) == (0, [text("Hi"), whole("Hi")])
    assert message in ran.err
    assert len(server.listed) == 1


def test_all_results_of_an_answer_are_sent_together(tmp_path: Path) -> None:
    calls = [
        called("read_file", path="missing"),
        called("fly"),
        called("read_file", file="a"),
        called("run_shell_command", command="touch ran"),
    ]
    with gemini([frame("I try. ", *calls, " Wait.")], [frame("Sorry.")]) as server:
        ran = run(server.base_url, tmp_path, "-p", "hi")
    errors = [  # E3
        "No such file or directory",
        f"there is no tool fly; there are {', '.join(READERS)}",
        "read_file has no argument 'file'; it has path",
        "the tool run_shell_command is not allowed here; --allowed-tools names those that are",
    ]
    expected = [
        code(call["functionCall"]["name"], **call["functionCall"]["args"]) for call in calls
    ]
    results = [
        result_of(call, {"error": error}) for call, error in zip(expected, errors, strict=True)
    ]
    ends = [text("Sorry."), whole("I try.  Wait.Sorry.")]
    assert (ran.code, ran.records) == (
        0,
        [text("I try. "), *expected, text(" Wait."), *results, *ends],
    )
    model, user = server.asked[1][1]["contents"][-2:]
    assert [part.get("text") or part["functionCall"]["name"] for part in model["parts"]] == [
        "I try. ",
        *(call["name"] for call in expected),
        " Wait.",
    ]
    assert [part["functionResponse"]["response"] for part in user["parts"]] == [
        {"error": error} for error in errors
    ]
    assert not (tmp_path / "ran").exists()


def test_a_tool_that_is_named_may_run(tmp_path: Path) -> None:
    calls = [
        called("write_file", path="new/a.txt", content="ä"),
        called("run_shell_command", command="cat new/a.txt; exit 3"),
    ]
    with gemini([frame(*calls)], [frame("Done.")]) as server:
        named = ("--allowed-tools", "write_file, run_shell_command", "--project-dir", "project")
        (tmp_path / "project").mkdir()
        ran = run(server.base_url, tmp_path, "-p", "hi", *named)
    results = [record["result"] for record in ran.records if record["type"] == "tool_result"]
    assert results == [
        {"path": "new/a.txt", "bytes": 2},
        {"stdout": "ä", "stderr": "", "exit_code": 3},
    ]
    assert (tmp_path / "project" / "new" / "a.txt").read_text(encoding="utf-8") == "ä"
    declared = [tool["name"] for tool in server.asked[0][1]["tools"][0]["functionDeclarations"]]
    assert declared == [
        name
        for name in DECLARATIONS
        if name in READERS or name in ("write_file", "run_shell_command")
    ]


def test_all_ten_tools_run_where_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "read.me").write_text("Moss grows.")
    with gemini() as server:
        server.models = Reply('<a href="https://moss.example/">Moss</a>')
        calls = [
            called("read_file", path="read.me"),
            called("list_directory"),
            called("search_file_content", pattern="Moss"),
            called("glob", pattern="*.me"),
            called("codebase_investigator", query="read"),
            called("replace", path="read.me", old_string="Moss", new_string="Fern"),
            called("write_file", path="b.txt", content="x"),
            called("run_shell_command", command="cat read.me b.txt"),
            called("google_web_search", query="moss"),
            called("web_fetch", url=f"{server.base_url}/page"),
        ]
        server.replies = [Reply(body_of([frame(*calls)])), Reply(body_of([frame("Done.")]))]
        named = ("--allowed-tools", ",".join(name for name in DECLARATIONS if name not in READERS))
        ran = run(
            server.base_url,
            tmp_path,
            "-p",
            "hi",
            *named,
            MIND_GOOGLE_SEARCH_URL=f"{server.base_url}/search",
        )
    expected = [
        code(call["functionCall"]["name"], **call["functionCall"]["args"]) for call in calls
    ]
    given: list[Json] = [
        {"content": "Moss grows."},
        {"entries": [{"name": "read.me", "type": "file"}], "count": 1},
        {"matches": [{"path": "read.me", "line": 1, "text": "Moss grows."}], "count": 1},
        {"matches": ["read.me"], "count": 1},
        {"relevant_files": ["read.me"]},
        {"path": "read.me", "success": True},
        {"path": "b.txt", "bytes": 1},
        {"stdout": "Fern grows.x", "stderr": "", "exit_code": 0},
        {"results": [{"url": "https://moss.example/"}]},
        {"url": f"{server.base_url}/page", "content": server.models.body},
    ]
    results = [result_of(call, result) for call, result in zip(expected, given, strict=True)]
    assert {call["name"] for call in expected} == set(DECLARATIONS)
    assert (ran.code, ran.records) == (0, [*expected, *results, text("Done."), whole("Done.")])
    assert [
        part["functionResponse"]["response"] for part in server.asked[1][1]["contents"][-1]["parts"]
    ] == given


def failed(code: int, status: str, message: str) -> Reply:
    return Reply(json.dumps({"error": {"code": code, "message": message, "status": status}}), code)


FAILURES: dict[str, tuple[list[Any], list[Json]]] = {
    "the limit": (
        [failed(429, "RESOURCE_EXHAUSTED", "Slow down.")],
        [{"type": "error", "code": "RATE_LIMIT_EXCEEDED", "message": "Slow down."}],
    ),
    "words that sound like it": (
        [failed(400, "INVALID_ARGUMENT", "quota 429 Rate limit")],
        [{"type": "error", "code": "AGENT_ERROR", "message": "quota 429 Rate limit"}],
    ),
    "in the stream": (
        [
            Reply(
                body_of([frame("Hi", finish=None)]) + failed(503, "UNAVAILABLE", "Overloaded.").body
            )
        ],
        [text("Hi"), {"type": "error", "code": "AGENT_ERROR", "message": "Overloaded."}],
    ),
    "a cut": (
        [Reply(body_of([frame("Hi", finish=None)]), missing=99)],
        [
            text("Hi"),
            {
                "type": "error",
                "code": "AGENT_ERROR",
                "message": "the stream ended before it was complete (cut)",
            },
        ],
    ),
    "a blocked prompt": (
        [[{"promptFeedback": {"blockReason": "SAFETY"}}]],
        [{"type": "error", "code": "AGENT_ERROR", "message": "the prompt was blocked: SAFETY"}],
    ),
}


@pytest.mark.parametrize(("replies", "records"), FAILURES.values(), ids=FAILURES)
def test_an_error_is_the_last_record_and_the_exit_code_is_1(
    replies: list[Any],
    records: list[Json],
    inside: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with gemini(*replies) as server:
        inside.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url)
        code = main(["-p", "hi", "--api-key", "k"])
    assert (code, Finished(code, *capsys.readouterr()).records) == (1, records)


def test_an_incomplete_answer_in_text_mode_is_a_warning_on_stderr(tmp_path: Path) -> None:
    with gemini(frame("Hel", finish=None), frame("Hello")) as server:
        half, whole_one = (
            run(server.base_url, tmp_path, "-p", "hi", "--output-format", "text") for _ in range(2)
        )
    assert (half.code, half.out, "Warning: the answer is incomplete" in half.err) == (
        0,
        "Hel\n",
        True,
    )
    assert "Warning" not in whole_one.err


def test_an_error_in_text_mode_is_not_on_stdout(tmp_path: Path) -> None:
    with gemini(failed(429, "RESOURCE_EXHAUSTED", "Slow down.")) as server:
        ran = run(server.base_url, tmp_path, "-p", "hi", "--output-format", "text")
    assert (ran.code, ran.out) == (1, "")
    assert "Error: Slow down." in ran.err


def test_the_console_script_is_the_program() -> None:
    project = tomllib.loads((CASSETTES.parent / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert resolve_name(project["scripts"]["harness-mind"]) is main


# Keys, models, arguments


DOTENV = 'GEMINI_API_KEY="from-dotenv"\nGEMINI_MODEL=gemini-dotenv  # mine\n'


@pytest.mark.parametrize(
    ("arguments", "dotenv", "key", "model"),
    [
        ((), "", "from-the-environment", "gemini-environment"),
        ((), DOTENV, "from-dotenv", "gemini-dotenv"),
        (("--api-key", "mine", "--model-name", "gemini-mine"), DOTENV, "mine", "gemini-mine"),
    ],
)
def test_key_and_model(
    tmp_path: Path, arguments: tuple[str, ...], dotenv: str, key: str, model: str
) -> None:
    (tmp_path / ".env").write_text(dotenv)
    with gemini([frame("Hi")]) as server:
        ran = run(
            server.base_url, tmp_path, "-p", "hi", *arguments, GEMINI_MODEL="gemini-environment"
        )
    assert (ran.code, ran.records, server.keys) == (0, [text("Hi"), whole("Hi")], {key})
    assert f"/models/{model}:" in server.asked[0][0]


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("A=b", {"A": "b"}),
        ("export A = 'b # c' # d", {"A": "b # c"}),
        ("A=b # c", {"A": "b"}),
        ("# A=b", {}),
        ("A", {}),
        ("A=", {"A": ""}),
        ("A='b", {"A": "'b"}),
    ],
)
def test_settings(tmp_path: Path, line: str, settings: dict[str, str]) -> None:
    (tmp_path / ".env").write_text(f"\n{line}\n")
    assert read_settings(tmp_path / ".env") == settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--prompt"),
        (["-p", "x", "--output-format", "json"], "invalid choice: 'json'"),
        (["-p", "x", "--allowed-tools", "rm"], "unknown tool 'rm'; known tools are read_file"),
        (["-p", "x", "--project-dir", "/no/such/folder"], "'/no/such/folder' is not a folder"),
    ],
)
def test_wrong_arguments_exit_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    out, err = capsys.readouterr()
    assert (exited.value.code, out) == (2, "")
    assert message in err


def test_without_the_sdk_the_error_says_how_to_install_it(
    inside: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inside.setitem(sys.modules, "google.genai", None)
    assert main(["-p", "hi", "--api-key", "k"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["type"], record["message"]) == (
        "error",
        "google-genai is not installed; pip install 'gemini-conformance[genai]'",
    )


def test_a_model_that_never_stops_calling_tools_is_stopped(
    inside: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inside.setattr("harness.systems.mind.main.MAX_ROUNDS", 2)
    with gemini(
        [frame(called("glob", pattern="*"))], [frame(called("glob", pattern="*"))]
    ) as server:
        inside.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url)
        assert main(["-p", "hi", "--api-key", "k"]) == 1
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["type"], last["message"]) == (
        "error",
        "the model called tools in 2 answers in a row",
    )


# Tools
