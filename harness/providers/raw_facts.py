"""Reads the objects of the wire that events and payloads pass on unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping

from harness.facts import Facts
from harness.stream.json_codec import Json

from .gemini.facts import read_messages
from .oracle.anthropic import count_messages, gather_block
from .oracle.gemini import count_gemini
from .oracle.gemini_cli import count_stats
from .oracle.interactions import count_interactions, gather_step
from .oracle.openai_compat import count_chat
from .oracle.openai_responses import count_responses, gather_item, is_item
from .oracle.values import names_in

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
        case {"type": str()} if is_item(raw):
            _add_parts(facts, gather_item(raw))
        case {"type": str()}:
            _add_parts(facts, gather_step(raw))
            _add_parts(facts, gather_block(raw))
        case {}:
            _add_parts(facts, read_messages([{"candidates": [{"content": {"parts": [raw]}}]}]))
        case str():
            facts.unreadable.append(raw)
        case _:
            facts.unreadable.append(json.dumps(raw))
    facts.others |= names_in(raw)


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
    if "prompt_tokens" in raw or "completion_tokens" in raw:
        count_chat(counts, raw)
    elif "input_tokens" in raw and raw.keys().isdisjoint(_NOT_OF_MESSAGES):
        count_messages(counts, raw)
    elif "input_tokens_details" in raw or "output_tokens_details" in raw:
        count_responses(counts, raw)
    elif "total_input_tokens" in raw or "total_output_tokens" in raw:
        count_interactions(counts, raw)
    else:
        if "models" in raw or "total_tokens" in raw:
            count_stats(counts, raw)
        count_gemini(counts, raw)
    facts.usage = {
        name: count for name, count in counts.usage.items() if name not in facts.own_counts
    } | facts.usage
