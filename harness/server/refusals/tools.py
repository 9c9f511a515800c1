"""Rules about tools and settings, and about settings that exclude each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from .rule import Generate, Rule
from .values import as_dict, as_list

_FUNCTION_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_NO_KEYWORDS: Final = frozenset(
    {
        "$schema",
        "$id",
        "const",
        "oneOf",
        "allOf",
        "not",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "propertyNames",
        "patternProperties",
    }
)
"""Keywords of JSON Schema that the API's Schema does not have. `additionalProperties` and
references are not in this set, because some versions of the API accept them.
"""

_JSON_BEFORE: Final = re.compile(r"gemini-(?:1|2)(?:\.|-|$)")


def _declarations(request: Generate) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, tool in enumerate(as_list(request.body.get("tools"))):
        for place, declaration in enumerate(as_list(as_dict(tool).get("functionDeclarations"))):
            if type(declaration) is dict:
                yield f"tools[{number}].function_declarations[{place}]", declaration


def _schemas(request: Generate) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each Schema in the parameters: its path in the errors of the JSON parser, its path in those
    of the validator, and the Schema.
    """
    for path, declaration in _declarations(request):
        if type(declaration.get("parameters")) is dict:
            start = f"{path}.parameters"
            yield from _walk(request.prefix + start, start, declaration["parameters"])


def _walk(
    parsed: str, validated: str, schema: dict[str, Any]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    yield parsed, validated, schema
    for number, (name, inner) in enumerate(as_dict(schema.get("properties")).items()):
        if type(inner) is dict:
            yield from _walk(
                f"{parsed}.properties[{number}].value", f"{validated}.properties[{name}]", inner
            )
    if type(schema.get("items")) is dict:
        yield from _walk(f"{parsed}.items", f"{validated}.items", schema["items"])
    for number, inner in enumerate(as_list(schema.get("anyOf"))):
        if type(inner) is dict:
            step = f".any_of[{number}]"
            yield from _walk(parsed + step, validated + step, inner)


def _function_name(request: Generate) -> Iterator[str]:
    for path, declaration in _declarations(request):
        name = declaration.get("name")
        if type(name) is not str or not _FUNCTION_NAME.fullmatch(name):
            yield (
                f"* GenerateContentRequest.{path}.name: Invalid function name. Must start with a"
                " letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_),"
                " dots (.), colons (:), or dashes (-), with a maximum length of 128."
            )


def _schema_keyword(request: Generate) -> Iterator[str]:
    for path, _, schema in _schemas(request):
        for keyword in schema:
            if keyword in _NO_KEYWORDS:
                yield (
                    f"Invalid JSON payload received. Unknown name \"{keyword}\" at '{path}': Cannot"
                    " find field."
                )


def _schema_type_list(request: Generate) -> Iterator[str]:
    for path, _, schema in _schemas(request):
        if type(schema.get("type")) is list:
            yield (
                f"Invalid JSON payload received. Unknown name \"type\" at '{path}': Proto field is"
                " not repeating, cannot start list."
            )


def _schema_items(request: Generate) -> Iterator[str]:
    for _, path, schema in _schemas(request):
        if schema.get("type") == "ARRAY" and "items" not in schema:
            yield f"* GenerateContentRequest.{path}.items: missing field."


def _schema_enum(request: Generate) -> Iterator[str]:
    for _, path, schema in _schemas(request):
        if schema.get("enum") and schema.get("type") != "STRING":
            yield f"* GenerateContentRequest.{path}.enum: only allowed for STRING type"


def _config_without_functions(request: Generate) -> Iterator[str]:
    config = as_dict(request.body.get("toolConfig"))
    if (
        request.provider == "gemini-api"
        and config.get("functionCallingConfig")
        and not config.get("includeServerSideToolInvocations")
        and not any(_declarations(request))
    ):
        yield "Function calling config is set without function_declarations."


def _json_with_functions(request: Generate) -> Iterator[str]:
    settings = as_dict(request.body.get("generationConfig"))
    if (
        settings.get("responseMimeType") == "application/json"
        and any(_declarations(request))
        and _JSON_BEFORE.search(request.model)
    ):
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
        "schema-keyword",
        "A keyword of JSON Schema in `parameters` that a Schema does not have: `const`, `$schema`,"
        " `oneOf` …",
        "https://github.com/zed-industries/zed/issues/44875",
        _schema_keyword,
    ),
    Rule(
        "schema-type-list",
        "A list of types in `parameters`.",
        "https://github.com/zed-industries/zed/issues/53919",
        _schema_type_list,
    ),
    Rule(
        "schema-items",
        "A Schema of type `ARRAY` without `items`.",
        "https://github.com/cline/cline/issues/7339",
        _schema_items,
    ),
    Rule(
        "schema-enum",
        "An `enum` in a Schema of a type other than `STRING`.",
        "https://github.com/musistudio/claude-code-router/issues/475",
        _schema_enum,
    ),
    Rule(
        "function-name",
        "A function name with characters other than letters, digits and `_.:-`, or with more than"
        " 128 characters.",
        "https://github.com/google-gemini/gemini-cli/issues/12425",
        _function_name,
    ),
    Rule(
        "config-without-functions",
        "On the Gemini API: a `functionCallingConfig` without function declarations.",
        "https://github.com/pydantic/pydantic-ai/pull/5791",
        _config_without_functions,
    ),
    Rule(
        "json-with-functions",
        "Before Gemini 3: function declarations and `responseMimeType: application/json`.",
        "https://github.com/googleapis/python-genai/issues/867",
        _json_with_functions,
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
