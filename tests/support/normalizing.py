"""Short functions for the tests of normalizers: messages in, events as plain data out."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from msgspec import to_builtins

from harness.providers import PROVIDERS, Answer, Normalizer
from harness.stream.events import End, Event
from harness.stream.framing import Frame
from tests.support.event_order import out_of_order

Json = Any


def frame(message: Json) -> Frame:
    return Frame(0, None, message) if isinstance(message, str) else Frame(0, message)


def read(
    *messages: Json,
    status: int = 200,
    end: End = "complete",
    tool_code: bool = False,
    headers: dict[str, str] | None = None,
) -> list[Json]:
    """All events of the messages as plain data; a string is a frame that is not JSON."""
    normalizer = PROVIDERS["gemini-api"].normalizer(Answer(status, headers or {}, None, tool_code))
    return read_with(normalizer, [frame(message) for message in messages], end)


def read_with(normalizer: Normalizer, frames: list[Frame], end: End = "complete") -> list[Json]:
    before = deepcopy([frame.json for frame in frames])
    events: list[Event] = [event for frame in frames for event in normalizer.feed(frame)]
    events += normalizer.close(end)
    assert [frame.json for frame in frames] == before
    plain = [to_builtins(event) for event in events]
    assert out_of_order([event["kind"] for event in plain]) is None, plain
    return plain


def candidate(**fields: Json) -> Json:
    return {"candidates": [fields]}


def parts(*given: Json) -> Json:
    return candidate(content={"parts": list(given), "role": "model"})


def content(*messages: Json, **settings: Any) -> list[Json]:
    """The result of `read` without the leading `start`."""
    first, *others = read(*messages, **settings)
    assert first["kind"] == "start"
    return others


def call(number: int, name: str, arguments: Json, **more: Json) -> list[Json]:
    return [
        {"kind": "call_start", "call": number, "name": name, **more},
        {"kind": "call_end", "call": number, "arguments": arguments},
    ]
