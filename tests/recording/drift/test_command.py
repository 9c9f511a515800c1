"""The command `harness drift`: its requests, messages and exit statuses."""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from harness.cassettes import Exchange, Origin, Request
from harness.cli.main import main
from harness.server import serve
from tests.recording.drift.recordings import (
    ALTERED,
    ASKED,
    RAN,
    SECRET_TEXT,
    Messages,
    drift,
    exchange,
    first,
    keep,
    message,
    recorded,
    run,
    tape,
)


def as_vertex(messages: Messages) -> Exchange:
    url = "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
    return exchange(messages, request=Request("POST", url, {}, json.dumps(ASKED).encode()))


def as_code_assist(messages: Messages) -> Exchange:
    body = {"model": "gemini-3-flash-preview", "user_prompt_id": "p", "request": ASKED}
    url = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"
    wrapped = [
        message if "error" in message else {"response": message, "traceId": "t"}
        for message in messages
    ]
    return exchange(wrapped, request=Request("POST", url, {}, json.dumps(body).encode()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alter", "drifts"),
    [ALTERED[0], ALTERED[8], ALTERED[12], ALTERED[18], ALTERED[20], ALTERED[24], ALTERED[27]],
)
@pytest.mark.parametrize(
    ("provider", "on_the_wire", "inside"),
    [("vertex-ai", as_vertex, ""), ("code-assist", as_code_assist, "response.")],
)
def test_the_other_providers_are_asked_again_too(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    on_the_wire: Callable[[Messages], Exchange],
    inside: str,
    alter: Callable[[Messages], Any],
    drifts: list[tuple[str, str, str, str]],
) -> None:
    monkeypatch.setenv("CODE_ASSIST_ACCESS_TOKEN", "a-token-of-this-test")
    name, messages = f"{provider}/a", copy.deepcopy(recorded())
    keep(tape(on_the_wire(recorded())), name)
    with serve(tape(on_the_wire(recorded())), pace="instant") as server:
        assert main(["drift", "--provider", provider, "--base-url", server.base_url]) == 0
    assert (
        capsys.readouterr().out
        == f"{name}: no drift\n1 of 1 cassettes compared: 0 breaking, 0 notable, 0 harmless\n"
    )
    alter(messages)
    with serve(tape(on_the_wire(messages)), pace="instant") as server:
        status = main(["drift", name, "--base-url", server.base_url])
        assert (server.unused, server.misses) == ([], [])
    words = {"finish reason", "order of parts", "error"}
    assert capsys.readouterr().out.splitlines()[1:-1] == sorted(
        f"  {severity:<8}  exchange 1  {path if path in words else inside + path}: {says}  [{feature}]"
        for severity, path, says, feature in drifts
    )
    assert status == (3 if any(severity == "breaking" for severity, *_ in drifts) else 1)


@pytest.mark.slow
def test_a_recorded_error_that_occurs_again_is_no_drift(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = b'{"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}'
    denied = exchange(
        [], status=403, headers={"Content-Type": ["application/json"]}, reads=((0.0, refused),)
    )
    keep(tape(denied))
    assert drift(tape(denied)) == 0
    assert "no drift" in capsys.readouterr().out


def test_warnings_of_the_client_about_odd_answers_are_hidden(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """google-genai warns of an unknown word, and quotes it."""
    messages = recorded()
    first(messages)["finishReason"] = SECRET_TEXT
    with warnings.catch_warnings(record=True, action="always") as seen:
        assert drift(tape(exchange(messages))) == 3
    output = capsys.readouterr()
    assert "finish reason: STOP → another word  [finish.other]" in output.out
    assert SECRET_TEXT not in output.out + output.err
    assert seen == []


# The command
TALK: Final = """harness: 1
cases:
- case: talk
  requirement: The next text is sent with the earlier turns.
  features: [requests.contents]
  source: https://ai.google.dev/gemini-api/docs/text-generation
  cassette: gemini-api/talk
  turns:
  - prompt: {unified-llm: {model: gemini-3-flash-preview, messages: [{role: user, content: hi}]}}
  - say: And then?
  expect: {unified-llm: recorded}
"""


def test_a_conversation_is_asked_turn_by_turn(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = exchange([message({"text": SECRET_TEXT}, finish="STOP")])
    keep(tape(answer, answer), "gemini-api/talk")
    Path("specs").mkdir()
    Path("specs/talk.yaml").write_text(TALK, encoding="utf-8")
    reworded = exchange([message({"text": "They sailed away"}, finish="STOP")])
    with serve(tape(reworded, reworded), pace="instant", match="path") as server:
        assert (
            main(["drift", "talk", "--base-url", server.base_url, "--api-version", "v1beta"]) == 0
        )
        assert (server.unused, server.misses) == ([], [])
    assert capsys.readouterr().out.startswith("gemini-api/talk: no drift")


def test_a_cassette_that_cannot_be_asked_is_reported_with_exit_4(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("cassettes/gemini-api/a.yaml").read_bytes()
    words = json.dumps(
        {"error": {"code": 403, "message": SECRET_TEXT, "status": "PERMISSION_DENIED"}}
    ).encode()
    assert (
        drift(
            tape(
                exchange(
                    [],
                    status=403,
                    headers={"Content-Type": ["application/json"]},
                    reads=((0.0, words),),
                )
            )
        )
        == 4
    )
    output = capsys.readouterr()
    assert output.out == "0 of 1 cassettes compared: 0 breaking, 0 notable, 0 harmless\n"
    assert (
        "gemini-api/a: request 1 got an authorization answer (403); the cassette is not written"
        in output.err
    )
    assert SECRET_TEXT not in output.err
    assert Path("cassettes/gemini-api/a.yaml").read_bytes() == before
    assert [path.name for path in project.iterdir()] == ["cassettes"]


@pytest.mark.slow
def test_the_budget_is_that_of_the_whole_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(tape(exchange(recorded())), "gemini-api/b")
    assert drift(tape(exchange(recorded())), "--requests", "1") == 4
    output = capsys.readouterr()
    assert output.out.startswith("gemini-api/a: no drift\n1 of 2 cassettes compared")
    assert (
        "gemini-api/b: this run has used 1 request, and 1 is the limit; raise the limit, or record less"
        in output.err
    )


@pytest.mark.slow
def test_by_default_only_recorded_cassettes_are_asked_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = f"nothing to compare: no cassette in {project / 'cassettes'}"
    keep(replace(tape(exchange(recorded())), origin=Origin("written")))
    assert drift(tape()) == 0
    assert f"{none} was recorded from a provider; " in capsys.readouterr().err
    assert drift(tape(exchange(recorded())), "gemini-api/a") == 0
    assert capsys.readouterr().out.startswith("gemini-api/a: no drift")
    keep(replace(tape(exchange(recorded())), origin=Origin("loopback")))
    keep(
        run(*RAN), "gemini-cli/run"
    )  # its output does not have a program's settings, so it is run again only by name
    assert drift(tape(exchange(recorded()))) == 0
    assert capsys.readouterr().out.endswith(
        "1 of 1 cassettes compared: 0 breaking, 0 notable, 0 harmless\n"
    )
    assert drift(tape(), "--provider", "vertex-ai", "gemini-api/a") == 0
    assert f"{none} was recorded from vertex-ai; " in capsys.readouterr().err


def test_an_unknown_name_is_bad_usage(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert drift(tape(), "gemini-api/none") == 2
    assert "gemini-api/none is not a case and not a cassette" in capsys.readouterr().err


RUN: Final = """
import json, sys
words = sys.argv[sys.argv.index("-p") + 1]
stamp = {"timestamp": "2026-11-22T10:00:00.000Z"}
for line in (
    {"type": "init", **stamp, "session_id": "s", "model": sys.argv[sys.argv.index("-m") + 1]},
    {"type": "message", **stamp, "role": "user", "content": words},
    {"type": "message", **stamp, "role": "assistant", "content": "Hello", "delta": True},
    {"type": "result", **stamp, "status": STATUS, "stats": {"total_tokens": 1, "models": {words: {"total_tokens": 1}}}},
):
    print(json.dumps(line), flush=True)
sys.exit(CODE)
"""


@pytest.mark.slow
def test_a_run_of_the_cli_is_repeated_with_its_prompt(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def program(status: str, code: int) -> str:
        Path("run.py").write_text(
            RUN.replace("STATUS", repr(status)).replace("CODE", str(code)), encoding="utf-8"
        )
        return f"{sys.executable} run.py"

    name = "gemini-cli/run"
    assert (
        main(
            [
                "record",
                name,
                "--prompt",
                "What is it?",
                "--model",
                "m",
                "--program",
                program("success", 0),
            ]
        )
        == 0
    )
    assert main(["drift", name, "--program", program("success", 0)]) == 0
    capsys.readouterr()
    assert main(["drift", name, "--program", program("error", 3)]) == 3
    assert capsys.readouterr().out.splitlines()[1:-1] == [
        "  breaking  exchange 1  exit code: 0 → 3  [gemini-cli.errors]",
        "  breaking  exchange 1  lines[result].status: new value error, so far success  [gemini-cli.errors]",
    ]
