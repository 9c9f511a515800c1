"""Sends requests to OpenAI's two APIs with `openai` on our transports: to Chat Completions those
that have ``messages``, to Responses all others.

``extra_body`` sends the fields that the library does not know
(https://platform.openai.com/docs/api-reference).
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Final

from ..endpoints import ENDPOINTS
from ..settings import GenerateAsk, MissingCredentials, MissingLibrary, Settings
from ..tape import Tape
from ..transport import transports
from .genai import model_of
from .openai_compat import MISSING

KEY: Final = "OPENAI_API_KEY"
_VERSION: Final = "/v1"
"""OpenAI's clients have the version in their base URL."""


class OpenAiDriver:
    """Sends requests with a key."""

    def __init__(self, tape: Tape, settings: Settings) -> None:
        try:  # an optional extra
            openai = import_module("openai")
        except ImportError:
            raise MissingLibrary(MISSING) from None
        key = settings.api_key or os.environ.get(KEY)
        if not key:
            raise MissingCredentials(f"no key for OpenAI: set {KEY}")
        self._model = settings.model
        library = transports("httpx2")  # the only library that openai 3 uses
        endpoint = ENDPOINTS["openai"]
        base = settings.base_url or os.environ.get(endpoint.variable) or endpoint.base_url
        self._client = openai.OpenAI(
            api_key=key,
            base_url=base.rstrip("/").removesuffix(_VERSION) + _VERSION,
            max_retries=0,  # a retry would be recorded as an additional exchange
            http_client=library.http.Client(transport=library.sync(tape)),
        )

    def ask(self, ask: GenerateAsk) -> None:
        rest = {**ask.body, "model": self._model or model_of(ask)}
        rest.pop("stream", None)
        chat = "messages" in rest
        resource = self._client.chat.completions if chat else self._client.responses
        names = ("model", "messages" if chat else "input")
        named = {name: rest.pop(name) for name in names if name in rest}
        if ask.streamed:
            for _ in resource.create(**named, stream=True, extra_body=rest):
                pass
        else:
            resource.create(**named, extra_body=rest)

    def close(self) -> None:
        self._client.close()
