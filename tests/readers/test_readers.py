"""The facts that are read from events are those of a second reader, field by field."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

import pytest

from harness.providers import PROVIDERS
from harness.providers.wire_values import is_empty
from harness.proving.bodies import changed
from harness.proving.second_reader import Difference, compare_readers
from harness.stream.exchange import Exchange
from tests.readers import READERS, answers

SHIPPED = cache(lambda wire: list(answers(wire)))


def find_differences(wire: str, **more: Any) -> list[Difference]:
    return compare_readers(PROVIDERS[wire], READERS[wire], SHIPPED(wire), **more)


@pytest.mark.parametrize("wire", READERS)
def test_every_shipped_answer_has_the_facts_of_the_second_reader(wire: str) -> None:
    assert len(SHIPPED(wire)) >= 50
    assert find_differences(wire) == []


@pytest.mark.parametrize("wire", READERS)
def test_changed_answers_have_the_facts_of_the_second_reader(wire: str) -> None:
    assert find_differences(wire, changes=1_000, seed=1) == []


def sse(*messages: dict[str, Any]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(message).encode() for message in messages)


def command(number: int, text: str) -> dict[str, Any]:
    name = "response.shell_call_command.delta"
    return {"type": name, "output_index": 0, "command_index": number, "delta": text}


SHELL = {"id": "s", "type": "shell_call", "call_id": "c", "status": "in_progress"}
OPEN_SHELL = sse(
    {"type": "response.created", "response": {"id": "r", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": SHELL},
    *(command(number, text) for number, text in enumerate(["ls", "pwd", "ls"])),
)


def custom_piece(finish: str | None = None, **fields: str) -> dict[str, Any]:
    delta = {"tool_calls": [{"index": 0, "custom": fields}]} if fields else {}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


LATE_INPUT = sse(
    custom_piece(name="run_sql", input="SELECT"),
    custom_piece("tool_calls"),
    custom_piece(input="1"),
)


@pytest.mark.parametrize(
    ("wire", "body", "field", "value"),
    [
        ("openai", OPEN_SHELL, "opaque", {"server_tools": ["c", "ls", "pwd", "ls"]}),
        ("openai", LATE_INPUT, "others", {"input"}),
    ],
    ids=["commands of an open call", "input of a call that is over"],
)
def test_rare_answers_have_the_facts_of_the_second_reader(
    wire: str, body: bytes, field: str, value: object
) -> None:
    exchange = Exchange(None, 200, {}, ((None, body),))
    provider = PROVIDERS[wire]
    facts = provider.read_facts(body, provider.answer(exchange, None, None), exchange.end)
    assert getattr(facts, field) == value
    assert compare_readers(provider, READERS[wire], [("", exchange)]) == []


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
        assert changed([{"content": [{"id": "a"}, None, "b"]}], random)
    assert max(i for i in indexes if type(i) is int) == 8
    assert max(lengths) == 9
