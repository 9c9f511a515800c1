"""Reads the facts in AgentEvents: text, calls, results, errors and whether the turn ended well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import Call, Error, Fact, Finish, Text
from harness.facts.detail import GoodEnd, OpenCall, Result, UnreadablePiece
from harness.stream.json_codec import Json
from harness.stream.session import Session


def read_facts(
    payloads: Iterable[Mapping[str, Json]], session: Session | None = None
) -> list[Fact]:
    """Return the facts in AgentEvents. Text of the role ``system`` is not part of the answer. A
    call directly before an error may be whole or not, so it is no fact.
    """
    facts: list[Fact] = []
    before, call, is_open = "", 0, False
    for payload in payloads:
        match payload["type"]:
            case "text" if payload.get("role") != "system":
                facts.append(Text(payload["text"]))
            case "tool.started":
                call = len(facts)
                facts.append(Call(None, payload["toolName"], payload["input"]))
            case "tool.completed":
                facts.append(Result.of("error" in payload, payload.get("output")))
            case "error" if payload.get("code") == "JSONL_PARSE_ERROR":
                facts.append(UnreadablePiece(payload["error"]))
            case "error":
                is_open = before == "tool.started"
                words = filter(None, (payload.get("code"), payload["error"]))
                facts.append(Error(None, " ".join(words)))
            case "turn.completed":
                facts.append(Finish(payload["finishReason"]))
                facts += [GoodEnd()] if payload["finishReason"] == "done" else []
        before = payload["type"]
    if is_open and isinstance(last := facts[call], Call):
        facts[call] = OpenCall(last.name or "", last.arguments)
    return facts
