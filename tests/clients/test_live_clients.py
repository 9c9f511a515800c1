"""Google's client for Node, and the agents of google-adk and pydantic-ai, hold recorded sessions with
`harness serve`: over TLS, and the one for Node also without.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from harness.cassettes.load import load
from harness.server import Server, serve
from harness.stream.exchange import Cassette
from tests.support.need import need

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
CASSETTES: Final = ROOT / "cassettes" / "live"
WAIT_S: Final = 60


def session(name: str, number: int) -> Cassette:
    cassette = load(CASSETTES / f"{name}.yaml")
    return Cassette((cassette.exchanges[number - 1],), cassette.origin)


def talk(server: Server, modality: str, *prompts: str) -> list[dict[str, Any]]:
    """The lines of the client, which trusts the certificate of the server."""
    node = shutil.which("node")
    there = node and (HERE / "node_modules" / "@google" / "genai").exists()
    need("clients", there, "needs Node and `make test-clients`")
    command = [str(node), "live.mjs", server.base_url, "gemini-3.8-live", modality, *prompts]
    trusted = {"NODE_EXTRA_CA_CERTS": str(server.certificate)} if server.certificate else {}
    return lines_of(command, trusted)


def lines_of(command: list[str], environment: dict[str, str]) -> list[dict[str, Any]]:
    ran = subprocess.run(
        command, cwd=HERE, env={**os.environ, **environment}, capture_output=True, timeout=WAIT_S
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("tls", [True, False], ids=["tls", "plain"])
def test_two_turns(tls: bool) -> None:
    with serve(session("text", 2), pace="instant", tls=tls) as server:
        lines = talk(server, "TEXT", "Say hello.", "And goodbye.")
    assert lines[:2] == [{"text": "Hello."}, {"total": 13}]
    assert lines[2:5] == [{"text": "Good"}, {"text": "bye."}, {"total": 26}]
    (served,) = server.sessions
    assert served.differences == []
    assert server.unused == []


@pytest.mark.slow
def test_a_call_and_its_result() -> None:
    with serve(session("tool-round", 1), pace="instant", tls=True) as server:
        lines = talk(server, "AUDIO", "What is the weather in London?")
    assert lines[0] == {"call": "get_weather", "args": {"city": "London"}}
    spoken = "".join(line["spoken"] for line in lines if "spoken" in line)
    assert spoken == "It is foggy and 12 degrees in London."


@pytest.mark.slow
def test_a_close_of_the_server() -> None:
    with serve(session("closes", 2), pace="instant", tls=True) as server:
        lines = talk(server, "TEXT", "Hello.")
    expected = {"close": 1011, "reason": "Resource has been exhausted (e.g. check quota)."}
    assert lines[-1] == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "words", "end"),
    [
        (
            "google-adk",
            ["Of course."],
            {"close": 1011, "reason": "Internal error encountered."},
        ),
        (
            "pydantic-ai",
            ["Stop.", "Of course."],
            {"error": "Gemini Live connection closed: 1011 None. Internal error encountered."},
        ),
    ],
    ids=["google-adk", "pydantic-ai"],
)
def test_an_agent_is_interrupted_after_a_call_and_sees_the_close(
    agent: str, words: list[str], end: dict[str, Any]
) -> None:
    """The recording has the setup, the question and the result as this agent writes them."""
    python = ROOT / "build" / "clients" / agent / "bin" / "python"
    need("clients", python.exists(), "needs `make test-clients`")
    program = f"agents/live_{agent.replace('-', '_')}.py"
    with serve(HERE / "agents" / f"{agent}.yaml", pace="instant", tls=True) as server:
        environment = {
            "GOOGLE_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": server.base_url,
            "SSL_CERT_FILE": str(server.certificate),
        }
        prompt = "What is the weather in Oslo?"
        lines = lines_of([str(python), program, "gemini-3.8-live", prompt], environment)
    assert lines == [
        {"call": "get_weather", "args": {"city": "Oslo"}},
        {"words": "In Oslo it"},
        {"interrupted": True},
        {"turn": "complete"},
        *({"words": each} for each in words),
        {"turn": "complete"},
        end,
    ]
    (served,) = server.sessions
    assert served.differences == []
    assert server.unused == []
