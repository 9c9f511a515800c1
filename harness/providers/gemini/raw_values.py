"""Reads the counts, the sources and the tools of Gemini's messages in the wire's own shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from harness.facts import Fact
from harness.facts.detail import Fields, Opaque
from harness.stream.json_codec import Json

from ..event_facts import billing_fact, opaque_values
from ..wire_values import camel, strings, values_in

_CAPITAL = re.compile(r"[A-Z]")
_PIECE_VALUES = {"stringValue": (str,), "numberValue": (int, float), "boolValue": (bool,)}
_COUNTS = {
    spelling
    for name in (
        *("promptTokenCount", "candidatesTokenCount", "responseTokenCount", "totalTokenCount"),
        *("thoughtsTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount"),
        *("rawPromptTokenCount", "initialPromptTokenCount"),
        *("promptTokensDetails", "candidatesTokensDetails", "responseTokensDetails"),
        *("cacheTokensDetails", "toolUsePromptTokensDetails", "billablePromptUsage"),
    )
    for spelling in (name, _CAPITAL.sub(lambda match: "_" + match[0].lower(), name))
}
"""The fields of a ``usageMetadata`` that are no news, in both spellings."""
_BILLING = ("serviceTier", "trafficType")
_ENUM_WORD = re.compile("[A-Z_]+")
_ANNOTATIONS = {
    "grounding": ("groundingMetadata", "groundingAttributions"),
    "citations": ("citationMetadata",),
    "urls": ("urlContextMetadata", "urlRetrievalMetadata"),
}
_URI_FIELDS = ("uri", "retrievedUrl", "retrieved_url")


def count_gemini(usage: dict[str, Json]) -> dict[str, int]:
    """Return the counts of a ``usageMetadata``; a value that is not a whole number is left out."""
    counts = ((name, _whole(value)) for name, value in usage.items())
    return {camel(name): count for name, count in counts if count is not None}


def usage_facts(usage: dict[str, Json]) -> Iterator[Fact]:
    """Yield how the answer is billed, and the names of the fields that are no counts."""
    if usage.keys() <= _COUNTS:
        return
    for name in _BILLING:
        yield from billing_fact(name, pick(usage, name))
    others = (name for name, value in usage.items() if value is not None and name not in _COUNTS)
    yield Fields(frozenset({camel(name) for name in others} - {*_BILLING}))


def annotation_facts(candidate: dict[str, Json]) -> Iterator[Opaque]:
    """Yield the sources and the log probabilities in the fields of a candidate."""
    for aspect, names in _ANNOTATIONS.items():
        for name in names:
            yield from opaque_values(aspect, *_sources(pick(candidate, name)))
    for token in _chosen_tokens(pick(candidate, "logprobsResult")):
        yield from opaque_values("logprobs", str(pick(token, "logProbability")))


def server_tool_values(tool: Json) -> Iterator[Opaque]:
    """Yield the values of a tool that the server ran."""
    if isinstance(tool, dict):
        texts = [
            text
            for field in ("args", "response")
            for text in strings(tool.get(field))
            if not _ENUM_WORD.fullmatch(text)
        ]
        yield from opaque_values("server_tools", tool.get("id"), *texts)


def values_of_piece(piece: dict[str, Json]) -> list[Json]:
    """Return the values of a piece of streamed arguments, without null."""
    types = _PIECE_VALUES.items()
    return [value for name, kinds in types if type(value := pick(piece, name)) in kinds]


def pick(holder: dict[str, Json], name: str) -> Json:
    """Return a field in either spelling; None if it is missing or null."""
    value = holder.get(name)
    return value if value is not None else holder.get(_snake(name))


@lru_cache(maxsize=256)
def _snake(name: str) -> str:
    """Return the snake_case name of a field."""
    return _CAPITAL.sub(lambda match: "_" + match[0].lower(), name)


def _objects(value: Json) -> list[dict[str, Json]]:
    """Return the objects of a list, or the one object instead of a list."""
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], dict):
            return value
        return [item for item in value if isinstance(item, dict)]
    return [value] if isinstance(value, dict) else []


def _sources(annotation: Json) -> Iterator[str]:
    """Yield every URI inside an annotation, in order. A retrieved context without a URI, such as
    one of file search, has its title and text instead.
    """
    for item in values_in(annotation):
        if not isinstance(item, dict):
            continue
        yield from (item[name] for name in _URI_FIELDS if isinstance(item.get(name), str))
        context = pick(item, "retrievedContext")
        if isinstance(context, dict) and not context.get("uri"):
            yield from (context[name] for name in ("title", "text") if context.get(name))


def _chosen_tokens(result: Json) -> Iterator[dict[str, Json]]:
    """Yield the tokens of the answer that have a log probability."""
    chosen = pick(result, "chosenCandidates") if isinstance(result, dict) else None
    for token in _objects(chosen):
        value = pick(token, "logProbability")
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield token


def _whole(count: Json) -> int | None:
    """Return a count as a number, also if it is a string or a float on the wire."""
    if type(count) is int:
        return count
    if isinstance(count, str) and re.fullmatch("-?[0-9]{1,19}", count):
        return int(count)
    return int(count) if isinstance(count, float) and count.is_integer() else None
