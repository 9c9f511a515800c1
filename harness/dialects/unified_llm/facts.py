"""Reads the facts in unified-llm StreamEvents.

They carry everything: a part without a field of its own is a PROVIDER_EVENT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.facts import (
    Aspect,
    Call,
    Error,
    Fact,
    Finish,
    Raw,
    Text,
    Thought,
    View,
    arguments_of,
    finish_class,
    is_malformed,
)
from harness.facts.detail import (
    Fields,
    FinishMessage,
    GoodEnd,
    InvalidCall,
    OpenCall,
    StatedTwice,
    Unfinished,
    signatures_of,
    usage_of,
)
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


def read_facts(
    payloads: Iterable[Mapping[str, Json]], session: Session | None = None
) -> list[Fact]:
    """Return the facts in StreamEvents."""
    facts: list[Fact] = []
    drafts: dict[tuple[str, str], str] = {}
    block = None
    for payload in payloads:
        kind = payload["type"]
        if call := payload.get("tool_call"):
            facts += _call(drafts, payload, call)
        elif kind == "TEXT_DELTA":
            facts.append(Text(payload["delta"]))
        elif kind == "REASONING_DELTA":
            facts.append(Thought(payload["reasoning_delta"]))
        elif kind in ("FINISH", "ERROR"):
            facts += _end(facts, payload)
        elif kind == "TEXT_END":
            facts += signatures_of("text", payload.get("signature"))
        elif kind == "REASONING_END":
            facts += signatures_of("thought", payload.get("signature"))
        elif kind == "PROVIDER_EVENT":
            facts.append(Raw(payload["raw"]))
        if kind == "TEXT_START":
            block = payload.get("text_id")
        elif "text_id" in payload and payload["text_id"] != block:
            facts.append(StatedTwice("text", block, payload["text_id"]))
    facts += (OpenCall(name, arguments_of(draft)) for (name, _), draft in drafts.items())
    return facts


def _call(
    drafts: dict[tuple[str, str], str], payload: Mapping[str, Json], call: Mapping[str, Json]
) -> Iterator[Fact]:
    key = (call.get("name", ""), call.get("id", ""))
    match payload["type"]:
        case "TOOL_CALL_START":
            drafts[key] = ""
        case "TOOL_CALL_DELTA":
            drafts[key] = drafts.get(key, "") + payload["delta"]
        case "TOOL_CALL_END":
            drafts.pop(key, None)
            if isinstance(call["arguments"], dict):
                yield Call(None, call["name"], call["arguments"])
            else:
                yield InvalidCall(call["name"], call["arguments"])
    yield from signatures_of("call", call.get("signature"))


def _end(before: Sequence[Fact], payload: Mapping[str, Json]) -> Iterator[Fact]:
    finish = payload.get("finish_reason") or {}
    raw = finish.get("raw")
    yield from [Finish(raw)] if raw else []
    yield FinishMessage(finish.get("message"))
    if "error" not in payload and finish.get("reason") in GOOD_ENDS:
        yield GoodEnd()
    usage = payload.get("usage") or {}
    yield from usage_of(usage, _COUNTS, usage.get("raw"))
    expected = _REASONS.get(finish_class(raw) or "")
    if any(isinstance(fact, Call) for fact in before):
        expected = "tool_calls"
    elif is_malformed(raw):
        expected = "error"
    if any(isinstance(fact, InvalidCall) for fact in before):
        expected = "error"
    if "error" not in payload and expected not in (None, finish.get("reason")):
        yield StatedTwice("finish", expected, finish.get("reason"))
    # the Response has names of its own for them
    yield Fields(frozenset({"modelVersion", "responseId"}))
    if "response" in payload:
        yield from _contradictions(View(before), payload["response"])
    error = payload.get("error")
    if error is not None and error["type"] == "StreamError":
        yield Unfinished()
    elif error is not None:
        yield Error(error.get("status_code"), error["message"])


def _contradictions(view: View, response: Mapping[str, Json]) -> Iterator[Fact]:
    """Yield each contradiction to the text, thoughts and calls of the stream, which the Response of
    the last payload repeats.
    """
    parts = response["message"]["content"]
    calls = [part["tool_call"] for part in parts if part["kind"] == "tool_call"]
    repeated: dict[Aspect, tuple[Json, Json]] = {
        "text": (view.text, "".join(part["text"] for part in parts if part["kind"] == "text")),
        "thoughts": (
            view.thoughts,
            "".join(part["thinking"]["text"] for part in parts if part["kind"] == "thinking"),
        ),
        "calls": (
            [*view.calls, *view.invalid_calls],
            sorted(
                ((call["name"], call["arguments"]) for call in calls),
                key=lambda call: isinstance(call[1], str),
            ),
        ),
    }
    for name, (streamed, in_response) in repeated.items():
        if streamed != in_response:
            yield StatedTwice(name, streamed, in_response)
