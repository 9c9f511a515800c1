"""The rules of the table of models: each refused row refuses its models, and no others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.providers import Identity
from harness.server.refusals import MODEL_RULES, RULES, find_broken_rules, given_by, read_request
from harness.server.refusals.models import Row, has_field, read_rows
from harness.server.refusals.rule import Asked
from tests.docs.model_page import rule_of
from tests.server.socket_client import USER, turn

LEVEL = "thinkingConfig.thinkingLevel"
BUDGET = "thinkingConfig.thinkingBudget"
URL = {"fileData": {"mimeType": "image/png", "fileUri": "https://example.com/a.png"}}
SCHEMA = {"type": "OBJECT", "properties": {"a": {"type": "OBJECT", "additionalProperties": False}}}


def asked(**fields: Any) -> dict[str, Any]:
    return {"contents": [USER], **fields}


def thinking(**fields: Any) -> dict[str, Any]:
    return configured(thinkingConfig=fields)


def configured(**fields: Any) -> dict[str, Any]:
    return asked(generationConfig=fields)


def declared(parameters: dict[str, Any]) -> dict[str, Any]:
    return asked(tools=[{"functionDeclarations": [{"name": "f", "parameters": parameters}]}])


def said(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"contents": [USER, turn("model", *parts), USER]}


CHAT = {"messages": [{"role": "user", "content": "Hi"}]}

# field of the table → a request with it
REQUESTS: dict[str, dict[str, Any]] = {
    f"{LEVEL}=MINIMAL": thinking(thinkingLevel="minimal"),
    f"{LEVEL}=LOW|MEDIUM": thinking(thinkingLevel="MEDIUM"),
    LEVEL: thinking(thinkingLevel="HIGH"),
    "thinkingConfig": thinking(includeThoughts=True),
    f"{BUDGET}=0": thinking(thinkingBudget=0),
    BUDGET: thinking(thinkingBudget=512),
    "presencePenalty, frequencyPenalty": configured(frequencyPenalty=0.5),
    "candidateCount>1": configured(candidateCount=2),
    "responseLogprobs, logprobs": configured(responseLogprobs=True),
    "systemInstruction": asked(systemInstruction={"parts": [{"text": "Be brief."}]}),
    "systemInstruction & responseModalities=IMAGE": configured(responseModalities=["TEXT", "IMAGE"])
    | {"systemInstruction": {"parts": [{"text": "Be brief."}]}},
    "tools.functionDeclarations": declared({"type": "OBJECT"}),
    "mediaResolution": configured(mediaResolution="MEDIA_RESOLUTION_LOW"),
    "contents.parts.mediaResolution": asked(
        contents=[turn("user", {**URL, "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}})]
    ),
    "responseMimeType=application/json": configured(responseMimeType="application/json"),
    "responseModalities=TEXT": configured(responseModalities=["TEXT"]),
    "responseModalities=IMAGE": configured(responseModalities=["IMAGE"]),
    "speechConfig, responseModalities=AUDIO": configured(responseModalities=["AUDIO"]),
    "tools.functionDeclarations.parameters.**.additionalProperties=*": declared(SCHEMA),
    "responseSchema.**.additionalProperties=*": configured(responseSchema=SCHEMA),
    "serviceTier=flex|priority": asked(serviceTier="flex"),
    "contents.parts.fileData.fileUri=https:*!https://generativelanguage.*|*youtu*": asked(
        contents=[turn("user", URL)]
    ),
    "contents.parts.thoughtSignature, contents.parts.thought": said({"text": "I", "thought": True}),
    "reasoning_effort=minimal": {**CHAT, "reasoning_effort": "minimal"},
    "frequency_penalty, presence_penalty": {**CHAT, "frequency_penalty": 0.5},
    "seed": {**CHAT, "seed": 1},
    "top_k, extra_body, reasoning": {**CHAT, "extra_body": {"google": {}}},
    "generation_config.thinking_level=minimal": {
        "model": "gemini-3.7-flash",
        "input": "Hi",
        "generation_config": {"thinking_level": "minimal"},
    },
}
ROWS = read_rows()
NAMES = {rule.name for rule in MODEL_RULES}
REFUSED = [row for row in ROWS if row.verdict == "refused" and rule_of(row) in NAMES]


def broken(wire: str, model: str, request: dict[str, Any]) -> set[str]:
    """The rules of the table that a request breaks."""
    identity = Identity(wire, generates=True, model=model)
    body = json.dumps(request).encode()
    rules = find_broken_rules(body, identity, lambda: given_by([]))
    return {item.rule.name for item in rules} & NAMES


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row.field} {row.api} {row.models}")
def test_a_row_refuses_its_models_and_no_others(row: Row) -> None:
    request, model = REQUESTS[row.field], row.models.split(", ")[0].replace("*", "9")
    plain = {**CHAT} if row.api == "openai-compat" else asked()
    for api in row.api.split(", "):
        assert rule_of(row) in broken(api, model, request)
        assert broken(api, model, plain) == set()
        if row.models != "*":
            assert broken(api, "gemini-9.9-other", request) == set()


def test_each_rule_of_the_table_has_a_row_with_a_request() -> None:
    assert {rule_of(row) for row in REFUSED} == NAMES


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.verdict != "refused" and row.field in REQUESTS],
    ids=lambda row: f"{row.field} {row.api} {row.models}",
)
def test_an_accepted_row_is_not_refused(row: Row) -> None:
    for api in row.api.split(", "):
        for model in row.models.split(", "):
            assert broken(api, model.replace("*", "9"), REQUESTS[row.field]) == set()


def test_each_refused_row_of_a_served_api_names_a_rule() -> None:
    wires = {(rule.name, wire) for rule in RULES for wire in rule.wires}
    for row in ROWS:
        assert row.verdict in {"accepted", "refused", "ignored"}
        assert row.kind in {"recording", "live probe", "thread", "documentation"}
        assert all(url.startswith("https://") for url in row.urls)
        if row.rule or (row.verdict == "refused" and row.api != "live-api"):
            assert wires & {(rule_of(row), api) for api in row.api.split(", ")}, row


@pytest.mark.parametrize(
    ("kind", "source", "level"),
    [
        ("recording", "a/b name", "api"),
        ("live probe", "a/b#1", "api"),
        ("thread", "a/b#1, c/d#2", "api"),
        ("thread", "a/b#1", "warning"),
        ("documentation", "https://example.com", "warning"),
    ],
)
def test_the_level_of_a_rule_is_that_of_its_evidence(kind: str, source: str, level: str) -> None:
    row = Row("seed", "gemini-api", "*", "refused", "", source, kind, "seed")
    assert row.level == level


@pytest.mark.parametrize(
    ("form", "settings", "has"),
    [
        ("thinkingConfig.thinkingBudget=0", {"thinkingConfig": {"thinkingBudget": "0"}}, True),
        ("thinkingConfig.thinkingBudget=0", {"thinkingConfig": {}}, False),
        ("candidateCount>1", {"candidateCount": 1}, False),
        ("responseModalities=text|image", {"responseModalities": ["AUDIO", "IMAGE"]}, True),
        ("responseLogprobs, logprobs", {"responseLogprobs": False}, False),
        ("responseLogprobs & logprobs", {"responseLogprobs": True}, False),
        ("seed=*", {"seed": 0}, True),
        ("responseMimeType=text/*!*plain", {"responseMimeType": "text/x.enum"}, True),
        ("responseMimeType=text/*!*plain", {"responseMimeType": "text/plain"}, False),
        ("seed", {"seed": 0}, False),
        ("responseSchema.**.default=*", {"responseSchema": {"items": {"default": False}}}, True),
        ("responseSchema.**.default=*", {"responseSchema": {"properties": {"default": {}}}}, False),
    ],
)
def test_the_form_of_a_field(form: str, settings: dict[str, Any], has: bool) -> None:
    identity = Identity("gemini-api", generates=True, model="m")
    request = read_request(configured(**settings), identity, lambda: given_by([]))
    assert isinstance(request, Asked)
    assert has_field(request, form) is has


def test_a_field_without_a_form_is_an_error() -> None:
    identity = Identity("gemini-api", generates=True, model="m")
    request = read_request(asked(), identity, lambda: given_by([]))
    assert isinstance(request, Asked)
    with pytest.raises(ValueError, match=r"models\.tsv: 'more than 5' is not the form of a field"):
        has_field(request, "more than 5")


def test_a_refusal_cites_the_source_of_its_row() -> None:
    identity = Identity("gemini-api", generates=True, model="gemini-flash-latest")
    body = json.dumps(REQUESTS["responseLogprobs, logprobs"]).encode()
    (refused,) = find_broken_rules(body, identity, lambda: given_by([]))
    assert refused.rule.name == "log-probabilities"
    assert refused.rule.source == "https://github.com/maruel/genai"
    assert refused.message == "Logprobs is not enabled for this model"
