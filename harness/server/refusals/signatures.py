"""Rules about thought signatures."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from harness.providers.gemini.canonical_request import DUMMY_SIGNATURES
from harness.stream.prompt import AnyPart, Call, Native, Result, Text, Thinking

from .given import place_of, signature_of
from .rule import EVERY_WIRE, Asked, Rule, Spot

MISSING: Final = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools"
    " to work correctly, and missing thought_signature may lead to degraded model performance."
    " Additional data, function call `default_api:{value[0].name}` , position {place}. Please refer"
    " to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
)
INVALID: Final = "Invalid thought signature."
_SERVER_TOOLS: Final = {"toolCall": "Tool call", "toolResponse": "Tool response"}


def _signed(request: Asked) -> Iterator[tuple[str, AnyPart, str]]:
    """Yield the path, the part and the signature of each signed part, without placeholders."""
    for path, part in request.parts:
        signature = signature_of(part)
        if signature and signature not in DUMMY_SIGNATURES:
            yield path, part, signature


def _signatures(request: Asked) -> Iterator[Spot]:
    return ((path, signature) for path, _, signature in _signed(request))


def _current_calls(request: Asked) -> Iterator[Spot]:
    """Yield the position, from 1, and the calls of each turn of the model after the last user
    message, if any. The API reads consecutive contents of one role as one.
    """
    start = 0
    for number, (role, held) in enumerate(request.contents):
        if role == "user" and not all(isinstance(part, Result) for part in held):
            start = number
    rest = enumerate(request.contents[start:], start + 1)
    for _, contents in groupby(rest, lambda item: item[1].role == "model"):
        turn = list(contents)
        parts = [part for _, content in turn for part in content.parts]
        if calls := [part for part in parts if isinstance(part, Call)]:
            yield str(turn[0][0]), calls


def _is_base64(signature: str) -> bool:
    try:
        base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _all(request: Asked) -> Iterator[Spot]:
    """Yield the signatures of the request that are not served, if any is served."""
    known = request.given().places
    yield "", {signature for _, signature in _signatures(request)} - known.keys() if known else ()


def _server_tools(request: Asked) -> Iterator[Spot]:
    for path, part in request.parts:
        raw = part.raw if isinstance(part, Native) else {}
        for field, title in _SERVER_TOOLS.items():
            if field in raw:
                is_object = type(raw[field]) is dict
                yield f"{path}: {title}", (signature_of(part), is_object)


class _Given(NamedTuple):
    """A signed part, and what the served exchanges have of its signature."""

    part: AnyPart
    places: frozenset[tuple[str, str | None]]
    models: frozenset[str]
    model: str
    """The model of the request."""
    number: int
    """The number of parts of the request with the signature."""
    most: int
    """The maximum number of its occurrences in one request or answer."""

    @property
    def names(self) -> str:
        return ", ".join(sorted(self.models))

    @property
    def is_moved(self) -> bool:
        """An empty text carries the signature of a part that a client can't express."""
        kind, name = place_of(self.part)
        is_empty = isinstance(self.part, Text | Thinking) and not self.part.text
        return bool(self.places) and not is_empty and not self.places & {(kind, name), (kind, None)}


def _known(request: Asked) -> Iterator[Spot]:
    counts, given = Counter(signature for _, signature in _signatures(request)), request.given()
    for path, part, signature in _signed(request):
        yield (
            path,
            _Given(
                part,
                given.places.get(signature, frozenset()),
                given.models.get(signature, frozenset()),
                request.model,
                counts[signature],
                given.copies.get(signature, 1),
            ),
        )


_DOCS: Final = "https://ai.google.dev/gemini-api/docs/thought-signatures"

SIGNATURE_RULES: Final = (
    Rule(
        "signature-damaged",
        "On the Interactions API and the compatible endpoint: a signature that is not base64. The"
        " documented placeholders are accepted.",
        "https://github.com/crmne/ruby_llm/issues/521",
        _signatures,
        lambda signature: not _is_base64(signature),
        "Invalid value at '{place}.thought_signature' (TYPE_BYTES), Base64 decoding failed for"
        ' "{value}"',
        wires=("interactions", "openai-compat"),  # `field-value` on the others
    ),
    Rule(
        "call-unsigned",
        "From Gemini 3 on: after the last user message, a turn with function calls and without a"
        " signature at any of them.",
        _DOCS,
        _current_calls,
        lambda calls: not any(call.signature for call in calls),
        MISSING,
        wires=EVERY_WIRE,
        models="from 3",
        once=True,
    ),
    Rule(
        "signature-unknown",
        "From Gemini 3 on: a signature that is not in the served exchanges.",
        "https://github.com/google-gemini/gemini-cli/issues/13467",
        _all,
        bool,
        INVALID,
        wires=EVERY_WIRE,
        models="from 3",
    ),
    Rule(
        "server-tool-unsigned",
        "From Gemini 3 on: a `toolCall` or `toolResponse` without its signature.",
        "https://github.com/router-for-me/CLIProxyAPI/issues/5652",
        _server_tools,
        lambda tool: tool[0] is None and tool[1],
        "{place} part is missing thought_signature",
        models="from 3",
        once=True,
    ),
    Rule(
        "server-tool-placeholder",
        "A placeholder as the signature of a `toolCall` or `toolResponse`.",
        "https://github.com/router-for-me/CLIProxyAPI/pull/5731",
        _server_tools,
        lambda tool: tool[0] in DUMMY_SIGNATURES,
        "Request contains an invalid argument.",
        once=True,
    ),
    Rule(
        "first-call-unsigned",
        "The same as `call-unsigned`, but the first call must have the signature.",
        _DOCS,
        _current_calls,
        lambda calls: not calls[0].signature,
        MISSING,
        level="strict",
        wires=EVERY_WIRE,
        models="from 3",
        once=True,
    ),
    Rule(
        "signature-moved",
        "A signature at another part than in the served exchanges, unless this part is an empty"
        " text.",
        _DOCS,
        _known,
        lambda signed: signed.is_moved,
        "{place}: the thought signature belongs to another part",
        level="strict",
        wires=EVERY_WIRE,
    ),
    Rule(
        "signature-copied",
        "A signature at several parts.",
        "https://github.com/BerriAI/litellm/issues/35004",
        _known,
        lambda signed: signed.number > max(1, signed.most),
        "{place}: the thought signature is at {value.number} parts",
        level="strict",
        wires=EVERY_WIRE,
    ),
    Rule(
        "signature-of-another-model",
        "A signature from another model.",
        "https://github.com/diegosouzapw/OmniRoute/issues/1410",
        _known,
        lambda signed: signed.models and signed.model not in signed.models,
        "{place}: Thought signature is not valid; it is from {value.names}",
        level="strict",
        wires=EVERY_WIRE,
    ),
)
