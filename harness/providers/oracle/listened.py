"""Gathers what the payloads of the three event models carry that carry a part of an answer only:
agent-events, art and mind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts.account import Facts, Json

from .carried import count_named, read_raw
from .gemini_cli import count_stats
from .partial import LIST_TOOL

_ART_COUNTS = {
    "inputTokens": "promptTokenCount",
    "outputTokens": "candidatesTokenCount",
    "thinkingTokens": "thoughtsTokenCount",
}
_BLOCKED = "Gemini API call blocked: "


def gather_payloads_agent_events(payloads: Iterable[Mapping[str, Json]]) -> Facts:
    """The facts in AgentEvents. What the system says is no answer."""
    facts = Facts()
    for payload in payloads:
        match payload["type"]:
            case "text" if payload.get("role") != "system":
                facts.text += payload["text"]
            case "tool.started":
                facts.calls.append((payload["toolName"], payload["input"]))
            case "todo_list":
                facts.calls.append((LIST_TOOL, {"items": payload["items"]}))
            case "tool.completed":
                facts.add_result("error" in payload, payload.get("output"))
            case "error" if payload.get("code") == "JSONL_PARSE_ERROR":
                facts.unreadable.append(payload["error"])
            case "error":
                facts.add_error(None, payload["error"])
            case "turn.completed":
                facts.finish = payload["finishReason"]
            case _:
                pass
    return facts


def gather_payloads_art(payloads: Iterable[Mapping[str, Json]]) -> Facts:
    """The facts in the StreamEvents of ART."""
    facts = Facts()
    for payload in payloads:
        data = payload["data"]
        match payload["type"]:
            case "TOKEN" if payload["tokenType"].endswith("LLM_THINKING"):
                facts.thoughts += data
            case "TOKEN":
                facts.text += data
            case "METADATA":
                facts.finish = data.get("stopReason")
                _count_art(facts, data, data.get("providerRawUsage") or {})
            case "ERROR" if data["message"].startswith(_BLOCKED):
                facts.block_reason = data["message"].removeprefix(_BLOCKED)
            case "ERROR":
                code = data.get("code")
                facts.add_error(code if isinstance(code, int) else None, data["message"])
            case "UNKNOWN":
                read_raw(facts, data)
            case _:
                pass
    return facts


def _count_art(facts: Facts, data: Mapping[str, Json], raw: dict[str, Json]) -> None:
    """The counts that have a field of their own, and from the provider's object, in whichever
    words, the others.
    """
    stated = Facts()
    if "models" in raw or "total_tokens" in raw:
        count_stats(stated, raw)
    facts.usage |= {
        name: count for name, count in stated.usage.items() if name not in _ART_COUNTS.values()
    }
    count_named(facts, data, _ART_COUNTS, raw)


def gather_payloads_mind(payloads: Iterable[Mapping[str, Json]]) -> Facts:
    """The facts in the records of mind; ``finish`` is the record that ends them, by its code if it
    is an error.
    """
    facts = Facts()
    for payload in payloads:
        match payload["type"]:
            case "assistant":
                facts.text += "".join(content["text"] for content in payload["message"]["content"])
            case "tool_code":
                facts.calls.append((payload["name"], payload["args"]))
            case "tool_result":
                result = payload["result"]
                facts.add_result("error" in result, result)
            case "result":
                facts.finish = "result"
                if payload["result"] != facts.text:
                    facts.contradictions.append("the result has other text than the messages")
            case "error":
                facts.finish = payload["code"]
                facts.add_error(None, payload["message"])
            case _:
                pass
    return facts
