"""Reads the objects of the wire that events and payloads pass on unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from harness.facts import Fact, Raw
from harness.facts.detail import (
    Content,
    Counts,
    Fields,
    InvalidCall,
    RawCounts,
    Result,
    Signature,
    UnreadablePiece,
    signatures_of,
)
from harness.stream.json_codec import Json

from .gemini.facts import read_messages
from .gemini.raw_values import count_gemini
from .wire_values import names_in

_NOT_OF_MESSAGES = ("models", "total_tokens", "input_tokens_details")
"""Names beside ``input_tokens`` in the counts of other wires than Anthropic's."""


def read_raw(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts with those in the place of each raw part; the counts of raw usage that have
    no field of their own come first.
    """
    read: list[Fact] = []
    usage: dict[str, Json] = {}
    own: frozenset[str] = frozenset()
    for fact in facts:
        if isinstance(fact, Raw):
            read += read_raw_part(fact.object)
        elif isinstance(fact, RawCounts):
            usage |= fact.counts
            own = fact.own
        else:
            read.append(fact)
    # A count that has a field must be read from that field, so that a missing field is detected.
    counts = {name: count for name, count in _counted(usage).items() if name not in own}
    return [Counts(counts), *read] if counts else read


def read_raw_part(raw: Json) -> Iterator[Fact]:
    """Yield the media, code and signature of one part in the wire's own shape.

    A tool's result may also be an event, and an invalid call as an object with its name and
    text. Text is not read: it belongs to another candidate.
    """
    match raw:
        case {"kind": "tool_result"} if not raw.get("candidate"):
            yield from read_tool_result(raw)
            yield from signatures_of("other", raw.get("signature"))
        case {"kind": "invalid_call", "name": str(name), "text": str(text)}:
            yield InvalidCall(name, text)
            yield from signatures_of("call", raw.get("signature"))
            return
        case {"kind": str(), "candidate": int()}:
            return
        case {"type": str()}:
            yield from _read_typed_part(raw)
        case {}:
            message = {"candidates": [{"content": {"parts": [raw]}}]}
            yield from _parts(read_messages([message]).facts)
        case str():
            yield UnreadablePiece(raw)
        case _:
            yield UnreadablePiece(json.dumps(raw))
    yield Fields(frozenset(names_in(raw)))


def _read_typed_part(raw: dict[str, Json]) -> Iterator[Fact]:
    """Yield the facts of an item of the Responses API, a step of the Interactions API or a block of
    the Messages API.
    """
    from .anthropic.facts import block_facts
    from .interactions.facts import step_facts
    from .openai.facts import is_item, item_facts

    readers = [item_facts] if is_item(raw) else [step_facts, block_facts]
    for read in readers:
        yield from _parts(read(raw))


def read_tool_result(event: Mapping[str, Json]) -> Iterator[Fact]:
    """Yield the result in an event of the kind ``tool_result``."""
    yield Fields(frozenset({"functionResponse"}))
    has_failed = event.get("error") is not None or event.get("status") not in (None, "", "success")
    yield Result.of(has_failed, event.get("response"))


def _parts(facts: Iterable[Fact]) -> Iterator[Fact]:
    return (fact for fact in facts if isinstance(fact, Content | Signature))


def _counted(raw: dict[str, Json]) -> dict[str, int]:
    """Return the counts in the wire's own object, of the wire that has these names. A wire is
    imported when it is first read.
    """
    if "prompt_tokens" in raw or "completion_tokens" in raw:
        from .openai_compat.facts import count_chat

        return count_chat(raw)
    if "input_tokens" in raw and raw.keys().isdisjoint(_NOT_OF_MESSAGES):
        from .anthropic.facts import count_messages

        return count_messages(raw)
    if "input_tokens_details" in raw or "output_tokens_details" in raw:
        from .openai.facts import count_responses

        return count_responses(raw)
    if "total_input_tokens" in raw or "total_output_tokens" in raw:
        from .interactions.facts import count_interactions

        return count_interactions(raw)
    if "models" in raw or "total_tokens" in raw:
        from .gemini_cli.facts import count_stats

        return count_stats(raw) | count_gemini(raw)
    return count_gemini(raw)
