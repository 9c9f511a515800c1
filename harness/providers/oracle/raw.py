"""Reads the objects of the wire that events and payloads hand on unchanged."""

from __future__ import annotations

import json

from harness.facts import Facts
from harness.stream.json_codec import Json

from .gemini import camel, gather_value
from .gemini_cli import count_stats


def read_raw(facts: Facts) -> Facts:
    """Add to ``facts`` what their ``raw`` and ``raw_usage`` say, and empty these; returns the same
    object.
    """
    for raw in facts.raw:
        read_raw_part(facts, raw)
    read_raw_usage(facts, facts.raw_usage)
    facts.raw, facts.raw_usage, facts.own_counts = [], {}, frozenset()
    return facts


def read_raw_part(facts: Facts, raw: Json) -> None:
    """Note the media, code and signature of one part in the wire's own shape.

    A tool's result may also come as its event. Text is not read: it belongs to another candidate.
    """
    match raw:
        case {"kind": "tool_result"} if not raw.get("candidate"):
            facts.others.add("functionResponse")
            facts.add_signature("other", raw.get("signature"))
        case {"kind": str(), "candidate": int()}:
            return
        case {}:
            part = gather_value({"candidates": [{"content": {"parts": [raw]}}]})
            facts.media += part.media
            facts.code += part.code
            facts.server_tools += part.server_tools
            facts.signatures += part.signatures
        case str():
            facts.unreadable.append(raw)
        case _:
            facts.unreadable.append(json.dumps(raw))
    facts.others |= names_in(raw)


def read_raw_usage(facts: Facts, raw: dict[str, Json]) -> None:
    """Add the counts of ``raw`` that have no field of their own. A count with a field must come
    from that field, so that a missing field is found.
    """
    counts = Facts()
    if "models" in raw or "total_tokens" in raw:
        count_stats(counts, raw)
    counts.usage |= gather_value({"usageMetadata": raw}).usage
    facts.usage = {
        name: count for name, count in counts.usage.items() if name not in facts.own_counts
    } | facts.usage


def names_in(raw: Json) -> set[str]:
    """The camelCase names of every field inside a piece of wire data, however deep."""
    pending, names = [raw], set[str]()
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            names |= {camel(name) for name in item}
            pending += item.values()
        elif isinstance(item, list):
            pending += item
    return names
