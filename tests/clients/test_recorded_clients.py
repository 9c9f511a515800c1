"""Clients in other languages are recorded over the relay and answered from the cassette: Google's
library for Node, and the Gemini CLI.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness import load
from harness.recording.cassette import Playback, use_cassette
from harness.recording.relay import relay
from harness.server import serve
from tests.clients.test_clients import PROMPTS, Cli, contents_of, run_node, tape


@pytest.mark.parametrize("prompt", ["text", "call", "broken", "cut", "no key"])
def test_the_library_for_node_is_recorded_and_answered(prompt: str, tmp_path: Path) -> None:
    path, served = tmp_path / "a.yaml", PROMPTS[prompt]
    with (
        serve(tape(served)) as server,
        use_cassette(path, mode="once", allow_status=[400, 503], allow_end=["cut"]) as recording,
        relay(recording, server.base_url) as url,
    ):
        live = run_node(url, prompt)
    (exchange,) = load(path).exchanges
    assert (exchange.status, exchange.end) == (served.status, served.end)
    assert exchange.body == served.body
    assert served.status != 200 or [data for _, data in exchange.reads] == [
        data for _, data in served.reads if data
    ]
    with use_cassette(path) as playback, relay(playback) as url:
        assert isinstance(playback, Playback)
        played = run_node(url, prompt)
        assert (playback.unknown, playback.problems()) == ([], [])
    parts, end = live
    assert played == live or (prompt == "broken" and played == (parts, None)), (
        end
    )  # a cassette answers without delay: see READ_MS


def test_the_gemini_cli_is_recorded_over_the_relay_as_well(tmp_path: Path) -> None:
    """The relay records its requests; `harness record` records its output."""
    path = tmp_path / "a.yaml"
    with serve([], match="path") as server:
        server.add(tape(PROMPTS["call"], PROMPTS["text"]))
        cli = Cli(tmp_path, server)
        (cli.work / "a.txt").write_text("hello", encoding="utf-8")
        with use_cassette(path, mode="once") as recording, relay(recording, server.base_url) as url:
            cli.environment["GOOGLE_GEMINI_BASE_URL"] = url
            status, lines, errors = cli.run("What is in a.txt?")
    assert (status, contents_of(lines)[-1]) == (0, ("result", "success")), errors
    asked: list[Any] = [exchange for exchange in load(path).exchanges if exchange.generates]
    assert [exchange.body for exchange in asked] == [PROMPTS["call"].body, PROMPTS["text"].body]
    assert b"functionResponse" in asked[1].request.body
