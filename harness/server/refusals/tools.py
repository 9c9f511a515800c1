"""Rules about tools and settings, and about settings that exclude each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from typing import Any, Final

from .rule import Generate, Rule
from .values import as_dict, as_list

_FUNCTION_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_BUILT_IN: Final = frozenset(
    {
        "codeExecution",
        "fileSearch",
        "googleMaps",
        "googleSearch",
        "googleSearchRetrieval",
        "urlContext",
    }
)
"""The tools that the API itself runs. The client runs those of `computerUse`, as its functions."""

_MAX_STOPS: Final = 5
_RANGES: Final = {"temperature": (0, 2), "topP": (0, 1), "topK": (0, inf)}
_DESCRIBED_RANGES: Final = {
    "presencePenalty": (-2, 2),
    "frequencyPenalty": (-2, 2),
    "logprobs": (0, 20),
    "maxOutputTokens": (1, inf),
}
"""Setting → its lowest and its highest value, as the API describes it."""
_OBJECT: Final = ("OBJECT", 6)
"""The type of an object: its word and its number."""
_BESIDE_REF: Final = frozenset({"description", "default"})
_NAMED_SCHEMAS: Final = ("properties", "$defs", "defs", "definitions", "patternProperties")
_INNER_SCHEMAS: Final = ("items", "additionalProperties", "not")
_LISTED_SCHEMAS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")


def _declarations(request: Generate) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, tool in enumerate(as_list(request.body.get("tools"))):
        for place, declaration in enumerate(as_list(as_dict(tool).get("functionDeclarations"))):
            if type(declaration) is dict:
                yield f"tools[{number}].function_declarations[{place}]", declaration


def _schemas(request: Generate) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each Schema in the parameters: its path in the errors of the validator, and itself."""
    for path, declaration in _declarations(request):
        if type(declaration.get("parameters")) is dict:
            yield from _walk(f"{path}.parameters", declaration["parameters"])


def _walk(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, inner in as_dict(schema.get("properties")).items():
        if type(inner) is dict:
            yield from _walk(f"{path}.properties[{name}]", inner)
    if type(schema.get("items")) is dict:
        yield from _walk(f"{path}.items", schema["items"])
    for number, inner in enumerate(as_list(schema.get("anyOf"))):
        if type(inner) is dict:
            yield from _walk(f"{path}.any_of[{number}]", inner)


def _function_name(request: Generate) -> Iterator[str]:
    for path, declaration in _declarations(request):
        name = declaration.get("name")
        if type(name) is not str or not _FUNCTION_NAME.fullmatch(name):
            yield (
                f"* GenerateContentRequest.{path}.name: Invalid function name. Must start with a"
                " letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_),"
                " dots (.), colons (:), or dashes (-), with a maximum length of 128."
            )


def _schema_items(request: Generate) -> Iterator[str]:
    for path, schema in _schemas(request):
        if schema.get("type") == "ARRAY" and "items" not in schema:
            yield f"* GenerateContentRequest.{path}.items: missing field."


def _schema_enum(request: Generate) -> Iterator[str]:
    for path, schema in _schemas(request):
        named = schema.get("type") == "STRING" or schema.get("format") == "enum"
        if schema.get("enum") and not named:
            yield f"* GenerateContentRequest.{path}.enum: only allowed for STRING type"


def _schema_object(request: Generate) -> Iterator[str]:
    for path, schema in _schemas(request):
        for field in ("properties", "required"):
            if schema.get(field) and schema.get("type", "OBJECT") not in _OBJECT:
                yield f"* GenerateContentRequest.{path}.{field}: only allowed for OBJECT type"


def _schema_root(request: Generate) -> Iterator[str]:
    for path, declaration in _declarations(request):
        if as_dict(declaration.get("parameters")).get("type", "OBJECT") not in _OBJECT:
            yield (
                f"Unable to submit request because `{path}.parameters` schema should be of type"
                " OBJECT."
            )


def _items_empty(request: Generate) -> Iterator[str]:
    for path, schema in _schemas(request):
        if schema.get("items") == {}:
            yield f"* GenerateContentRequest.{path}.items: missing field."


def _schema_twice(request: Generate) -> Iterator[str]:
    settings = as_dict(request.body.get("generationConfig"))
    forms = [("generationConfig", settings, ("responseSchema", "responseJsonSchema"))]
    forms += [
        (path, declaration, ("parameters", "parametersJsonSchema"))
        for path, declaration in _declarations(request)
    ]
    for path, message, (first, second) in forms:
        if message.get(first) and message.get(second):
            yield f"{path}: {first} must be omitted when {second} is set."


def _json_schema_without_type(request: Generate) -> Iterator[str]:
    settings = as_dict(request.body.get("generationConfig"))
    if settings.get("responseJsonSchema") and not settings.get("responseMimeType"):
        yield "response_mime_type must be set when response_json_schema is set."


def _function_undeclared(request: Generate) -> Iterator[str]:
    config = as_dict(as_dict(request.body.get("toolConfig")).get("functionCallingConfig"))
    declared = [declaration.get("name") for _, declaration in _declarations(request)]
    for name in as_list(config.get("allowedFunctionNames")):
        if declared and name not in declared:
            yield f"Allowed function name {name} is not in the function declarations."


def _stop_sequences(request: Generate) -> list[Any] | None:
    stop = as_dict(request.body.get("generationConfig")).get("stopSequences")
    return stop if type(stop) is list else None


def _stops_too_many(request: Generate) -> Iterator[str]:
    if (stop := _stop_sequences(request)) and len(stop) > _MAX_STOPS:
        yield (
            f"Unable to submit request because it has {len(stop)} stop sequences, and at most"
            f" {_MAX_STOPS} are supported."
        )


def _stops_empty(request: Generate) -> Iterator[str]:
    if _stop_sequences(request) == []:
        yield "Unable to submit request because the list of stop sequences is empty."


def _out_of_range(ranges: Mapping[str, tuple[float, float]], request: Generate) -> Iterator[str]:
    settings = as_dict(request.body.get("generationConfig"))
    for name, (low, high) in ranges.items():
        value = settings.get(name)
        if isinstance(value, int | float) and not low <= value <= high:
            yield (
                f"Unable to submit request because it has a {name} value of {value} but the"
                f" supported range is from {low} (inclusive)"
                + (f" to {high} (inclusive)." if high < inf else ".")
            )


def _logprobs_in_stream(request: Generate) -> Iterator[str]:
    settings = as_dict(request.body.get("generationConfig"))
    if request.streamed and settings.get("responseLogprobs") is True:
        yield "Logprobs is not supported for streaming requests."


def _schema_required(request: Generate) -> Iterator[str]:
    for path, schema in _schemas(request):
        for number, name in enumerate(as_list(schema.get("required"))):
            if type(name) is str and name not in as_dict(schema.get("properties")):
                yield (
                    f"* GenerateContentRequest.{path}.required[{number}]: property is not defined"
                )


def _schema_ref(request: Generate) -> Iterator[str]:
    for _, declaration in _declarations(request):
        for field in ("parameters", "parametersJsonSchema", "response", "responseJsonSchema"):
            for schema in schema_nodes(declaration.get(field)):
                ref = schema.get("$ref", schema.get("ref"))
                others = {key for key in schema.keys() - _BESIDE_REF if not key.startswith("$")}
                if type(ref) is str and others - {"ref"}:
                    yield (
                        f"$ref '{ref.rpartition('/')[2]}' was set alongside unsupported fields. If"
                        " a schema node has $ref set, then only description and default can be set"
                        " alongside it; other fields they would be replaced by the expanded"
                        " reference."
                    )


def schema_nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a JSON Schema and all Schemas inside it."""
    if type(schema) is not dict:
        return
    yield schema
    inner = [schema.get(field) for field in _INNER_SCHEMAS]
    for field in _NAMED_SCHEMAS:
        inner += as_dict(schema.get(field)).values()
    for field in _LISTED_SCHEMAS:
        inner += as_list(schema.get(field))
    for item in inner:
        yield from schema_nodes(item)


def _function_twice(request: Generate) -> Iterator[str]:
    names = Counter(str(declaration.get("name")) for _, declaration in _declarations(request))
    for name, count in names.items():
        if count > 1:
            yield f"Duplicate function declaration found: {name}"


def _built_in_with_functions(request: Generate) -> Iterator[str]:
    tools = [as_dict(tool) for tool in as_list(request.body.get("tools"))]
    config = as_dict(request.body.get("toolConfig"))
    if (
        any(tool.keys() & _BUILT_IN for tool in tools)
        and any(_declarations(request))
        and config.get("includeServerSideToolInvocations") is not True
    ):
        yield (
            "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools"
            " with Function calling."
        )


def _config_without_functions(request: Generate) -> Iterator[str]:
    config = as_dict(request.body.get("toolConfig"))
    if (
        config.get("functionCallingConfig")
        and not config.get("includeServerSideToolInvocations")
        and not any(_declarations(request))
    ):
        yield "Function calling config is set without function_declarations."


def _json_with_functions(request: Generate) -> Iterator[str]:
    settings = as_dict(request.body.get("generationConfig"))
    if settings.get("responseMimeType") == "application/json" and any(_declarations(request)):
        yield "Function calling with a response mime type: 'application/json' is unsupported"


def _cached_content(request: Generate) -> Iterator[str]:
    fields = ("systemInstruction", "tools", "toolConfig")
    if request.body.get("cachedContent") and any(request.body.get(field) for field in fields):
        yield (
            "CachedContent can not be used with GenerateContent request setting"
            " system_instruction, tools or tool_config.\n\nProposed fix: move those values to"
            " CachedContent from GenerateContent request."
        )


def _thinking_twice(request: Generate) -> Iterator[str]:
    settings = as_dict(request.body.get("generationConfig"))
    thinking = as_dict(settings.get("thinkingConfig"))
    if "thinkingBudget" in thinking and "thinkingLevel" in thinking:
        yield "You can only set only one of thinking budget and thinking level."


TOOL_RULES: Final = (
    Rule(
        "schema-items",
        "A Schema of type `ARRAY` without `items`.",
        "https://github.com/cline/cline/issues/7339",
        _schema_items,
    ),
    Rule(
        "schema-enum",
        "An `enum` in a Schema of a type other than `STRING`, without `format: enum`.",
        "https://github.com/musistudio/claude-code-router/issues/475",
        _schema_enum,
    ),
    Rule(
        "schema-object",
        "`properties` or `required`, not empty, in a Schema of a type other than `OBJECT`.",
        "https://github.com/anomalyco/opencode/issues/11889",
        _schema_object,
    ),
    Rule(
        "schema-root",
        "On Vertex AI: `parameters` of a type other than `OBJECT`.",
        "https://github.com/diegosouzapw/OmniRoute/issues/3360",
        _schema_root,
        wires=("vertex-ai",),
    ),
    Rule(
        "items-empty",
        "Empty `items` in `parameters`.",
        "https://github.com/langchain-ai/langchain-google/issues/1587",
        _items_empty,
        level="warning",
    ),
    Rule(
        "schema-twice",
        "Both forms of a schema: `responseSchema` and `responseJsonSchema`, or `parameters` and"
        " `parametersJsonSchema`.",
        "https://ai.google.dev/api/generate-content#GenerationConfig",
        _schema_twice,
        level="warning",
    ),
    Rule(
        "schema-without-type",
        "`responseJsonSchema` without `responseMimeType`.",
        "https://ai.google.dev/api/generate-content#GenerationConfig",
        _json_schema_without_type,
        level="warning",
    ),
    Rule(
        "function-undeclared",
        "A name in `allowedFunctionNames` that is not declared.",
        "https://github.com/pydantic/pydantic-ai/issues/6875",
        _function_undeclared,
        level="warning",
    ),
    Rule(
        "stop-sequences",
        "More than five stop sequences.",
        "https://github.com/continuedev/continue/issues/2702",
        _stops_too_many,
    ),
    Rule(
        "stop-sequences-empty",
        "On Vertex AI: an empty list of stop sequences.",
        "https://github.com/google/generative-ai-go/issues/233",
        _stops_empty,
        wires=("vertex-ai",),
    ),
    Rule(
        "value-range",
        "A temperature below 0 or above 2, a `topP` below 0 or above 1, or a `topK` below 0.",
        "https://github.com/mnfst/modelparams.dev/issues/334",
        partial(_out_of_range, _RANGES),
    ),
    Rule(
        "value-range-described",
        "A penalty below -2 or above 2, `logprobs` below 0 or above 20, or `maxOutputTokens` below"
        " 1.",
        "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerationConfig",
        partial(_out_of_range, _DESCRIBED_RANGES),
        level="warning",
    ),
    Rule(
        "logprobs-in-stream",
        "On the Gemini API: `responseLogprobs` in a stream.",
        "https://github.com/maruel/genai",
        _logprobs_in_stream,
        wires=("gemini-api",),
    ),
    Rule(
        "schema-required",
        "On the Gemini API: a name in `required` that `properties` does not have.",
        "https://github.com/iBUHub/AIStudioToAPI/issues/154",
        _schema_required,
        wires=("gemini-api",),
    ),
    Rule(
        "schema-ref",
        "A `$ref` beside other keys than `description`, `default` and those that begin with `$`.",
        "https://github.com/anomalyco/opencode/issues/12295",
        _schema_ref,
    ),
    Rule(
        "function-name",
        "A function name with characters other than letters, digits and `_.:-`, or with more than"
        " 128 characters.",
        "https://github.com/google-gemini/gemini-cli/issues/12425",
        _function_name,
    ),
    Rule(
        "function-twice",
        "Two function declarations with one name.",
        "https://github.com/googleapis/dotnet-genai/issues/189",
        _function_twice,
    ),
    Rule(
        "built-in-with-functions",
        "On the Gemini API and Code Assist: a tool that the API runs, beside function declarations"
        " and without `includeServerSideToolInvocations`.",
        "https://github.com/ag2ai/ag2/pull/3145",
        _built_in_with_functions,
        wires=("gemini-api", "code-assist"),
    ),
    Rule(
        "config-without-functions",
        "On the Gemini API: a `functionCallingConfig` without function declarations.",
        "https://github.com/pydantic/pydantic-ai/pull/5791",
        _config_without_functions,
        wires=("gemini-api",),
    ),
    Rule(
        "json-with-functions",
        "Before Gemini 3: function declarations and `responseMimeType: application/json`.",
        "https://github.com/googleapis/python-genai/issues/867",
        _json_with_functions,
        models="before 3",
    ),
    Rule(
        "cached-content",
        "`cachedContent` together with a system instruction, tools or their configuration.",
        "https://github.com/langchain-ai/langchain-google/issues/978",
        _cached_content,
    ),
    Rule(
        "thinking-twice",
        "Both a thinking budget and a thinking level.",
        "https://ai.google.dev/gemini-api/docs/gemini-3",
        _thinking_twice,
    ),
)
