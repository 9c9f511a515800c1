"""vcrpy cassettes, also those of pytest-recording and of projects with their own serializer.

A body is text, ``!!binary`` bytes or nothing. A ``parsed_body`` is JSON that a serializer has
parsed. Cassettes of vcrpy's first httpx support have ``content`` and ``status_code`` instead of
``body`` and ``status``. https://vcrpy.readthedocs.io
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from harness.stream.exchange import Cassette, Exchange

from .build import (
    Status,
    StatusCode,
    body_bytes,
    build_cassette,
    build_exchange,
    build_request,
    decode_base64,
)
from .content import Content, as_shape, each
from .format import Format


class _Request(Struct):
    method: str
    uri: str
    headers: Any = None
    body: Any = None
    parsed_body: Any = None


class _Response(Struct):
    status: Status | None = None
    status_code: StatusCode | None = None
    headers: Any = None
    body: Any = None
    content: Any = None
    parsed_body: Any = None


class _Interaction(Struct):
    request: _Request
    response: _Response


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"interactions": [{"request": {"uri": _}}, *_]}:
            return True
        case {"interactions": [] | None, "version": 1}:
            return True
    return False


def _read(content: Content) -> Cassette:
    return build_cassette(_exchanges(content), note="vcrpy cassette")


def _exchanges(content: Content) -> Iterator[Exchange]:
    for place, interaction in each(content.mapping["interactions"], _Interaction, "interaction"):
        sent, answer = interaction.request, interaction.response
        request = build_request(
            sent.method, sent.uri, sent.headers, _body(sent.body, sent.parsed_body, place)
        )
        status = answer.status or as_shape(
            {"code": answer.status_code}, Status, f"{place}: response.status"
        )
        body = _body(
            answer.body if answer.content is None else answer.content, answer.parsed_body, place
        )
        rebuilt = answer.parsed_body is not None
        yield build_exchange(
            request,
            status.code,
            answer.headers,
            body,
            reason=status.message or "",
            rebuilt=rebuilt,
        )


def _body(body: Any, parsed: Any, place: str) -> bytes:
    """The bytes of ``parsed_body`` if there is one, else of the body, which may be a mapping."""
    if parsed is not None:
        return body_bytes(parsed)
    match body:
        case {"base64_string": text}:
            return decode_base64(text, f"{place}: base64_string")
        case {"string": string}:
            return body_bytes(string)
        case {}:
            return b""
    return body_bytes(body)


VCRPY: Final = Format("vcrpy", "vcrpy or pytest-recording cassette", _recognises, _read)
