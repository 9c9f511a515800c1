"""One call without the network: the HTTP request for a Request, and the events of its answer."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, urlsplit

from harness.providers import PROVIDERS, Answer, Provider, declared_tools
from harness.stream.events import End, Event, Unknown
from harness.stream.framing import MAX_FRAME, DocumentFramer, Frame, FramingError
from harness.stream.generation import GenerateRequest, TranslationError
from harness.stream.prompt import Origin
from harness.stream.session import Session

from .. import DIALECT
from ..request import translate
from .errors import ConfigurationError
from .files import with_files

Payload = dict[str, Any]

KEY_NAMES: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
BASE_URL_NAME: Final = "GEMINI_BASE_URL"
_VERSION: Final = re.compile(r"/v[0-9][a-z0-9]*(?=/|$)")
_COMPATIBLE: Final = "/openai"
"""The folder of the compatible endpoint; base URLs of OpenAI's clients end with it, on Vertex AI
with ``/openapi``.
"""
_FIRST_VERSION: Final = re.compile(r"^/v[0-9][a-z0-9]*(?=/)")
_GOOGLES_MODELS: Final = "publishers/google/"
"""The folder of Google's own models on Vertex AI."""

ENDPOINTS: Final = {
    name: provider.endpoint for name, provider in PROVIDERS.items() if provider.endpoint
}
"""The providers that have an API, each with its addresses."""
TOKEN_PROVIDERS: Final = frozenset({"code-assist", "openai-compat"})
"""The providers that get the key as a bearer token; others get it in ``x-goog-api-key``."""


@dataclass(frozen=True, slots=True)
class Call:
    """An HTTP request; ``warnings`` are the losses of its translation, each with its place."""

    url: str
    headers: dict[str, str]
    content: bytes
    provider: Provider
    model: str
    session: Session
    warnings: tuple[str, ...] = ()

    def reading(self, status: int, headers: Mapping[str, str]) -> Reading:
        """A reader of the answer with this status and these headers."""
        return Reading(self, status, {name.lower(): value for name, value in headers.items()})


class Preparer:
    """Makes `Call`s of Requests. Key and URL come from the arguments, else from the environment.

    Raises `ConfigurationError` without a key and for an unknown provider.
    """

    def __init__(
        self, api_key: str | None, base_url: str | None, provider: str, session: Session | None
    ) -> None:
        if provider not in ENDPOINTS:
            raise ConfigurationError(
                f"unknown provider {provider!r}; expected one of {', '.join(ENDPOINTS)}"
            )
        key = api_key or next((os.environ[name] for name in KEY_NAMES if os.environ.get(name)), "")
        if not key:
            raise ConfigurationError(f"no API key; pass api_key, or set {' or '.join(KEY_NAMES)}")
        self._endpoint = ENDPOINTS[provider]
        self._key = key.strip()
        self._base_url = (
            base_url or os.environ.get(BASE_URL_NAME) or self._endpoint.base_url
        ).rstrip("/")
        self._provider = PROVIDERS[provider]
        self.session = session or Session()

    def prepare(self, request: Mapping[str, Any], *, stream: bool) -> Call:
        """The call of a Request; raises `TranslationError` for a wrong one."""
        provider = self._provider
        prompt = replace(translate(with_files(request), {}, self.session), streamed=stream)
        generate = provider.request(prompt, self.session)
        if not generate.model and "agent" not in generate.body:
            raise ConfigurationError("the request names no model; write model: gemini:NAME")
        try:
            content = json.dumps(
                generate.body, ensure_ascii=True, separators=(",", ":"), allow_nan=False
            ).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            raise TranslationError("", f"the request can't be written as JSON: {error}") from None
        key = (
            {"authorization": f"Bearer {self._key}"}
            if provider.name in TOKEN_PROVIDERS
            else {"x-goog-api-key": self._key}
        )
        return Call(
            self._url(generate, stream),
            {"content-type": "application/json", **key},
            content,
            provider,
            generate.model or "",
            self.session,
            generate.warnings,
        )

    def _url(self, generate: GenerateRequest, stream: bool) -> str:
        """The URL; version and folder are left out if the base URL has them."""
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        model = generate.model or ""
        named = model if "/" in model else f"models/{model}"
        path = self._endpoint.path(generate.body).replace("models/{model}", "{model}")
        if named.startswith(("projects/", "publishers/")):  # the name is a whole path
            path = path.replace(_GOOGLES_MODELS, "")
        path = path.format(model=quote(named, safe="/"), method=method)
        if _VERSION.search(urlsplit(self._base_url).path):
            path = _FIRST_VERSION.sub("", path)
        if self._base_url.endswith((_COMPATIBLE, "/openapi")):
            path = path.removeprefix(_COMPATIBLE)
        return self._base_url + path


class Reading:
    """Reads one answer: bytes → frames → canonical events → stream events.

    ``begun``: whether a stream event was emitted.
    """

    def __init__(self, call: Call, status: int, headers: Mapping[str, str]) -> None:
        provider = call.provider
        self._framer = (
            provider.framer(MAX_FRAME) if 200 <= status < 300 else DocumentFramer(MAX_FRAME)
        )
        self._normalizer = provider.normalizer(
            Answer(status, headers, call.model, provider.tool_code)
        )
        self._translator = DIALECT.translator(declared_tools(call.content), call.session)
        self._session = call.session
        self._session.maker = Origin(provider.vendor, call.model or None)
        self._warnings = [{"message": warning} for warning in call.warnings]
        self._fault = ""
        self.begun = False

    def feed(self, data: bytes) -> Iterator[Payload]:
        """The stream events that these bytes complete."""
        if not self._fault:
            try:
                yield from self._translate(self._framer.feed(data, None))
            except FramingError as error:
                self._fault = str(error)

    def close(self, end: End) -> Iterator[Payload]:
        """The last stream events; ``end`` is the end of the answer."""
        if not self._fault:
            try:
                yield from self._translate(self._framer.close())
            except FramingError as error:
                self._fault = str(error)
        if self._fault:
            yield from self._events([Unknown("frame", self._fault)])
            end = "cut" if end == "complete" else end
        yield from self._events(self._normalizer.close(end))
        for payload in self._translator.close():
            if payload["type"] == "FINISH":
                payload["response"]["warnings"] += self._warnings
            yield payload

    def _translate(self, frames: list[Frame]) -> Iterator[Payload]:
        for frame in frames:
            yield from self._events(self._normalizer.feed(frame))

    def _events(self, events: list[Event]) -> Iterator[Payload]:
        for event in events:
            self._session.note(event)
            for payload in self._translator.feed(event):
                self.begun = True
                yield payload
