"""A new recording of the Gemini CLI equals its shipped cassettes, except for times, ids and
folders.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from harness import load
from harness.cassettes import Cassette, Exchange
from harness.recording.drift import compare_cassettes
from tests.clients.record_cli import CASSETTES, CLI, ROOT, Run, record_run
from tests.support.need import need

SHIPPED: Final = ROOT / "cassettes" / "gemini-cli"


@pytest.mark.parametrize(
    ("cassette", "place"),
    [("recorded-tools", 0), ("recorded-turns", 0), ("recorded-errors", 4), ("recorded-errors", 5)],
)
def test_a_run_of_the_cli_is_as_it_was_recorded(cassette: str, place: int) -> None:
    need("clients", CLI.is_dir(), "the Gemini CLI is not installed; run `make test-clients`")
    shipped = load(SHIPPED / f"{cassette}.yaml")
    was, run = shipped.exchanges[place], CASSETTES[cassette][place]
    now = record_run(run)
    assert (
        compare_cassettes(replace(shipped, exchanges=(was,)), replace(shipped, exchanges=(now,)))
        == []
    )
    assert now.headers["x-exit-code"] == was.headers["x-exit-code"]


@pytest.mark.parametrize("cassette", CASSETTES)
def test_a_shipped_run_names_its_answers_and_no_local_path(cassette: str) -> None:
    shipped = load(SHIPPED / f"{cassette}.yaml")
    runs: list[Run] = CASSETTES[cassette]
    assert shipped.origin.kind == "loopback"
    assert shipped.origin.client is not None
    assert shipped.origin.client.startswith("gemini-cli ")
    assert shipped.origin.note is not None
    assert all(f"{run.answers}.yaml" in shipped.origin.note for run in runs)
    assert len(shipped.exchanges) == len(runs)
    text = (SHIPPED / f"{cassette}.yaml").read_text(encoding="utf-8").replace("/home/user/", "")
    assert not any(
        place in text for place in (str(Path.home()) + "/", str(ROOT), "127.0.0.1", "/tmp/")
    )


def test_the_runs_end_as_documented() -> None:
    """https://geminicli.com/docs/cli/headless/#exit-codes; the exit code of an API error is its
    status modulo 256.
    """

    def code(exchange: Exchange) -> str:
        return exchange.headers["x-exit-code"][0]

    errors: Cassette = load(SHIPPED / "recorded-errors.yaml")
    assert [code(item) for item in errors.exchanges] == [
        "0",
        str(503 % 256),
        "0",
        str(400 % 256),
        "41",
        "53",
    ]
