"""Reads recordings of rig: YAML documents of ``when`` (a request) and ``then`` (its response), one
exchange each. They have no host, so the URL of a request is its path with the query.

https://github.com/0xPlaygrounds/rig
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from harness.stream.exchange import CassetteError, Exchange

from ..yaml import MAX_BYTES, YamlError, parse
from .build import (
    StatusCode,
    body_bytes,
    build_exchange,
    build_request,
    decode_base64,
    read_with,
)
from .content import Content, Format, as_shape

_FIRST: Final = re.compile(r"(?:---[ \t]*\r?\n)?when:[ \t]*\r?\n[ \t]+\w")
_BETWEEN: Final = re.compile(r"^---[ \t]*\r?\n", re.MULTILINE)


class _Parameter(Struct):
    name: str
    value: str


class _When(Struct):
    path: str
    method: str = "POST"
    query_param: list[_Parameter] | None = None
    header: Any = None
    body: Any = None
    body_base64: str | None = None


class _Then(Struct):
    status: StatusCode = 200
    header: Any = None
    body: Any = None
    body_base64: str | None = None


class _Exchange(Struct):
    when: _When
    then: _Then


def _recognises(content: Content) -> bool:
    return content.first_character in ("-", "w") and _FIRST.match(content.text or "") is not None


def _exchanges(content: Content) -> Iterator[Exchange]:
    for number, document in enumerate(filter(str.strip, _BETWEEN.split(content.text or "")), 1):
        place = f"document {number}"
        try:
            value = parse(document, foreign=True, max_bytes=MAX_BYTES)
        except YamlError as error:
            raise CassetteError(f"{place}: {error}") from None
        recorded = as_shape(value, _Exchange, place)
        when, then = recorded.when, recorded.then
        query = urlencode([(item.name, item.value) for item in when.query_param or ()])
        request = build_request(
            when.method,
            f"{when.path}?{query}" if query else when.path,
            when.header,
            _body(when.body, when.body_base64, f"{place}: when.body_base64"),
        )
        body = _body(then.body, then.body_base64, f"{place}: then.body_base64")
        yield build_exchange(request, then.status, then.header, body)


def _body(text: Any, encoded: str | None, where: str) -> bytes:
    return body_bytes(text) if encoded is None else decode_base64(encoded, where)


RIG: Final = Format("rig", "rig recording", _recognises, read_with(_exchanges, "rig recording"))
