"""Shims over the payloads of our event models, as a user would write them from the docs: each
payload with its facts, and with the event model's own ids and words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from harness.dialects.ag_ui.protocol import OWN
from harness.facts import Call, Entry, Error, Fact, Finish, Text, Thought, Transcript, Usage

Payload = dict[str, Any]
Shim = Callable[[Iterable[Payload]], Iterator[tuple[Payload, list[Fact]]]]


def transcript_of_payloads(shim: str, payloads: Iterable[Payload]) -> Transcript:
    """The facts that a shim states. Raises `KeyError` if a payload lacks a field."""
    return Transcript(
        tuple(Entry(payload, tuple(facts)) for payload, facts in SHIMS[shim](payloads))
    )


def _anthropic(payloads: Iterable[Payload]) -> Iterator[tuple[Payload, list[Fact]]]:
    block: Payload = {}
    for payload in payloads:
        facts: list[Fact] = []
        match payload["type"]:
            case "message_start":
                facts = _anthropic_usage(payload["message"])
            case "content_block_start":
                block = {**payload["content_block"], "json": ""}
            case "content_block_delta":
                match payload["delta"]:
                    case {"text": text}:
                        facts = [Text(text)]
                    case {"thinking": text}:
                        facts = [Thought(text)]
                    case {"partial_json": piece}:
                        block["json"] += piece
            case "content_block_stop" if block.get("type") == "tool_use":
                facts = [Call(block["id"], block["name"], block["json"])]
            case "message_delta":
                facts = [Finish(payload["delta"]["stop_reason"]), *_anthropic_usage(payload)]
            case "error":
                facts = [Error(payload["error"]["type"], payload["error"]["message"])]
        yield payload, facts


def _anthropic_usage(payload: Payload) -> list[Fact]:
    counts = payload.get("usage") or {}
    inputs = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    given = sum(counts[name] for name in inputs if name in counts)
    known = "input_tokens" in counts
    return [Usage(input=given if known else None, output=counts.get("output_tokens"))]


def _unified_llm(payloads: Iterable[Payload]) -> Iterator[tuple[Payload, list[Fact]]]:
    for payload in payloads:
        facts: list[Fact] = []
        match payload["type"]:
            case "TEXT_DELTA":
                facts = [Text(payload["delta"])]
            case "REASONING_DELTA":
                facts = [Thought(payload["reasoning_delta"])]
            case "TOOL_CALL_END":
                call = payload["tool_call"]
                facts = [Call(call["id"], call["name"], call["arguments"])]
            case "FINISH":
                facts = [Finish(payload["finish_reason"]["reason"])]
            case "ERROR":
                error = payload["error"]
                facts = [Error(error.get("status_code") or error["type"], error["message"])]
        if usage := payload.get("usage"):
            names = ("input_tokens", "output_tokens", "reasoning_tokens", "total_tokens")
            given, output, thoughts, total = map(usage.get, names)
            facts.append(Usage(input=given, output=output, thoughts=thoughts, total=total))
        yield payload, facts


def _agent_events(payloads: Iterable[Payload]) -> Iterator[tuple[Payload, list[Fact]]]:
    for payload in payloads:
        facts: list[Fact] = []
        match payload["type"]:
            case "text" if payload.get("role") != "system":
                facts = [Text(payload["text"])]
            case "tool.started":
                facts = [Call(payload["toolId"], payload["toolName"], payload["input"])]
            case "turn.completed":
                facts = [Finish(payload["finishReason"])]
            case "error":
                facts = [Error(payload.get("code"), payload["error"])]
        yield payload, facts


def _art(payloads: Iterable[Payload]) -> Iterator[tuple[Payload, list[Fact]]]:
    for payload in payloads:
        facts: list[Fact] = []
        data = payload["data"]
        match payload["type"]:
            case "TOKEN" if payload["tokenType"].endswith("LLM_THINKING"):
                facts = [Thought(data)]
            case "TOKEN":
                facts = [Text(data)]
            case "METADATA":
                names = ("inputTokens", "outputTokens", "thinkingTokens")
                given, output, thoughts = map(data.get, names)
                usage = Usage(input=given, output=output, thoughts=thoughts)
                facts = [Finish(data.get("stopReason")), usage]
            case "ERROR":
                facts = [Error(data.get("code", data["name"]), data["message"])]
        yield payload, facts


def _mind(payloads: Iterable[Payload]) -> Iterator[tuple[Payload, list[Fact]]]:
    for payload in payloads:
        facts: list[Fact] = []
        match payload["type"]:
            case "assistant":
                facts = [Text(content["text"]) for content in payload["message"]["content"]]
            case "tool_code":
                facts = [Call(None, payload["name"], payload["args"])]
            case "result":
                facts = [Finish("incomplete" if payload.get("incomplete") else "result")]
            case "error":
                facts = [Error(payload["code"], payload["message"])]
        yield payload, facts


def _mind_result(payloads: Iterable[Payload]) -> Iterator[tuple[Payload, list[Fact]]]:
    for payload, facts in _mind(payloads):
        facts = [fact for fact in facts if not isinstance(fact, Text)]
        yield payload, [Text(payload["result"]), *facts] if payload["type"] == "result" else facts


def _ag_ui(payloads: Iterable[Payload]) -> Iterator[tuple[Payload, list[Fact]]]:
    call: Payload = {}
    for payload in payloads:
        facts: list[Fact] = []
        match payload["type"]:
            case "TEXT_MESSAGE_CONTENT":
                facts = [Text(payload["delta"])]
            case "REASONING_MESSAGE_CONTENT":
                facts = [Thought(payload["delta"])]
            case "TOOL_CALL_START":
                call = {**payload, "json": ""}
            case "TOOL_CALL_ARGS":
                call["json"] += payload["delta"]
            case "TOOL_CALL_END":
                facts = [Call(call["toolCallId"], call["toolCallName"], call["json"])]
            case "RUN_FINISHED":
                (counts,) = payload.get("usage") or [{}]
                usage = Usage(input=counts.get("inputTokens"), output=counts.get("outputTokens"))
                facts = [Finish(payload["metadata"][OWN].get("finishReason")), usage]
            case "RUN_ERROR":
                facts = [Error(payload.get("code"), payload["message"])]
        yield payload, facts


SHIMS: Final[dict[str, Shim]] = {
    "ag-ui": _ag_ui,
    "agent-events": _agent_events,
    "anthropic": _anthropic,
    "art": _art,
    "mind": _mind,
    "mind result": _mind_result,
    "unified-llm": _unified_llm,
}
