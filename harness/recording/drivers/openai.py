"""Sends requests to OpenAI's two APIs with `openai`: to Chat Completions those that have
``messages``, to Responses all others (https://platform.openai.com/docs/api-reference).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..endpoints import ENDPOINTS
from ..settings import Settings
from ..tape import Tape
from .sdk_driver import SdkDriver, base_url_of, client_of, key_of


class OpenAiDriver(SdkDriver):
    """Sends requests with a key."""

    def __init__(self, tape: Tape, settings: Settings) -> None:
        client = client_of("openai", "OpenAI")
        key = key_of(settings, "OPENAI_API_KEY", "OpenAI")
        version = ENDPOINTS["openai"].version
        base_url = base_url_of(settings, "openai").removesuffix(version) + version
        super().__init__(tape, settings.model, client, key=key, base_url=base_url)

    def method(self, body: Mapping[str, Any]) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Return the method of the API that the body is for."""
        if "messages" in body:
            return self._client.chat.completions.create, ("model", "messages")
        return self._client.responses.create, ("model", "input")
