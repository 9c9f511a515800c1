"""Translates a prompt of an event model into the request of a provider's wire."""

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
    a dialect without a request side (agent-events) and for a provider that is sent no request
    (gemini-cli); `ReplayError` for unknown names. A `TranslationWarning` names each part that
    Gemini cannot express and that is left out.
    """
    session = Session() if session is None else session
    generate = ask(prompt, dialect=dialect, options=options, session=session)
    body = wrap(generate, provider, session)
    for warning in generate.warnings:
        warnings.warn(printable(warning), TranslationWarning, stacklevel=2)
    return body


def ask(
    prompt: Any, *, dialect: str, options: Mapping[str, Any] | None, session: Session
) -> GenerateRequest:
    """The request without an envelope; errors as in `request`."""
    return request_translator(dialect).translate(prompt, options or {}, session)


def wrap(generate: GenerateRequest, provider: str, session: Session) -> dict[str, Any]:
    """The body as ``provider`` is sent it; errors as in `request`."""
    check_known("provider", provider, PROVIDERS)
    chosen = PROVIDERS[provider]
    if chosen.wrap is None:
        way_out = "; its program takes the prompt on the command line" if chosen.program else ""
        raise TranslationError("", f"{provider} is sent no request{way_out}")
    return chosen.wrap(generate, session)


def request_translator(dialect: str) -> RequestTranslator:
    """The request half of a dialect; raises `TranslationError` for one that has none."""
    check_known("dialect", dialect, DIALECTS)
    translator = DIALECTS[dialect].request
    if translator is None:
        names = ", ".join(name for name, known in DIALECTS.items() if known.request)
        raise TranslationError(
            "",
            f"{dialect} only listens and has no request side; dialects with one are {names}",
        )
    return translator
