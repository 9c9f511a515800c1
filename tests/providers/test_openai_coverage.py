"""Every word of OpenAI's two APIs occurs in an exchange of a case of specs/openai.

A separate scanner finds the words in the bytes of the exchanges. The tables are the vocabulary of
the API's pages and of the types of the client `openai` 3.54.0.
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

DOCS: Final = "https://platform.openai.com/docs"
STREAM: Final = f"{DOCS}/api-reference/responses-streaming"
RESPONSES: Final = f"{DOCS}/api-reference/responses/object"
CHAT: Final = f"{DOCS}/api-reference/chat/object"
ERRORS: Final = f"{DOCS}/guides/error-codes"
TYPES: Final = "https://github.com/openai/openai-python"
SPEC: Final = "openai"

VOCABULARY: Final[Vocabulary] = {
    "event": (
        STREAM,
        [
            *("response.created", "response.queued", "response.in_progress", "response.completed"),
            *("response.incomplete", "response.failed", "error", "keepalive"),
            *("response.output_item.added", "response.output_item.done"),
            *("response.content_part.added", "response.content_part.done"),
            *("response.output_text.delta", "response.output_text.done"),
            "response.output_text.annotation.added",
            *("response.refusal.delta", "response.refusal.done"),
            *("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"),
            *("response.reasoning_summary_text.delta", "response.reasoning_summary_text.done"),
            *("response.reasoning_text.delta", "response.reasoning_text.done"),
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.done",
            *("response.web_search_call.in_progress", "response.web_search_call.searching"),
            "response.web_search_call.completed",
            *("response.file_search_call.in_progress", "response.file_search_call.searching"),
            "response.file_search_call.completed",
            "response.code_interpreter_call.in_progress",
            "response.code_interpreter_call_code.delta",
            "response.code_interpreter_call_code.done",
            "response.code_interpreter_call.interpreting",
            "response.code_interpreter_call.completed",
            "response.image_generation_call.in_progress",
            "response.image_generation_call.generating",
            "response.image_generation_call.partial_image",
            "response.image_generation_call.completed",
            *("response.mcp_list_tools.in_progress", "response.mcp_list_tools.completed"),
            "response.mcp_list_tools.failed",
            "response.mcp_call.in_progress",
            "response.mcp_call_arguments.delta",
            "response.mcp_call_arguments.done",
            *("response.mcp_call.completed", "response.mcp_call.failed"),
        ],
    ),
    "item": (
        RESPONSES,
        [
            *("message", "reasoning", "function_call", "custom_tool_call", "web_search_call"),
            *("file_search_call", "code_interpreter_call", "image_generation_call"),
            *("computer_call", "shell_call", "shell_call_output", "local_shell_call"),
            *("apply_patch_call", "mcp_list_tools", "mcp_call", "mcp_approval_request"),
            *("tool_search_call", "tool_search_output", "program", "program_output", "compaction"),
        ],
    ),
    "part": (RESPONSES, ["output_text", "refusal", "summary_text", "reasoning_text"]),
    "annotation": (
        RESPONSES,
        ["url_citation", "file_citation", "container_file_citation", "file_path"],
    ),
    "status": (
        RESPONSES,
        ["completed", "incomplete", "failed", "in_progress", "queued", "cancelled"],
    ),
    "reason": (RESPONSES, ["max_output_tokens", "content_filter"]),
    "usage field": (
        RESPONSES,
        [
            *("input_tokens", "output_tokens", "total_tokens", "input_tokens_details"),
            *("output_tokens_details", "cached_tokens", "reasoning_tokens", "cache_write_tokens"),
            *("prompt_tokens", "completion_tokens", "prompt_tokens_details"),
            *("completion_tokens_details", "accepted_prediction_tokens"),
            *("rejected_prediction_tokens", "audio_tokens"),
        ],
    ),
    "object": (CHAT, ["chat.completion", "chat.completion.chunk", "response"]),
    "message field": (
        CHAT,
        [
            *("role", "content", "refusal", "tool_calls", "function_call", "audio", "annotations"),
            *("reasoning_content", "reasoning", "reasoning_details"),
        ],
    ),
    "chunk field": (
        CHAT,
        [
            *("id", "object", "created", "model", "choices", "usage", "service_tier"),
            *("system_fingerprint", "obfuscation"),
        ],
    ),
    "finish reason": (CHAT, ["stop", "length", "tool_calls", "content_filter", "function_call"]),
    "error": (
        ERRORS,
        [
            *("400:invalid_request_error", "401:invalid_request_error", "429:insufficient_quota"),
            *("500:server_error", "200:insufficient_quota", "200:server_error"),
        ],
    ),
    "end": (TYPES, ["complete", "cut", "[DONE]"]),
}


def read_words(exchange: Exchange) -> Words:
    """The words of one exchange, by table."""
    words: Words = {table: set() for table in VOCABULARY}
    body = exchange.body.decode("utf-8", "replace")
    for _, document in documents(body):
        for item in objects(document):
            note_object(words, item, exchange.status)
    words["end"].add(exchange.end)
    if "data: [DONE]" in body:
        words["end"].add("[DONE]")
    return words


def note_object(words: Words, item: dict[str, Any], status: int) -> None:
    for table in ("event", "item", "part", "annotation"):
        words[table].add(str(item.get("type")))
    words["object"].add(str(item.get("object")))
    words["status"].add(str(item.get("status")))
    words["finish reason"].add(str(item.get("finish_reason")))
    details, error = item.get("incomplete_details"), item.get("error")
    if isinstance(details, dict):
        words["reason"].add(str(details.get("reason")))
    if isinstance(error, dict):
        words["error"].add(f"{status}:{error.get('type') or error.get('code')}")
    if "choices" in item:
        words["chunk field"].update(item)
    for name in ("delta", "message"):
        if isinstance(item.get(name), dict):
            words["message field"].update(item[name])
    if isinstance(usage := item.get("usage"), dict):
        details = [inner for inner in usage.values() if isinstance(inner, dict)]
        words["usage field"].update(usage, *details)


@cache
def shown() -> Shown:
    return words_of_cases(SPEC, read_words)


@pytest.mark.parametrize(("table", "word"), all_words(VOCABULARY))
def test_every_word_is_in_an_exchange_of_a_case(table: str, word: str) -> None:
    assert_shown(SPEC, shown(), VOCABULARY, table, word)
