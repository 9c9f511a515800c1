"""The signatures that recorded exchanges gave out, and the parts that they were given for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.pipeline.replay import frames_of
from harness.providers.gemini.canonical_request import canonical_request
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_json

Place = tuple[str, str | None]
"""The kind of a part, and the name of its call."""

_KINDS: Final = ("functionCall", "toolCall", "toolResponse", "executableCode", "inlineData")


@dataclass(frozen=True, slots=True)
class GivenSignatures:
    """Three tables by signatures in canonical spelling.

    ``places``: the parts at which it stood. ``models``: those that gave it. ``copies``: how often
    it stood in one request or answer at most.
    """

    places: Mapping[str, frozenset[Place]]
    models: Mapping[str, frozenset[str]]
    copies: Mapping[str, int]


def place_of(part: Mapping[str, Any]) -> Place:
    """The place of a signature in a part in canonical form."""
    for kind in _KINDS:
        if type(part.get(kind)) is dict:
            name = part[kind].get("name") if kind == "functionCall" else None
            return kind, name if type(name) is str else None
    return ("thought" if part.get("thought") is True else "text"), None


def given_signatures(exchanges: Iterable[Exchange]) -> GivenSignatures:
    """The signatures in the requests and answers of these exchanges."""
    places: defaultdict[str, set[Place]] = defaultdict(set)
    models: defaultdict[str, set[str]] = defaultdict(set)
    copies: dict[str, int] = {}
    for exchange in exchanges:
        for parts in (list(_answered(exchange)), list(_asked(exchange))):
            for part in parts:
                signature = part["thoughtSignature"]
                places[signature].add(place_of(part))
                models[signature] |= {exchange.model} if exchange.model else set()
            for signature, count in Counter(part["thoughtSignature"] for part in parts).items():
                copies[signature] = max(count, copies.get(signature, 0))
    return GivenSignatures(
        {signature: frozenset(found) for signature, found in places.items()},
        {signature: frozenset(found) for signature, found in models.items()},
        copies,
    )


def _answered(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """The signed parts of an answer."""
    if exchange.generates:
        for frame in frames_of(exchange):
            yield from _walk(frame.json)


def _asked(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """The signed parts of a request."""
    if exchange.request is not None and b"ignature" in exchange.request.body:
        try:
            yield from _walk(decode_json(exchange.request.body))
        except ValueError:
            return


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if type(value) is dict:
        if "thoughtSignature" in value or "thought_signature" in value:
            body = canonical_request({"contents": [{"parts": [value]}]})
            part = body["contents"][0]["parts"][0]
            if type(part.get("thoughtSignature")) is str:
                yield part
        for inner in value.values():
            yield from _walk(inner)
    elif type(value) is list:
        for inner in value:
            yield from _walk(inner)
