"""Collects the values of recorded exchanges that later requests may contain: signatures with their
parts, and ids of interactions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from harness.pipeline.replay import frames_of, replay
from harness.providers import PROVIDERS
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_object

from ..whole_answers import interaction_of
from .histories import (
    GeminiContent,
    Stored,
    chat_request,
    interaction_request,
    step_contents,
)

SignaturePlace = tuple[str, str | None]
"""The kind of a part, and the function name if it is a call."""

_KINDS: Final = ("functionCall", "toolCall", "toolResponse", "executableCode", "inlineData")


@dataclass(frozen=True, slots=True)
class ServedSignatures:
    """The signatures and contents of the served exchanges. The keys of the first three tables are
    signatures in canonical spelling.
    """

    places: Mapping[str, frozenset[SignaturePlace]]
    """The parts that had the signature."""
    models: Mapping[str, frozenset[str]]
    """The models of its exchanges."""
    copies: Mapping[str, int]
    """The maximum number of its occurrences in one request or answer."""
    interactions: Stored
    """The contents of each stored interaction, by id."""
    repeated: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The values for the rules of each other wire, by the name of its provider."""


def place_of(part: Mapping[str, Any]) -> SignaturePlace:
    """Return the place of the signature of a part in canonical form."""
    for kind in _KINDS:
        if type(part.get(kind)) is dict:
            name = part[kind].get("name") if kind == "functionCall" else None
            return kind, name if type(name) is str else None
    return ("thought" if part.get("thought") is True else "text"), None


def given_by(exchanges: Iterable[Exchange]) -> ServedSignatures:
    """Return the signatures in the requests and answers of these exchanges, and their
    interactions.
    """
    places: defaultdict[str, set[SignaturePlace]] = defaultdict(set)
    models: defaultdict[str, set[str]] = defaultdict(set)
    copies: dict[str, int] = {}
    interactions: dict[str, list[GeminiContent]] = {}
    repeated: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for exchange in exchanges:
        known = PROVIDERS.get(exchange.provider or "")
        if known and known.refusals:
            sent = decode_object(exchange.request.body if exchange.request else b"") or {}
            messages = [frame.json for frame in frames_of(exchange)] if exchange.generates else []
            repeated[known.name] |= known.refusals.given(sent, messages)
            continue
        answer = _answered(exchange)
        if answer.get("id"):
            interactions[answer["id"]] = answer["contents"]
        asked = _asked(exchange)
        if previous := asked.get("previous_interaction_id"):
            interactions.setdefault(previous, [])
        for parts in (list(_walk(answer)), list(_walk(asked))):
            for part in parts:
                signature = part["thoughtSignature"]
                places[signature].add(place_of(part))
                models[signature] |= {exchange.model} if exchange.model else set()
            for signature, count in Counter(part["thoughtSignature"] for part in parts).items():
                copies[signature] = max(count, copies.get(signature, 0))
    return ServedSignatures(
        {signature: frozenset(kinds) for signature, kinds in places.items()},
        {signature: frozenset(names) for signature, names in models.items()},
        copies,
        interactions,
        repeated,
    )


def _answered(exchange: Exchange) -> dict[str, Any]:
    """Return the contents of an answer, and the id if it is an interaction."""
    if not exchange.generates:
        return {}
    match exchange.provider:
        case "interactions":
            whole = interaction_of(exchange) or {}
            return {"id": whole.get("id"), "contents": step_contents(whole.get("steps", ()))}
        case "openai-compat":
            return {"contents": [*_chat_parts(exchange)]}
    return {"contents": [frame.json for frame in frames_of(exchange)]}


def _chat_parts(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """Yield the signed parts of a chat completion: its calls, and the text of its message."""
    for event in replay(exchange, provider=exchange.provider, layer="events"):
        if signature := event.get("signature"):
            name = event.get("name")
            part = (
                {"functionCall": {"name": name}} if event["kind"] == "call_start" else {"text": ""}
            )
            yield {**part, "thoughtSignature": signature}


def _asked(exchange: Exchange) -> dict[str, Any]:
    """Return the request, with its history in the form of a generate request."""
    body = exchange.request.body if exchange.request else b""
    names_any = b"ignature" in body or b"previous_interaction" in body
    sent = decode_object(body) if names_any else None
    if sent is None:
        return {}
    match exchange.provider:
        case "interactions":
            return {**sent, **interaction_request(sent, {})}
        case "openai-compat":
            return chat_request(sent)
    return sent


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if type(value) is dict:
        if "thoughtSignature" in value or "thought_signature" in value:
            body = PROVIDERS["gemini-api"].canonical({"contents": [{"parts": [value]}]})
            part = body["contents"][0]["parts"][0]
            if type(part.get("thoughtSignature")) is str:
                yield part
        for inner in value.values():
            yield from _walk(inner)
    elif type(value) is list:
        for inner in value:
            yield from _walk(inner)
