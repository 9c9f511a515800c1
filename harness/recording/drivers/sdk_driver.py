"""Sends requests with a provider's Python library on our transports."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ..endpoints import ENDPOINTS
from ..settings import GenerateAsk, MissingCredentials, MissingLibrary, Settings
from ..tape import Tape
from ..transport import transports
from .genai import model_of


def client_of(package: str, name: str) -> Callable[..., Any]:
    """Return the class of a library's client. The library is the extra with its name."""
    try:
        client: Callable[..., Any] = getattr(import_module(package), name)
    except ImportError:
        raise MissingLibrary(
            f"{package} is not installed; pip install 'gemini-conformance[{package}]'"
        ) from None
    return client


def key_of(settings: Settings, variable: str, title: str) -> str:
    """Return the key from the settings or from the environment."""
    key = settings.api_key or os.environ.get(variable)
    if not key:
        raise MissingCredentials(f"no key for {title}: set {variable}")
    return key


def base_url_of(settings: Settings, provider: str) -> str:
    """Return the base URL of the settings, of the environment, or the provider's public one."""
    endpoint = ENDPOINTS[provider]
    base = settings.base_url or os.environ.get(endpoint.variable) or endpoint.base_url
    return base.rstrip("/")


class SdkDriver(ABC):
    """Sends requests with a client of `anthropic` or `openai`. ``extra_body`` sends the fields that
    the library does not know.
    """

    def __init__(
        self, tape: Tape, model: str | None, client: Callable[..., Any], *, key: str, base_url: str
    ) -> None:
        self._model = model
        library = transports("httpx2")  # the only library that anthropic 2 and openai 3 use
        self._client = client(
            api_key=key,
            base_url=base_url,
            max_retries=0,  # a retry would be recorded as an additional exchange
            http_client=library.http.Client(transport=library.sync(tape)),
        )

    @abstractmethod
    def method(self, body: Mapping[str, Any]) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Return the client's method for a body, and the names of its own parameters."""

    def ask(self, ask: GenerateAsk) -> None:
        """Send a request, and read its answer to the end."""
        rest = {**ask.body, "model": self._model or model_of(ask)}
        rest.pop("stream", None)
        create, names = self.method(rest)
        named = {name: rest.pop(name) for name in names if name in rest}
        if ask.streamed:
            for _ in create(**named, stream=True, extra_body=rest):
                pass
        else:
            create(**named, extra_body=rest)

    def close(self) -> None:
        """Close the client."""
        self._client.close()
