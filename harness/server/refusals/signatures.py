"""Rules about thought signatures."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from harness.providers.gemini.canonical_request import DUMMY_SIGNATURES

from .given import place_of
from .rule import EVERY_WIRE, Generate, Rule
from .values import parts_of

MISSING: Final = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools"
    " to work correctly, and missing thought_signature may lead to degraded model performance."
    " Additional data, function call `default_api:{name}` , position {position}. Please refer to"
    " https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
)
INVALID: Final = "Invalid thought signature."
_SERVER_TOOLS: Final = {"toolCall": "Tool call", "toolResponse": "Tool response"}


def _signed_parts(request: Generate) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the path, the part and the signature of each signed part, without placeholders."""
    for path, _, part in request.parts():
        signature = part.get("thoughtSignature")
        if type(signature) is str and signature not in DUMMY_SIGNATURES:
            yield path, part, signature


def _current_calls(request: Generate) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the position, from 1, and the calls of each turn of the model after the last user
    message, if any. The API reads consecutive contents of one role as one.
    """
    start = 0
    for number, content in enumerate(request.contents):
        parts = parts_of(content)
        if content.get("role") == "user" and any("functionResponse" not in part for part in parts):
            start = number
    rest = enumerate(request.contents[start:], start + 1)
    for _, contents in groupby(rest, lambda item: item[1].get("role") == "model"):
        turn = list(contents)
        parts = [part for _, content in turn for part in parts_of(content)]
        if calls := [part for part in parts if type(part.get("functionCall")) is dict]:
            yield turn[0][0], calls


def _missing(call: dict[str, Any], position: int) -> str:
    return MISSING.format(name=call["functionCall"].get("name"), position=position)


def _call_unsigned(request: Generate) -> Iterator[str]:
    for position, calls in _current_calls(request):
        if not any("thoughtSignature" in call for call in calls):
            yield _missing(calls[0], position)
            return


def _first_call_unsigned(request: Generate) -> Iterator[str]:
    for position, calls in _current_calls(request):
        if "thoughtSignature" not in calls[0]:
            yield _missing(calls[0], position)
            return


def _signature_damaged(request: Generate) -> Iterator[str]:
    for path, _, signature in _signed_parts(request):
        try:
            base64.b64decode(signature, validate=True)
        except (binascii.Error, ValueError):
            yield (
                f"Invalid value at '{request.prefix}{path}.thought_signature' (TYPE_BYTES), Base64"
                f' decoding failed for "{signature}"'
            )


def _signature_unknown(request: Generate) -> Iterator[str]:
    signatures = {signature for _, _, signature in _signed_parts(request)}
    if signatures and (known := request.given().places) and signatures - known.keys():
        yield INVALID


def _server_tool_unsigned(request: Generate) -> Iterator[str]:
    for path, _, part in request.parts():
        for field, title in _SERVER_TOOLS.items():
            if type(part.get(field)) is dict and "thoughtSignature" not in part:
                yield f"{path}: {title} part is missing thought_signature"
                return


def _server_tool_placeholder(request: Generate) -> Iterator[str]:
    for _, _, part in request.parts():
        placeholder = str(part.get("thoughtSignature")) in DUMMY_SIGNATURES
        if placeholder and part.keys() & _SERVER_TOOLS.keys():
            yield "Request contains an invalid argument."
            return


def _signature_moved(request: Generate) -> Iterator[str]:
    for path, part, signature in _signed_parts(request):
        if not part.get("text", True):
            continue  # an empty text carries the signature of a part that a client can't express
        given = request.given().places.get(signature)
        place = place_of(part)
        if given and place not in given and (place[0], None) not in given:
            yield f"{path}: the thought signature belongs to another part"


def _signature_copied(request: Generate) -> Iterator[str]:
    counts = Counter(signature for _, _, signature in _signed_parts(request))
    for path, _, signature in _signed_parts(request):
        if counts[signature] > max(1, request.given().copies.get(signature, 1)):
            yield f"{path}: the thought signature is at {counts[signature]} parts"


def _signature_of_another_model(request: Generate) -> Iterator[str]:
    for path, _, signature in _signed_parts(request):
        given = request.given().models.get(signature)
        if given and request.model not in given:
            names = ", ".join(sorted(given))
            yield f"{path}: Thought signature is not valid; it is from {names}"


_DOCS: Final = "https://ai.google.dev/gemini-api/docs/thought-signatures"

SIGNATURE_RULES: Final = (
    Rule(
        "signature-damaged",
        "On the Interactions API and the compatible endpoint: a signature that is not base64. The"
        " documented placeholders are accepted.",
        "https://github.com/crmne/ruby_llm/issues/521",
        _signature_damaged,
        wires=("interactions", "openai-compat"),  # `field-value` on the others
    ),
    Rule(
        "call-unsigned",
        "From Gemini 3 on: after the last user message, a turn with function calls and without a"
        " signature at any of them.",
        _DOCS,
        _call_unsigned,
        wires=EVERY_WIRE,
        models="from 3",
    ),
    Rule(
        "signature-unknown",
        "From Gemini 3 on: a signature that is not in the served exchanges.",
        "https://github.com/google-gemini/gemini-cli/issues/13467",
        _signature_unknown,
        wires=EVERY_WIRE,
        models="from 3",
    ),
    Rule(
        "server-tool-unsigned",
        "From Gemini 3 on: a `toolCall` or `toolResponse` without its signature.",
        "https://github.com/router-for-me/CLIProxyAPI/issues/5652",
        _server_tool_unsigned,
        models="from 3",
    ),
    Rule(
        "server-tool-placeholder",
        "A placeholder as the signature of a `toolCall` or `toolResponse`.",
        "https://github.com/router-for-me/CLIProxyAPI/pull/5731",
        _server_tool_placeholder,
    ),
    Rule(
        "first-call-unsigned",
        "The same as `call-unsigned`, but the first call must have the signature.",
        _DOCS,
        _first_call_unsigned,
        level="strict",
        wires=EVERY_WIRE,
        models="from 3",
    ),
    Rule(
        "signature-moved",
        "A signature at another part than in the served exchanges, unless this part is an empty"
        " text.",
        _DOCS,
        _signature_moved,
        level="strict",
        wires=EVERY_WIRE,
    ),
    Rule(
        "signature-copied",
        "A signature at several parts.",
        "https://github.com/BerriAI/litellm/issues/35004",
        _signature_copied,
        level="strict",
        wires=EVERY_WIRE,
    ),
    Rule(
        "signature-of-another-model",
        "A signature from another model.",
        "https://github.com/diegosouzapw/OmniRoute/issues/1410",
        _signature_of_another_model,
        level="strict",
        wires=EVERY_WIRE,
    ),
)
