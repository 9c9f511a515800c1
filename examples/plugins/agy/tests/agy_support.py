"""Samples and short functions of these tests."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from harness.adapters import EVENTS, Output, RunOptions
from harness.facts import WireFacts
from harness.judging.aspects import compare_output
from harness.judging.reading import Reading
from harness.providers import PROVIDERS, Answer, Normalizer
from harness.stream.events import End
from harness.stream.exchange import Exchange
from harness.stream.framing import Frame
from harness.stream.session import Session

AGY_TURN = b"""{"event":"init","conversation_id":"c","init":{"model":"gemini-3.8-flash-low","cwd":"/w"}}
{"event":"step_update","step_update":{"conversation_id":"c","step_index":0,"state":"DONE","step_type":"agent_response","text_delta":"Hi\\n"}}
{"event":"result","result":{"conversation_id":"c","status":"SUCCESS","response":"Hi\\n"}}
"""
AGY_SCRIPT = b"""sleep:2.640
out:{"event":"init","conversation_id":"c","init":{"cwd":"/w"}}
sleep:0.5
out:{"event":"result","result":{"conversation_id":"c","status":"ERROR","response":"","error":"interrupted"}}
err:error: interrupted
rc:1
"""


def read_with(normalizer: Normalizer, frames: list[Frame], end: End = "complete") -> list[Any]:
    """All events of the frames as plain data."""
    events = [event for frame in frames for event in normalizer.feed(frame)]
    return [to_builtins(event) for event in (*events, *normalizer.close(end))]


def facts_of(body: bytes) -> WireFacts:
    """The facts of a whole output."""
    return PROVIDERS["agy"].read_facts(body, Answer(), "complete")


def losses(wire: WireFacts, events: list[dict[str, Any]]) -> list[str]:
    """A sentence for each aspect that the events of a program's output lose or invent."""
    reading = Reading(Exchange(None, 200, {}, (), "complete"), RunOptions(provider="agy"))
    reading.facts = wire
    judged = compare_output(reading, EVENTS, Output(events, Session()))
    return [judged.error] if judged.error else [*map(judged.sentence, judged.red)]
