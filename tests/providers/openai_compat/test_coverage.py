"""Every fact of the documented wire of Gemini's OpenAI-compatible endpoint occurs in an exchange of
a case of specs/openai-compat.

A separate scanner reads the facts from the bytes of the exchanges. It shares only the cassette
reader with the harness. The tables follow the endpoint's pages, and its differences from OpenAI's
Chat Completions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest

from harness.cassettes import Exchange
from harness.cassettes.yaml import parse
from harness.dialects import DIALECTS
from tests.providers.test_wire_coverage import ROOT, documents, objects
from tests.support.word_coverage import (
    Shown,
    Vocabulary,
    Words,
    all_words,
    assert_shown,
    naming,
    words_of_cases,
)

DOC: Final = "https://ai.google.dev/gemini-api/docs/openai"
VERTEX: Final = "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview"
CHAT: Final = "https://platform.openai.com/docs/api-reference/chat-streaming"
ERRORS: Final = "https://ai.google.dev/gemini-api/docs/troubleshooting"

VOCABULARY: Final[Vocabulary] = {
    "chunk field": (CHAT, ["choices", "created", "id", "model", "object", "usage"]),
    "field of plain servers": (
        CHAT,
        ["system_fingerprint", "service_tier", "obfuscation", "logprobs", "refusal"],
    ),
    "object": (CHAT, ["chat.completion", "chat.completion.chunk"]),
    "choice field": (CHAT, ["delta", "message", "finish_reason", "index"]),
    "delta field": (
        DOC,
        [
            "role",
            "content",
            "tool_calls",
            "extra_content",
            "refusal",
            "function_call",
            "thought_signature",
        ],
    ),
    "call field": (DOC, ["id", "type", "function", "extra_content", "index"]),
    "function field": (DOC, ["name", "arguments"]),
    "vendor": (VERTEX, ["google", "vertex"]),
    "extra field": (DOC, ["thought", "thought_signature"]),
    "place of a signature": (DOC, ["call", "text", "no content", "message", "old field alone"]),
    "style of ids": (DOC, ["empty", "8 characters", "function-call-", "call_", "call_ and 24"]),
    "calls": (
        DOC,
        [
            *("whole", "in pieces", "one a chunk", "several in a chunk", "same index"),
            *("piece without an id", "arguments that are no object", "no arguments"),
        ],
    ),
    "finish reason": (
        CHAT,
        [
            *("stop", "length", "tool_calls", "function_call", "content_filter"),
            *("content_filter and more", "function_call_filter and more", "a word in capitals"),
            *("an unknown word", "none", "stop beside a call", "no content"),
        ],
    ),
    "usage": (CHAT, ["three counts", "details", "beside a choice", "without choices", "none"]),
    "total": (DOC, ["the sum", "more than the sum"]),
    "thought": (
        DOC,
        ["tag and mark", "tag alone", "mark alone", "split tag", "mark and signature", "unary"],
    ),
    "model": (DOC, ["as it is", "models/", "google/", "gemma"]),
    "address": (DOC, ["Gemini API", "Vertex AI"]),
    "stream end": (CHAT, ["[DONE]", "no [DONE]", "cut", "reset"]),
    "request": (
        DOC,
        ["stream_options", "tools", "n", "extra_body", "functions", "thought_tag_marker"],
    ),
    "HTTP error": (ERRORS, ["400", "401", "429", "502"]),
    "form of an error": (
        ERRORS,
        ["object", "one-element array", "no JSON", "event", "array in an event", "bare", "details"],
    ),
    "difference from OpenAI": (
        DOC,
        ["alphabetical keys", "text beside the first role", "role again", "content absent"],
    ),
}
"""The words of each table, and the page that documents them."""


def read_words(exchange: Exchange) -> Words:
    """The words of one exchange, by table."""
    words: Words = {table: set() for table in VOCABULARY}
    text = exchange.body.decode("utf-8", "replace")
    values = [document for _, document in documents(text)]
    messages = [item for item in values if isinstance(item, dict) and "choices" in item]
    for message in messages:
        note_message(words, message)
    holders = list(holders_of(messages))
    note_calls(words, holders)
    note_thoughts(words, messages, holders)
    note_ends(words, exchange, messages, text)
    note_errors(words, exchange, values, text)
    note_request(words, exchange)
    roles = ["role" in holder for _, holder in holders]
    words["difference from OpenAI"] |= {"role again"} if sum(roles) > 1 else set()
    if holders and "role" in holders[0][1] and holders[0][1].get("content"):
        words["difference from OpenAI"].add("text beside the first role")
    return words


def holders_of(messages: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(choice, its delta or message) of every choice with index 0."""
    for message in messages:
        for choice in message["choices"]:
            if not choice.get("index"):
                yield choice, choice.get("delta") or choice.get("message") or {}


def note_message(words: Words, message: dict[str, Any]) -> None:
    words["chunk field"].update(message)
    words["field of plain servers"].update(message)
    words["object"].add(str(message.get("object")))
    model = str(message.get("model"))
    words["model"].update(
        name for name in ("models/", "google/", "gemma") if model.startswith(name)
    )
    words["model"].add("as it is" if "/" not in model else "")
    if list(message) == sorted(message):
        words["difference from OpenAI"].add("alphabetical keys")
    usage = message.get("usage")
    if isinstance(usage, dict):
        words["usage"].add("beside a choice" if message["choices"] else "without choices")
        words["usage"].add("details" if "prompt_tokens_details" in usage else "three counts")
        more = usage["total_tokens"] > usage["prompt_tokens"] + usage["completion_tokens"]
        words["total"].add("more than the sum" if more else "the sum")
    for choice in message["choices"]:
        words["choice field"].update(choice)
        words["field of plain servers"].update(choice)
        holder = choice.get("delta") or choice.get("message") or {}
        words["delta field"].update(holder)
        words["field of plain servers"].update(holder)
        note_signatures(words, holder, "message" in choice)


def note_signatures(words: Words, holder: dict[str, Any], is_message: bool) -> None:
    for item in objects(holder):
        extra = item.get("extra_content")
        if isinstance(extra, dict):
            words["vendor"].update(extra)
            for inner in extra.values():
                words["extra field"].update(inner)
    signed = "thought_signature" in str(holder.get("extra_content"))
    if any("extra_content" in call for call in holder.get("tool_calls") or ()):
        words["place of a signature"].add("call")
    if signed:
        place = "message" if is_message else "text" if holder.get("content") else "no content"
        words["place of a signature"].add(place)
    elif "thought_signature" in holder:
        words["place of a signature"].add("old field alone")


def note_calls(words: Words, holders: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    lists = [calls for _, holder in holders if (calls := holder.get("tool_calls"))]
    pieces = [call for calls in lists for call in calls]
    for call in pieces:
        function = call.get("function", {})
        words["call field"].update(call)
        words["function field"].update(function)
        note_id(words, call)
        arguments = function.get("arguments", "")
        if "name" not in function:
            words["calls"].add("in pieces")
            words["calls"].update(() if "id" in call else {"piece without an id"})
        elif arguments.startswith("{") and arguments.endswith("}"):
            words["calls"].add("whole")
        words["calls"].update({"no arguments"} if not arguments or arguments == "{}" else ())
    named = [call for call in pieces if "name" in call.get("function", {})]
    if any(len(calls) > 1 for calls in lists):
        words["calls"].add("several in a chunk")
    elif len(named) > 1:
        words["calls"].add("one a chunk")
    indexes = [call["index"] for call in named if "index" in call]
    words["calls"].update({"same index"} if len({*indexes}) < len(indexes) else ())
    text = "".join(call.get("function", {}).get("arguments", "") for call in pieces)
    words["calls"].update(
        {"arguments that are no object"} if text.count("{") > text.count("}") else ()
    )


def note_id(words: Words, call: dict[str, Any]) -> None:
    styles = {
        "empty": "",
        "8 characters": "[a-z0-9]{8}",
        "function-call-": r"function-call-\d+",
        "call_": r"call_\d+",
        "call_ and 24": "call_[A-Za-z0-9]{24}",
    }
    given = call.get("id")
    if isinstance(given, str):
        words["style of ids"].update(n for n, style in styles.items() if re.fullmatch(style, given))


def note_thoughts(
    words: Words,
    messages: list[dict[str, Any]],
    holders: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    contents = [str(holder.get("content") or "") for _, holder in holders]
    whole = "".join(contents)
    tag = re.search(r"<(thought|think)>", whole)
    marked = any('"thought": True' in str(h).replace("'", '"') for _, h in holders)
    signed = any("thought_signature" in str(h.get("extra_content")) for _, h in holders)
    if tag and not any(tag[0] in content for content in contents):
        words["thought"].add("split tag")
    elif tag:
        words["thought"].add("tag and mark" if marked else "tag alone")
    elif marked:
        words["thought"].add("mark and signature" if signed else "mark alone")
    if tag and messages[0].get("object") == "chat.completion":
        words["thought"].add("unary")


def note_ends(words: Words, exchange: Exchange, messages: list[dict[str, Any]], text: str) -> None:
    holders = list(holders_of(messages))
    reasons = [choice["finish_reason"] for choice, _ in holders if choice.get("finish_reason")]
    called = any(holder.get("tool_calls") for _, holder in holders)
    for reason in reasons:
        known = re.fullmatch("stop|length|tool_calls|function_call|content_filter", reason)
        other = "a word in capitals" if reason.isupper() else "an unknown word"
        filtered = re.match("(content|function_call)_filter", reason)
        more = f"{filtered[0]} and more" if filtered else other
        words["finish reason"].add(reason if known else more)
    if reasons == ["stop"] and called:
        words["finish reason"].add("stop beside a call")
    if reasons and not called and not any(holder.get("content") for _, holder in holders):
        words["finish reason"].add("no content")
        words["difference from OpenAI"].add("content absent")
    if messages and exchange.end == "complete":
        words["finish reason"].update(() if reasons else {"none"})
        words["usage"].update(() if any(m.get("usage") for m in messages) else {"none"})
        if messages[0].get("object") == "chat.completion.chunk":
            words["stream end"].add("[DONE]" if "[DONE]" in text else "no [DONE]")
    words["stream end"].add(exchange.end)


def note_errors(words: Words, exchange: Exchange, values: list[Any], text: str) -> None:
    errors = [item for document in values for item in objects(document) if "error" in item]
    if exchange.status >= 300:
        words["HTTP error"].add(str(exchange.status))
        form = "no JSON" if not errors else "one-element array" if text[0] == "[" else "object"
        words["form of an error"].add(form)
    elif errors:
        lines = [line for line in text.splitlines() if '"error"' in line]
        form = "bare" if not lines[0].startswith("data:") else "event"
        words["form of an error"].add(
            "array in an event" if lines[0].startswith("data: [") else form
        )
    if any("details" in error["error"] for error in errors):
        words["form of an error"].add("details")


def note_request(words: Words, exchange: Exchange) -> None:
    assert exchange.request
    is_vertex = "/projects/" in exchange.request.url
    words["address"].add("Vertex AI" if is_vertex else "Gemini API")
    for _, document in documents(exchange.request.body.decode()):
        for item in objects(document):
            words["request"].update(item)


@cache
def shown() -> Shown:
    return words_of_cases("openai-compat", read_words)


@pytest.mark.parametrize(("table", "word"), all_words(VOCABULARY))
def test_every_word_is_in_a_case(table: str, word: str) -> None:
    assert_shown("openai-compat", shown(), VOCABULARY, table, word)


def test_a_word_whose_only_case_is_gone_is_missed() -> None:
    (only,) = naming("finish reason", "content_filter and more", shown())
    rest = [case for case in shown() if case[0] != only]
    assert len(rest) == len(shown()) - 1
    assert naming("finish reason", "content_filter and more", rest) == []


@pytest.mark.slow
def test_the_endpoint_has_forty_cases_with_every_event_model() -> None:
    dialects = {*DIALECTS, "events"}
    full = 0
    for path in (ROOT / "specs" / "openai-compat").glob("*.yaml"):
        for case in parse(path.read_bytes()).get("cases", ()):
            full += dialects <= {*case["expect"]}
    assert full >= 40
