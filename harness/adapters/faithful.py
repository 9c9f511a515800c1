"""The requests of a client that changes nothing: it sends the recorded prompt and tools, then the
answer and the results as they are. A rule of the API that these requests break is no fault of an
adapter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

from harness.facts import Skipped
from harness.pipeline.replay import frames_of
from harness.stream.generation import TranslationError
from harness.stream.json_codec import Json

from .at import Question, at_of
from .gateway import GATEWAY_WIRES
from .next_request import next_request

_WIRES = {
    "gemini-api": "gemini",
    "vertex-ai": "gemini",
    "anthropic": "anthropic",
    "interactions": "interactions",
    "openai-compat": "openai-chat",
}
"""Provider → the word of its wire."""


def faithful_requests(question: Question, provider: str, path: str) -> Iterator[bytes]:
    """Yield the bodies of such requests for a turn: the recorded one, and one that is written from
    the prompt, the tools and, in the second turn, the answer. ``provider`` and ``path`` are those
    of the adapter's request.
    """
    exchange = question.exchange
    if exchange.request is not None:
        yield exchange.request.body
    responses = "openai-responses" if path.endswith("/responses") else "openai-chat"
    wire = GATEWAY_WIRES.get(_WIRES.get(provider, responses))
    if wire is None:
        return
    at = at_of(question)
    with suppress(TranslationError):  # the wire has no such request
        _, body = wire.request(at, at.model)
        yield json.dumps(body).encode()
        if question.turn == 2:
            answer = [_with_ids(frame.json) for frame in frames_of(exchange)]
            # the answer may have no form that can be sent back
            with suppress(Skipped, LookupError, TypeError, ValueError, AttributeError):
                yield json.dumps(next_request(wire.word, body, answer, at)).encode()


def _with_ids(message: Json) -> Json:
    """Return a message of an answer. A call of Chat Completions without an id gets its name as one,
    because its result needs an id.
    """
    match message:
        case {"id": "", "function": {"name": str(name)}} if name:
            return {**message, "id": name}
        case dict():
            return {key: _with_ids(value) for key, value in message.items()}
        case list():
            return [_with_ids(value) for value in message]
    return message
