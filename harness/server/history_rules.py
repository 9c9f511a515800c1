"""The API's checks of a conversation history: roles, calls and their results, and the signatures of
the present turn.

The rules are at least as strict as the API was seen to be. In every model content with calls since
the user last spoke, one call must carry a signature that the API gave out; any call and any order
will do (https://ai.google.dev/gemini-api/docs/thought-signatures,
https://ai.google.dev/gemini-api/docs/function-calling). Signatures are required from Gemini 3 on,
by the model's name. A name without a number (``gemini-pro-latest``) is a current model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from harness.pipeline.replay import frames_of
from harness.providers.gemini.canonical_request import DUMMY_SIGNATURES, canonical_request
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_json

MISSING: Final = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools"
    " to work correctly, and missing thought_signature may lead to degraded model performance."
    " Additional data, function call `default_api:{name}` , position {position}. Please refer to"
    " https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
)
INVALID: Final = "Invalid thought signature."
ROLES: Final = "Please use a valid role: user, model."
COUNTS: Final = (
    "Please ensure that the number of function response parts is equal to the number of function"
    " call parts of the function call turn."
)
ORDER: Final = (
    "Please ensure that function call turn comes immediately after a user turn or after a function"
    " response turn."
)

_KNOWN_ROLES: Final = frozenset({"user", "model", "function"})
_OLDER: Final = re.compile(r"gemini-(?:1|2)(?:\.|-|$)|gemini-3-pro-image|gemma")
"""Models that do not require signatures."""


def find_fault(
    body: bytes, model: str | None, given_out: Callable[[], Collection[str]]
) -> str | None:
    """The API's message about a generate request whose history it refuses, or None.

    ``given_out`` gives the signatures of the recorded exchanges, in the canonical spelling. If
    there are none, every signature is accepted.
    """
    try:
        request = canonical_request(decode_json(body))
    except ValueError:
        return None
    if type(request) is dict and type(request.get("request")) is dict:
        request = request["request"]
    contents = request.get("contents") if type(request) is dict else None
    turns = [
        _Turn(content)
        for content in (contents if type(contents) is list else ())
        if type(content) is dict
    ]
    fault = _find_disorder(turns)
    if fault is not None or _OLDER.search(model or ""):
        return fault
    return _find_unsigned(turns, given_out)


class _Turn:
    """One content of the history: its calls with their signatures, the number of its results, and
    whether the user says anything else in it.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        parts = content.get("parts")
        parts = [part for part in parts if type(part) is dict] if type(parts) is list else []
        self.role = content.get("role")
        self.calls = [
            (part["functionCall"], part.get("thoughtSignature"))
            for part in parts
            if type(part.get("functionCall")) is dict
        ]
        self.results = sum("functionResponse" in part for part in parts)
        self.speaks = self.role == "user" and len(parts) > self.results


def _find_disorder(turns: list[_Turn]) -> str | None:
    for number, turn in enumerate(turns):
        if turn.role not in _KNOWN_ROLES:
            return ROLES
        before = turns[number - 1] if number else None
        if turn.results and (before is None or turn.results != len(before.calls)):
            return COUNTS
        if turn.calls:
            if before is None or (before.role == "model" and not before.results):
                return ORDER
            if number + 1 < len(turns) and turns[number + 1].results != len(turn.calls):
                return COUNTS
    return None


def _find_unsigned(turns: list[_Turn], given_out: Callable[[], Collection[str]]) -> str | None:
    start = max((number for number, turn in enumerate(turns) if turn.speaks), default=0)
    for position, turn in enumerate(turns[start:], start + 1):
        if not turn.calls:
            continue
        signatures = [signature for _, signature in turn.calls if signature is not None]
        if not signatures:
            return MISSING.format(name=turn.calls[0][0].get("name"), position=position)
        known = given_out()
        if known and any(
            signature not in known and signature not in DUMMY_SIGNATURES for signature in signatures
        ):
            return INVALID
    return None


def signatures_of(exchanges: Iterable[Exchange]) -> frozenset[str]:
    """The signatures in the requests and answers of these exchanges, in the canonical spelling."""
    signatures: set[str] = set()
    for exchange in exchanges:
        if exchange.generates:
            for frame in frames_of(exchange):
                signatures.update(_walk(frame.json))
        if exchange.request is not None and b"ignature" in exchange.request.body:
            try:
                signatures.update(_walk(decode_json(exchange.request.body)))
            except ValueError:
                continue
    return frozenset(signatures)


def _walk(value: Any) -> Iterator[str]:
    if type(value) is dict:
        for key in ("thoughtSignature", "thought_signature"):
            if type(value.get(key)) is str:
                yield canonical_request({"thoughtSignature": value[key]}).get(
                    "thoughtSignature", ""
                )
        for inner in value.values():
            yield from _walk(inner)
    elif type(value) is list:
        for inner in value:
            yield from _walk(inner)
