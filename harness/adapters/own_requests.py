"""Asks our own dialects questions about the requests that they make."""

from __future__ import annotations

import json
from typing import Final

from harness.dialects import Dialect
from harness.pipeline.request import ask
from harness.providers import PROVIDERS
from harness.stream.generation import TranslationError
from harness.stream.prompt import Call, Prompt
from harness.stream.session import Session

from .adapter import AdapterError
from .asked import Asked, Reaction, SentRequest
from .neutral_words import with_addresses
from .raised import place_of

_MEDIA: Final = "https://media.invalid"
"""Below this address are the media of questions, which no dialect fetches."""


def ask_dialect(dialect: Dialect, asked: Asked) -> Reaction:
    """Return the request that a dialect makes of a question in its own form. It is not asked what
    its form does not say. Raises `AdapterError` for an exception of the dialect.
    """
    request, provider = dialect.request, PROVIDERS[asked.provider]
    if request is None or request.writer is None:
        return Reaction(skipped=f"{dialect.name}: its event model has no requests")
    if request.wire not in (None, provider.wire):
        return Reaction(skipped=f"{dialect.name} is only sent over {request.wire}")
    if asked.exchange:
        return Reaction(skipped="law 8 judges the second turn of a dialect")
    prompt = with_addresses(asked.prompt, _MEDIA)
    session = _session_of(prompt)
    if asked.streamed and provider.streams_by_body:
        session.context = {"stream": True}
    try:
        own, options = request.writer.write(prompt)
    except TranslationError as error:
        return Reaction(skipped=f"{dialect.name} has no place for {error}")
    read = request.writer.says
    try:
        body = ask(request, own, provider.name, options, session).body
    except TranslationError as error:
        return Reaction(read=read, raised=str(error), base_url=_MEDIA)
    except Exception as error:  # a dialect of a plugin may raise any exception
        raise AdapterError(
            f"the adapter raised {type(error).__name__} at {place_of(error)}: {error}"
        ) from error
    assert provider.endpoint is not None  # it accepts requests
    method = "streamGenerateContent?alt=sse" if asked.streamed else "generateContent"
    path = provider.endpoint.path(body).format(model=prompt.model, method=method)
    sent = SentRequest(path, json.dumps(body).encode())
    return Reaction((sent,), read=read, base_url=_MEDIA)


def _session_of(prompt: Prompt) -> Session:
    """Return the session of a conversation in which the answers of a prompt were replayed: it has
    the signatures of their calls, and the makers of all signatures.
    """
    session = Session()
    for message in prompt.messages:
        for part in message.parts:
            signature = part.signature
            if signature and signature.origin:
                session.keep_origin(signature.value, signature.origin)
            if isinstance(part, Call):
                held = signature.value if signature else None
                session.remember(part.id, part.name, held, part.wire_id)
    return session
