"""Reads the facts in unified-llm StreamEvents.

They carry everything: a part without a field of its own is a PROVIDER_EVENT.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import Aspect, Facts, arguments_of, finish_class, is_malformed
from harness.stream.json_codec import Json
from harness.stream.session import Session

_COUNTS = {
    "input_tokens": "promptTokenCount",
    "output_tokens": "candidatesTokenCount",
    "reasoning_tokens": "thoughtsTokenCount",
    "cache_read_tokens": "cachedContentTokenCount",
    "total_tokens": "totalTokenCount",
    "cache_write_tokens": "cacheWriteTokenCount",
}
GOOD_ENDS = ("stop", "length", "tool_calls")
"""The reasons of an answer that is complete or has reached a limit."""
_REASONS = {"stop": "stop", "length": "length", "filter": "content_filter"}
"""A class of finish reasons → the reasons that an answer without a call may have for it."""


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session | None = None) -> Facts:
    """Return the facts in StreamEvents."""
    facts = Facts()
    drafts: dict[tuple[str, str], str] = {}
    texts: list[str] = []
    thoughts: list[str] = []
    block = None
    for payload in payloads:
        kind = payload["type"]
        if call := payload.get("tool_call"):
            _read_call(facts, drafts, payload, call)
        elif kind == "TEXT_DELTA":
            texts.append(payload["delta"])
        elif kind == "REASONING_DELTA":
            thoughts.append(payload["reasoning_delta"])
        elif kind in ("FINISH", "ERROR"):
            facts.text, facts.thoughts = "".join(texts), "".join(thoughts)
            _read_end(facts, payload)
        elif kind == "TEXT_END":
            facts.add_signature("text", payload.get("signature"))
        elif kind == "REASONING_END":
            facts.add_signature("thought", payload.get("signature"))
        elif kind == "PROVIDER_EVENT":
            facts.raw.append(payload["raw"])
        if kind == "TEXT_START":
            block = payload.get("text_id")
        elif "text_id" in payload and payload["text_id"] != block:
            facts.contradictions.append(("text", block, payload["text_id"]))
    facts.text, facts.thoughts = "".join(texts), "".join(thoughts)
    for (name, _), draft in drafts.items():
        facts.calls.append((name, arguments_of(draft)))
    facts.open_call = bool(drafts)
    return facts


def _read_call(
    facts: Facts,
    drafts: dict[tuple[str, str], str],
    payload: Mapping[str, Json],
    call: Mapping[str, Json],
) -> None:
    key = (call.get("name", ""), call.get("id", ""))
    match payload["type"]:
        case "TOOL_CALL_START":
            drafts[key] = ""
        case "TOOL_CALL_DELTA":
            drafts[key] = drafts.get(key, "") + payload["delta"]
        case "TOOL_CALL_END":
            drafts.pop(key, None)
            if isinstance(call["arguments"], dict):
                facts.calls.append((call["name"], call["arguments"]))
            else:
                facts.invalid_calls.append((call["name"], call["arguments"]))
    facts.add_signature("call", call.get("signature"))


def _read_end(facts: Facts, payload: Mapping[str, Json]) -> None:
    finish = payload.get("finish_reason") or {}
    facts.finish, facts.finish_message = finish.get("raw"), finish.get("message")
    facts.ended_well = "error" not in payload and finish.get("reason") in GOOD_ENDS
    usage = payload.get("usage") or {}
    facts.add_usage(usage, _COUNTS, usage.get("raw"))
    expected = _REASONS.get(finish_class(facts.finish) or "")
    if facts.calls:
        expected = "tool_calls"
    elif is_malformed(facts.finish):
        expected = "error"
    if facts.invalid_calls:
        expected = "error"
    if "error" not in payload and expected not in (None, finish.get("reason")):
        facts.contradictions.append(("finish", expected, finish.get("reason")))
    facts.others |= {"modelVersion", "responseId"}  # the Response has names of its own for them
    if "response" in payload:
        _check_response(facts, payload["response"])
    error = payload.get("error")
    if error is not None and error["type"] == "StreamError":
        facts.unfinished = True
    elif error is not None:
        facts.add_error(error.get("status_code"), error["message"])


def _check_response(facts: Facts, response: Mapping[str, Json]) -> None:
    """Check that the Response of the last payload repeats the text, thoughts and calls of the
    stream.
    """
    parts = response["message"]["content"]
    calls = [part["tool_call"] for part in parts if part["kind"] == "tool_call"]
    repeated: dict[Aspect, tuple[Json, Json]] = {
        "text": (facts.text, "".join(part["text"] for part in parts if part["kind"] == "text")),
        "thoughts": (
            facts.thoughts,
            "".join(part["thinking"]["text"] for part in parts if part["kind"] == "thinking"),
        ),
        "calls": (
            [*facts.calls, *facts.invalid_calls],
            sorted(
                ((call["name"], call["arguments"]) for call in calls),
                key=lambda call: isinstance(call[1], str),
            ),
        ),
    }
    facts.contradictions += [
        (name, streamed, in_response)
        for name, (streamed, in_response) in repeated.items()
        if streamed != in_response
    ]
