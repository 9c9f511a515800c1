"""One call without the network: the HTTP request for a Request, and the events of its answer."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, urlsplit

from harness.dialects.unified_llm import DIALECT
from harness.dialects.unified_llm.request import PROVIDER as VENDOR
from harness.dialects.unified_llm.request import translate
from harness.providers import PROVIDERS, Answer, Endpoint, Provider, declared_tools
from harness.stream.events import End, Event, Unknown
from harness.stream.framing import MAX_FRAME, DocumentFramer, Frame, FramingError
from harness.stream.generation import GenerateRequest, TranslationError
from harness.stream.prompt import Maker, Prompt
from harness.stream.session import Session

from .errors import ConfigurationError
from .files import with_files

Payload = dict[str, Any]

BASE_URL_NAME: Final = "GEMINI_BASE_URL"
"""The environment variable of Gemini's base URL; the other vendors have their clients' own."""
_VERSION: Final = re.compile(r"/v[0-9][a-z0-9]*(?=/|$)")
_COMPATIBLE: Final = "/openai"
"""The folder of the compatible endpoint; base URLs of OpenAI's clients end with it, on Vertex AI
with ``/openapi``.
"""
_FIRST_VERSION: Final = re.compile(r"^/v[0-9][a-z0-9]*(?=/)")
_GOOGLES_MODELS: Final = "publishers/google/"
"""The folder of Google's own models on Vertex AI."""

ENDPOINTS: Final = {
    name: provider.endpoint
    for name, provider in PROVIDERS.items()
    if provider.endpoint and provider.write
}
"""The providers that have an API, each with its addresses."""
BY_VENDOR: Final = {PROVIDERS[name].vendor: name for name in reversed(ENDPOINTS)}
"""The name before a model → the provider that is asked: the first one of the vendor."""
KEY_NAMES: Final = ENDPOINTS["gemini-api"].keys


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """An HTTP request; ``warnings`` are the losses of its translation, each with its place."""

    url: str
    headers: dict[str, str]
    content: bytes
    provider: Provider
    model: str
    session: Session
    warnings: tuple[str, ...] = ()

    def reading(self, status: int, headers: Mapping[str, str]) -> AnswerReading:
        """Return a reader of the answer with this status and these headers."""
        return AnswerReading(self, status, {name.lower(): value for name, value in headers.items()})


@dataclass(frozen=True, slots=True)
class _Target:
    """A provider with its endpoint, the key, and a base URL."""

    provider: Provider
    endpoint: Endpoint
    key: str
    base_url: str

    def url(self, generate: GenerateRequest, stream: bool) -> str:
        """Return the URL; version and folder are left out if the base URL has them."""
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        model = generate.model or ""
        named = model if "/" in model else f"models/{model}"
        path = self.endpoint.path(generate.body).replace("models/{model}", "{model}")
        if named.startswith(("projects/", "publishers/")):  # the name is a whole path
            path = path.replace(_GOOGLES_MODELS, "")
        path = path.format(model=quote(named, safe="/"), method=method)
        if _VERSION.search(urlsplit(self.base_url).path):
            path = _FIRST_VERSION.sub("", path)
        if self.base_url.endswith((_COMPATIBLE, "/openapi")):
            path = path.removeprefix(_COMPATIBLE)
        return self.base_url + path


class Preparer:
    """Makes `PreparedCall`s of Requests. Key and URL come from the arguments, else from the
    environment. Without a provider, the vendor before the name of a model decides.

    Raises `ConfigurationError` without a key and for an unknown provider.
    """

    def __init__(
        self,
        api_key: str | None,
        base_url: str | None,
        provider: str | None,
        session: Session | None,
    ) -> None:
        self._key = api_key
        self._base_url = base_url
        self._fixed = None if provider is None else self._target(provider)
        self.session = session or Session()

    def _target(self, name: str) -> _Target:
        if name not in ENDPOINTS:
            raise ConfigurationError(
                f"unknown provider {name!r}; expected one of {', '.join(ENDPOINTS)}"
            )
        provider, endpoint = PROVIDERS[name], ENDPOINTS[name]
        key = self._key or next(filter(None, map(os.environ.get, endpoint.keys)), "")
        if not key:
            raise ConfigurationError(
                f"no API key; pass api_key, or set {' or '.join(endpoint.keys)}"
            )
        variable = BASE_URL_NAME if provider.vendor == VENDOR else endpoint.variable
        base_url = self._base_url or os.environ.get(variable) or endpoint.base_url
        return _Target(provider, endpoint, key.strip(), base_url.rstrip("/"))

    def _target_of(self, prompt: Prompt) -> _Target:
        """Return the provider of the vendor that the Request names, by default Gemini."""
        vendor = prompt.addressed[0][0] if prompt.addressed else VENDOR
        if vendor not in BY_VENDOR:
            raise ConfigurationError(
                f"unknown provider {vendor!r} of the model; expected one of {', '.join(BY_VENDOR)}"
            )
        return self._target(BY_VENDOR[vendor])

    def prepare(self, request: Mapping[str, Any], *, stream: bool) -> PreparedCall:
        """Return the call of a Request; raises `TranslationError` for a wrong one."""
        prompt = replace(translate(with_files(request), {}, self.session), streamed=stream)
        target = self._fixed or self._target_of(prompt)
        generate = target.provider.request(prompt, self.session)
        if not generate.model and "agent" not in generate.body:
            vendor = target.provider.vendor
            raise ConfigurationError(f"the request names no model; write model: {vendor}:NAME")
        try:
            content = json.dumps(
                generate.body, ensure_ascii=True, separators=(",", ":"), allow_nan=False
            ).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            raise TranslationError("", f"the request can't be written as JSON: {error}") from None
        return PreparedCall(
            target.url(generate, stream),
            {"content-type": "application/json", **target.endpoint.authorize(target.key)},
            content,
            target.provider,
            generate.model or "",
            self.session,
            generate.warnings,
        )


class AnswerReading:
    """Reads one answer: bytes → frames → canonical events → stream events.

    ``begun``: whether a stream event was emitted.
    """

    def __init__(self, call: PreparedCall, status: int, headers: Mapping[str, str]) -> None:
        provider = call.provider
        self._framer = (
            # The body of an error is one document, also if a stream was asked for.
            provider.framer(MAX_FRAME) if 200 <= status < 300 else DocumentFramer(MAX_FRAME)
        )
        self._normalizer = provider.normalizer(
            Answer(status, headers, call.model, provider.tool_code, asked=call.content)
        )
        tools = declared_tools(provider.read_request(call.content))
        self._translator = DIALECT.translator(tools, call.session)
        self._session = call.session
        self._maker = Maker(provider.vendor, call.model or None)
        self._warnings = [{"message": warning} for warning in call.warnings]
        self._rate_limit = _rate_limit(provider, headers)
        self._fault = ""
        self.begun = False

    def feed(self, data: bytes) -> Iterator[Payload]:
        """Yield the stream events that these bytes complete."""
        if not self._fault:
            try:
                yield from self._translate(self._framer.feed(data, None))
            except FramingError as error:
                self._fault = str(error)

    def close(self, end: End) -> Iterator[Payload]:
        """Yield the last stream events; ``end`` is the end of the answer."""
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
                if self._rate_limit:
                    payload["response"]["rate_limit"] = self._rate_limit
            yield payload

    def _translate(self, frames: list[Frame]) -> Iterator[Payload]:
        for frame in frames:
            yield from self._events(self._normalizer.feed(frame))

    def _events(self, events: list[Event]) -> Iterator[Payload]:
        for event in events:
            self._session.maker = self._maker  # another answer of the session may be read too
            self._session.note(event)
            self._maker = self._session.maker
            for payload in self._translator.feed(event):
                self.begun = True
                yield payload


def _rate_limit(provider: Provider, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the limits of requests and tokens that the headers state: ``requests_limit``,
    ``requests_remaining``, ``requests_reset`` and so on. A reset is a time or a duration, as the
    provider writes it.
    """
    pattern = provider.endpoint.limits if provider.endpoint else ""
    limits: dict[str, Any] = {}
    for unit in ("requests", "tokens") if pattern else ():
        for value in ("limit", "remaining", "reset"):
            text = headers.get(pattern.format(unit=unit, value=value), "").strip()
            if text:
                is_count = value != "reset" and re.fullmatch("[0-9]{1,18}", text)
                limits[f"{unit}_{value}"] = int(text) if is_count else text
    return limits
