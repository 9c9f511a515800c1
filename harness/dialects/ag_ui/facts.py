"""Reads the facts in AG-UI events.

They carry everything: what has no event of its own is in a ``RAW`` event, or in the metadata of the
last event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from harness.facts import Call, Error, Fact, Finish, Raw, Text, Thought, arguments_of, finish_class
from harness.facts.detail import (
    Blocked,
    Fields,
    FinishMessage,
    GoodEnd,
    InvalidCall,
    OpenCall,
    Result,
    StatedTwice,
    signatures_of,
    usage_of,
)
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


def read_facts(
    payloads: Iterable[Mapping[str, Json]], session: Session | None = None
) -> Iterator[Fact]:
    """Yield the facts in the events of one run."""
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
                yield from _other_message(messages, payload, "text")
                yield Text(payload["delta"])
            case "REASONING_MESSAGE_CONTENT":
                yield from _other_message(messages, payload, "thought")
                yield Thought(payload["delta"])
            case "TOOL_CALL_START":
                names[payload["toolCallId"]] = payload["toolCallName"]
                drafts[payload["toolCallId"]] = ""
            case "TOOL_CALL_ARGS":
                drafts[payload["toolCallId"]] += payload["delta"]
            case "TOOL_CALL_END":
                call = payload["toolCallId"]
                yield _call(names[call], drafts.pop(call))
                pending.append(call)
            case "TOOL_CALL_RESULT":
                yield from _result(payload)
                pending = [call for call in pending if call != payload["toolCallId"]]
            case "REASONING_ENCRYPTED_VALUE":
                entity, kind = payload["entityId"], "call"
                if payload["subtype"] == "message":
                    kind = messages[entity]
                yield from signatures_of(kind, payload["encryptedValue"])
            case "RAW":
                yield Raw(payload["event"])
            case "RUN_FINISHED":
                yield from _end(payload)
                yield from _outcome(payload, pending)
            case "RUN_ERROR":
                yield from _end(payload)
                if _beside(payload).get("blockReason") is None:
                    code = payload.get("code", "")
                    yield Error(int(code) if code.isdecimal() else None, payload["message"])
    yield from (OpenCall(names[call], arguments_of(draft)) for call, draft in drafts.items())


def _other_message(
    messages: Mapping[str, str], payload: Mapping[str, Json], kind: str
) -> Iterator[Fact]:
    """Yield a contradiction if a piece of text does not belong to a message of its kind."""
    message = payload["messageId"]
    if messages.get(message) != kind:
        yield StatedTwice("text" if kind == "text" else "thoughts", [*messages], message)


def _call(name: str, text: str) -> Fact:
    arguments = arguments_of(text)
    if isinstance(arguments, dict) and text:
        return Call(None, name, arguments)
    return InvalidCall(name, text)


def _result(payload: Mapping[str, Json]) -> Iterator[Fact]:
    beside, content = _beside(payload), payload["content"]
    response = arguments_of(content) if content.startswith("{") else content
    yield Fields(frozenset({"functionResponse"}))
    failed = "error" in beside or beside.get("status") not in (None, "", "success")
    yield Result.of(failed, response)
    if "raw" in beside:
        yield Raw(beside["raw"])


def _beside(payload: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return what has no field of AG-UI."""
    beside: Mapping[str, Json] = payload.get("metadata", {}).get(OWN, {})
    return beside


def _end(payload: Mapping[str, Json]) -> Iterator[Fact]:
    beside = _beside(payload)
    if reason := beside.get("finishReason"):
        yield Finish(reason)
    yield FinishMessage(beside.get("finishMessage"))
    if (reason := beside.get("blockReason")) is not None:
        yield Blocked(reason)
    (usage,) = payload.get("usage") or [{}]
    counts = dict(usage)
    for name, total, part in (
        ("promptTokens", "inputTokens", beside.get("toolUseTokens", 0)),
        ("answerTokens", "outputTokens", usage.get("reasoningTokens", 0)),
    ):
        if total in usage:
            counts[name] = usage[total] - part
    known = {name: wire for name, wire in _COUNTS.items() if name in counts}
    yield from usage_of(counts, known, beside.get("usage"))
    yield Fields(frozenset({"modelVersion", "responseId"}))  # they have names of their own here


def _outcome(payload: Mapping[str, Json], pending: list[str]) -> Iterator[Fact]:
    """Yield whether the outcome is good. It must fit the finish reason, and name the calls without
    a result.
    """
    outcome, finish = payload["outcome"], _beside(payload).get("finishReason")
    kind = outcome["type"]
    if kind == "success" and (pending or finish is not None):
        yield GoodEnd()
    expected = "success" if pending else _OUTCOMES.get(finish_class(finish) or "", kind)
    if kind != expected:
        yield StatedTwice("finish", expected, kind)
    if outcome.get("pendingToolCallIds", []) != pending:
        yield StatedTwice("calls", pending, outcome.get("pendingToolCallIds"))
