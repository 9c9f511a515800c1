"""Reads the facts in AgentEvents: text, calls, results, errors and whether the turn ended well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import Facts
from harness.stream.json_codec import Json
from harness.stream.session import Session


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session | None = None) -> Facts:
    """Return the facts in AgentEvents. Text of the role ``system`` is not part of the answer. A
    call directly before an error may be whole or not, so it is no fact.
    """
    facts = Facts()
    before = ""
    for payload in payloads:
        match payload["type"]:
            case "text" if payload.get("role") != "system":
                facts.add_text(payload["text"])
            case "tool.started":
                facts.calls.append((payload["toolName"], payload["input"]))
            case "tool.completed":
                facts.add_result("error" in payload, payload.get("output"))
            case "error" if payload.get("code") == "JSONL_PARSE_ERROR":
                facts.unreadable.append(payload["error"])
            case "error":
                facts.open_call = before == "tool.started"
                words = filter(None, (payload.get("code"), payload["error"]))
                facts.add_error(None, " ".join(words))
            case "turn.completed":
                facts.finish = payload["finishReason"]
                facts.ended_well = facts.finish == "done"
        before = payload["type"]
    return facts
