"""Sends requests to Anthropic's Messages API with `anthropic`
(https://platform.claude.com/docs/en/api/messages).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..settings import Settings
from ..tape import Tape
from .sdk_driver import SdkDriver, base_url_of, client_of, key_of


class AnthropicDriver(SdkDriver):
    """Sends requests with a key."""

    def __init__(self, tape: Tape, settings: Settings) -> None:
        client = client_of("anthropic", "Anthropic")
        key = key_of(settings, "ANTHROPIC_API_KEY", "Anthropic")
        base_url = base_url_of(settings, "anthropic")
        super().__init__(tape, settings.model, client, key=key, base_url=base_url)

    def method(self, body: Mapping[str, Any]) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Return the method for messages, whatever the body."""
        return self._client.messages.create, ("model", "messages", "max_tokens")
