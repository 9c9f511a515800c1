"""Rules about tools and settings, and about settings that exclude each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from typing import Any, Final, NamedTuple

from harness.providers.gemini.request import SETTINGS
from harness.stream.prompt import Function, ServerTool

from .rule import Asked, Rule, Spot, whole

_FUNCTION_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_BUILT_IN: Final = frozenset({
    "codeExecution", "fileSearch", "googleMaps", "googleSearch", "googleSearchRetrieval",
    "urlContext",
})  # fmt: skip
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
_BESIDE_REF: Final = frozenset({"description", "default", "ref"})
_NAMED_SCHEMAS: Final = ("properties", "$defs", "defs", "definitions", "patternProperties")
_INNER_SCHEMAS: Final = ("items", "additionalProperties", "not")
_LISTED_SCHEMAS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SETTING_NAMES: Final = {field: name for name, field in SETTINGS.items()}
_CALLING: Final = "toolConfig.functionCallingConfig"
_ITEM: Final = "* GenerateContentRequest."

JsonSchema = Mapping[str, Any]


def _setting(request: Asked, name: str) -> Any:
    """Return a field of ``generationConfig``; None if there is none."""
    own = request.prompt.settings.get(_SETTING_NAMES.get(name, ""))
    return request.more(f"generationConfig.{name}") if own is None else own


def _schema_of(request: Asked, function: Function, field: str) -> Any:
    """Return a schema of a function; None if it has none of this form."""
    schema = function.schema
    if schema and schema.place.rpartition(".")[2] == field:
        return schema.value
    return request.prompt.more.get(f"{function.place}.{field}")


def _names(request: Asked) -> Iterator[Spot]:
    return ((place, function.name) for place, function in request.functions)


def _parameters(request: Asked) -> Iterator[Spot]:
    """Yield the ``parameters`` of each function that are a Schema."""
    for place, function in request.functions:
        if isinstance(schema := _schema_of(request, function, "parameters"), dict):
            yield f"{place}.parameters", schema


def _schemas(request: Asked) -> Iterator[Spot]:
    """Yield each Schema in the parameters, with its path in the errors of the validator."""
    for place, schema in _parameters(request):
        yield from _walk(place, schema)


def _walk(path: str, schema: JsonSchema) -> Iterator[Spot]:
    yield path, schema
    inner = [(f"properties[{key}]", each) for key, each in _dict(schema.get("properties")).items()]
    inner.append(("items", schema.get("items")))
    inner += [(f"any_of[{number}]", each) for number, each in enumerate(_list(schema.get("anyOf")))]
    for name, each in inner:
        if isinstance(each, dict):
            yield from _walk(f"{path}.{name}", each)


def schema_nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a JSON Schema and all Schemas inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [schema.get(field) for field in _INNER_SCHEMAS]
    for field in _NAMED_SCHEMAS:
        inner += _dict(schema.get(field)).values()
    for field in _LISTED_SCHEMAS:
        inner += _list(schema.get(field))
    for item in inner:
        yield from schema_nodes(item)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object_fields(request: Asked) -> Iterator[Spot]:
    """Yield the fields of objects in each Schema, with its type."""
    for place, schema in _schemas(request):
        for name in ("properties", "required"):
            if schema.get(name):
                yield f"{place}.{name}", schema.get("type", "OBJECT")


def _required(request: Asked) -> Iterator[Spot]:
    """Yield each required name, and whether it is a property."""
    for place, schema in _schemas(request):
        for number, name in enumerate(_list(schema.get("required"))):
            is_defined = not isinstance(name, str) or name in _dict(schema.get("properties"))
            yield f"{place}.required[{number}]", is_defined


def _references(request: Asked) -> Iterator[Spot]:
    """Yield the name of each reference, and the other fields of its Schema."""
    for _, function in request.functions:
        for field in ("parameters", "parametersJsonSchema", "response", "responseJsonSchema"):
            for schema in schema_nodes(_schema_of(request, function, field)):
                ref = schema.get("$ref", schema.get("ref"))
                if isinstance(ref, str):
                    others = (key for key in schema if not key.startswith("$"))
                    yield ref.rpartition("/")[2], {*others} - _BESIDE_REF


class _Forms(NamedTuple):
    """The names of the two forms of a schema, and their values."""

    first: str
    second: str
    values: tuple[Any, ...]


def _forms(request: Asked) -> Iterator[Spot]:
    names = ("responseSchema", "responseJsonSchema")
    output = request.prompt.format
    schema = output.schema if output else None
    has = {schema.place.rpartition(".")[2]: schema.value} if schema else {}
    values = (has.get(name, request.more(f"generationConfig.{name}")) for name in names)
    yield "generationConfig", _Forms(*names, (*values,))
    names = ("parameters", "parametersJsonSchema")
    for place, function in request.functions:
        values = (_schema_of(request, function, name) for name in names)
        yield place, _Forms(*names, (*values,))


def _untyped_schema(request: Asked) -> Iterator[Spot]:
    """Yield the MIME type beside ``responseJsonSchema``."""
    _, forms = next(_forms(request))
    if forms.values[1]:
        named = "format.json" in request.prompt.places
        yield "", named or request.more("generationConfig.responseMimeType")


def _allowed(request: Asked) -> Iterator[Spot]:
    """Yield each allowed name, and whether it is declared, if any is."""
    choice, declared = request.prompt.choice, [name for _, name in _names(request)]
    named = (*([choice.name] if choice.name else []), *choice.allowed) if choice else ()
    yield from ((str(name), name in declared) for name in (named if declared else ()))


def _stops(request: Asked) -> Iterator[Spot]:
    if isinstance(stop := request.prompt.settings.get("stop"), list):
        yield str(len(stop)), stop


class _Ranged(NamedTuple):
    """A number, and the range that it must be in."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        end = f" to {self.high} (inclusive)" if self.high < inf else ""
        return f"{self.value} but the supported range is from {self.low} (inclusive){end}"


def _numbers(ranges: Mapping[str, tuple[float, float]], request: Asked) -> Iterator[Spot]:
    for name, limits in ranges.items():
        if isinstance(value := _setting(request, name), int | float):
            yield name, _Ranged(value, *limits)


def _duplicates(request: Asked) -> Iterator[Spot]:
    """Yield each name, and the number of its declarations."""
    yield from Counter(name for _, name in _names(request)).items()


def _choices(request: Asked) -> Iterator[Spot]:
    """Yield whether a request without functions for the API has a choice of functions."""
    config = _dict(request.more("toolConfig"))
    odd = config.get("functionCallingConfig") or request.more(f"{_CALLING}.mode")
    has_flag = config.get("includeServerSideToolInvocations")
    yield "", (request.prompt.choice or odd) and not has_flag and not request.functions


def _mixes_tools(request: Asked) -> bool:
    """Return whether tools of the API are beside functions, and the flag for both is not set."""
    own = [tool for tool in request.prompt.tools if isinstance(tool, ServerTool)]
    flag = _dict(request.more("toolConfig")).get("includeServerSideToolInvocations")
    built_in = any(tool.raw.keys() & _BUILT_IN for tool in own)
    return built_in and bool(request.functions) and flag is not True


def _is_json(request: Asked) -> bool:
    return request.prompt.places.get("format.json", "").endswith("responseMimeType")


def _beside_cache(request: Asked) -> bool:
    """Return whether values that the cached content has are sent too."""
    prompt = request.prompt
    has = prompt.instructions or prompt.tools or prompt.choice or request.more("toolConfig")
    odd = any("systemInstruction" in place or f"{_CALLING}." in place for place in prompt.more)
    return bool(prompt.google.get("cached")) and bool(has or odd)


TOOL_RULES: Final = (
    Rule(
        "schema-items",
        "A Schema of type `ARRAY` without `items`.",
        "https://github.com/cline/cline/issues/7339",
        _schemas,
        lambda schema: schema.get("type") == "ARRAY" and "items" not in schema,
        f"{_ITEM}{{place}}.items: missing field.",
    ),
    Rule(
        "schema-enum",
        "An `enum` in a Schema of a type other than `STRING`, without `format: enum`.",
        "https://github.com/musistudio/claude-code-router/issues/475",
        _schemas,
        lambda schema: (
            schema.get("enum") and schema.get("type") != "STRING" and schema.get("format") != "enum"
        ),
        f"{_ITEM}{{place}}.enum: only allowed for STRING type",
    ),
    Rule(
        "schema-object",
        "`properties` or `required`, not empty, in a Schema of a type other than `OBJECT`.",
        "https://github.com/anomalyco/opencode/issues/11889",
        _object_fields,
        lambda kind: kind not in _OBJECT,
        f"{_ITEM}{{place}}: only allowed for OBJECT type",
    ),
    Rule(
        "schema-root",
        "On Vertex AI: `parameters` of a type other than `OBJECT`.",
        "https://github.com/diegosouzapw/OmniRoute/issues/3360",
        _parameters,
        lambda schema: schema.get("type", "OBJECT") not in _OBJECT,
        "Unable to submit request because `{place}` schema should be of type OBJECT.",
        wires=("vertex-ai",),
    ),
    Rule(
        "items-empty",
        "Empty `items` in `parameters`.",
        "https://github.com/langchain-ai/langchain-google/issues/1587",
        _schemas,
        lambda schema: schema.get("items") == {},
        f"{_ITEM}{{place}}.items: missing field.",
        level="warning",
    ),
    Rule(
        "schema-twice",
        "Both forms of a schema: `responseSchema` and `responseJsonSchema`, or `parameters` and"
        " `parametersJsonSchema`.",
        "https://ai.google.dev/api/generate-content#GenerationConfig",
        _forms,
        lambda forms: all(forms.values),
        "{place}: {value.first} must be omitted when {value.second} is set.",
        level="warning",
    ),
    Rule(
        "schema-without-type",
        "`responseJsonSchema` without `responseMimeType`.",
        "https://ai.google.dev/api/generate-content#GenerationConfig",
        _untyped_schema,
        lambda kind: not kind,
        "response_mime_type must be set when response_json_schema is set.",
        level="warning",
    ),
    Rule(
        "function-undeclared",
        "A name in `allowedFunctionNames` that is not declared.",
        "https://github.com/pydantic/pydantic-ai/issues/6875",
        _allowed,
        lambda is_declared: not is_declared,
        "Allowed function name {place} is not in the function declarations.",
        level="warning",
    ),
    Rule(
        "stop-sequences",
        "More than five stop sequences.",
        "https://github.com/continuedev/continue/issues/2702",
        _stops,
        lambda stop: len(stop) > _MAX_STOPS,
        "Unable to submit request because it has {place} stop sequences, and at most"
        f" {_MAX_STOPS} are supported.",
    ),
    Rule(
        "stop-sequences-empty",
        "On Vertex AI: an empty list of stop sequences.",
        "https://github.com/google/generative-ai-go/issues/233",
        _stops,
        lambda stop: not stop,
        "Unable to submit request because the list of stop sequences is empty.",
        wires=("vertex-ai",),
    ),
    Rule(
        "value-range",
        "A temperature below 0 or above 2, a `topP` below 0 or above 1, or a `topK` below 0.",
        "https://github.com/mnfst/modelparams.dev/issues/334",
        partial(_numbers, _RANGES),
        lambda number: not number.low <= number.value <= number.high,
        "Unable to submit request because it has a {place} value of {value}.",
    ),
    Rule(
        "value-range-described",
        "A penalty below -2 or above 2, `logprobs` below 0 or above 20, or `maxOutputTokens` below"
        " 1.",
        "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerationConfig",
        partial(_numbers, _DESCRIBED_RANGES),
        lambda number: not number.low <= number.value <= number.high,
        "Unable to submit request because it has a {place} value of {value}.",
        level="warning",
    ),
    Rule(
        "logprobs-in-stream",
        "On the Gemini API: `responseLogprobs` in a stream.",
        "https://github.com/maruel/genai",
        whole,
        lambda request: request.streamed and _setting(request, "responseLogprobs") is True,
        "Logprobs is not supported for streaming requests.",
        wires=("gemini-api",),
    ),
    Rule(
        "schema-required",
        "On the Gemini API: a name in `required` that `properties` does not have.",
        "https://github.com/iBUHub/AIStudioToAPI/issues/154",
        _required,
        lambda is_defined: not is_defined,
        f"{_ITEM}{{place}}: property is not defined",
        wires=("gemini-api",),
    ),
    Rule(
        "schema-ref",
        "A `$ref` beside other keys than `description`, `default` and those that begin with `$`.",
        "https://github.com/anomalyco/opencode/issues/12295",
        _references,
        bool,
        "$ref '{place}' was set alongside unsupported fields. If a schema node has $ref set, then"
        " only description and default can be set alongside it; other fields they would be replaced"
        " by the expanded reference.",
    ),
    Rule(
        "function-name",
        "A function name with characters other than letters, digits and `_.:-`, or with more than"
        " 128 characters.",
        "https://github.com/google-gemini/gemini-cli/issues/12425",
        _names,
        lambda name: not _FUNCTION_NAME.fullmatch(name),
        f"{_ITEM}{{place}}.name: Invalid function name. Must start with a letter or an underscore."
        " Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-),"
        " with a maximum length of 128.",
    ),
    Rule(
        "function-twice",
        "Two function declarations with one name.",
        "https://github.com/googleapis/dotnet-genai/issues/189",
        _duplicates,
        lambda number: number > 1,
        "Duplicate function declaration found: {place}",
    ),
    Rule(
        "built-in-with-functions",
        "On the Gemini API and Code Assist: a tool that the API runs, beside function declarations"
        " and without `includeServerSideToolInvocations`.",
        "https://github.com/ag2ai/ag2/pull/3145",
        whole,
        _mixes_tools,
        "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with"
        " Function calling.",
        wires=("gemini-api", "code-assist"),
    ),
    Rule(
        "config-without-functions",
        "On the Gemini API: a `functionCallingConfig` without function declarations.",
        "https://github.com/pydantic/pydantic-ai/pull/5791",
        _choices,
        bool,
        "Function calling config is set without function_declarations.",
        wires=("gemini-api",),
    ),
    Rule(
        "json-with-functions",
        "Before Gemini 3: function declarations and `responseMimeType: application/json`.",
        "https://github.com/googleapis/python-genai/issues/867",
        whole,
        lambda request: _is_json(request) and request.functions,
        "Function calling with a response mime type: 'application/json' is unsupported",
        models="before 3",
    ),
    Rule(
        "cached-content",
        "`cachedContent` together with a system instruction, tools or their configuration.",
        "https://github.com/langchain-ai/langchain-google/issues/978",
        whole,
        _beside_cache,
        "CachedContent can not be used with GenerateContent request setting system_instruction,"
        " tools or tool_config.\n\nProposed fix: move those values to CachedContent from"
        " GenerateContent request.",
    ),
    Rule(
        "thinking-twice",
        "Both a thinking budget and a thinking level.",
        "https://ai.google.dev/gemini-api/docs/gemini-3",
        whole,
        lambda request: {"reasoning.budget", "reasoning.effort"} <= request.prompt.places.keys(),
        "You can only set only one of thinking budget and thinking level.",
    ),
)
