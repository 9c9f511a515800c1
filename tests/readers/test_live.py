"""Sessions of the Live API have the account of the second reader, turn by turn.

If HARNESS_LIVE_CORPORA names a folder of recorded sessions, they are compared too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes import Exchange
from harness.cassettes.load import load
from harness.pipeline.replay import trace
from harness.providers import with_provider
from harness.stream import events as ev
from harness.stream.websocket import Message, write_message
from tests.readers import CASSETTES
from tests.readers.live import account_of, read_session
from tests.support.need import need

NAME = "live"
UNREADABLE = {"odd-messages", "closes:7"}
"""Sessions with messages that the plain reader can't read."""


def events_of(exchange: Exchange) -> list[ev.Event]:
    return [event for _, events in trace(exchange) for event in events]


def without_end(events: list[ev.Event]) -> list[ev.Event]:
    return [event for event in events if not isinstance(event, ev.Incomplete)]


def shipped() -> Iterator[tuple[str, Exchange]]:
    for path in sorted((CASSETTES / NAME).glob("*.yaml")):
        for number, exchange in enumerate(load(path).exchanges, 1):
            name = f"{path.stem}:{number}"
            if UNREADABLE.isdisjoint({name, path.stem}):
                yield name, exchange


@pytest.mark.parametrize("name", [name for name, _ in shipped()])
def test_a_shipped_session_has_the_account_of_the_second_reader(name: str) -> None:
    exchange = dict(shipped())[name]
    assert account_of(without_end(events_of(exchange))) == read_session(exchange.body)


def test_the_account_of_a_session_is_seen() -> None:
    exchange = dict(shipped())["cancelled-call:1"]
    account = read_session(exchange.body)
    first, second, rest = account.turns
    assert (first.cancelled, first.interrupted, first.end) == (["fc_2"], 1, "turnComplete")
    assert (first.results, second.input) == ([("fc_1", "get_weather")], " Never mind.")
    assert rest.end is None
    events = events_of(exchange)
    for gone in ("cancelled", "input_transcript", "close"):
        kept = [event for event in events if getattr(event, "name", "") != gone]
        assert account_of(kept) != account


def sessions(folder: Path) -> Iterator[tuple[str, Exchange]]:
    """Yield the sessions of a folder of recordings; those that were derived are JSON lines."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".jsonl" and path.name != "MANIFEST.jsonl":
            lines = map(json.loads, path.read_text(encoding="utf-8").splitlines()[1:])
            yield path.name, session_of(list(lines))
        elif path.suffix in (".yaml", ".log"):
            for exchange in load(path).exchanges:
                yield path.name, exchange


def session_of(lines: list[dict[str, Any]]) -> Exchange:
    return Exchange(
        None,
        101,
        {},
        tuple(
            (
                line["at"],
                write_message(
                    Message(
                        "client" if line["dir"] == ">" else "server",
                        json.dumps(line["data"]).encode(),
                    )
                ),
            )
            for line in lines
        ),
    )


def test_recorded_sessions_have_the_account_of_the_second_reader() -> None:
    folder = os.environ.get("HARNESS_LIVE_CORPORA")
    need("live-corpora", folder, "HARNESS_LIVE_CORPORA names no folder of recorded sessions")
    live = others = 0
    for name, exchange in sessions(Path(str(folder))):
        known = with_provider(exchange)
        if known.provider != NAME:
            others += 1
            continue
        live += 1
        assert account_of(without_end(events_of(known))) == read_session(known.body), name
    assert (live, others) == (33, 36)
