"""Mistakes that a command reports in one line, with status 2, before it works; and standard input."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from harness.cli.main import main
from tests.cli.project import write

MISTAKES = [
    (
        ["judge", "art", "--cassettes", "two.yaml", "--report", "notes.txt"],
        "notes.txt is a file; name a folder for the report",
    ),
    (
        ["judge", "art", "--cassettes", "two.yaml", "--report", "notes.txt/page"],
        "notes.txt is a file; name a folder for the report",
    ),
    (
        ["judge", "art", "--cassettes", "two.yaml", "--json", "none/x.json"],
        "--json none/x.json: name a file in a folder that exists",
    ),
    (["demo", "-o", "notes.txt"], "notes.txt is a file; name a folder for the report"),
    (
        ["check", "--prove", "--specs", "nope.yaml"],
        "nope.yaml:1: no such file or folder; name the specs with --specs",
    ),
    (["show", "folder"], "folder: a folder; name a file in it"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_reported_before_any_work(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("notes.txt", "hello")
    Path("folder").mkdir()
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.err.splitlines()[-1] == f"harness: {message}"
    assert "cell passed" not in shown.out


@pytest.mark.parametrize("content", [b"", b"\x00\xff\x01", b"hello: world\n"])
def test_check_of_a_named_file_that_is_no_spec_is_a_problem(
    content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("odd.yaml").write_bytes(content)
    assert main(["check", "odd.yaml"]) == 1
    assert capsys.readouterr().out == (
        "odd.yaml:1: no spec, features file or cassette; a spec begins with `harness: 1`\n"
        "0 files valid, 1 problem\n"
    )


@pytest.mark.parametrize("command", ["replay", "show"])
def test_another_provider_than_the_recording_s_is_not_success(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "two.yaml", "--provider", "openai-compat"]) == 1
    assert capsys.readouterr().err == (
        "harness: exchange 2: URL or body shows gemini-api, but --provider is openai-compat; omit"
        " --provider to read it as detected\n"
    )
    assert main([command, "two.yaml", "--provider", "vertex-ai"]) == 0  # the same messages


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["replay", "-"], 0, '{"type":"STREAM_START"}'),
        (["show", "-", "--list"], 0, "imported 2026-01-02"),
        (["import", "-"], 0, "version: 1"),
        (["scan", "-"], 1, "-: line 9 shows a Google API key"),
        (["judge", "art", "--cassettes", "-"], 0, "art, version "),
    ],
)
def test_a_dash_is_standard_input(
    arguments: list[str],
    status: int,
    line: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = Path("two.yaml").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(arguments) == status
    assert capsys.readouterr().out.startswith(line)


@pytest.mark.parametrize(
    ("variables", "is_red"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_follow_the_environment(
    variables: dict[str, str],
    is_red: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    write("bare_red.py", "def replay(exchange):\n    yield {}, []\n")
    assert main(["judge", "bare_red:replay", "--cassettes", "gemini-api/text:1"]) == 1
    line = "Documented wire: 0 of 1 cell passed, 1 failed"
    shown = f"\x1b[31m{line}\x1b[0m" if is_red else line
    assert shown in capsys.readouterr().out.splitlines()


def test_a_prompt_comes_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = b'{"messages": [{"role": "user", "content": "Hi"}]}'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(prompt)))
    assert main(["request", "-", "--dialect", "anthropic"]) == 0
    assert '"Hi"' in capsys.readouterr().out
