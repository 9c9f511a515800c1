"""Reads the facts in AG-UI events.

They carry everything: what has no event of its own is in a ``RAW`` event, or in the metadata of the
last event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import Facts, arguments_of, finish_class
from harness.stream.json_codec import Json
from harness.stream.session import Session

from .protocol import OWN

_COUNTS = {
    "promptTokens": "promptTokenCount",
    "answerTokens": "candidatesTokenCount",
    "reasoningTokens": "thoughtsTokenCount",
    "cachedInputTokens": "cachedContentTokenCount",
    "cacheWriteInputTokens": "cacheWriteTokenCount",
    "totalTokens": "totalTokenCount",
}
"""A count of an answer → its name on the wire. ``promptTokens`` and ``answerTokens`` are the totals
without the parts that the wire has beside them.
"""
_OUTCOMES = {"stop": "success", "length": "cancelled"}
"""A class of finish reasons → the outcome of an answer without a call that ended for it."""


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session | None = None) -> Facts:
    """Return the facts in the events of one run."""
    facts = Facts()
    messages: dict[str, str] = {}  # id → kind of part
    names: dict[str, str] = {}
    drafts: dict[str, str] = {}
    pending: list[str] = []
    for payload in payloads:
        match payload["type"]:
            case "TEXT_MESSAGE_START":
                messages[payload["messageId"]] = "text"
            case "REASONING_MESSAGE_START":
                messages[payload["messageId"]] = "thought"
            case "TEXT_MESSAGE_CONTENT":
                _of(facts, messages, payload, "text")
                facts.add_text(payload["delta"])
            case "REASONING_MESSAGE_CONTENT":
                _of(facts, messages, payload, "thought")
                facts.add_thought(payload["delta"])
            case "TOOL_CALL_START":
                names[payload["toolCallId"]] = payload["toolCallName"]
                drafts[payload["toolCallId"]] = ""
            case "TOOL_CALL_ARGS":
                drafts[payload["toolCallId"]] += payload["delta"]
            case "TOOL_CALL_END":
                call = payload["toolCallId"]
                _add_call(facts, names[call], drafts.pop(call))
                pending.append(call)
            case "TOOL_CALL_RESULT":
                _add_result(facts, payload)
                pending = [call for call in pending if call != payload["toolCallId"]]
            case "REASONING_ENCRYPTED_VALUE":
                entity, kind = payload["entityId"], "call"
                if payload["subtype"] == "message":
                    kind = messages[entity]
                facts.add_signature(kind, payload["encryptedValue"])
            case "RAW":
                facts.raw.append(payload["event"])
            case "RUN_FINISHED":
                _read_end(facts, payload)
                _read_outcome(facts, payload["outcome"], pending)
            case "RUN_ERROR":
                _read_end(facts, payload)
                if facts.block_reason is None:
                    code = payload.get("code", "")
                    facts.add_error(int(code) if code.isdecimal() else None, payload["message"])
    for call, draft in drafts.items():
        facts.calls.append((names[call], arguments_of(draft)))
    facts.open_call = bool(drafts)
    return facts


def _of(facts: Facts, messages: Mapping[str, str], payload: Mapping[str, Json], kind: str) -> None:
    """Check that a piece of text belongs to a message of its kind."""
    message = payload["messageId"]
    if messages.get(message) != kind:
        aspect = "text" if kind == "text" else "thoughts"
        facts.contradictions.append((aspect, [*messages], message))


def _add_call(facts: Facts, name: str, text: str) -> None:
    arguments = arguments_of(text)
    if isinstance(arguments, dict) and text:
        facts.calls.append((name, arguments))
    else:
        facts.invalid_calls.append((name, text))


def _add_result(facts: Facts, payload: Mapping[str, Json]) -> None:
    beside = payload.get("metadata", {}).get(OWN, {})
    content = payload["content"]
    response = arguments_of(content) if content.startswith("{") else content
    facts.others.add("functionResponse")
    failed = "error" in beside or beside.get("status") not in (None, "", "success")
    facts.add_result(failed, response)
    if "raw" in beside:
        facts.raw.append(beside["raw"])


def _read_end(facts: Facts, payload: Mapping[str, Json]) -> None:
    beside = payload.get("metadata", {}).get(OWN, {})
    facts.finish, facts.finish_message = beside.get("finishReason"), beside.get("finishMessage")
    facts.block_reason = beside.get("blockReason")
    (usage,) = payload.get("usage") or [{}]
    counts = dict(usage)
    for name, total, part in (
        ("promptTokens", "inputTokens", beside.get("toolUseTokens", 0)),
        ("answerTokens", "outputTokens", usage.get("reasoningTokens", 0)),
    ):
        if total in usage:
            counts[name] = usage[total] - part
    known = {name: wire for name, wire in _COUNTS.items() if name in counts}
    facts.add_usage(counts, known, beside.get("usage"))
    facts.others |= {"modelVersion", "responseId"}  # they have names of their own here


def _read_outcome(facts: Facts, outcome: Mapping[str, Json], pending: list[str]) -> None:
    """Read the outcome, which must fit the finish reason, and name the calls without a result."""
    kind = outcome["type"]
    facts.ended_well = kind == "success" and (bool(pending) or facts.finish is not None)
    expected = "success" if pending else _OUTCOMES.get(finish_class(facts.finish) or "", kind)
    if kind != expected:
        facts.contradictions.append(("finish", expected, kind))
    if outcome.get("pendingToolCallIds", []) != pending:
        facts.contradictions.append(("calls", pending, outcome.get("pendingToolCallIds")))
