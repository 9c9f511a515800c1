"""``--adapter`` of ``replay`` and ``show``: targets, dialects, configured adapters."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from harness.cli.main import main

RECORDING = Path(__file__).parents[2] / "cassettes" / "gemini-api" / "text.yaml"
SHIM = """
import json
from harness.facts import Finish, Text

def replay(exchange):
    for line in exchange.body.splitlines():
        if line.startswith(b"data: {"):
            candidate = json.loads(line[6:])["candidates"][0]
            yield candidate, [Text(part["text"]) for part in candidate["content"]["parts"]]
            if "finishReason" in candidate:
                yield {}, [Finish(str(candidate["finishReason"]))]
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "shim_of_cli", raising=False)
    (tmp_path / "shim_of_cli.py").write_text(SHIM)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nharness_adapters = mine: facts = shim_of_cli:replay\nharness_losses = mine: usage\n"
    )
    return tmp_path


@pytest.mark.parametrize("target", ["mine", "shim_of_cli:replay"])
def test_replay_prints_events_with_their_facts(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(RECORDING), "--exchange", "1", "--adapter", target]) == 0
    items = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert items[0]["facts"] == [{"text": "Saturn, of"}]
    assert items[-1] == {"native": {}, "facts": [{"finish": "STOP"}]}


def test_replay_prints_the_payloads_of_a_dialect(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(RECORDING), "--exchange", "1", "--adapter", "art"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["type"] == "END"


def test_show_prints_the_verdict_of_each_aspect(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(RECORDING), "--exchange", "1", "--adapter", "mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "mine: text kept",
        "mine: finish kept",
        "mine: usage not carried: declared as usage",
    ]


def test_replay_says_that_an_adapter_gave_no_event(
    capsys: pytest.CaptureFixture[str], project: Path
) -> None:
    (project / "silent_shim.py").write_text("def replay(exchange): return []\n", encoding="utf-8")
    recording = f"{RECORDING}:1"
    assert main(["replay", recording, "--adapter", "silent_shim:replay"]) == 0
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "harness: exchange 1: the adapter gave no event\n")


def test_an_unknown_adapter_is_an_error_with_the_known_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["replay", str(RECORDING), "--adapter", "theirs"]) == 2
    assert "'theirs' names no adapter; expected one of agent-events" in capsys.readouterr().err
