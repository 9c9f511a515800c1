"""The commands ``harness replay``, ``harness request`` and ``harness show``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.main import main
from tests.cli.project import BODY


def test_replay_prints_json_lines_of_exchanges_that_generate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["replay", "two.yaml"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == '{"type":"STREAM_START"}'
    assert json.loads(lines[2]) == {"type": "TEXT_DELTA", "delta": "é\x1b[2J", "text_id": "text_1"}
    assert "é" in lines[2]
    assert "\x1b" not in out
    assert err == ""


@pytest.mark.parametrize("value", ["\ud83d", 2**70, -(2**64), "\x7f", 0.1, None, [True]])
def test_replay_prints_any_json_value(
    here: Path, capsys: pytest.CaptureFixture[str], value: object
) -> None:
    call = {"functionCall": {"name": "f", "args": {"a": value}}}
    answer = {"candidates": [{"content": {"parts": [call]}, "finishReason": "STOP"}]}
    (here / "any.json").write_text(json.dumps([answer]))
    assert main(["replay", "any.json", "--dialect", "mind"]) == 0
    assert json.loads(capsys.readouterr().out)["args"] == {"a": value}


def test_replay_takes_dialect_layer_cuts_provider_and_exchange(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(
            [
                "replay",
                "two.yaml",
                "--exchange",
                "2",
                "--dialect",
                "anthropic",
                "--cuts",
                "bytes",
                "--provider",
                "vertex-ai",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.splitlines()[-1] == '{"type":"message_stop"}'
    assert main(["replay", "two.yaml", "--layer", "frames"]) == 0
    assert json.loads(capsys.readouterr().out)["offset"] == 0


def test_a_body_of_no_known_wire_needs_a_provider(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.txt").write_bytes(BODY)
    assert main(["replay", "bare.txt"]) == 0
    assert capsys.readouterr().err == ""
    Path("error.json").write_bytes(b'{"error": "busy"}')
    assert main(["replay", "error.json"]) != 0
    assert "--provider" in capsys.readouterr().err
    assert main(["replay", "error.json", "--provider", "gemini-api"]) == 0


def test_control_characters_in_json_are_escaped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    odd = "\x7f\x9b\u202e\u2066"
    Path("odd.txt").write_bytes(
        b'data: {"candidates": [{"content": {"parts": [{"text": "' + odd.encode() + b'"}]}}]}\n\n'
    )
    assert main(["replay", "odd.txt", "--provider", "gemini-api"]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    assert line.isascii()
    assert json.loads(line)["delta"] == odd


def test_show_gives_one_line_a_frame_and_list_one_an_exchange(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["show", "two.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "exchange 2: gemini-api, status 200, end complete",
        '       0         -  start gemini-x  text "é\\u001b[2J"  finish STOP',
    ]
    assert main(["show", "two.yaml", "--list"]) == 0
    origin, first, second = capsys.readouterr().out.splitlines()
    assert origin == "imported 2026-01-02"
    assert "does not generate" in first
    assert f"gemini-api  200  1 read, {len(BODY)} bytes  complete  POST https" in second


def test_list_shows_that_a_date_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.sse").write_bytes(BODY)
    assert main(["show", "bare.sse", "--list"]) == 0
    assert capsys.readouterr().out.startswith("imported, date unknown\n")
