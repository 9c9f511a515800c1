"""Detects which provider answered an exchange, and whether the exchange is an answer of a model.

The path of the URL decides, on any host and after any prefix, because gateways and loopback servers
keep the path. If no request was recorded, or if the path is unknown, the first messages of the body
decide. Each provider recognizes its own paths and bodies (`Provider.url`, `Provider.detect`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, unquote

from harness.stream.exchange import Exchange
from harness.stream.framing import Frame, FramingError, frame_by_content
from harness.stream.json_codec import decode_object

from .gemini.messages import is_answer, is_error, is_plain
from .provider import EXIT_CODE, PROGRAM, STATED, FirstMessages, Identity
from .table import PROVIDERS

_OTHER: Final = Identity(None, generates=False)
_BARE: Final = "gemini-api"
"""The provider of bare messages of generateContent, which Vertex AI sends too."""
_OTHER_PATH: Final = re.compile(
    r":\w+$|/openai/|/interactions(?:/|$)|/cachedContents|/batches"
    r"|/decisions/?$|/environments(?:/|$)|/auth_tokens/?$"
)
_MAX_KEPT_URL: Final = 2048
"""The maximum length of a URL whose reading is cached, because many exchanges have the same URL."""
_MAX_FRAMES: Final = 50
_STEP: Final = 1 << 13


def with_provider(exchange: Exchange) -> Exchange:
    """Return the exchange with the fields that its URL and bodies decide: ``provider``,
    ``generates``, ``streamed`` and ``model``.
    """
    request = exchange.request
    method, url, body = (request.method, request.url, request.body) if request else ("", "", b"")
    # Usually the URL decides, and a long body need not be joined.
    asked = identity = detect_provider(method, url, body, b"" if url else exchange.body)
    if url and not identity.generates:
        identity = detect_provider(method, url, body, exchange.body)
    if not identity.generates and request is None and exchange.header(EXIT_CODE) is not None:
        # Only programs have an exit code; no provider recognizes this output.
        programs = [provider for provider in PROVIDERS.values() if provider.program]
        named = exchange.header(PROGRAM)
        program = next((known for known in programs if known.name == named), programs[0])
        identity = Identity(program.name, generates=True)
    if (stated := exchange.header(STATED)) in PROVIDERS:
        generates = identity.generates or request is None
        identity = replace(identity, provider=stated, generates=generates)
    return replace(
        exchange,
        provider=identity.provider,
        generates=identity.generates,
        streamed=asked.streamed,
        model=asked.model,
    )


def detect_provider(method: str, url: str, request_body: bytes, response_body: bytes) -> Identity:
    """Return the provider that answered. Empty ``url``: no request was recorded."""
    if not url:
        return _detect_body(response_body, has_request=False)
    verb = method.upper()
    if verb not in ("POST", "GET", ""):
        return _OTHER
    place = (_read_url if len(url) <= _MAX_KEPT_URL else _read_url.__wrapped__)(verb, url)
    if place.provider is not None:
        groups = place.groups
        asked = {} if groups.keys() >= {"method", "model"} else decode_object(request_body) or {}
        model = asked.get("model") or asked.get("agent")
        return Identity(
            place.provider,
            generates=True,
            streamed=groups["method"].startswith(("stream", "Bidi"))
            if "method" in groups
            else asked.get("stream") is True or "true" in parse_qs(place.query).get("stream", ()),
            model=groups["model"] if "model" in groups else _text(model),
        )
    if verb == "GET" or place.other:
        return _OTHER
    return _detect_body(response_body, has_request=True)


class _Place(NamedTuple):
    """The parsed form of a URL: the provider that knows its path, or None; the groups of the match;
    the query; whether the path belongs to a method that does not generate.
    """

    provider: str | None
    groups: Mapping[str, str | Any]
    query: str
    other: bool


@lru_cache(maxsize=256)
def _read_url(verb: str, url: str) -> _Place:
    address, query = re.split("[?#]", f"{url}?", maxsplit=2)[:2]
    place, _, path = unquote(address).partition("//")
    path = path or place
    for provider in PROVIDERS.values():
        pattern = provider.stored_url if verb == "GET" else provider.url
        if pattern and (match := pattern.search(path)):
            groups = {name: text for name, text in match.groupdict().items() if text is not None}
            return _Place(provider.name, groups, query, other=False)
    return _Place(None, {}, query, other=_OTHER_PATH.search(path) is not None)


def _text(value: Any) -> str | None:
    return value if type(value) is str else None


def _detect_body(body: bytes, *, has_request: bool) -> Identity:
    """Detect by the first messages of a body. Without a request, an error is an answer too."""
    frames = _first_frames(body)
    streamed = len(frames) > 1 or not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    if _are_plain(frames, has_request):
        return Identity(_BARE, generates=True, streamed=streamed)
    messages = [frame.json for frame in frames if type(frame.json) is dict]
    first = FirstMessages(body, messages, streamed, has_request)
    for provider in PROVIDERS.values():
        if identity := provider.detect(first):
            return identity
    for message in messages:
        if is_answer(message, has_request) or (not has_request and is_error(message)):
            return Identity(_BARE, generates=True, streamed=streamed)
        if not has_request and message.get("error"):
            return Identity(None, generates=True, streamed=streamed)
    return _OTHER


def _are_plain(frames: list[Frame], has_request: bool) -> bool:
    """Return whether the first messages are answers that fit every Gemini provider; faster than
    asking each provider.
    """
    usual = [frame.message for frame in frames if type(frame.message) is bytes]
    if not usual or len(usual) < len(frames) or not all(map(is_plain, usual)):
        return False
    first = frames[0].json
    return type(first) is dict and is_answer(first, has_request)


def _first_frames(body: bytes) -> list[Frame]:
    framer = frame_by_content()
    frames: list[Frame] = []
    start = 0
    try:
        while start < len(body):
            # The framer is fastest if its piece ends with an event.
            stop = body.find(b"\n", start + _STEP) + 1 or len(body)
            blank = body[stop : stop + 2]
            stop += 2 if blank == b"\r\n" else blank.startswith(b"\n")
            frames += framer.feed(body[start:stop])
            if len(frames) >= _MAX_FRAMES:
                return frames[:_MAX_FRAMES]
            start = stop
        frames += framer.close()
    except FramingError:
        pass
    return frames[:_MAX_FRAMES]
