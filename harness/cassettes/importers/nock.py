"""Reads fixtures of nock, Node's HTTP mock: a list of objects with ``scope``, ``path`` and
``response``.

The response is text, parsed JSON or hexadecimal. Hexadecimal is one string (``responseIsBinary``),
or, for an encoded body, a list with one string per read. https://github.com/nock/nock
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from harness.stream.exchange import CassetteError, Exchange

from .build import StatusCode, body_bytes, build_exchange, build_request, read_with
from .content import Content, Format, each


class _Definition(Struct, rename="camel"):
    scope: str
    path: str
    method: str = "GET"
    status: StatusCode = 200
    body: Any = None
    reqheaders: Any = None
    response: Any = None
    response_is_binary: bool | None = False
    headers: Any = None
    raw_headers: Any = None


def _recognises(content: Content) -> bool:
    match content.first_elements(1):
        case [{"scope": _, "path": _}]:
            return content.is_array
    return False


def _exchanges(content: Content) -> Iterator[Exchange]:
    for place, mock in each(content.document, _Definition, "definition"):
        request = build_request(mock.method, mock.scope + mock.path, mock.reqheaders, mock.body)
        headers = mock.headers if mock.raw_headers is None else mock.raw_headers
        rebuilt = isinstance(mock.response, dict | list) and not _is_hex_list(mock.response)
        yield build_exchange(request, mock.status, headers, _reads(mock, place), rebuilt=rebuilt)


def _reads(mock: _Definition, place: str) -> list[bytes]:
    if mock.response_is_binary or _is_hex_list(mock.response):
        parts = mock.response if isinstance(mock.response, list) else [mock.response]
        try:
            return [bytes.fromhex(part) for part in parts]
        except (ValueError, TypeError) as error:
            raise CassetteError(f"{place}: response is not hex: {error}") from None
    return [body_bytes(mock.response)]


def _is_hex_list(response: Any) -> bool:
    return isinstance(response, list) and {str} == set(map(type, response))


NOCK: Final = Format("nock", "nock fixture", _recognises, read_with(_exchanges, "nock fixture"))
