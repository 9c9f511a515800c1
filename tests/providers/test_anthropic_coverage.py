"""Every word of Anthropic's Messages API occurs in an exchange of a case of
specs/anthropic-messages.

A separate scanner finds the words in the bytes of the exchanges. The tables are the vocabulary of
the API's pages and of the types of the client `anthropic` 2.12.0.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest

from harness.cassettes import Exchange
from tests.support.word_coverage import (
    Shown,
    Vocabulary,
    Words,
    all_words,
    assert_shown,
    words_of_cases,
)

from .test_wire_coverage import documents, objects

DOCS: Final = "https://platform.claude.com/docs/en"
TYPES: Final = "https://github.com/anthropics/anthropic-sdk-python"
SPEC: Final = "anthropic-messages"

VOCABULARY: Final[Vocabulary] = {
    "event": (
        f"{DOCS}/build-with-claude/streaming",
        [
            *("message_start", "content_block_start", "content_block_delta"),
            *("content_block_stop", "message_delta", "message_stop", "ping", "error", "message"),
        ],
    ),
    "block": (
        TYPES,
        [
            *("text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"),
            *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
            *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
            *("tool_search_tool_result", "advisor_tool_result", "mcp_tool_use", "mcp_tool_result"),
            *("compaction", "fallback", "container_upload"),
        ],
    ),
    "delta": (
        TYPES,
        [
            *("text_delta", "input_json_delta", "thinking_delta", "signature_delta"),
            *("citations_delta", "compaction_delta"),
        ],
    ),
    "citation": (
        f"{DOCS}/build-with-claude/citations",
        [
            *("char_location", "page_location", "content_block_location"),
            *("web_search_result_location", "search_result_location"),
        ],
    ),
    "tool of the service": (
        TYPES,
        [
            *("web_search", "web_fetch", "code_execution", "bash_code_execution"),
            *("text_editor_code_execution", "tool_search_tool_bm25", "tool_search_tool_regex"),
            "advisor",
        ],
    ),
    "message field": (
        TYPES,
        [
            *("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"),
            *("stop_details", "container", "context_management", "diagnostics"),
            "input_transformations",
        ],
    ),
    "usage field": (
        TYPES,
        [
            *("input_tokens", "output_tokens", "cache_read_input_tokens", "service_tier"),
            *("cache_creation_input_tokens", "cache_creation", "inference_geo", "iterations"),
            *("output_tokens_details", "server_tool_use"),
        ],
    ),
    "stop reason": (
        f"{DOCS}/build-with-claude/handling-stop-reasons",
        [
            *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"),
            *("model_context_window_exceeded", "compaction"),
        ],
    ),
    "error": (
        f"{DOCS}/api/errors",
        [
            *("400:invalid_request_error", "401:authentication_error", "402:billing_error"),
            *("403:permission_error", "404:not_found_error", "413:request_too_large"),
            *("429:rate_limit_error", "500:api_error", "504:timeout_error"),
            *("529:overloaded_error", "200:overloaded_error", "200:api_error"),
        ],
    ),
    "end": (TYPES, ["complete", "cut"]),
}


def read_words(exchange: Exchange) -> Words:
    """The words of one exchange, by table."""
    words: Words = {table: set() for table in VOCABULARY}
    for _, document in documents(exchange.body.decode("utf-8", "replace")):
        for item in objects(document):
            note_object(words, item)
        if isinstance(document, dict) and isinstance(document.get("error"), dict):
            words["error"].add(f"{exchange.status}:{document['error'].get('type')}")
    words["end"].add(exchange.end)
    return words


def note_object(words: Words, item: dict[str, Any]) -> None:
    kind = str(item.get("type"))
    for table in ("event", "block", "delta", "citation"):
        words[table].add(kind)
    if kind == "server_tool_use":
        words["tool of the service"].add(str(item.get("name")))
    if kind in ("message", "message_delta"):
        words["message field"].update(item)
        words["message field"].update(item.get("delta") or ())
    words["usage field"].update(item.get("usage") or ())
    words["stop reason"].add(str(item.get("stop_reason")))


@cache
def shown() -> Shown:
    return words_of_cases(SPEC, read_words)


@pytest.mark.parametrize(("table", "word"), all_words(VOCABULARY))
def test_every_word_is_in_an_exchange_of_a_case(table: str, word: str) -> None:
    assert_shown(SPEC, shown(), VOCABULARY, table, word)
