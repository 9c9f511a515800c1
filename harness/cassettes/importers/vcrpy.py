"""vcrpy cassettes, also those of pytest-recording and of projects with a serializer of their own.

A body is text, ``!!binary`` bytes, or nothing; a ``parsed_body`` is JSON that a serializer
unpacked, and is packed again. Cassettes of vcrpy's first httpx support say ``content`` and
``status_code`` instead of ``body`` and ``status``. https://vcrpy.readthedocs.io
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from .. import Cassette, Exchange
from .build import (
    StatusCode,
    body_bytes,
    build_cassette,
    build_exchange,
    build_request,
    decode_base64,
)
from .content import Content, as_shape
from .format import Format


class _Request(Struct):
    method: str
    uri: str
    headers: Any = None
    body: Any = None
    parsed_body: Any = None


class _Status(Struct):
    code: StatusCode
    message: str | None = None


class _Response(Struct):
    status: _Status | None = None
    status_code: StatusCode | None = None
    headers: Any = None
    body: Any = None
    content: Any = None
    parsed_body: Any = None


class _Interaction(Struct):
    request: _Request
    response: _Response


class _Recording(Struct):
    interactions: list[Any] | None


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"interactions": [{"request": {"uri": _}}, *_]}:
            return True
        case {"interactions": [] | None, "version": 1}:
            return True
    return False


def _read(content: Content) -> Cassette:
    return build_cassette(
        _exchanges(content.shaped(_Recording).interactions or []), note="vcrpy cassette"
    )


def _exchanges(interactions: list[Any]) -> Iterator[Exchange]:
    for number, recorded in enumerate(interactions, 1):
        interaction = as_shape(recorded, _Interaction, f"interaction {number}")
        asked, given = interaction.request, interaction.response
        request = build_request(
            asked.method, asked.uri, asked.headers, _body(asked.body, asked.parsed_body, number)
        )
        status = given.status or as_shape(
            {"code": given.status_code}, _Status, f"interaction {number}: response.status"
        )
        body = _body(
            given.body if given.content is None else given.content, given.parsed_body, number
        )
        rebuilt = given.parsed_body is not None
        yield build_exchange(
            request, status.code, given.headers, body, reason=status.message or "", rebuilt=rebuilt
        )


def _body(body: Any, parsed: Any, number: int) -> bytes:
    """``parsed_body`` if there is one; else the body's string, or the body itself where it is not
    wrapped.
    """
    if parsed is not None:
        return body_bytes(parsed)
    match body:
        case {"base64_string": text}:
            return decode_base64(text, f"interaction {number}: base64_string")
        case {"string": string}:
            return body_bytes(string)
        case {}:
            return b""
    return body_bytes(body)


VCRPY: Final = Format("vcrpy", "vcrpy or pytest-recording cassette", _recognises, _read)
