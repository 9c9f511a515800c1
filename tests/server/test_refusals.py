"""The requests that the API refuses, as seen by google-genai."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from harness.providers import Identity
from harness.providers.gemini.spelling import published
from harness.server import Server, serve
from harness.server.refusals import (
    CHECKS,
    MODEL_RULES,
    RULES,
    fields,
    find_broken_rules,
    given_by,
)
from harness.server.refusals.fields import known_fields
from tests.server.socket_client import JSON, USER, answered, call, result, tape, turn

NEW, OLD, OTHER = "gemini-3.8-flash", "gemini-2.5-flash", "gemini-3.6-flash"
SIGNED = {"thoughtSignature": "U0lH"}
TEXT_SIGNED = {"text": "Hi", "thoughtSignature": "VEVYVA=="}
TOOL_SIGNED = {
    "toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB"},
    "thoughtSignature": "VE9PTA==",
}
OTHERS = {"text": "Hi", "thoughtSignature": "T1RIRVI="}
COUNTS = "Please ensure that the number of function response parts is equal to the number of function call parts"
NAMES = "Name cannot be empty."
BROKEN_NAME = (
    "tools[0].function_declarations[0].name: Invalid function name. Must start with a letter"
)
PARAMETERS = "tools[0].function_declarations[0].parameters"


def one_path(model: str) -> str:
    return f"/v1beta/models/{model}:generateContent"


def answer(model: str, *parts: dict[str, Any]) -> Any:
    content = {"parts": list(parts), "role": "model"}
    data = json.dumps({"candidates": [{"content": content, "finishReason": "STOP"}]}).encode()
    return answered(((None, data),), path=one_path(model), headers=JSON)


ANSWERS = tape(
    answer(NEW, call("f", **SIGNED), TEXT_SIGNED, TOOL_SIGNED),
    answer(OLD, {"text": "Hi"}),
    answer(OTHER, OTHERS),
)


def body(*contents: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"contents": list(contents), **more}


def calling(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A history with these calls and the same number of results."""
    results = [result("f") for part in parts if "functionCall" in part]
    return body(USER, turn("model", *parts), turn("user", *results), **more)


def declared(parameters: Any = None, name: str = "f", **more: Any) -> dict[str, Any]:
    declaration = {"name": name, **({"parameters": parameters} if parameters else {})}
    return body(USER, tools=[{"functionDeclarations": [declaration]}], **more)


def schema(inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "OBJECT", "properties": {"a": {"type": "STRING"}, "b": inner}}


def json_declared(inner: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"o": inner}, "$defs": {"Opt": {}}}
    declaration = {"name": "f", "parametersJsonSchema": parameters}
    return body(USER, tools=[{"functionDeclarations": [declaration]}])


def answering(**result_fields: Any) -> dict[str, Any]:
    """A history with a call and its result."""
    answered = {"functionResponse": {"name": "f", "response": {"r": 1}, **result_fields}}
    return body(USER, turn("model", call("f", **SIGNED)), turn("user", answered))


CALL = call("f", **SIGNED)
AS_JSON, TEXT = {"responseMimeType": "application/json"}, {"type": "STRING"}
PLACEHOLDER = "skip_thought_signature_validator"
THINKING = {"thinkingConfig": {"thinkingBudget": 1, "thinkingLevel": "LOW"}}

STREAMED = "logprobs-in-stream"
"""The rule that depends on the mode of the request."""

# rule → model, a request that breaks it, the API's words, a similar request that keeps it
CASES: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "contents-missing": (
        NEW,
        body(),
        "* GenerateContentRequest.contents: contents is not specified",
        body(USER),
    ),
    "role-unknown": (
        NEW,
        body(turn("assistant", {"text": "Hi"}), USER),
        "Please use a valid role: user, model.",
        body(USER, turn("model", {"text": "Hi"}), USER),
    ),
    "content-empty": (
        NEW,
        body(turn("user"), USER),
        "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.",
        body(turn("user", {"text": ""}), USER),
    ),
    "part-empty": (
        NEW,
        body(turn("user", {}, {"text": "Hi"})),
        "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field",
        body(USER, turn("model", {"text": "Hi"}, {"thoughtSignature": "VEVYVA=="}), USER),
    ),
    "name-empty": (
        NEW,
        body(USER, turn("model", CALL), turn("user", {"functionResponse": {"response": {}}})),
        f"* GenerateContentRequest.contents[2].parts[0].function_response.name: {NAMES}",
        calling(CALL),
    ),
    "calls-first": (
        NEW,
        body(turn("model", CALL), turn("user", result("f"))),
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        body(
            USER, turn("model", {"text": "I look."}), turn("model", CALL), turn("user", result("f"))
        ),
    ),
    "results-without-calls": (
        NEW,
        body(USER, turn("model", {"text": "Hi"}), turn("user", result("f"))),
        "Please ensure that function response turn comes immediately after a function call turn.",
        calling(CALL),
    ),
    "results-miscounted": (
        OLD,
        body(USER, turn("model", call("f"), call("f")), turn("user", result("f"))),
        COUNTS,
        body(
            USER,
            turn("model", call("f"), call("f")),
            turn("user", result("f")),
            turn("user", result("f")),
        ),
    ),
    "calls-without-results": (NEW, body(USER, turn("model", CALL), USER), COUNTS, calling(CALL)),
    "result-media": (
        OLD,
        answering(parts=[{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]),
        "Unable to submit request because `function_response.parts` is not supported for this model.",
        answering(),
    ),
    "result-reference": (
        NEW,
        answering(response={"schema": [{"$ref": "#/$defs/Cookie"}]}),
        "The referenced name `#/$defs/Cookie` in function_response.response does not match to a display_name in the"
        " function_response.parts.",
        answering(
            response={"image": {"$ref": "a.png"}},
            parts=[{"inlineData": {"mimeType": "image/png", "displayName": "a.png"}}],
        ),
    ),
    "ends-with-model": (
        NEW,
        body(USER, turn("model", {"text": "It is"})),
        "Requests ending with a model turn are not supported.",
        body(USER, turn("model", {"text": "It is"}), USER),
    ),
    "call-unsigned": (
        NEW,
        calling(call("f")),
        "Function call is missing a thought_signature in functionCall parts.",
        calling(call("f"), CALL),
    ),
    "signature-unknown": (
        NEW,
        body(USER, turn("model", {"text": "Hi", "thoughtSignature": "VEVYVQ=="}), USER),
        "Invalid thought signature.",
        body(USER, turn("model", TEXT_SIGNED), USER),
    ),
    "server-tool-unsigned": (
        NEW,
        body(USER, turn("model", {"toolCall": TOOL_SIGNED["toolCall"]}), USER),
        "contents[1].parts[0]: Tool call part is missing thought_signature",
        body(USER, turn("model", TOOL_SIGNED), USER),
    ),
    "server-tool-placeholder": (
        NEW,
        body(USER, turn("model", {**TOOL_SIGNED, "thoughtSignature": PLACEHOLDER}), USER),
        "Request contains an invalid argument.",
        body(USER, turn("model", TOOL_SIGNED), USER),
    ),
    "field-unknown": (
        NEW,
        declared(schema({"anyOf": [{"type": "STRING"}, {"const": "x"}]})),
        f"Invalid JSON payload received. Unknown name \"const\" at '{PARAMETERS}.properties[1].value.any_of[1]':"
        " Cannot find field.",
        declared(schema({"anyOf": [{"type": "STRING"}, {"type": "STRING", "enum": ["x"]}]})),
    ),
    "field-value": (
        NEW,
        declared(schema({"type": ["STRING", "NULL"]})),
        f"Invalid JSON payload received. Unknown name \"type\" at '{PARAMETERS}.properties[1].value': Proto field"
        " is not repeating, cannot start list.",
        declared(schema({"type": "STRING", "nullable": True})),
    ),
    "schema-items": (
        NEW,
        declared(schema({"type": "array"})),
        f"* GenerateContentRequest.{PARAMETERS}.properties[b].items: missing field.",
        declared(schema({"type": "array", "items": {"type": "string"}})),
    ),
    "schema-enum": (
        NEW,
        declared(schema({"type": "INTEGER", "enum": ["1"]})),
        f"* GenerateContentRequest.{PARAMETERS}.properties[b].enum: only allowed for STRING type",
        declared(schema({"type": "INTEGER", "format": "enum", "enum": ["1"]})),
    ),
    "schema-object": (
        NEW,
        declared(schema({"type": "STRING", "required": ["z"]})),
        f"* GenerateContentRequest.{PARAMETERS}.properties[b].required: only allowed for OBJECT type",
        declared(schema({"type": "STRING", "required": []})),
    ),
    "items-empty": (
        NEW,
        declared(schema({"type": "ARRAY", "items": {}})),
        f"* GenerateContentRequest.{PARAMETERS}.properties[b].items: missing field.",
        declared(schema({"type": "ARRAY", "items": {"type": "STRING"}})),
    ),
    "schema-twice": (
        NEW,
        body(
            USER, generationConfig={**AS_JSON, "responseSchema": TEXT, "responseJsonSchema": TEXT}
        ),
        "generationConfig: responseSchema must be omitted when responseJsonSchema is set.",
        body(USER, generationConfig={**AS_JSON, "responseSchema": TEXT}),
    ),
    "schema-without-type": (
        NEW,
        body(USER, generationConfig={"responseJsonSchema": TEXT}),
        "response_mime_type must be set when response_json_schema is set.",
        body(USER, generationConfig={**AS_JSON, "responseJsonSchema": TEXT}),
    ),
    "function-undeclared": (
        NEW,
        declared(toolConfig={"functionCallingConfig": {"allowedFunctionNames": ["g"]}}),
        "Allowed function name g is not in the function declarations.",
        declared(toolConfig={"functionCallingConfig": {"allowedFunctionNames": ["f"]}}),
    ),
    "stop-sequences": (
        NEW,
        body(USER, generationConfig={"stopSequences": [*"abcdef"]}),
        "Unable to submit request because it has 6 stop sequences",
        body(USER, generationConfig={"stopSequences": [*"abcde"]}),
    ),
    "value-range": (
        NEW,
        body(USER, generationConfig={"temperature": 2.5, "topP": "1"}),
        "it has a temperature value of 2.5 but the supported range is from 0 (inclusive) to 2 (inclusive).",
        body(USER, generationConfig={"temperature": 2, "topP": 0, "topK": 0}),
    ),
    "value-range-described": (
        NEW,
        body(USER, generationConfig={"maxOutputTokens": 0}),
        "it has a maxOutputTokens value of 0 but the supported range is from 1 (inclusive).",
        body(USER, generationConfig={"maxOutputTokens": 1, "presencePenalty": -2}),
    ),
    "field-twice": (
        NEW,
        body(USER, serviceTier="standard", service_tier="standard"),
        'Invalid JSON payload received. Duplicate field "service_tier".',
        body(USER, serviceTier="standard"),
    ),
    "schema-required": (
        NEW,
        declared(schema({"type": "OBJECT", "properties": {"z": {}}, "required": ["z", "y"]})),
        f"* GenerateContentRequest.{PARAMETERS}.properties[b].required[1]: property is not defined",
        declared(schema({"type": "OBJECT", "properties": {"z": {}}, "required": ["z"]})),
    ),
    "schema-ref": (
        NEW,
        json_declared({"$ref": "#/$defs/Opt", "description": "d", "type": "object"}),
        "$ref 'Opt' was set alongside unsupported fields. If a schema node has $ref set, then only description and default"
        " can be set alongside it",
        json_declared({"$ref": "#/$defs/Opt", "description": "d", "default": {}, "$comment": "c"}),
    ),
    "function-twice": (
        NEW,
        body(USER, tools=[{"functionDeclarations": [{"name": "f"}]}] * 2),
        "Duplicate function declaration found: f",
        body(USER, tools=[{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}]),
    ),
    "built-in-with-functions": (
        NEW,
        body(USER, tools=[{"functionDeclarations": [{"name": "f"}]}, {"google_search": {}}]),
        "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.",
        body(
            USER,
            tools=[{"functionDeclarations": [{"name": "f"}]}, {"google_search": {}}],
            toolConfig={"includeServerSideToolInvocations": True},
        ),
    ),
    "function-name": (
        NEW,
        declared(name="1st/tool"),
        f"* GenerateContentRequest.{BROKEN_NAME}",
        declared(name="_tool.a:b-c"),
    ),
    "config-without-functions": (
        OLD,
        body(
            USER,
            tools=[{"googleSearch": {}}],
            toolConfig={"functionCallingConfig": {"mode": "AUTO"}},
        ),
        "Function calling config is set without function_declarations.",
        declared(toolConfig={"functionCallingConfig": {"mode": "AUTO"}}),
    ),
    "json-with-functions": (
        OLD,
        declared(generationConfig={"responseMimeType": "application/json"}),
        "Function calling with a response mime type: 'application/json' is unsupported",
        body(USER, generationConfig={"responseMimeType": "application/json"}),
    ),
    "cached-content": (
        NEW,
        declared(cachedContent="cachedContents/x"),
        "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.",
        body(USER, cachedContent="cachedContents/x"),
    ),
    "thinking-twice": (
        NEW,
        body(USER, generationConfig=THINKING),
        "You can only set only one of thinking budget and thinking level.",
        body(USER, generationConfig={"thinkingConfig": {"thinkingLevel": "LOW"}}),
    ),
    "first-call-unsigned": (
        NEW,
        calling(call("f"), CALL),
        "Function call is missing a thought_signature in functionCall parts.",
        calling(CALL, call("f")),
    ),
    "signature-moved": (
        NEW,
        body(USER, turn("model", {"text": "Hi", **SIGNED}), USER),
        "contents[1].parts[0]: the thought signature belongs to another part",
        calling(CALL),
    ),
    "signature-copied": (
        NEW,
        calling(CALL, call("f", **SIGNED)),
        "contents[1].parts[0]: the thought signature is at 2 parts",
        calling(CALL),
    ),
    "signature-of-another-model": (
        NEW,
        body(USER, turn("model", OTHERS), USER),
        f"contents[1].parts[0]: Thought signature is not valid; it is from {OTHER}",
        body(USER, turn("model", TEXT_SIGNED), USER),
    ),
    "results-beside-text": (
        NEW,
        body(USER, turn("model", CALL), turn("user", result("f"), {"text": "And?"})),
        "contents[2] has function responses and other parts",
        calling(CALL),
    ),
}
LEVELS = {rule.name: rule.level for rule in RULES}


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[Server]:
    with serve(ANSWERS, match="path", pace="instant") as server:
        yield server


def ask(server: Server, model: str, request: dict[str, Any]) -> None:
    """Send exactly this body with google-genai."""
    options = types.HttpOptions(base_url=server.base_url, extra_body=request)
    with genai.Client(api_key="none", http_options=options) as client:
        client.models.generate_content(model=model, contents="replaced")


def refusal(server: Server, model: str, request: dict[str, Any]) -> dict[str, Any]:
    with pytest.raises(errors.ClientError) as caught:
        ask(server, model, request)
    error: dict[str, Any] = caught.value.details["error"]
    assert (caught.value.code, error["status"]) == (400, "INVALID_ARGUMENT")
    return error


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if LEVELS[name] != "warning"])
def test_a_request_that_breaks_a_rule_is_refused(server: Server, name: str) -> None:
    model, broken, words, kept = CASES[name]
    server.behave(strictness="strict" if LEVELS[name] == "strict" else "api")
    error = refusal(server, model, broken)
    assert words in error["message"]
    assert error["details"][0]["stackEntries"][0].startswith(f"rule {name}: ")
    ask(server, model, kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_lenient_server_answers_and_warns(server: Server, name: str) -> None:
    model, broken, words, _ = CASES[name]
    server.behave(strictness="lenient")
    before = len(server.warnings)
    ask(server, model, broken)
    warnings = [text for text in server.warnings[before:] if f"(rule {name}, " in text]
    assert [words in text for text in warnings] == [True]


@pytest.mark.parametrize("name", [name for name in CASES if LEVELS[name] != "api"])
def test_the_api_accepts_what_only_a_strict_server_refuses(server: Server, name: str) -> None:
    model, broken, _, _ = CASES[name]
    server.behave(strictness="api")
    before = len(server.warnings)
    ask(server, model, broken)
    assert any(f"(rule {name}, " in text for text in server.warnings[before:])


def test_every_rule_has_a_case_and_a_line_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "refused-requests.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (.+) \| (.+) \| \[.+\]\((https://.+)\) \|$", page, re.MULTILINE
    )
    words = {"warning": "reported"}
    own = [rule for rule in RULES if rule not in MODEL_RULES]
    assert [*CHECKS] == [rule.name for rule in own]
    assert sorted(rows) == sorted(
        (rule.name, words.get(rule.level, rule.level), rule.refused, rule.source) for rule in own
    )
    assert sorted([*CASES, STREAMED]) == sorted(
        rule.name for rule in own if "gemini-api" in rule.wires
    )
    vertex = [rule.name for rule in own if rule.wires == ("vertex-ai",)]
    assert sorted(VERTEX_CASES) == sorted(vertex)


@pytest.mark.parametrize(
    ("model", "refused"),
    [
        ("gemini-2.5-flash", False),
        ("gemini-3-flash-preview", False),
        ("gemini-3.1-pro-preview", False),
        ("gemini-3.5-flash", False),
        ("gemini-pro-latest", False),
        ("gemini-3.5-flash-lite", True),
        ("gemini-3.6-flash", True),
        ("gemini-3.8-flash", True),
        ("gemini-4-argon", True),
    ],
)
def test_newer_models_refuse_a_history_that_ends_with_them(model: str, refused: bool) -> None:
    request = json.dumps(CASES["ends-with-model"][1]).encode()
    broken = find_broken_rules(
        request, Identity("gemini-api", generates=True, model=model), lambda: given_by([])
    )
    assert [item.rule.name for item in broken] == ["ends-with-model"] * refused


def test_consecutive_contents_of_the_model_are_one_turn() -> None:
    """A client of a stream may keep each call in a content of its own."""
    calls = turn("model", CALL), turn("model", call("f"))
    assert "call-unsigned" not in rules_broken("gemini-api", NEW, body(USER, *calls))
    assert "call-unsigned" in rules_broken("gemini-api", NEW, body(USER, *calls[1:]))


def test_an_envelope_is_named_in_the_paths_of_the_parser() -> None:
    enveloped = json.dumps({"model": NEW, "request": CASES["field-unknown"][1]}).encode()
    (broken,) = find_broken_rules(
        enveloped, Identity("code-assist", generates=True, model=NEW), lambda: given_by([])
    )
    assert f"'request.{PARAMETERS}." in broken.message


def named_call(name: str, call_id: str) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": name, "args": {}}, **SIGNED}


def named_result(name: str, call_id: str) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": name, "response": {}}}


CALLS = turn("model", named_call("f", "1"), named_call("g", "2"))
# rule → a request that Vertex AI refuses and the Gemini API answers, and one that both answer
VERTEX_CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "schema-root": (declared({"type": "STRING"}), declared({"type": "OBJECT"})),
    "stop-sequences-empty": (
        body(USER, generationConfig={"stopSequences": []}),
        body(USER, generationConfig={"stopSequences": ["a"]}),
    ),
    "results-split": (
        body(
            USER,
            CALLS,
            turn("user", named_result("f", "1")),
            turn("user", named_result("g", "2")),
        ),
        body(USER, CALLS, turn("user", named_result("f", "1"), named_result("g", "2"))),
    ),
    "result-name": (
        body(USER, CALLS, turn("user", named_result("f", "1"), named_result("tool_result", "2"))),
        body(USER, CALLS, turn("user", named_result("g", "2"), named_result("f", "1"))),
    ),
}


def rules_broken(wire: str, model: str, request: dict[str, Any]) -> dict[str, str]:
    """Rule → message, for the rules of the API that a request breaks."""
    identity = Identity(wire, generates=True, model=model)
    broken = find_broken_rules(json.dumps(request).encode(), identity, lambda: given_by([]))
    return {item.rule.name: item.message for item in broken if item.rule.level == "api"}


def test_log_probabilities_are_refused_in_a_stream() -> None:
    asked = json.dumps(body(USER, generationConfig={"responseLogprobs": True})).encode()
    for wire, streamed, broken in (
        ("gemini-api", True, [STREAMED]),
        ("gemini-api", False, []),
        ("vertex-ai", True, []),
    ):
        identity = Identity(wire, generates=True, streamed=streamed, model=NEW)
        rules = find_broken_rules(asked, identity, lambda: given_by([]))
        assert [item.rule.name for item in rules] == broken


@pytest.mark.parametrize("name", VERTEX_CASES)
def test_vertex_ai_refuses_results_that_the_gemini_api_accepts(name: str) -> None:
    refused, kept = VERTEX_CASES[name]
    assert rules_broken("vertex-ai", NEW, refused).keys() == {name}
    assert rules_broken("gemini-api", NEW, refused) == {}
    assert rules_broken("vertex-ai", NEW, kept) == {}


def test_a_rule_has_its_versions() -> None:
    name = VERTEX_CASES["result-name"][0]
    assert rules_broken("vertex-ai", OLD, name) == {}
    media = CASES["result-media"][1]
    assert rules_broken("gemini-api", NEW, media) == {}
    search = CASES["built-in-with-functions"][1]
    assert rules_broken("code-assist", NEW, {"request": search}).keys() == {
        "built-in-with-functions"
    }
    assert rules_broken("vertex-ai", NEW, search) == {}


@pytest.mark.parametrize(
    ("wire", "request_body", "place"),
    [
        ("gemini-api", {"reasoning_effort": "low"}, '"reasoning_effort"'),
        ("gemini-api", {"generationConfig": {"top_logprobs": 2}}, '"top_logprobs" at \'generation_config\''),
        ("gemini-api", {"toolConfig": {"strict": True}}, '"strict" at \'tool_config\''),
        ("gemini-api", {"request": {}}, '"request"'),
        ("code-assist", {"output_config": {}}, '"output_config"'),
        ("code-assist", {"request": {"generation_config": {"thinkingConfig": {"effort": 1}}}},
         '"effort" at \'request.generation_config.thinking_config\''),
        ("vertex-ai", {"store": True}, '"store"'),
        ("vertex-ai", {"toolConfig": {"includeServerSideToolInvocations": True}},
         '"includeServerSideToolInvocations" at \'tool_config\''),
        ("gemini-api", {"toolConfig": {"functionCallingConfig": {"streamFunctionCallArguments": True}}},
         '"streamFunctionCallArguments" at \'tool_config.function_calling_config\''),
    ],
)  # fmt: skip
def test_an_unknown_field_is_refused_anywhere(
    wire: str, request_body: dict[str, Any], place: str
) -> None:
    if "request" not in request_body and wire != "code-assist":
        request_body = body(USER) | request_body
    message = rules_broken(wire, NEW, request_body)["field-unknown"]
    assert message == f"Invalid JSON payload received. Unknown name {place}: Cannot find field."


@pytest.mark.parametrize(
    "part",
    [
        {"text": "Hi", "cache_control": {"type": "ephemeral"}},
        {"functionCall": {"name": "f", "args": {}, "cache_control": {}}},
        {"functionResponse": {"name": "f", "response": {}, "cache_control": {}}},
        {"inlineData": {"mimeType": "image/png", "data": "", "cache_control": {}}},
    ],
)
def test_a_leaked_field_of_a_part_is_refused(part: dict[str, Any]) -> None:
    message = rules_broken("gemini-api", NEW, body(USER, turn("user", part)))["field-unknown"]
    assert message.startswith(
        'Invalid JSON payload received. Unknown name "cache_control" at \'contents[1].parts[0]'
    )


TYPES = "type.googleapis.com/google.ai.generativelanguage.v1beta"
PART = "contents[1].parts[0]"


def part(**fields: Any) -> dict[str, Any]:
    return body(USER, turn("user", fields))


def configured(**fields: Any) -> dict[str, Any]:
    return body(USER, generationConfig=fields)


@pytest.mark.parametrize(
    ("request_body", "line"),
    [
        (configured(maxOutputTokens="many"), "'generation_config.max_output_tokens' (TYPE_INT32), \"many\""),
        (configured(seed=1.5), "'generation_config.seed' (TYPE_INT32), 1.5"),
        (configured(seed=3_000_000_000), "'generation_config.seed' (TYPE_INT32), 3000000000"),
        (configured(temperature="warm"), "'generation_config.temperature' (TYPE_FLOAT), \"warm\""),
        (configured(temperature={}), "'generation_config.temperature' (TYPE_FLOAT), Starting an object on a scalar field"),
        (configured(responseLogprobs=1), "'generation_config.response_logprobs' (TYPE_BOOL), 1"),
        (configured(thinkingConfig={"includeThoughts": "true"}),
         "'generation_config.thinking_config.include_thoughts' (TYPE_BOOL), \"true\""),
        (configured(stopSequences=["a", 1]), "'generation_config.stop_sequences[1]' (TYPE_STRING), 1"),
        (configured(stopSequences=[None]), "'generation_config.stop_sequences[0]' (TYPE_STRING), null"),
        (configured(responseModalities=["SMELL"]),
         f"'generation_config.response_modalities[0]' ({TYPES}.GenerationConfigModality), \"SMELL\""),
        (body(USER, safetySettings=[{"category": "HARM_CATEGORY_X", "threshold": "OFF"}]),
         f"'safety_settings[0].category' ({TYPES}.HarmCategory), \"HARM_CATEGORY_X\""),
        (body(USER, labels={"a": 1}), "'labels[0].value' (TYPE_STRING), 1"),
        (body(USER, tools=["search"]), f"'tools[0]' ({TYPES}.Tool), \"search\""),
        (declared(schema({"type": "STRING", "enum": [1]})), f"'{PARAMETERS}.properties[1].value.enum[0]' (TYPE_STRING), 1"),
        (declared(schema({"type": ""})), f"'{PARAMETERS}.properties[1].value.type' ({TYPES}.Type), \"\""),
        (part(text=1), f"'{PART}.text' (TYPE_STRING), 1"),
        (part(inlineData={"mimeType": "image/png", "data": "%%%"}),
         f"'{PART}.inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"%%%\""),
        (part(inlineData={"mimeType": "image/png", "data": "QUJD-_+/"}),
         f"'{PART}.inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"QUJD-_+/\""),
        (part(inlineData={"mimeType": "image/png", "data": "QUJDR"}),
         f"'{PART}.inline_data.data' (TYPE_BYTES), Base64 decoding failed for \"QUJDR\""),
        (part(text="", thoughtSignature="U0lH=U0lH"),
         f"'{PART}.thought_signature' (TYPE_BYTES), Base64 decoding failed for \"U0lH=U0lH\""),
        (part(videoMetadata={"startOffset": "2"}),
         f"'{PART}.video_metadata.start_offset' (type.googleapis.com/google.protobuf.Duration), \"2\""),
        (part(functionResponse={"name": "f", "response": "x"}),
         f"'{PART}.function_response.response' (type.googleapis.com/google.protobuf.Struct), \"x\""),
    ],
)  # fmt: skip
def test_a_value_that_the_parser_cannot_read_is_refused(
    request_body: dict[str, Any], line: str
) -> None:
    message = rules_broken("gemini-api", OLD, request_body)["field-value"]
    assert message == f"Invalid value at {line}"


@pytest.mark.parametrize(
    ("word", "refused_by"),
    [
        ("HARM_CATEGORY_IMAGE_HATE", {"gemini-api"}),
        ("harm_category_image_harassment", {"gemini-api"}),
        ("HARM_CATEGORY_TOXICITY", {"vertex-ai"}),
        ("HARM_CATEGORY_HATE_SPEECH", set()),
        ("HARM_CATEGORY_JAILBREAK", set()),
    ],
)
def test_each_api_has_its_own_categories_of_harm(word: str, refused_by: set[str]) -> None:
    settings = [{"category": word, "threshold": "BLOCK_NONE"}]
    asked = body(USER, safetySettings=settings)
    wires: tuple[Any, ...] = ("gemini-api", "vertex-ai", "code-assist")
    refused = {
        wire
        for wire in wires
        if "field-value"
        in rules_broken(wire, OLD, {"request": asked} if wire == "code-assist" else asked)
    }
    assert refused == refused_by


def test_a_list_in_place_of_a_value_is_refused() -> None:
    asked = part(functionResponse={"name": "f", "response": ["x"]})
    message = rules_broken("gemini-api", OLD, asked)["field-value"]
    assert message == (
        f"Invalid JSON payload received. Unknown name \"response\" at '{PART}.function_response':"
        " Proto field is not repeating, cannot start list."
    )


@pytest.mark.parametrize(
    "request_body",
    [
        configured(maxOutputTokens=77.0, seed="-5", topK="40", temperature="0.5", topP=1),
        configured(thinkingConfig={"thinkingLevel": "low"}, stopSequences="END", seed=None),
        configured(responseModalities=["text"], mediaResolution=2, responseLogprobs=False),
        configured(responseMimeType="application/json", responseJsonSchema={"type": ["a", 1]}),
        body({"parts": {"text": "Hi"}}, tools={}),
        body(USER, serviceTier="flex"),
        body(USER, safetySettings=[]),
        part(inlineData={"mimeType": "image/png", "data": "iVBORw0KGgo"}),
        part(inlineData={"mimeType": "image/png", "data": "-_-_\r\n-_-_"}),
        part(text="", thoughtSignature=PLACEHOLDER),
        part(fileData={"fileUri": "gs://a"}, videoMetadata={"startOffset": "1.5s", "fps": 2}),
        declared(schema({"type": "integer", "minimum": 1, "maxItems": "3", "default": [{}]})),
    ],
)
def test_other_spellings_of_a_value_are_accepted(request_body: dict[str, Any]) -> None:
    assert rules_broken("gemini-api", OLD, request_body) == {}


def test_the_words_and_types_of_the_file_are_complete() -> None:
    """Each type is a message, an enumeration or a scalar type; no enumeration is unused."""
    table = published()
    kinds = {
        kind.rstrip("[]{}") for message in table["messages"].values() for kind in message.values()
    }
    named = {*table["messages"], *table["enums"]}
    assert kinds - named == {"any", *fields._SCALARS} - {"struct"}
    assert table["enums"].keys() <= kinds


def test_the_keys_of_users_are_no_fields() -> None:
    own = {"cache_control": 1, "reasoning_effort": [{"strict": True}]}
    asked = body(
        USER,
        turn("model", {"functionCall": {"name": "f", "args": own}, **SIGNED}),
        turn("user", {"functionResponse": {"name": "f", "response": own}}),
        tools=[
            {"functionDeclarations": [
                {"name": "f", "parameters": schema({"type": "OBJECT", "properties": {"strict": {"type": "STRING"}}})},
                {"name": "g", "parametersJsonSchema": own},
            ]}
        ],
        labels={"cache_control": "x"},
    )  # fmt: skip
    assert rules_broken("gemini-api", NEW, asked) == {}


def test_the_fields_are_those_that_google_genai_can_send() -> None:
    renamed = {"model_selection_config", "output_mime_type", "output_compression_quality"}
    compared = 0
    for message, known in known_fields("code-assist").items():
        model = getattr(types, message, None)
        if isinstance(model, type) and issubclass(model, BaseModel):
            compared += 1
            names = {name.rstrip("_") for name in model.model_fields}
            assert names - renamed <= known.keys(), message
    assert compared > 80


def test_other_wires_and_broken_bodies_break_no_rule() -> None:
    for content, identity in (
        (b'{"contents": []}', Identity("gemini-api", generates=False)),
        (b'{"contents": []}', Identity("gemini-cli", generates=True)),
        (b'{"contents": ', Identity("gemini-api", generates=True)),
        (b"[]", Identity("gemini-api", generates=True)),
    ):
        assert list(find_broken_rules(content, identity, lambda: given_by([]))) == []


NAMES_OF_FIELDS = [
    "contents",
    "parts",
    "role",
    "text",
    "functionCall",
    "functionResponse",
    "name",
    "args",
    "response",
    "thoughtSignature",
    "toolCall",
    "tools",
    "functionDeclarations",
    "parameters",
    "properties",
    "items",
    "anyOf",
    "enum",
    "type",
    "generationConfig",
    "thinkingConfig",
    "toolConfig",
]
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from(["user", "model", "ARRAY"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES_OF_FIELDS), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(NAMES_OF_FIELDS), ODD))
def test_the_rules_accept_any_request_without_an_exception(request: dict[str, Any]) -> None:
    identity = Identity("gemini-api", generates=True, model=NEW)
    broken = find_broken_rules(
        json.dumps(request).encode(), identity, lambda: given_by(ANSWERS.exchanges)
    )
    assert all(item.message for item in broken)
