"""Short answers of the wire, and the red aspects of a transcript of them."""

from __future__ import annotations

from typing import Any

from harness.facts import RED, Aspect, AspectVerdict, Transcript, WireAnswer, judge_answer
from harness.providers.gemini.facts import read_messages


def answer(*messages: dict[str, Any], **options: Any) -> WireAnswer:
    return WireAnswer(read_messages(list(messages)), **{"end": "complete", **options})


def frame(*parts: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, **candidate}]}


def call_part(name: str, call_id: str | None, **arguments: Any) -> dict[str, Any]:
    return {
        "functionCall": {"name": name, "args": arguments} | ({"id": call_id} if call_id else {})
    }


def verdicts(wire: WireAnswer, transcript: Transcript) -> dict[Aspect, AspectVerdict]:
    return {aspect: finding.verdict for aspect, finding in judge_answer(wire, transcript).items()}


def red(wire: WireAnswer, transcript: Transcript) -> dict[Aspect, AspectVerdict]:
    return {
        aspect: verdict for aspect, verdict in verdicts(wire, transcript).items() if verdict in RED
    }
