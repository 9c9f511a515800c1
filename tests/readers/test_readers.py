"""The facts that are read from events are those of a second reader, field by field."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from harness.providers import PROVIDERS
from harness.providers.wire_values import is_empty
from harness.stream.framing import MAX_FRAME
from tests.readers import READERS, answers, body_of, compare
from tests.readers.bodies import Json, body_of_messages, changed, messages_of

SHIPPED = cache(lambda wire: list(answers(wire)))


def find_differences(wire: str, seed: int, count: int) -> list[Json]:
    """The changed bodies of shipped answers about which the two readers differ."""
    random = Random(seed)
    provider = PROVIDERS[wire]
    pool = [
        (place, exchange, messages)
        for place, exchange in SHIPPED(wire)
        if (messages := messages_of(body_of(exchange), provider.framer(MAX_FRAME)))
    ]
    found = []
    for _ in range(count):
        place, exchange, messages = random.choice(pool)
        body = body_of_messages(
            changed(messages, random), streamed=len(messages) > 1, lines=provider.program
        )
        if differences := compare(body, exchange):
            found.append((place, differences, body))
    return found


@pytest.mark.parametrize("wire", READERS)
def test_every_shipped_answer_has_the_facts_of_the_second_reader(wire: str) -> None:
    assert len(SHIPPED(wire)) >= 50
    differ = {place: compare(body_of(exchange), exchange) for place, exchange in SHIPPED(wire)}
    assert {place: facts for place, facts in differ.items() if facts} == {}


@pytest.mark.parametrize("wire", READERS)
def test_changed_answers_have_the_facts_of_the_second_reader(wire: str) -> None:
    assert find_differences(wire, seed=1, count=200) == []


@pytest.mark.slow
@pytest.mark.parametrize("wire", READERS)
@pytest.mark.parametrize("seed", [2, 3])
def test_more_changed_answers_have_the_facts_of_the_second_reader(wire: str, seed: int) -> None:
    assert find_differences(wire, seed, count=2_000) == []


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    read = READERS["anthropic"]

    def broken(body: bytes, *rest: Json) -> Json:
        facts = read(body, *rest)
        facts.calls = facts.calls[:4]
        return facts

    monkeypatch.setitem(READERS, "anthropic", broken)
    assert any("calls" in differences for _, differences, _ in find_differences("anthropic", 1, 60))


def test_changes_grow_lists_and_indexes() -> None:
    random = Random(1)
    start = {"type": "start", "index": 0, "content_block": {"id": "a"}}
    stop = {"type": "stop", "index": 0}
    whole = {"content": [{"id": "a"}]}
    indexes, lengths = set(), set()
    for _ in range(100):
        indexes |= {
            message["index"] for message in changed([start, stop], random) if "index" in message
        }
        for message in changed([whole], random):
            lengths.add(0 if is_empty(message.get("content")) else len(message["content"]))
    assert max(i for i in indexes if type(i) is int) == 8
    assert max(lengths) == 9


def test_an_unreadable_piece_has_its_place() -> None:
    _, exchange = SHIPPED("anthropic")[0]
    ping = b'data: {"type": "ping"}\n\n'
    provider = PROVIDERS["anthropic"]
    answer = provider.answer(exchange, None, None)
    facts = provider.read_facts(ping + b"data: \xff{\n\ndata: 7\n\n", answer, "complete")
    assert (facts.unreadable, facts.unreadable_at) == (["\\xff{", "7"], len(ping))
    facts = provider.read_facts(ping + b"data: 7\n\n", answer, "complete")
    assert (facts.unreadable, facts.unreadable_at) == (["7"], len(ping))
    assert provider.read_facts(ping, answer, "complete").unreadable_at is None
