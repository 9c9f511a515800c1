"""Sends requests to Anthropic's Messages API with `anthropic` on our transports.

``extra_body`` sends the fields that the library does not know
(https://platform.claude.com/docs/en/api/messages).
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

MISSING: Final = "anthropic is not installed; pip install 'gemini-conformance[anthropic]'"
KEY: Final = "ANTHROPIC_API_KEY"


class AnthropicDriver:
    """Sends requests with a key."""

    def __init__(self, tape: Tape, settings: Settings) -> None:
        try:  # an optional extra
            anthropic = import_module("anthropic")
        except ImportError:
            raise MissingLibrary(MISSING) from None
        key = settings.api_key or os.environ.get(KEY)
        if not key:
            raise MissingCredentials(f"no key for Anthropic: set {KEY}")
        self._model = settings.model
        library = transports("httpx2")  # the only library that anthropic 2 uses
        endpoint = ENDPOINTS["anthropic"]
        base = settings.base_url or os.environ.get(endpoint.variable) or endpoint.base_url
        self._client = anthropic.Anthropic(
            api_key=key,
            base_url=base.rstrip("/"),
            max_retries=0,  # a retry would be recorded as an additional exchange
            http_client=library.http.Client(transport=library.sync(tape)),
        )

    def ask(self, ask: GenerateAsk) -> None:
        rest = {**ask.body, "model": self._model or model_of(ask)}
        rest.pop("stream", None)
        named = {name: rest.pop(name) for name in ("model", "messages", "max_tokens")}
        create = self._client.messages.create
        if ask.streamed:
            for _ in create(**named, stream=True, extra_body=rest):
                pass
        else:
            create(**named, extra_body=rest)

    def close(self) -> None:
        self._client.close()
