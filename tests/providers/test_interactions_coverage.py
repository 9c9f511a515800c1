"""Every word of the Interactions API occurs in an exchange of a case of specs/interactions.

A separate scanner finds the words in the bytes of the exchanges. It shares only the cassette reader
with the harness. The tables are the vocabulary of the API's pages and of the types of google-genai
3.6.1.
"""

from __future__ import annotations

import re
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
    naming,
    words_of_cases,
)

from .test_wire_coverage import documents, exchanges, objects

DOCS: Final = "https://ai.google.dev/gemini-api/docs"
TYPES: Final = "https://googleapis.github.io/python-genai/"

TOOLS: Final = """
    google_search code_execution url_context google_maps file_search retrieval tool_search processing mcp_server_tool
"""
BLOCKED: Final = """
    safety recitation language prohibited_content spii blocklist image_safety image_prohibited_content image_recitation image_other
    content_blocked
"""
HTTP_ERRORS: Final = """
    400:invalid_request 400:failed_precondition 400:parameter_unknown 401:authentication 402:payment_required 403:permission_denied
    404:not_found 404:model_not_found 409:already_exists 409:aborted 416:out_of_range 429:rate_limit_exceeded 429:quota_exceeded
    429:too_many_requests 499:cancelled 500:api_error 501:unimplemented 503:service_unavailable 504:deadline_exceeded
    400:malformed_function_call
"""


def each(text: str) -> list[str]:
    return text.split()


SERVER_STEPS: Final = [f"{tool}_{role}" for tool in TOOLS.split() for role in ("call", "result")]

VOCABULARY: Final[Vocabulary] = {
    "event": (
        f"{DOCS}/streaming",
        each("""interaction.created interaction.status_update step.start step.delta step.stop
        interaction.completed error"""),
    ),
    "event of the WebSocket form": (
        TYPES,
        each(
            """interaction.connected interaction.cancelled interaction.canceled reconnection_required"""
        ),
    ),
    "message of the WebSocket form": (
        TYPES,
        ["batch", "start without an interaction", "no status", "status 0", "status of an error"],
    ),
    "event of the removed schema": (
        f"{DOCS}/interactions-breaking-changes-may-2026",
        each("""interaction.start content.start content.delta content.stop
        interaction.complete"""),
    ),
    "event field": (
        TYPES,
        each("""event_type event_id index step delta interaction interaction_id status usage metadata
        continuation_token error"""),
    ),
    "metadata field": (TYPES, each("usage total_usage")),
    "step": (
        f"{DOCS}/interactions",
        [*each("thought model_output function_call function_result user_input"), *SERVER_STEPS],
    ),
    "step field": (
        TYPES,
        each("""signature summary content error id name arguments call_id result is_error search_type
        retrieval_type server_name"""),
    ),
    "delta": (
        f"{DOCS}/streaming",
        each("""thought_summary thought_signature text text_annotation_delta image audio video document
        arguments_delta function_result""")
        + SERVER_STEPS,
    ),
    "content": (TYPES, each("text image audio video document")),
    "field of media": (TYPES, each("data uri mime_type resolution sample_rate channels")),
    "annotation": (
        TYPES,
        each("url_citation file_citation place_citation word_info speech_metadata"),
    ),
    "annotation field": (
        TYPES,
        each("""url title start_index end_index document_uri file_name page_number media_id source
        place_id name review_snippets text start_offset end_offset speaker style"""),
    ),
    "status": (
        TYPES,
        each("""in_progress requires_action completed failed cancelled incomplete budget_exceeded queued
        requires_continuation idle"""),
    ),
    "interaction field": (
        TYPES,
        each("""id object model agent status created updated service_tier steps usage errors
        continuation_token continuation_ids previous_interaction_id environment environment_id
        agent_config input system_instruction tools generation_config response_format labels
        webhook_config output_text output_image output_audio output_video"""),
    ),
    "usage field": (
        f"{DOCS}/tokens",
        each("""total_input_tokens total_output_tokens total_thought_tokens total_cached_tokens
        total_tool_use_tokens total_tokens input_tokens_by_modality output_tokens_by_modality
        cached_tokens_by_modality tool_use_tokens_by_modality grounding_tool_count
        initial_input_tokens raw_prompt_token"""),
    ),
    "modality": (TYPES, each("text image audio video document")),
    "search": (TYPES, each("web_search image_search enterprise_web_search")),
    "page": (TYPES, each("success error paywall unsafe")),
    "language": (TYPES, each("python bash")),
    "error": (
        f"{DOCS}/api-errors",
        HTTP_ERRORS.split() + [f"400:{word}" for word in BLOCKED.split()],
    ),
    "place of an error": (
        f"{DOCS}/api-errors",
        ["answer", "event", "bare line", "interaction", "step", "Google's shape", "no JSON"],
    ),
    "address": (
        f"{DOCS}/interactions-overview",
        [
            *("POST v1beta", "POST v1", "POST Vertex AI", "GET", "GET stream", "cancel"),
        ],
    ),
    "end": (TYPES, ["complete", "cut", "reset", "aborted", "without an end mark"]),
}


def read_words(exchange: Exchange) -> Words:
    """The words of one exchange, by table."""
    words: Words = {table: set() for table in VOCABULARY}
    text = exchange.body.decode("utf-8", "replace")
    values = [document for _, document in documents(text)]
    for document in values:
        for item in objects(document):
            note_object(words, item)
    for document in filter(lambda item: isinstance(item, dict), values):
        note_errors(words, exchange, document)
    if exchange.status >= 300 and not values:
        words["place of an error"].add("no JSON")
    words["address"] |= addresses(exchange)
    words["end"].add(exchange.end)
    if "interaction.completed" in words["event"] and "[DONE]" not in text:
        words["end"].add("without an end mark")
    return words


def note_web_socket(words: Words, event: dict[str, Any]) -> None:
    forms = words["message of the WebSocket form"]
    words["event of the WebSocket form"].add(event["event_type"])
    match event:
        case {"event_type": "interaction.created"} if "interaction" not in event:
            forms.add("start without an interaction")
        case {"event_type": "interaction.completed", "status": {"code": code}}:
            forms.add("status of an error" if code else "status 0")
        case {"event_type": "interaction.completed"} if "interaction" not in event:
            forms.add("no status")


def note_object(words: Words, item: dict[str, Any]) -> None:
    """Note the words of one object. Its keys show the kind of the object."""
    kind = item.get("type")
    if isinstance(item.get("events"), list):
        words["message of the WebSocket form"].add("batch")
    if "event_type" in item:
        words["event"].add(item["event_type"])
        words["event of the removed schema"].add(item["event_type"])
        note_web_socket(words, item)
        if item["event_type"] == "interaction.status_update":
            words["status"].add(item.get("status", ""))
        words["event field"].update(item)
        words["metadata field"].update(item.get("metadata") or ())
        delta = item.get("delta")
        words["delta"].add((delta or {}).get("type", ""))
        if isinstance(item.get("interaction"), dict):
            note_interaction(words, item["interaction"])
    if item.get("object") == "interaction":
        note_interaction(words, item)
    if kind in VOCABULARY["step"][1]:
        words["step"].add(kind)
        words["step field"].update(name for name, value in item.items() if value is not None)
    if kind in VOCABULARY["content"][1]:
        words["content"].add(kind)
        words["field of media"].update(item if kind != "text" else ())
    if kind in VOCABULARY["annotation"][1]:
        words["annotation"].add(kind)
        words["annotation field"].update(item)
    words["search"].add(str(item.get("search_type")))
    if "url" in item:
        words["page"].add(str(item.get("status")))
    if "code" in item:
        words["language"].add(str(item.get("language")))
    if "modality" in item:
        words["modality"].add(item["modality"])


def note_interaction(words: Words, interaction: dict[str, Any]) -> None:
    words["interaction field"].update(interaction)
    words["status"].add(interaction.get("status", ""))
    words["usage field"].update(interaction.get("usage") or ())
    if interaction.get("errors"):
        words["place of an error"].add("interaction")
    if any("error" in step for step in interaction.get("steps") or ()):
        words["place of an error"].add("step")


def note_errors(words: Words, exchange: Exchange, document: dict[str, Any]) -> None:
    error = document.get("error")
    if not isinstance(error, dict):
        return
    if exchange.status >= 300:
        words["error"].add(f"{exchange.status}:{error.get('code')}")
        place = "Google's shape" if "status" in error else "answer"
    else:
        place = "event" if document.get("event_type") == "error" else "bare line"
    words["place of an error"].add(place)


def addresses(exchange: Exchange) -> set[str]:
    assert exchange.request
    method, url = exchange.request.method, exchange.request.url
    if method == "GET":
        return {"GET stream" if "stream=true" in url and "last_event_id=" in url else "GET"}
    if url.endswith("/cancel"):
        return {"cancel"}
    if "/projects/" in url:
        return {"POST Vertex AI"}
    version = re.search(r"\.com/(v1(?:beta)?)/interactions$", url)
    return {f"POST {version[1]}"} if version else set()


@cache
def shown() -> Shown:
    return words_of_cases("interactions", read_words)


@pytest.mark.slow
@pytest.mark.parametrize(("table", "word"), all_words(VOCABULARY))
def test_every_word_is_in_a_case(table: str, word: str) -> None:
    assert_shown("interactions", shown(), VOCABULARY, table, word)


def test_a_word_whose_only_case_is_gone_is_missed() -> None:
    rest = [case for case in shown() if "budget_exceeded" not in case[1]["status"]]
    assert len(rest) < len(shown())
    assert naming("status", "budget_exceeded", rest) == []


@pytest.mark.parametrize(
    ("body", "status", "table", "words"),
    [
        ('{"event_type": "step.stop", "index": 0}', 200, "event", {"step.stop"}),
        ('{"text": "status: queued"}', 200, "status", set()),
        ('{"error": {"code": "safety"}}', 400, "error", {"400:safety"}),
        (
            'data: {"error": {"code": "x"}, "event_type": "error"}',
            200,
            "place of an error",
            {"event"},
        ),
        ('{"error": {"code": "safety"}}', 200, "place of an error", {"bare line"}),
        ("upstream connect error", 503, "place of an error", {"no JSON"}),
    ],
)
def test_the_scanner_finds_every_word_of_an_exchange(
    body: str, status: int, table: str, words: set[str]
) -> None:
    request = exchanges("interactions/text")[0].request
    exchange = Exchange(request, status, {}, ((None, body.encode()),))
    assert read_words(exchange)[table] == words
