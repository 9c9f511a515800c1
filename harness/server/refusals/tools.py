"""Rules about tools and settings, and about settings that exclude each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from typing import Any, Final, NamedTuple

from harness.providers.gemini.request import SETTINGS
from harness.providers.request_rules import Checks, Spot, whole
from harness.stream.prompt import Function, ServerTool

from .rule import Asked

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


TOOL_CHECKS: Final[Checks] = {
    "schema-items": (
        _schemas,
        lambda schema: schema.get("type") == "ARRAY" and "items" not in schema,
    ),
    "schema-enum": (
        _schemas,
        lambda schema: (
            schema.get("enum") and schema.get("type") != "STRING" and schema.get("format") != "enum"
        ),
    ),
    "schema-object": (_object_fields, lambda kind: kind not in _OBJECT),
    "schema-root": (_parameters, lambda schema: schema.get("type", "OBJECT") not in _OBJECT),
    "items-empty": (_schemas, lambda schema: schema.get("items") == {}),
    "schema-twice": (_forms, lambda forms: all(forms.values)),
    "schema-without-type": (_untyped_schema, lambda kind: not kind),
    "function-undeclared": (_allowed, lambda is_declared: not is_declared),
    "stop-sequences": (_stops, lambda stop: len(stop) > _MAX_STOPS),
    "stop-sequences-empty": (_stops, lambda stop: not stop),
    "value-range": (
        partial(_numbers, _RANGES),
        lambda number: not number.low <= number.value <= number.high,
    ),
    "value-range-described": (
        partial(_numbers, _DESCRIBED_RANGES),
        lambda number: not number.low <= number.value <= number.high,
    ),
    "logprobs-in-stream": (
        whole,
        lambda request: request.streamed and _setting(request, "responseLogprobs") is True,
    ),
    "schema-required": (_required, lambda is_defined: not is_defined),
    "schema-ref": (_references, bool),
    "function-name": (_names, lambda name: not _FUNCTION_NAME.fullmatch(name)),
    "function-twice": (_duplicates, lambda number: number > 1),
    "built-in-with-functions": (whole, _mixes_tools),
    "config-without-functions": (_choices, bool),
    "json-with-functions": (whole, lambda request: _is_json(request) and request.functions),
    "cached-content": (whole, _beside_cache),
    "thinking-twice": (
        whole,
        lambda request: {"reasoning.budget", "reasoning.effort"} <= request.prompt.places.keys(),
    ),
}
