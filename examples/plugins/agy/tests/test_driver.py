"""Recording the Antigravity CLI: how it is run, and the kept part of its output."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness import load, replay
from harness.pipeline.replay import ReplayError
from harness.recording.drift.severity import Impact, place_of
from harness.recording.run import record_requests
from harness.recording.settings import GenerateAsk, Settings
from harness.stream.exchange import CassetteError

AGY = r"""
import json, os, sys, time
if sys.argv[1:] == ["--version"]:
    print("agy version 1.3.4"); sys.exit()
assert sys.argv[1:3] == ["-p", "Say hello"], sys.argv
assert sys.argv[3:7] == ["--output-format", "stream-json", "--model", "m"], sys.argv
assert os.environ["AGY_CLI_DISABLE_AUTO_UPDATE"] == "1"
def show(**message):
    print(json.dumps(message), flush=True); time.sleep(0.03)
if "--signed-out" in sys.argv:
    sys.stderr.write("Error: authentication required. Run 'agy' to log in, then retry.\n")
    sys.stderr.write("https://accounts.example/o/oauth2/auth?state=4f9d1c&code_challenge=Zx81kq&nonce=9\n")
    show(event="result", result={"conversation_id": "", "status": "ERROR", "response": "", "error": "authentication failed or timed out"})
    sys.exit(1)
if "--quota" in sys.argv:
    sys.stderr.write('error: quota\nAGY_ERROR: {"short_error": "quota", "status": "RESOURCE_EXHAUSTED", "error_code": 429}\n')
    sys.exit(3)
show(event="init", conversation_id="c", init={"model": "m"})
step = {"conversation_id": "c", "step_index": 0, "step_type": "agent_response"}
show(event="step_update", step_update={**step, "state": "ACTIVE", "text_delta": "Hel"})
show(event="step_update", step_update={**step, "state": "DONE", "text_delta": "lo\n"})
show(event="result", result={"conversation_id": "c", "status": "SUCCESS", "response": "Hello\n"})
"""
ASKS = [GenerateAsk({"prompt": "Say hello"}, "m")]


def settings(tmp_path: Path, *arguments: str) -> Settings:
    script = tmp_path / "agy.py"
    script.write_text(AGY)
    return Settings(program=(sys.executable, str(script)), arguments=arguments)


@pytest.mark.slow
def test_a_run_is_kept_with_its_reads_and_the_programs_version(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    cassette = record_requests("agy", ASKS, path, settings=settings(tmp_path))
    (exchange,) = cassette.exchanges
    assert (exchange.provider, exchange.generates, exchange.end) == ("agy", True, "complete")
    assert exchange.headers == {"x-program": ["agy"], "x-exit-code": ["0"]}
    times = [at for at, _ in exchange.reads if at is not None]
    assert len(times) > 1
    assert times == sorted(times)
    assert cassette.origin.client == f"{Path(sys.executable).name} 1.3.4"
    assert load(path).exchanges == cassette.exchanges
    texts = [event["text"] for event in replay(exchange, layer="events") if event["kind"] == "text"]
    assert texts == ["Hel", "lo\n"]


@pytest.mark.slow
def test_the_address_for_the_login_is_redacted(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    asked = settings(tmp_path, "--signed-out")
    with pytest.raises(CassetteError, match="authentication failed"):
        record_requests("agy", ASKS, path, settings=asked)
    record_requests("agy", ASKS, path, settings=asked, allow_status=[1])
    text = path.read_text()
    assert "https://accounts.example/o/oauth2/auth?REDACTED" in text
    assert not any(secret in text for secret in ("4f9d1c", "Zx81kq", "nonce"))


@pytest.mark.slow
def test_the_status_of_a_failed_run_is_that_of_stderr(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match=r"a quota answer .*429"):
        record_requests(
            "agy",
            ASKS,
            tmp_path / "a.yaml",
            settings=settings(tmp_path, "--quota"),
            sleep=lambda _: None,
        )


def test_a_program_that_is_not_installed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match=r"no-such-program does not start: .*cli/install"):
        record_requests(
            "agy", ASKS, tmp_path / "a.yaml", settings=Settings(program=("no-such-program",))
        )


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("result.status", Impact("agy.errors", "breaking", "breaking", "breaking")),
        ("step_update.tool_info.error", Impact("agy.tools")),
        ("step_update.state", Impact("agy.steps", word="breaking")),
        ("init.model", Impact("agy.stream-json")),
        ("result.usage.total_tokens", Impact("usage.totals")),
        ("command.name", Impact("agy.commands")),
    ],
)
def test_a_path_of_a_run_has_its_feature(path: str, place: Impact) -> None:
    assert place_of(path) == place
