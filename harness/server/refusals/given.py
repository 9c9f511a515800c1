"""Reads the history of requests, and collects the values of recorded exchanges that later requests
may contain: signatures with their parts, and ids of interactions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from harness.pipeline.replay import frames_of, replay
from harness.providers import PROVIDERS
from harness.providers.gemini.signatures import plain_base64
from harness.providers.history import NO_PROMPT
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_object
from harness.stream.prompt import (
    AnyPart,
    Call,
    Media,
    Native,
    Opaque,
    Prompt,
    Result,
    Text,
    Thinking,
)

from ..whole_answers import interaction_of

SignaturePlace = tuple[str, str | None]
"""The kind of a part, and the function name if it is a call."""

_KINDS: Final = ("toolCall", "toolResponse", "executableCode", "inlineData")
_EVENTS: Final = {
    "call_start": "functionCall",
    "reasoning": "thought",
    "media": "inlineData",
    "code": "executableCode",
    "server_call": "toolCall",
    "server_result": "toolResponse",
}
"""The kind of an event → the kind of its part."""


class Content(NamedTuple):
    """A turn of a history, of ``user`` or ``model``."""

    role: str
    parts: tuple[AnyPart, ...]


@dataclass(frozen=True, slots=True)
class ServedSignatures:
    """The signatures and contents of the served exchanges. The keys of the first three tables are
    signatures in one spelling.
    """

    places: Mapping[str, frozenset[SignaturePlace]]
    """The parts that had the signature."""
    models: Mapping[str, frozenset[str]]
    """The models of its exchanges."""
    copies: Mapping[str, int]
    """The maximum number of its occurrences in one request or answer."""
    interactions: Mapping[str, Sequence[Content]]
    """The contents of each stored interaction, by id."""
    repeated: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The values for the rules of each other wire, by the name of its provider."""


def contents_of(prompt: Prompt, wire: str, before: Sequence[Content] = ()) -> list[Content]:
    """Return the turns of a history without instructions. Steps of an interaction follow the
    contents ``before``, and join to turns.
    """
    turns = [
        Content(
            "model" if message.role == "assistant" else "user",
            tuple(_as_result(part) for part in message.parts if _is_content(part, wire)),
        )
        for message in prompt.messages
        if message.role != "system"
    ]
    return turns if wire != "interactions" else _joined(turns, before, prompt.continues)


def _is_content(part: AnyPart, wire: str) -> bool:
    """Return whether a part is one of the content. Thoughts and the refusal of a message of a chat
    have fields of their own.
    """
    if wire != "openai-compat":
        return True
    if isinstance(part, Thinking):
        return ".content" in part.place
    return not (isinstance(part, Text) and part.place.endswith(".refusal"))


def _as_result(part: AnyPart) -> AnyPart:
    """Return the result of a remote tool, which is in a turn of the model, as a result."""
    raw = part.raw if isinstance(part, Native) else {}
    given = raw.get("functionResponse")
    if given is None:
        return part
    wire = given if type(given) is dict else {}
    name, call_id = (value if type(value := wire.get(key)) is str else "" for key in ("name", "id"))
    more = {"parts": wire.get("parts")} if type(given) is dict else {"functionResponse": given}
    response = wire.get("response")
    return Result(call_id, name, response, wire_id=call_id or None, place=part.place, more=more)


def _joined(turns: list[Content], before: Sequence[Content], continues: bool) -> list[Content]:
    """Join the steps of one role. The signature of a thought is that of the call after it
    (https://ai.google.dev/gemini-api/docs/interactions). The calls of an unknown history, which
    only Google's server has, are unknown too, so results for them are left out.
    """
    first = [Content("user", (Text(""),)), *before] if before else []
    steps = [*first, *turns]
    calls = (part for turn in steps for part in turn.parts if isinstance(part, Call))
    names = {call.id: call.name for call in calls}
    joined: list[Content] = []
    thought: Opaque | None = None
    for role, parts in [*steps, Content("", (Text(""),))]:
        read: list[AnyPart] = []
        for part in parts:
            own = part
            if thought and not isinstance(part, Call):
                _add(joined, "model", [Thinking("", signature=thought)])
            elif thought:
                own = replace(part, signature=thought)
            thought = part.signature if isinstance(part, Thinking) else None
            if isinstance(part, Result):
                own = replace(part, name=part.name or names.get(part.id, ""))
            is_unknown = isinstance(own, Result) and continues and not before
            if not isinstance(part, Thinking | Native) and not is_unknown:
                read.append(own)
        _add(joined, role, read if role else [])
    return joined


def _add(contents: list[Content], role: str, parts: list[AnyPart]) -> None:
    if parts and contents and contents[-1].role == role:
        contents[-1] = Content(role, (*contents[-1].parts, *parts))
    elif parts:
        contents.append(Content(role, tuple(parts)))


def signature_of(part: AnyPart) -> str | None:
    """Return the signature of a part in one spelling; None if it has none."""
    return plain_base64(part.signature.value) if part.signature else None


def place_of(part: AnyPart) -> SignaturePlace:
    """Return the place of the signature of a part."""
    match part:
        case Call(name=name):
            return "functionCall", name or None
        case Media(data=str()):
            return "inlineData", None
        case Native(raw=raw):
            return next((kind for kind in _KINDS if type(raw.get(kind)) is dict), "text"), None
    return ("thought" if isinstance(part, Thinking) else "text"), None


def given_by(exchanges: Iterable[Exchange]) -> ServedSignatures:
    """Return the signatures in the requests and answers of these exchanges, and their
    interactions.
    """
    places: defaultdict[str, set[SignaturePlace]] = defaultdict(set)
    models: defaultdict[str, set[str]] = defaultdict(set)
    copies: dict[str, int] = {}
    interactions: dict[str, Sequence[Content]] = {}
    repeated: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for exchange in exchanges:
        known = PROVIDERS.get(exchange.provider or "")
        if known and known.refusals:
            sent = decode_object(exchange.request.body if exchange.request else b"") or {}
            messages = [frame.json for frame in frames_of(exchange)] if exchange.generates else []
            for body in (sent, known.refusals.following(messages)):
                repeated[known.name] |= known.refusals.given(known.prompt_of(body))
            continue
        asked = _asked(exchange)
        if previous := asked.more.get("previous_interaction_id"):
            interactions.setdefault(previous, ())
        answered = []
        if exchange.provider == "interactions" and exchange.generates:
            whole = interaction_of(exchange) or {}
            steps = PROVIDERS["interactions"].prompt_of({"input": whole.get("steps")})
            contents = contents_of(steps, "interactions")
            answered = [*_signed(contents)]
            interactions |= {whole["id"]: contents} if whole.get("id") else {}
        elif exchange.generates:
            answered = [*_answered(exchange)]
        for signed in (answered, [*_signed(contents_of(asked, exchange.provider or ""))]):
            for signature, place in signed:
                places[signature].add(place)
                models[signature] |= {exchange.model} if exchange.model else set()
            for signature, count in Counter(signature for signature, _ in signed).items():
                copies[signature] = max(count, copies.get(signature, 0))
    return ServedSignatures(
        {signature: frozenset(kinds) for signature, kinds in places.items()},
        {signature: frozenset(names) for signature, names in models.items()},
        copies,
        interactions,
        repeated,
    )


def _signed(contents: Iterable[Content]) -> Iterator[tuple[str, SignaturePlace]]:
    """Yield the signature of each signed part, with its place."""
    for content in contents:
        for part in content.parts:
            if signature := signature_of(part):
                yield signature, place_of(part)


def _answered(exchange: Exchange) -> Iterator[tuple[str, SignaturePlace]]:
    """Yield the signatures of an answer, with their places."""
    if b"ignature" not in exchange.body and not exchange.header("content-encoding"):
        return
    for event in replay(exchange, provider=exchange.provider, layer="events"):
        if signature := event.get("signature"):
            kind = _EVENTS.get(event["kind"], "text")
            name = event.get("name") if kind == "functionCall" else None
            yield plain_base64(signature), (kind, name or None)


def _asked(exchange: Exchange) -> Prompt:
    """Return the prompt of a request that may have signatures."""
    body = exchange.request.body if exchange.request else b""
    names_any = b"ignature" in body or b"previous_interaction" in body
    provider = PROVIDERS.get(exchange.provider or "gemini-api")
    return provider.read_request(body) if provider and names_any else NO_PROMPT
