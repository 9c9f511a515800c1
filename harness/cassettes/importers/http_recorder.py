"""Reads cassettes of opencode's ``http-recorder``: interactions with a ``transport``.

A body is text, or base64 if ``bodyEncoding`` says so.

An interaction over a WebSocket has no request and answer, so it can't be an exchange. A cassette
with one of them is refused, and the error names it. https://github.com/anomalyco/opencode
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import Struct

from harness.stream.exchange import CassetteError, Exchange

from .build import StatusCode, body_bytes, build_exchange, build_request, decode_base64, read_with
from .content import Content, Format, as_shape, each


class _Message(Struct, rename="camel"):
    headers: Any = None
    body: Any = None
    body_encoding: Literal["text", "base64"] | None = None


class _Request(_Message, kw_only=True):
    method: str
    url: str


class _Response(_Message, kw_only=True):
    status: StatusCode


class _Interaction(Struct):
    request: _Request
    response: _Response


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"version": _, "interactions": [{"transport": str()}, *_]}:
            return True
    return False


def _exchanges(content: Content) -> Iterator[Exchange]:
    for place, item in each(content.mapping["interactions"], dict[str, Any], "interaction"):
        transport = item.get("transport")
        if transport != "http":
            opened = item.get("open")
            url = opened.get("url") if isinstance(opened, dict) else None
            raise CassetteError(
                f"{place}: the transport is {transport!r} ({url}), which is not supported; only"
                " interactions over http can be read"
            )
        recorded = as_shape(item, _Interaction, place)
        sent, answer = recorded.request, recorded.response
        request = build_request(
            sent.method, sent.url, sent.headers, _bytes(sent, f"{place}: request")
        )
        body = _bytes(answer, f"{place}: response")
        yield build_exchange(request, answer.status, answer.headers, body)


def _bytes(message: _Message, where: str) -> bytes:
    if message.body_encoding == "base64":
        return decode_base64(message.body, f"{where}.body")
    return body_bytes(message.body)


HTTP_RECORDER: Final = Format(
    "http-recorder",
    "http-recorder cassette",
    _recognises,
    read_with(_exchanges, "http-recorder cassette"),
)
