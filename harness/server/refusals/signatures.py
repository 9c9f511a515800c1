"""Rules about thought signatures."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from harness.providers.gemini.signatures import DUMMY_SIGNATURES
from harness.providers.request_rules import Checks, Spot
from harness.stream.prompt import AnyPart, Call, Native, Result, Text, Thinking

from .given import place_of, signature_of
from .rule import Asked

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


SIGNATURE_CHECKS: Final[Checks] = {
    "signature-damaged": (_signatures, lambda signature: not _is_base64(signature)),
    "call-unsigned": (_current_calls, lambda calls: not any(call.signature for call in calls)),
    "signature-unknown": (_all, bool),
    "server-tool-unsigned": (_server_tools, lambda tool: tool[0] is None and tool[1]),
    "server-tool-placeholder": (_server_tools, lambda tool: tool[0] in DUMMY_SIGNATURES),
    "first-call-unsigned": (_current_calls, lambda calls: not calls[0].signature),
    "signature-moved": (_known, lambda signed: signed.is_moved),
    "signature-copied": (_known, lambda signed: signed.number > max(1, signed.most)),
    "signature-of-another-model": (
        _known,
        lambda signed: signed.models and signed.model not in signed.models,
    ),
}
