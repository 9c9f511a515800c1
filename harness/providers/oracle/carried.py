"""Gathers what canonical events, and the payloads of two dialects, carry: the other half of the
comparison with the raw body.

Everything comes as plain JSON data, so that a program in any language can be held against the same
facts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from harness.facts.account import Facts, Json, Streamed

from .gemini import camel, gather_value

_EVENT_COUNTS = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "reasoning": "thoughtsTokenCount",
    "cached": "cachedContentTokenCount",
    "tool_use": "toolUsePromptTokenCount",
    "total": "totalTokenCount",
}
_START = {"model": "modelVersion", "id": "responseId"}
_UNIFIED_COUNTS = {
    "input_tokens": "promptTokenCount",
    "output_tokens": "candidatesTokenCount",
    "reasoning_tokens": "thoughtsTokenCount",
    "cache_read_tokens": "cachedContentTokenCount",
    "total_tokens": "totalTokenCount",
}


def gather_events(events: Iterable[Mapping[str, Json]]) -> Facts:
    """The facts of candidate 0 in canonical events (``{"kind": …}``, fields at their default left
    out).
    """
    reader = _EventReader()
    for event in events:
        if not event.get("candidate") or event["kind"] == "annotation":
            reader.read(event)
    reader.facts.open_call = bool(reader.open)
    return reader.facts


class _EventReader:
    def __init__(self) -> None:
        self.facts = Facts()
        self.open: dict[int, Streamed] = {}

    def read(self, event: Mapping[str, Json]) -> None:
        """Note what one event says; kinds without a fact of ours are passed over."""
        facts, kind = self.facts, event["kind"]
        signed_as = "other"
        match kind:
            case "start":
                facts.others |= {
                    wire for name, wire in _START.items() if event.get(name) is not None
                }
            case "text" if not event.get("role"):  # what another than the model says is no answer
                facts.text += event["text"]
                signed_as = "text"
            case "reasoning":
                facts.thoughts += event["text"]
                signed_as = "thought"
            case "call_start" | "call_piece" | "call_end" | "nameless_call":
                signed_as = "call"
                self._read_call(kind, event)
            case "media":
                facts.media += 1
            case "code" | "code_result":
                facts.code += 1
            case "usage":
                count_named(facts, event, _EVENT_COUNTS, event["raw"])
            case "finish":
                facts.finish, facts.finish_message = event["raw"], event.get("message")
                facts.ended_well = event["reason"] != "failed"
            case "blocked":
                facts.block_reason = event["reason"]
            case "error":
                facts.add_error(event.get("code"), event["message"])
            case "tool_result":
                facts.others.add("functionResponse")
                status = event.get("status")
                failed = (
                    event.get("error") is not None
                    if status is None
                    else status not in ("", "success")
                )
                facts.add_result(failed, event.get("response"))
            case "notice":
                facts.notices.append(event["message"])
            case "unknown":
                read_raw(facts, event.get("raw"))
            case _:
                pass
        if event.get("signature") is not None:
            facts.signatures.append((signed_as, event["signature"]))
        facts.others |= names_in(event.get("raw"))

    def _read_call(self, kind: str, event: Mapping[str, Json]) -> None:
        match kind:
            case "call_start":
                self.open[event["call"]] = Streamed({})
                self.facts.calls.append((event["name"], self.open[event["call"]].arguments))
            case "call_piece" if event.get("path") and event["call"] in self.open:
                self.open[event["call"]].put(event["path"], event.get("value"))
            case "call_end" if event["call"] in self.open:
                started = self.open.pop(event["call"]).arguments
                started.clear()
                started.update(event["arguments"])
            case "nameless_call":
                self.facts.calls.append(("", event["payload"]))
            case _:
                pass


def gather_payloads_unified(payloads: Iterable[Mapping[str, Json]]) -> Facts:
    """The facts in the payloads of the ``unified-llm`` dialect."""
    facts = Facts()
    drafts: dict[str, str] = {}
    for payload in payloads:
        _read_unified(facts, drafts, payload)
    for name_and_id, draft in drafts.items():
        facts.calls.append((name_and_id.partition(" ")[0], json.loads(draft or "{}")))
    facts.open_call = bool(drafts)
    return facts


def _read_unified(facts: Facts, drafts: dict[str, str], payload: Mapping[str, Json]) -> None:
    call = payload.get("tool_call") or {}
    key = f"{call.get('name', '')} {call.get('id', '')}"
    match payload["type"]:
        case "TEXT_DELTA":
            facts.text += payload["delta"]
        case "REASONING_DELTA":
            facts.thoughts += payload["reasoning_delta"]
        case "TEXT_END":
            _sign(facts, "text", payload.get("signature"))
        case "REASONING_END":
            _sign(facts, "thought", payload.get("signature"))
        case "TOOL_CALL_START":
            drafts[key] = ""
        case "TOOL_CALL_DELTA":
            drafts[key] = drafts.get(key, "") + payload["delta"]
        case "TOOL_CALL_END":
            drafts.pop(key, None)
            facts.calls.append((call["name"], call["arguments"]))
        case "PROVIDER_EVENT":
            read_raw(facts, payload["raw"])
        case "FINISH" | "ERROR":
            _read_unified_end(facts, payload)
        case _:
            pass
    _sign(facts, "call", call.get("signature"))


def read_raw(facts: Facts, raw: Json) -> None:
    """A piece of wire data in its own shape: its media, code and signature are facts; a tool's
    result may also come as its event.

    Its text is none of this answer: it is another candidate's.
    """
    match raw:
        case {"kind": "tool_result"} if not raw.get("candidate"):
            facts.others.add("functionResponse")
            _sign(facts, "other", raw.get("signature"))
        case {"kind": str(), "candidate": int()}:
            return
        case {}:
            inside = gather_value({"candidates": [{"content": {"parts": [raw]}}]})
            facts.media += inside.media
            facts.code += inside.code
            facts.signatures += inside.signatures
        case str():
            facts.unreadable.append(raw)
        case _:
            facts.unreadable.append(json.dumps(raw))
    facts.others |= names_in(raw)


def _read_unified_end(facts: Facts, payload: Mapping[str, Json]) -> None:
    finish = payload.get("finish_reason") or {}
    facts.finish, facts.finish_message = finish.get("raw"), finish.get("message")
    usage = payload.get("usage") or {}
    count_named(facts, usage, _UNIFIED_COUNTS, usage.get("raw"))
    if "response" in payload:
        _check_response(facts, payload["response"])
    error = payload.get("error")
    if error is not None and error["type"] != "StreamError":
        facts.add_error(error.get("status_code"), error["message"])


def _check_response(facts: Facts, response: Mapping[str, Json]) -> None:
    """The Response of the last payload must say what the stream said."""
    parts = response["message"]["content"]
    said = {
        "text": (facts.text, "".join(part["text"] for part in parts if part["kind"] == "text")),
        "thoughts": (
            facts.thoughts,
            "".join(part["thinking"]["text"] for part in parts if part["kind"] == "thinking"),
        ),
        "calls": (
            facts.calls,
            [
                (c["name"], c["arguments"])
                for p in parts
                if p["kind"] == "tool_call"
                for c in [p["tool_call"]]
            ],
        ),
    }
    facts.contradictions += [
        f"the Response has other {what} than the stream"
        for what, (once, twice) in said.items()
        if once != twice
    ]


def gather_payloads_anthropic(
    payloads: Iterable[Mapping[str, Json]], session_signatures: Mapping[str, str | None]
) -> Facts:
    """The facts in the payloads of the ``anthropic`` dialect; ``session_signatures``: tool id →
    signature that the session remembers.
    """
    facts = Facts()
    block: dict[str, Json] = {}
    for payload in payloads:
        match payload["type"]:
            case "message_start":
                _count_anthropic(facts, payload["message"].get("usage"))
            case "content_block_start":
                block = {**payload["content_block"], "json": "", "said": False}
            case "content_block_delta":
                _read_delta(facts, block, payload["delta"])
            case "content_block_stop":
                _close_block(facts, block, session_signatures)
                block = {}
            case "message_delta":
                facts.finish = payload["delta"].get("stop_reason")
                _count_anthropic(facts, payload.get("usage"))
            case "error":
                facts.add_error(None, payload["error"]["message"])
            case "unknown":
                read_raw(facts, payload.get("raw"))
            case _:
                pass
    if block.get("type") == "tool_use":
        _close_block(facts, block, session_signatures)
        facts.open_call = True
    return facts


def _read_delta(facts: Facts, block: dict[str, Json], delta: Mapping[str, Json]) -> None:
    match delta["type"]:
        case "text_delta":
            facts.text += delta["text"]
        case "thinking_delta":
            facts.thoughts += delta["thinking"]
            block["said"] = True
        case "signature_delta":
            facts.signatures.append(("thought" if block["said"] else "text", delta["signature"]))
        case "input_json_delta":
            block["json"] += delta["partial_json"]
        case _:
            pass


def _close_block(
    facts: Facts, block: Mapping[str, Json], session_signatures: Mapping[str, str | None]
) -> None:
    if block.get("type") == "tool_use":
        facts.calls.append((block["name"], json.loads(block["json"] or "{}")))
        _sign(facts, "call", session_signatures.get(block["id"]))


def _count_anthropic(facts: Facts, usage: Mapping[str, Json] | None) -> None:
    """Counts under the dialect's own names, since it adds and subtracts the wire's."""
    facts.usage |= {name: count for name, count in (usage or {}).items() if isinstance(count, int)}


def _sign(facts: Facts, kind: str, signature: str | list[str] | None) -> None:
    if signature is not None:
        facts.signatures += [
            (kind, one) for one in (signature if isinstance(signature, list) else [signature])
        ]


def count_named(
    facts: Facts, counts: Mapping[str, Json], names: Mapping[str, str], raw: Json
) -> None:
    """The counts that have a name of their own; from the raw object only those that have none, lest
    it hides that one is missing.
    """
    facts.usage |= {
        name: count for name, count in _whole_numbers(raw).items() if name not in names.values()
    }
    facts.usage |= {
        wire: counts[name] for name, wire in names.items() if counts.get(name) is not None
    }


def _whole_numbers(raw: Json) -> dict[str, int]:
    return dict(gather_value({"usageMetadata": raw}).usage)


def names_in(raw: Json) -> set[str]:
    """The camelCase names of every field inside a piece of wire data, however deep."""
    pending, names = [raw], set[str]()
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            names |= {camel(name) for name in item}
            pending += item.values()
        elif isinstance(item, list):
            pending += item
    return names
