"""Short answers of the wire, and the red aspects of a transcript of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from harness.facts import (
    RED,
    Aspect,
    AspectVerdict,
    Conditions,
    Facts,
    Transcript,
    judge_answer,
)
from harness.providers.gemini.facts import read_messages


class Wire(NamedTuple):
    """The facts of an answer, and the conditions under which an adapter is asked for them."""

    facts: Facts
    asked: Conditions


def wire_of(facts: Facts, *end: Any, **conditions: Any) -> Wire:
    return Wire(facts, Conditions(*end, **conditions))


def answer(*messages: dict[str, Any], **conditions: Any) -> Wire:
    return wire_of(read_messages(list(messages)), **conditions)


def frame(*parts: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, **candidate}]}


def call_part(name: str, call_id: str | None, **arguments: Any) -> dict[str, Any]:
    return {
        "functionCall": {"name": name, "args": arguments} | ({"id": call_id} if call_id else {})
    }


def verdicts(wire: Wire, transcript: Transcript) -> dict[Aspect, AspectVerdict]:
    return {aspect: finding.verdict for aspect, finding in judge_answer(*wire, transcript).items()}


def red(wire: Wire, transcript: Transcript) -> dict[Aspect, AspectVerdict]:
    return {
        aspect: verdict for aspect, verdict in verdicts(wire, transcript).items() if verdict in RED
    }
