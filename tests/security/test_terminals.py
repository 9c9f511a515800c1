"""Texts that could control the terminal on which they are printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from harness import load, replay
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cli.main import main
from harness.dialects import DIALECTS
from tests.security.samples import COMMANDING, URL
from tests.support.commands import harness

ODD = "\x1b[2J\x1b]0;own\x07\x9b31m\x7f\x85\u2028\u202egnp\u2066\u200f\u061c"
QUOTED = json.dumps(ODD)  # valid as YAML too


def hostile_body() -> bytes:
    call = {"functionCall": {"name": ODD, "id": ODD, "args": {ODD: ODD}}}
    first = {
        "candidates": [
            {
                "content": {
                    "parts": [{"text": ODD}, call, {ODD: ODD}, {"text": ODD, "thought": True}]
                },
                "finishReason": ODD,
            }
        ],
        "modelVersion": ODD,
        "responseId": ODD,
        "usageMetadata": {ODD: 1},
    }
    error = {"error": {"code": 400, "message": ODD, "status": ODD}}
    lines = [
        json.dumps(first, ensure_ascii=False),
        ODD.replace("\x85", "").replace("\u2028", ""),
        json.dumps(error, ensure_ascii=False),
    ]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


HOSTILE_SPEC = f"""\
harness: 1
cases:
- case: marked
  requirement: {QUOTED}
  features: [text.streaming]
  source: "https://ai.google.dev/\\e[2J\\u202e"
  cassette: gemini-api/bad
  known_failing: {{unified-llm: {{reason: {QUOTED}, link: "https://x/\\e[2J\\u202e"}}}}
  expect:
    unified-llm: [{QUOTED}]
    anthropic: [{{{QUOTED}: 1}}]
    events: [{{kind: {QUOTED}}}]
    frames: []
    mind:
- case: wished
  requirement: {QUOTED}
  level: should
  features: [text.streaming]
  source: "https://ai.google.dev/\\e[2J\\u202e"
  cassette: gemini-api/bad
  expect:
    unified-llm: [{QUOTED}]
"""


@pytest.fixture
def trap(project: Path) -> Path:
    """A project whose cassette, spec, prompt and foreign files contain terminal control characters
    wherever possible.
    """
    request = Request(
        "POST",
        URL,
        {"x": [ODD]},
        json.dumps({"tools": [{"functionDeclarations": [{"name": ODD}]}]}).encode(),
    )
    bad = Exchange(
        request,
        200,
        {"content-type": ["text/event-stream"], "x": [ODD]},
        ((None, hostile_body()),),
        "complete",
        ODD,
    )
    origin = Origin(
        "imported",
        date="2026-01-01",
        client=ODD,
        model=ODD,
        source=ODD,
        commit=ODD,
        licence=ODD,
        note=ODD,
    )
    text = dumps(Cassette((bad,), origin))
    Path("cassettes/gemini-api/bad.yaml").write_text(text, encoding="utf-8")
    Path("broken.yaml").write_text(f"{text}{QUOTED}: {QUOTED}\n", encoding="utf-8")
    Path("specs/hello.yaml").write_text(HOSTILE_SPEC, encoding="utf-8")
    Path("broken_spec.yaml").write_text(
        HOSTILE_SPEC.replace("level:", f"{QUOTED}: x\n  level:"), encoding="utf-8"
    )
    Path("bare.txt").write_bytes(hostile_body())
    Path("odd.json").write_text(json.dumps({"log": ODD}, ensure_ascii=False), encoding="utf-8")
    schema = {
        "type": "object",
        "properties": {ODD: {"type": "string", ODD: 1, "pattern": ODD, "format": ODD}},
    }
    tool = {"name": "f", "description": ODD, "parameters": schema}
    answer = {
        "model": "m",
        "messages": [{"role": "user", "content": [{"kind": "text", "text": ODD}]}],
        "tools": [tool],
    }
    Path("prompt.json").write_text(json.dumps(answer, ensure_ascii=False), encoding="utf-8")
    return project


RECORDED = "cassettes/gemini-api/bad.yaml"
COMMANDS = [
    *(["replay", RECORDED, "--dialect", dialect] for dialect in DIALECTS),
    ["replay", RECORDED, "--layer", "events"],
    ["replay", RECORDED, "--layer", "frames"],
    ["replay", "bare.txt"],
    ["replay", "odd.json"],
    ["replay", "broken.yaml"],
    ["replay", ODD],
    ["show", RECORDED],
    ["show", RECORDED, "--list"],
    ["show", ODD],
    ["check"],
    ["check", "broken.yaml", "broken_spec.yaml", ODD],
    ["scan", "."],
    ["scan", "broken.yaml", ODD],
    ["check", "--prove", "--survivors"],
    ["check", "--prove", "--specs", ODD],
    ["import", "odd.json"],
    ["import", ODD],
    ["import", "--to", "vcrpy", "broken.yaml"],
    ["request", "prompt.json", "--dialect", "unified-llm"],
    ["request", "prompt.json", "--dialect", "anthropic"],
    ["record", "marked"],
    ["record", ODD],
    ["record", f"gemini-api/{ODD}", "--prompt", "hi"],
    ["compare", ODD, ODD],
    ["report", ODD, "-o", "out"],
]


@pytest.mark.parametrize(
    "arguments",
    COMMANDS,
    ids=lambda arguments: f"{arguments[0]} {ascii(' '.join(arguments[1:]))[1:40]}",
)
def test_no_command_prints_control_characters(
    arguments: list[str], trap: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments)
    output = capsys.readouterr()
    assert COMMANDING.findall(output.out + output.err) == []
    assert output.out + output.err


def test_the_hostile_texts_reach_the_commands(trap: Path) -> None:
    assert ODD in "".join(
        str(payload.get("delta")) for payload in replay(load(RECORDED).exchanges[0])
    )
    assert {"\x1b", "\x9b", "\u202e"} <= set(
        COMMANDING.findall(Path("bare.txt").read_text(encoding="utf-8") + "\x1b")
    )


@pytest.mark.parametrize("command", [["import"], ["import", "--to", "vcrpy"]], ids=" ".join)
def test_only_output_on_a_terminal_is_escaped(
    command: list[str],
    trap: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main([*command, RECORDED]) == 0
    assert "\u202e" in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main([*command, RECORDED]) == 0
    assert COMMANDING.findall(capsys.readouterr().out) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["specs", "-rA", "-W", "default", "--harness-report", "out"],
        ["specs", "-rA", "--harness-strict"],
        ["broken_spec.yaml"],
        ["cassettes", "--harness-laws", "-rA"],
    ],
    ids=" ".join,
)
def test_no_run_of_pytest_prints_control_characters(
    arguments: list[str], trap: Path, pytester: pytest.Pytester
) -> None:
    if "--harness-laws" in arguments:
        Path("broken.yaml").replace("cassettes/broken.yaml")
    ran = pytester.runpytest_inprocess(*arguments, "-p", "no:cacheprovider", "--color=no")
    output = ran.stdout.str() + ran.stderr.str()
    assert COMMANDING.findall(output) == []
    assert "2J" in output
    if "out" in arguments:
        assert ran.parseoutcomes()["xfailed"] == 1
        assert ran.parseoutcomes()["warnings"] == 1
        results = Path("out/results.json").read_text(encoding="utf-8")
        Path("before.json").write_text(results.replace('"failed"', '"passed"'), encoding="utf-8")
        compared = harness("compare", "before.json", "out/results.json").output
        assert COMMANDING.findall(compared) == []
        assert "broken" in compared
