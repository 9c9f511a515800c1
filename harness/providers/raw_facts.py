"""Reads the objects of the wire that events and payloads pass on unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from harness.facts import Facts
from harness.stream.json_codec import Json

from .gemini.facts import read_messages
from .gemini.raw_values import count_gemini
from .wire_values import names_in

_NOT_OF_MESSAGES = ("models", "total_tokens", "input_tokens_details")
"""Names beside ``input_tokens`` in the counts of other wires than Anthropic's."""


def read_raw(facts: Facts) -> Facts:
    """Add to ``facts`` the facts in its ``raw`` and ``raw_usage``, and empty these; returns the
    same object.
    """
    for raw in facts.raw:
        read_raw_part(facts, raw)
    read_raw_usage(facts, facts.raw_usage)
    facts.raw, facts.raw_usage, facts.own_counts = [], {}, frozenset()
    return facts


def read_raw_part(facts: Facts, raw: Json) -> None:
    """Note the media, code and signature of one part in the wire's own shape.

    A tool's result may also be an event, and an invalid call as an object with its name and
    text. Text is not read: it belongs to another candidate.
    """
    match raw:
        case {"kind": "tool_result"} if not raw.get("candidate"):
            read_tool_result(facts, raw)
            facts.add_signature("other", raw.get("signature"))
        case {"kind": "invalid_call", "name": str(name), "text": str(text)}:
            facts.invalid_calls.append((name, text))
            facts.add_signature("call", raw.get("signature"))
            return
        case {"kind": str(), "candidate": int()}:
            return
        case {"type": str()}:
            _read_typed_part(facts, raw)
        case {}:
            _add_parts(facts, read_messages([{"candidates": [{"content": {"parts": [raw]}}]}]))
        case str():
            facts.unreadable.append(raw)
        case _:
            facts.unreadable.append(json.dumps(raw))
    facts.others |= names_in(raw)


def _read_typed_part(facts: Facts, raw: dict[str, Json]) -> None:
    """Note an item of the Responses API, or a step of the Interactions API or a block of the
    Messages API.
    """
    from .anthropic.facts import gather_block
    from .interactions.facts import gather_step
    from .openai.facts import is_item, read_item

    readers = [read_item] if is_item(raw) else [gather_step, gather_block]
    for read in readers:
        _add_parts(facts, read(raw))


def read_tool_result(facts: Facts, event: Mapping[str, Json]) -> None:
    """Note the result in an event of the kind ``tool_result``."""
    facts.others.add("functionResponse")
    has_failed = event.get("error") is not None or event.get("status") not in (None, "", "success")
    facts.add_result(has_failed, event.get("response"))


def _add_parts(facts: Facts, part: Facts) -> None:
    facts.media += part.media
    facts.code += part.code
    facts.server_tools += part.server_tools
    facts.signatures += part.signatures


def read_raw_usage(facts: Facts, raw: dict[str, Json]) -> None:
    """Add the counts of ``raw`` that have no field of their own. A count that has a field must be
    read from that field, so that the law detects a missing field.
    """
    if not raw:
        return
    counts = Facts()
    _counter_of(raw)(counts, raw)
    facts.usage = {
        name: count for name, count in counts.usage.items() if name not in facts.own_counts
    } | facts.usage


def _counter_of(raw: dict[str, Json]) -> Callable[[Facts, dict[str, Json]], object]:
    """Return the reader of the counts of the wire that has these names. A wire is imported when it
    is first read.
    """
    if "prompt_tokens" in raw or "completion_tokens" in raw:
        from .openai_compat.facts import count_chat

        return count_chat
    if "input_tokens" in raw and raw.keys().isdisjoint(_NOT_OF_MESSAGES):
        from .anthropic.facts import count_messages

        return count_messages
    if "input_tokens_details" in raw or "output_tokens_details" in raw:
        from .openai.facts import count_responses

        return count_responses
    if "total_input_tokens" in raw or "total_output_tokens" in raw:
        from .interactions.facts import count_interactions

        return count_interactions
    return _count_others


def _count_others(counts: Facts, raw: dict[str, Json]) -> None:
    """Read the counts of a program, and of generateContent."""
    if "models" in raw or "total_tokens" in raw:
        from .gemini_cli.facts import count_stats

        count_stats(counts, raw)
    count_gemini(counts, raw)
