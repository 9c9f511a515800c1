"""A strict decoder and the plain reader of a wire give the same events."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import to_builtins

from harness import load
from harness.providers import PROVIDERS
from harness.providers.provider import Answer
from harness.stream.framing import Frame
from tests.support.message_damage import damage

CASSETTES = Path(__file__).parents[2] / "cassettes"
WIRES = ("anthropic", "interactions", "openai-compat")
PIECE: dict[str, Any] = {"choices": [{"delta": {"content": "Hi"}, "index": 0}], "model": "m"}
FIRST: dict[str, Any] = PIECE | {"object": "chat.completion.chunk"}


def read(wire: str, messages: list[bytes], usual: bool) -> tuple[list[str], int]:
    """The events of the messages, and the number of messages that a strict decoder accepted. The
    decoder accepts only a frame whose ``json`` has not been read yet.
    """
    normalizer = PROVIDERS[wire].normalizer(Answer())
    events, taken = [], 0
    for frame in (Frame(0, data) for data in messages):
        if not usual:
            assert frame.json is not None or frame.raw is not None or frame.json is None
        events += normalizer.feed(frame)
        taken += type(frame.message) is bytes
    events += normalizer.close()
    return [json.dumps(to_builtins(event), sort_keys=True) for event in events], taken


def taken(wire: str, messages: list[bytes]) -> int:
    """The number of messages that the decoder accepted; both ways give the same events for all
    messages.
    """
    events, number = read(wire, messages, usual=True)
    assert events == read(wire, messages, usual=False)[0]
    return number


def recorded(wire: str) -> Iterator[list[bytes]]:
    """The lines with a message, for every answer of a wire."""
    for path in sorted((CASSETTES / wire).rglob("*.yaml")):
        for exchange in load(path).exchanges:
            lines = filter(None, exchange.body.splitlines())
            yield [line.removeprefix(b"data: ") for line in lines if not line.startswith(b"event:")]


@pytest.mark.parametrize("wire", WIRES)
def test_every_recording_reads_the_same(wire: str) -> None:
    assert sum(taken(wire, messages) for messages in recorded(wire)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_every_damaged_recording_reads_the_same(wire: str) -> None:
    chance = Random(16)
    for messages in recorded(wire):
        for _ in range(20):
            damaged = damage(messages, chance)
            assert taken(wire, damaged) <= len(damaged)


CREATED: dict[str, Any] = {"type": "response.created", "response": {"id": "r", "model": "m"}}
ADDED: dict[str, Any] = {"item": {"type": "message", "id": "i"}, "output_index": 0}
DELTA: dict[str, Any] = {"delta": "Hi", "output_index": 0, "content_index": 0}


def event(kind: str, base: dict[str, Any], **changes: Any) -> bytes:
    return json.dumps({"type": f"response.{kind}", **base, **changes}).encode()


def texts_taken(*messages: bytes) -> int:
    begin = [event("created", CREATED), event("output_item.added", ADDED)]
    return taken("openai", [*begin, event("output_text.delta", DELTA), *messages])


def test_a_later_piece_of_a_text_is_usual() -> None:
    padded = event("output_text.delta", DELTA, obfuscation="xx", sequence_number=5, logprobs=[])
    assert texts_taken(event("output_text.delta", DELTA), padded) == 2


@pytest.mark.parametrize(
    "message",
    [
        event("output_text.delta", DELTA, output_index=1),
        event("output_text.delta", DELTA, content_index=1),
        event("output_text.delta", DELTA, logprobs=[{"token": "Hi", "logprob": -1.0}]),
        event("output_text.delta", DELTA, delta=None),
        event("output_text.delta", DELTA, new_field=1),
        event("refusal.delta", DELTA),
        b"[DONE]",
    ],
)
def test_any_other_event_is_left_to_the_reader(message: bytes) -> None:
    assert texts_taken(message) == 0


def test_text_behind_another_item_reads_the_same() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f"}
    begin = [event("created", CREATED), event("output_item.added", ADDED, item=call)]
    text = [event("output_item.added", ADDED, output_index=1)] + [
        event("output_text.delta", DELTA, output_index=1)
    ] * 3
    assert taken("openai", [*begin, *text, event("output_item.done", ADDED, item=call)]) == 0


def chunk(**changes: Any) -> bytes:
    return json.dumps(FIRST | changes).encode()


def chunk_with(**changes: Any) -> bytes:
    return chunk(choices=[{"delta": {"content": "Ho"}, "index": 0} | changes])


def test_a_chunk_like_the_one_before_is_usual() -> None:
    more = chunk_with(delta={"content": "more", "role": "assistant"}, finish_reason=None)
    assert taken("openai-compat", [chunk(), more, chunk(choices=[]), chunk_with()]) == 3


@pytest.mark.parametrize(
    "message",
    [
        chunk(model="other"),
        chunk(usage={"total_tokens": 3}),
        chunk(choices=2 * FIRST["choices"]),
        chunk_with(index=1),
        chunk_with(index=0.0),
        chunk_with(finish_reason="stop"),
        chunk_with(delta={"content": "Hi", "extra_content": {"google": {"thought": True}}}),
        chunk_with(delta={"content": "Hi", "role": "user"}),
        chunk_with(delta={"content": None}),
        chunk_with(delta={"tool_calls": []}),
        b"[DONE]",
    ],
)
def test_any_other_chunk_is_left_to_the_reader(message: bytes) -> None:
    assert taken("openai-compat", [chunk(), message]) == 0


@pytest.mark.parametrize(
    "before",
    [
        chunk_with(delta={"content": "<thought>"}),
        chunk_with(delta={"content": "a <tho"}),
        chunk_with(delta={"content": "a", "extra_content": {"google": {"thought": True}}}),
        chunk_with(
            delta={"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{"}}]}
        ),
    ],
)
def test_text_after_a_tag_or_a_call_reads_the_same(before: bytes) -> None:
    end = chunk_with(delta={"content": "ught>b</thought>"})
    assert taken("openai-compat", [chunk(), before, chunk_with(), end, chunk_with()]) >= 1
