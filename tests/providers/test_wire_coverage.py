"""Every word of the documented wire occurs in an exchange of a case of specs/. Each event model has
a minimum number of cases and of topics.

The tables below are the vocabulary, each with the page that documents it. A separate scanner finds
the words in the bytes of the exchanges. It shares only the cassette reader with the harness, so a
word counts only if it was on the wire. If the only case for a word is removed, the test of that
word is red.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

import harness
from harness.cassettes import Exchange
from harness.cassettes.yaml import parse
from harness.dialects import DIALECTS

ROOT: Final = Path(__file__).parents[2]

FINISH_REASONS: Final = """
    FINISH_REASON_UNSPECIFIED STOP MAX_TOKENS SAFETY RECITATION LANGUAGE OTHER BLOCKLIST PROHIBITED_CONTENT SPII MALFORMED_FUNCTION_CALL
    IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_OTHER NO_IMAGE IMAGE_RECITATION UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS
    MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE ESCALATION PUP_LIMITED_DISABLED CONTINUATION MODEL_ARMOR
"""
BLOCK_REASONS: Final = "BLOCKED_REASON_UNSPECIFIED SAFETY OTHER BLOCKLIST PROHIBITED_CONTENT IMAGE_SAFETY MODEL_ARMOR JAILBREAK"
PART_KINDS: Final = """
    text thought thoughtSignature inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall
    toolResponse videoMetadata mediaResolution partMetadata audioTranscription mediaProcessing speechMetadata documentMetadata
    spreadsheetMetadata audioMetadata
"""
CALL_FIELDS: Final = "id name args partialArgs willContinue"
PIECE_FIELDS: Final = "jsonPath stringValue numberValue boolValue nullValue willContinue"
OUTCOMES: Final = "OUTCOME_OK OUTCOME_FAILED OUTCOME_DEADLINE_EXCEEDED"
TOOL_TYPES: Final = (
    "GOOGLE_SEARCH_WEB GOOGLE_SEARCH_IMAGE URL_CONTEXT GOOGLE_MAPS FILE_SEARCH MEDIA_PROCESSING"
)
URL_STATUSES: Final = """
    URL_RETRIEVAL_STATUS_SUCCESS URL_RETRIEVAL_STATUS_ERROR URL_RETRIEVAL_STATUS_PAYWALL URL_RETRIEVAL_STATUS_UNSAFE
"""
REPLY_FIELDS: Final = (
    "candidates promptFeedback usageMetadata modelVersion responseId createTime modelStatus"
)
ENVELOPE_FIELDS: Final = "response traceId metadata consumedCredits remainingCredits"
CANDIDATE_FIELDS: Final = """
    content finishReason finishMessage index tokenCount avgLogprobs logprobsResult safetyRatings citationMetadata groundingMetadata
    urlContextMetadata continuationToken
"""
CITATION_KEYS: Final = "citationSources citations"
USAGE_FIELDS: Final = """
    promptTokenCount cachedContentTokenCount candidatesTokenCount thoughtsTokenCount toolUsePromptTokenCount totalTokenCount
    promptTokensDetails cacheTokensDetails candidatesTokensDetails toolUsePromptTokensDetails trafficType serviceTier
"""
MODALITIES: Final = "TEXT IMAGE VIDEO AUDIO DOCUMENT"
TRAFFIC_TYPES: Final = (
    "ON_DEMAND ON_DEMAND_PRIORITY ON_DEMAND_FLEX ON_DEMAND_OFFPEAK PROVISIONED_THROUGHPUT"
)
DETAIL_TYPES: Final = "ErrorInfo RetryInfo QuotaFailure Help BadRequest LocalizedMessage DebugInfo"

ERRORS: Final = [
    "400 INVALID_ARGUMENT",
    "400 API_KEY_INVALID",
    "400 FAILED_PRECONDITION",
    "401 UNAUTHENTICATED",
    "403 PERMISSION_DENIED",
    "403 SERVICE_DISABLED",
    "403 IAM_PERMISSION_DENIED",
    "404 NOT_FOUND",
    "409 ABORTED",
    "409 ALREADY_EXISTS",
    "429 RESOURCE_EXHAUSTED",
    "429 QUOTA_EXHAUSTED",
    "429 RATE_LIMIT_EXCEEDED",
    "499 CANCELLED",
    "500 INTERNAL",
    "503 UNAVAILABLE",
    "503 MODEL_CAPACITY_EXHAUSTED",
    "504 DEADLINE_EXCEEDED",
]
"""The number of an error, with its gRPC status or the reason in its details."""

ERROR_BODIES: Final = [
    "object",
    "one-element array",
    "legacy list",
    "no details",
    "HTML page",
    "empty body",
    "plain text",
    "bare JSON in mid-stream",
    "event in mid-stream",
]

GENERATE: Final = "https://ai.google.dev/api/generate-content"
SDK: Final = "https://googleapis.github.io/js-genai/release_docs"
VERTEX: Final = "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse"
VERTEX_CALLS: Final = (
    "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling"
)
CODE_ASSIST: Final = "https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/code_assist/converter.ts"
AIP: Final = "https://google.aip.dev/193"

VOCABULARY: Final[Mapping[str, tuple[str, list[str]]]] = {
    "finish reason": (f"{SDK}/enums/types.FinishReason.html", FINISH_REASONS.split()),
    "block reason": (f"{SDK}/enums/types.BlockedReason.html", BLOCK_REASONS.split()),
    "part kind": (f"{SDK}/interfaces/types.Part.html", PART_KINDS.split()),
    "call field": (f"{SDK}/interfaces/types.FunctionCall.html", CALL_FIELDS.split()),
    "piece of arguments": (VERTEX_CALLS, PIECE_FIELDS.split()),
    "code outcome": ("https://ai.google.dev/api/caching#Outcome", OUTCOMES.split()),
    "server-side tool": (
        "https://ai.google.dev/gemini-api/docs/tool-combination",
        TOOL_TYPES.split(),
    ),
    "URL status": (f"{GENERATE}#UrlRetrievalStatus", URL_STATUSES.split()),
    "reply field": (f"{GENERATE}#v1beta.GenerateContentResponse", REPLY_FIELDS.split()),
    "envelope field": (CODE_ASSIST, ENVELOPE_FIELDS.split()),
    "candidate field": (f"{GENERATE}#v1beta.Candidate", CANDIDATE_FIELDS.split()),
    "citation key": (VERTEX, CITATION_KEYS.split()),
    "usage field": (f"{GENERATE}#UsageMetadata", USAGE_FIELDS.split()),
    "modality": (f"{GENERATE}#Modality", MODALITIES.split()),
    "traffic type": (VERTEX, TRAFFIC_TYPES.split()),
    "error": (AIP, ERRORS),
    "error body": (AIP, ERROR_BODIES),
    "error detail": (
        "https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto",
        DETAIL_TYPES.split(),
    ),
}

CASES_AT_LEAST: Final = 40
TOPICS_AT_LEAST: Final = 25

# ------------------------------------------------------------------------------------------------
# the words on the wire


@dataclass
class Wire:
    """The words found in one exchange, by table."""

    words: dict[str, set[str]] = field(
        default_factory=lambda: {table: set() for table in VOCABULARY}
    )

    def note(self, table: str, *words: Any) -> None:
        self.words[table].update(word for word in words if isinstance(word, str))


def documents(text: str) -> Iterator[tuple[int, Any]]:
    """Every JSON object or array in a text, with its place, whatever text is around it."""
    decoder = json.JSONDecoder()
    position = 0
    while (starts := [at for mark in "{[" if (at := text.find(mark, position)) >= 0]) != []:
        position = min(starts)
        try:
            value, stop = decoder.raw_decode(text, position)
        except ValueError:
            position += 1
        else:
            yield position, value
            position = stop


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a JSON value, outer ones first."""
    match value:
        case dict():
            yield value
            inner: Iterable[Any] = value.values()
        case list():
            inner = value
        case _:
            return
    for item in inner:
        yield from objects(item)


def read_wire(exchange: Exchange) -> Wire:
    """The words of the wire in one exchange."""
    wire = Wire()
    text = exchange.body.decode("utf-8", "replace")
    placed = list(documents(text))
    for place, document in placed:
        for item in objects(document):
            note_reply(wire, item)
        if error := error_of(document):
            note_error(
                wire,
                exchange,
                document,
                error,
                in_event=text[:place].endswith("data: "),
                first=place == placed[0][0],
            )
    if exchange.status >= 400 and not placed:
        page = text.lstrip().lower()
        wire.note(
            "error body",
            "HTML page" if page.startswith("<") else "plain text" if page else "empty body",
        )
    return wire


def note_reply(wire: Wire, item: dict[str, Any]) -> None:
    """Note the words of one object of a reply. The keys show the kind of the object."""
    if "response" in item and not {"id", "toolType", "name"} & item.keys():
        wire.note("envelope field", *item)
    if {"candidates", "usageMetadata", "promptFeedback"} & item.keys():
        wire.note("reply field", *item)
    candidates = item.get("candidates")
    for candidate in (
        candidates if isinstance(candidates, list) else ()
    ):  # other outputs have a count with this name
        if isinstance(candidate, dict) and "token" not in candidate:
            note_candidate(wire, candidate)
    if isinstance(feedback := item.get("promptFeedback"), dict):
        wire.note("block reason", feedback.get("blockReason"))
    if isinstance(usage := item.get("usageMetadata"), dict):
        wire.note("usage field", *usage)
        wire.note("traffic type", usage.get("trafficType"))
        wire.note("modality", *(detail.get("modality") for detail in objects(usage)))


def note_candidate(wire: Wire, candidate: dict[str, Any]) -> None:
    wire.note("candidate field", *candidate)
    wire.note("finish reason", candidate.get("finishReason"))
    wire.note("citation key", *(candidate.get("citationMetadata") or ()))
    for url in objects(candidate.get("urlContextMetadata")):
        wire.note("URL status", url.get("urlRetrievalStatus"))
    for part in objects((candidate.get("content") or {}).get("parts")):
        wire.note("part kind", *(key for key, value in part.items() if value is not False))
        if isinstance(call := part.get("functionCall"), dict):
            wire.note("call field", *call)
            wire.note(
                "piece of arguments",
                *(key for piece in call.get("partialArgs") or () for key in piece),
            )
        wire.note("code outcome", (part.get("codeExecutionResult") or {}).get("outcome"))
        wire.note("server-side tool", (part.get("toolCall") or {}).get("toolType"))


def error_of(document: Any) -> dict[str, Any] | None:
    """The error object of a document, which may be in an array."""
    match document:
        case {"error": dict(error)} | [{"error": dict(error)}]:
            return error
    return None


def note_error(
    wire: Wire,
    exchange: Exchange,
    document: Any,
    error: dict[str, Any],
    *,
    in_event: bool,
    first: bool,
) -> None:
    number = exchange.status if exchange.status >= 400 else error.get("code")
    details = list(objects(error.get("details") or []))
    wire.note(
        "error",
        *(
            f"{number} {word}"
            for word in [error.get("status"), *(detail.get("reason") for detail in details)]
            if word
        ),
    )
    wire.note(
        "error detail",
        *(str(detail["@type"]).rpartition(".")[2] for detail in details if "@type" in detail),
    )
    wire.note("error body", "one-element array" if isinstance(document, list) else "object")
    wire.note(
        "error body",
        "legacy list" if "errors" in error else None,
        None if details else "no details",
    )
    if exchange.status < 400 and not first:
        wire.note("error body", "event in mid-stream" if in_event else "bare JSON in mid-stream")


# ------------------------------------------------------------------------------------------------
# the exchanges that the cases name


@dataclass(frozen=True)
class Named:
    """A case, with the fields that are needed here."""

    topic: str
    case: str
    dialects: tuple[str, ...]
    wire: Wire


@cache
def exchanges(cassette: str) -> tuple[Exchange, ...]:
    return harness.load(ROOT / "cassettes" / f"{cassette}.yaml").exchanges


@cache
def cases() -> tuple[Named, ...]:
    """Every case of specs/ with an expectation about a recorded answer."""
    named_cases = []
    for path in sorted((ROOT / "specs").rglob("*.yaml")):
        topic = path.relative_to(ROOT / "specs").as_posix()
        for case in parse(path.read_bytes()).get("cases", ()):
            if "prompt" in case or "turns" in case:
                continue  # these are about requests
            wire = read_wire(exchanges(case["cassette"])[case.get("exchange", 1) - 1])
            named_cases.append(
                Named(
                    topic,
                    case["case"],
                    tuple(name for name in DIALECTS if case["expect"].get(name) is not None),
                    wire,
                )
            )
    return tuple(named_cases)


def naming(table: str, word: str, among: Iterable[Named]) -> list[str]:
    """The cases whose exchange contains a word."""
    return [f"{named.topic}::{named.case}" for named in among if word in named.wire.words[table]]


@pytest.mark.parametrize(
    ("table", "word"), [(table, word) for table, (_, words) in VOCABULARY.items() for word in words]
)
def test_every_word_is_in_a_case(table: str, word: str) -> None:
    if not naming(table, word, cases()):
        pytest.fail(
            f"no case of specs/ names an exchange with the {table} {word}; see {VOCABULARY[table][0]}",
            pytrace=False,
        )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_suite_has_enough_cases_and_topics(dialect: str) -> None:
    named = [case for case in cases() if dialect in case.dialects]
    topics = {case.topic for case in named}
    print(f"{dialect}: {len(named)} stream cases over {len(topics)} topics")
    assert len(named) >= CASES_AT_LEAST
    assert len(topics) >= TOPICS_AT_LEAST


# ------------------------------------------------------------------------------------------------
# the scanner finds words and reports missing ones


def answer(body: str, status: int = 200) -> Exchange:
    return Exchange(None, status, {}, ((None, body.encode()),) if body else ())


SEEN: Final = [
    ('data: {"candidates": [{"finishReason": "SPII"}]}\r\n\r\n', 200, "finish reason", {"SPII"}),
    ('data: {"promptFeedback": {"blockReason": "SPII"}}\n\n', 200, "finish reason", set()),
    ('data: {"promptFeedback": {"blockReason": "OTHER"}}\n\n', 200, "block reason", {"OTHER"}),
    (
        '[{"candidates": [{"content": {"parts": [{"text": "finishReason: STOP", "thought": false}]}}]}\r\n]',
        200,
        "part kind",
        {"text"},
    ),
    (
        '{"candidates": [{"content": {"parts": [{"text": "{\\"finishReason\\": \\"STOP\\"}"}]}}]}',
        200,
        "finish reason",
        set(),
    ),
    (
        '{"response": {"usageMetadata": {"trafficType": "ON_DEMAND"}}, "traceId": "1"}',
        200,
        "envelope field",
        {"response", "traceId"},
    ),
    (
        '{"response": {"usageMetadata": {"trafficType": "ON_DEMAND"}}}',
        200,
        "traffic type",
        {"ON_DEMAND"},
    ),
    (
        '[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}]',
        429,
        "error body",
        {"one-element array", "no details"},
    ),
    (
        '[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}]',
        429,
        "error",
        {"429 RESOURCE_EXHAUSTED"},
    ),
    (
        'data: {"candidates": []}\n\n{"error": {"code": 503}}',
        200,
        "error body",
        {"object", "no details", "bare JSON in mid-stream"},
    ),
    (
        'data: {"candidates": []}\n\ndata: {"error": {"code": 503}}',
        200,
        "error body",
        {"object", "no details", "event in mid-stream"},
    ),
    ("<!DOCTYPE html><p>{no JSON</p>", 404, "error body", {"HTML page"}),
    ("upstream connect error", 502, "error body", {"plain text"}),
    ("", 502, "error body", {"empty body"}),
    ("", 200, "error body", set()),
]


@pytest.mark.parametrize(("body", "status", "table", "words"), SEEN)
def test_the_scanner_finds_every_word_of_an_exchange(
    body: str, status: int, table: str, words: set[str]
) -> None:
    assert read_wire(answer(body, status)).words[table] == words


def test_a_word_whose_only_case_is_gone_is_missed() -> None:
    only = [named for named in cases() if "JAILBREAK" in named.wire.words["block reason"]]
    assert only
    assert (
        naming("block reason", "JAILBREAK", [named for named in cases() if named not in only]) == []
    )
