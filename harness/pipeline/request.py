"""Translates a prompt of an event model into the request of a provider's wire."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

from harness.dialects import DIALECTS
from harness.dialects.dialect import RequestTranslator
from harness.providers import PROVIDERS
from harness.stream.generation import GenerateRequest, TranslationError, TranslationWarning
from harness.stream.printable import printable
from harness.stream.session import Session

from .replay import check_known

DEFAULT_PROVIDER: Final = "gemini-api"
"""The provider of a request that names none."""


def request(
    prompt: Any,
    *,
    dialect: str,
    provider: str = DEFAULT_PROVIDER,
    options: Mapping[str, Any] | None = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """Return the body of the request for ``provider``: for Code Assist with its envelope, for the
    Interactions API and the OpenAI-compatible endpoint in their own form, otherwise a
    GenerateContentRequest.

    ``prompt`` is the dialect's own: for art the list of messages (``options`` are the CallOptions),
    for unified-llm a Request, for anthropic the body of ``/v1/messages``, for ag-ui a
    RunAgentInput, for mind ``{"prompt", "system_prompt"?}``. ``session`` is the session of earlier
    calls of `replay`; ids, names and signatures are sent back from it.

    Raises `TranslationError`, which names message and field, for a prompt that can't be translated,
    for a dialect without a request side (agent-events), for a provider that accepts no requests
    (gemini-cli) and for art and mind over another wire than generateContent; `ReplayError` for
    unknown names. A `TranslationWarning` names each part that the wire cannot express and that is
    left out.
    """
    session = Session() if session is None else session
    generate = ask(request_translator(dialect), prompt, provider, options or {}, session)
    for warning in generate.warnings:
        warnings.warn(printable(warning), TranslationWarning, stacklevel=2)
    return generate.body


def ask(
    translator: RequestTranslator,
    prompt: Any,
    provider: str,
    options: Mapping[str, Any],
    session: Session,
) -> GenerateRequest:
    """Return the request with the body for ``provider``; errors as in `request`."""
    check_known("provider", provider, PROVIDERS)
    chosen = PROVIDERS[provider]
    chosen.writer()
    if translator.wire not in (None, chosen.wire):
        names = ", ".join(
            name
            for name, known in DIALECTS.items()
            if known.request and known.request.wire in (None, chosen.wire)
        )
        raise TranslationError(
            "",
            f"this event model can only be sent over {translator.wire}, and {provider} is another"
            f" wire; dialects for that wire are {names}",
        )
    return chosen.request(translator.translate(prompt, options, session), session)


def request_translator(dialect: str) -> RequestTranslator:
    """Return the request half of a dialect; raises `TranslationError` for a dialect without one."""
    check_known("dialect", dialect, DIALECTS)
    translator = DIALECTS[dialect].request
    if translator is None:
        names = ", ".join(name for name, known in DIALECTS.items() if known.request)
        raise TranslationError(
            "",
            f"{dialect} only reads answers and makes no requests; dialects with requests are"
            f" {names}",
        )
    return translator
