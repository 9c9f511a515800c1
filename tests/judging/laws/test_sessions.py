"""The laws hold for sessions, for our own adapters and for one that connects; each law that applies
is broken by a fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import ADAPTERS, EVENTS, Adapter, Subject
from harness.adapters.named import NamedAdapter, make_adapter
from harness.cassettes.load import load
from harness.judging.laws import LAWS, check
from harness.judging.metamorphic.catalogue import SESSION_SPELLINGS
from harness.providers import with_provider
from harness.stream.exchange import Exchange
from harness.stream.websocket import Message, write_message
from tests.judging.laws.test_laws import Fault, counted, findings, has_cut, stopped, without
from tests.support.variant_checks import assert_all_apply, assert_changes, assert_faithful

ROOT = Path(__file__).parents[3]
PIECE = {"modelTurn": {"parts": [{"text": "Hé"}]}, "outputTranscription": {"text": "Hé"}}
COUNTS = {"promptTokenCount": 9, "responseTokenCount": 4, "totalTokenCount": 13}
SENT: list[Any] = [{"setup": {"model": "models/m"}}, {"realtimeInput": {"text": "Hi"}}]
RECEIVED: list[Any] = [
    {"setupComplete": {}},
    {"serverContent": {"modelTurn": {"parts": [{"text": "So", "thought": True}]}}},
    {"serverContent": PIECE},
    {"serverContent": {"modelTurn": {"parts": [{"text": "llo."}]}}},
]
END: Any = {"serverContent": {"turnComplete": True}, "usageMetadata": COUNTS}
CALL: Any = {"toolCall": {"functionCalls": [{"id": "fc_1", "name": "f", "args": {"a": 1}}]}}


def session(*received: Any) -> Exchange:
    setup, said = ([Message("client", json.dumps(sent).encode())] for sent in SENT)
    given = [Message("server", json.dumps(each).encode()) for each in received]
    messages = [*setup, *given[:1], *said, *given[1:], Message("client", b"", "close", 1000)]
    reads = tuple((None, write_message(message)) for message in messages)
    return with_provider(Exchange(None, 101, {}, reads, "complete"))


TURN = session(*RECEIVED, END)
WITH_CALL = session(*RECEIVED, CALL, END)


def shipped() -> Iterator[Any]:
    for path in sorted((ROOT / "cassettes" / "live").glob("*.yaml")):
        for number, exchange in enumerate(load(path).exchanges, 1):
            yield pytest.param(exchange, id=f"{path.stem}:{number}")


@pytest.mark.parametrize("adapter", [EVENTS, *ADAPTERS.values()], ids=lambda adapter: adapter.name)
def test_every_law_holds_for_our_own_adapters(adapter: Adapter) -> None:
    assert check(WITH_CALL, adapter) == []


@pytest.mark.parametrize("exchange", [*shipped()])
def test_the_laws_hold_for_every_shipped_session(exchange: Exchange) -> None:
    """Law 1 is left out: it reads a session 512 times, and the reader's tests cut it too."""
    for law in LAWS[1:]:
        if "events" in law.layers and not law.not_run(exchange, Subject(EVENTS)):
            assert law.findings(exchange, Subject(EVENTS)) == []


def test_the_laws_that_do_not_apply_say_why() -> None:
    reasons = {law.id: law.not_run(WITH_CALL, Subject(ADAPTERS["unified-llm"])) for law in LAWS}
    assert {number: reason for number, reason in reasons.items() if reason} == {
        8: "the results of its calls are messages of the session",
        10: "the event model is not that of the wire",
    }


FAULTS: dict[str, tuple[int, str, Fault]] = {
    "a message in two reads is lost": (
        1,
        "byte 30",
        lambda items, cut: items[:-1] if has_cut(cut, {30}) else items,
    ),
    "no end": (2, "end in the state", lambda items, _: without(items, "FINISH")),
    "a call is dropped": (
        3,
        "calls lost",
        lambda items, _: without(without(items, "TOOL_CALL_START"), "TOOL_CALL_END"),
    ),
    "a cut is not told": (4, "not incomplete", lambda items, _: without(items, "incomplete")),
    "a message that is cut is a message": (
        4,
        "in the whole answer it is",
        lambda items, cut: [*items[:-1], {"kind": "x"}, items[-1]] if cut.end == "cut" else items,
    ),
    "something is counted over replays": (
        5,
        "second time",
        lambda items, _: [*items, {"kind": "x", "n": next(counted)}],
    ),
    "binary messages are not read": (
        6,
        "frames: text is",
        lambda items, given: without(items, "text") if b"\n<b " in given.body else items,
    ),
    "words alone are not read": (
        6,
        "apart: ",
        lambda items, given: (
            without(items, "text") if b'{"serverContent":{"outputTr' in given.body else items
        ),
    ),
    "an empty message ends the reading": (
        6,
        "keep-alive: ",
        lambda items, given: items[:1] if b"\n< {}\n" in given.body else items,
    ),
    "garbage is passed over": (
        7,
        "no event",
        lambda items, damaged: [] if damaged.body != TURN.body else items,
    ),
    "a turn without an end ended well": (
        9,
        "the session without the ends of its turns ends like a good answer, although it has no"
        " finish reason",
        lambda items, _: stopped(items),
    ),
    "a malformed call ended well": (
        9,
        "the session with malformed calls ends like a good answer",
        lambda items, _: stopped(items),
    ),
    "an exchange that goes on ended well": (
        9,
        "the session that goes on ends like a good answer, although it continues",
        lambda items, _: stopped(items),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found_by_its_law(name: str) -> None:
    number, sentence, fault = FAULTS[name]
    exchange = WITH_CALL if number == 3 else TURN
    sentences = findings(number, exchange, fault)
    assert any(sentence in finding for finding in sentences), sentences
    assert findings(number, exchange, lambda items, _: items) == []


def test_every_law_has_a_fault() -> None:
    assert {number for number, _, _ in FAULTS.values()} == {1, 2, 3, 4, 5, 6, 7, 9}


def test_the_variants_change_a_session_and_our_event_models_keep_their_relations() -> None:
    assert_all_apply(TURN, SESSION_SPELLINGS)
    for variant in SESSION_SPELLINGS:
        assert_changes(variant, TURN)
        assert variant.change(replace(TURN, status=200)) is None
        assert variant.change(replace(TURN, reads=((None, b"< {"),), end="cut")) is None
    assert_faithful([TURN, WITH_CALL])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "broken"), [("faithful", 0), ("takesacutforagoodend", 1)])
def test_the_laws_are_asked_of_an_adapter_that_connects(name: str, broken: int) -> None:
    target = f"serve: tests.faulty.sessions:{name}"
    subject = Subject(make_adapter(NamedAdapter("live", "facts", target), ROOT, timeout=10))
    (exchange, *_) = load(ROOT / "cassettes" / "live" / "text.yaml").exchanges
    assert len(LAWS[3].findings(with_provider(exchange), subject)) == broken
    assert LAWS[5].findings(with_provider(exchange), subject) == []
