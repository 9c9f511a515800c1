"""The way back: an event model's prompt → the request that a provider's wire would carry."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from harness.dialects import DIALECTS
from harness.dialects.dialect import RequestTranslator
from harness.providers import PROVIDERS
from harness.stream.generation import GenerateRequest, TranslationError, TranslationWarning
from harness.stream.printable import printable
from harness.stream.session import Session

from .replay import DEFAULT_PROVIDER, check_known


def request(
    prompt: Any,
    *,
    dialect: str,
    provider: str = DEFAULT_PROVIDER,
    options: Mapping[str, Any] | None = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """The body of the request as ``provider`` is sent it: for Code Assist with its envelope,
    otherwise a GenerateContentRequest.

    ``prompt`` is the dialect's own: for art the list of messages (``options`` are the CallOptions),
    for unified-llm a Request, for anthropic the body of ``/v1/messages``, for mind ``{"prompt",
    "system_prompt"?}``. ``session`` is the one that `replay` filled with earlier answers: ids,
    names and signatures are sent back from it.

    Raises `TranslationError`, naming message and field, for a prompt that can't be translated, for
    a dialect without a request side (agent-events) and a provider that is sent none (gemini-cli);
    `ReplayError` for unknown names. What Gemini has no word for is left out with a
    `TranslationWarning`.
    """
    session = Session() if session is None else session
    asked = ask(prompt, dialect=dialect, options=options, session=session)
    body = wrap(asked, provider, session)
    for warning in asked.warnings:
        warnings.warn(printable(warning), TranslationWarning, stacklevel=2)
    return body


def ask(
    prompt: Any, *, dialect: str, options: Mapping[str, Any] | None, session: Session
) -> GenerateRequest:
    """The request before any provider's envelope; errors as in `request`."""
    return request_translator(dialect).translate(prompt, options or {}, session)


def wrap(asked: GenerateRequest, provider: str, session: Session) -> dict[str, Any]:
    """The body as ``provider`` is sent it; errors as in `request`."""
    check_known("provider", provider, PROVIDERS)
    envelope = PROVIDERS[provider].wrap
    if envelope is None:
        raise TranslationError(
            "", f"{provider} is sent no request; its program takes the prompt on the command line"
        )
    return envelope(asked, session)


def request_translator(dialect: str) -> RequestTranslator:
    """The request half of a dialect; raises `TranslationError` for one that has none."""
    check_known("dialect", dialect, DIALECTS)
    requests = DIALECTS[dialect].request
    if requests is None:
        able = ", ".join(name for name, one in DIALECTS.items() if one.request)
        raise TranslationError(
            "",
            f"{dialect} only listens and has no request side; dialects with one are"
            f" {able or 'none yet'}",
        )
    return requests
