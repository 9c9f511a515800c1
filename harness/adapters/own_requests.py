"""Asks our own dialects questions about the requests that they make."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from harness.dialects import Dialect
from harness.dialects.dialect import RequestTranslator
from harness.facts import WireFacts
from harness.pipeline.replay import Normalized
from harness.pipeline.request import ask
from harness.providers import PROVIDERS
from harness.providers.second_turn import result_text
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.prompt import Call, Prompt
from harness.stream.session import Session

from .adapter import AdapterError
from .asked import Asked, Reaction, SentRequest
from .at import SAY
from .neutral_words import with_addresses
from .raised import place_of

_MEDIA: Final = "https://media.invalid"
"""Below this address are the media of questions, which no dialect fetches."""


def ask_dialect(dialect: Dialect, asked: Asked) -> Reaction:
    """Return the requests that a dialect makes of a question in its own form. It is not asked what
    its form does not say. Raises `AdapterError` for an exception of the dialect.
    """
    request, provider = dialect.request, PROVIDERS[asked.provider]
    if request is None or request.writer is None:
        return Reaction(skipped=f"{dialect.name}: its event model has no requests")
    if request.wire not in (None, provider.wire):
        return Reaction(skipped=f"{dialect.name} is only sent over {request.wire}")
    prompt = with_addresses(asked.prompt, _MEDIA)
    session = _session_of(prompt)
    if asked.streamed and provider.streams_by_body:
        session.context = {"stream": True}
    try:
        own, options = request.writer.write(prompt)
    except TranslationError as error:
        return Reaction(skipped=f"{dialect.name} has no place for {error}")
    sent: list[SentRequest] = []
    raised = ""
    try:
        sent.append(_sent(request, own, options, session, asked))
        if asked.exchange:
            facts = provider.facts(asked.exchange)
            if facts.calls and "call" not in request.sent_back:
                return Reaction(skipped=f"{dialect.name} has no calls, so no result goes back")
            if facts.results:
                return Reaction(skipped="the calls of the answer already have their results")
            own, session = _after_answer(dialect, request, own, session, facts, asked)
            sent.append(_sent(request, own, options, session, asked))
    except TranslationError as error:
        raised = str(error)
    except Exception as error:  # a dialect of a plugin may raise any exception
        raise AdapterError(
            f"the adapter raised {type(error).__name__} at {place_of(error)}: {error}"
        ) from error
    read = request.writer.says | {"stored"}
    return Reaction(tuple(sent), read=read, raised=raised, base_url=_MEDIA)


def _sent(
    request: RequestTranslator,
    own: Any,
    options: Mapping[str, Any],
    session: Session,
    asked: Asked,
) -> SentRequest:
    """Return the request for a prompt of the event model. Raises `TranslationError`."""
    endpoint = PROVIDERS[asked.provider].endpoint
    assert endpoint is not None  # it accepts requests
    body = ask(request, own, asked.provider, options, session).body
    method = "streamGenerateContent?alt=sse" if asked.streamed else "generateContent"
    path = endpoint.path(body).format(model=asked.prompt.model, method=method)
    return SentRequest(path, json.dumps(body).encode())


def _after_answer(
    dialect: Dialect,
    request: RequestTranslator,
    own: Any,
    session: Session,
    facts: WireFacts,
    asked: Asked,
) -> tuple[Any, Session]:
    """Return the prompt after the recorded answer, with a result for each call, and the session of
    the conversation. A stored history is JSON, and its session is a new one.
    """
    assert asked.exchange is not None  # see `ask_dialect`
    normalized = Normalized(asked.exchange, asked.provider, None)
    payloads = normalized.translate(dialect, session).payloads
    results = [ToolOutcome(result_text(number + 1)) for number in range(len(facts.calls))]
    following = request.follow_up(own, payloads, results or SAY)
    if not asked.stored:
        return following, session
    return json.loads(json.dumps(following)), Session(context=session.context)


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
