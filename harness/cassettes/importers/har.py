"""HTTP archives (HAR 1.2): bodies as text or base64, usually without their content encoding. Polly
writes a compressed body as a JSON list of its reads in base64.

http://www.softwareishard.com/blog/har-12-spec/
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct, field

from harness.stream.exchange import Cassette, CassetteError, Exchange

from .build import (
    StatusCode,
    body_bytes,
    build_cassette,
    build_exchange,
    build_request,
    decode_base64,
)
from .content import Content, as_shape, each, parse_json
from .format import Format


class _Parameter(Struct):
    name: str
    value: str = ""


class _Posted(Struct):
    text: Any = None
    params: list[_Parameter] | None = None
    encoding: str | None = None


class _Request(Struct, rename="camel"):
    method: str
    url: str
    headers: Any = None
    post_data: _Posted | None = None


class _Given(Struct):
    text: Any = None
    encoding: str | None = None


class _Response(Struct, rename="camel"):
    status: StatusCode
    status_text: str | None = ""
    headers: Any = None
    content: _Given = field(default_factory=_Given)


class _Entry(Struct, rename="camel"):
    request: _Request
    response: _Response
    started_date_time: str = ""


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"log": {"entries": list()}}:
            return True
    return False


def _read(content: Content) -> Cassette:
    entries = _by_start(
        [entry for _, entry in each(content.mapping["log"]["entries"], _Entry, "entry")]
    )
    date = entries[0].started_date_time if entries else None
    return build_cassette(_exchanges(entries), date=date, note="HTTP archive")


def _by_start(entries: list[_Entry]) -> list[_Entry]:
    """The entries in start order; in file order if dates are missing or only some have a zone."""
    try:
        return sorted(entries, key=lambda entry: datetime.fromisoformat(entry.started_date_time))
    except (ValueError, TypeError):
        return entries


def _exchanges(entries: list[_Entry]) -> Iterator[Exchange]:
    for number, entry in enumerate(entries, 1):
        sent, answer = entry.request, entry.response
        request = build_request(
            sent.method, sent.url, sent.headers, _posted(sent.post_data, number)
        )
        given = answer.content
        body = _pieces(given, number) or [_text(given.text, given.encoding, number)]
        # a browser may save the archive in the middle of a stream
        yield build_exchange(
            request,
            answer.status,
            answer.headers,
            body,
            reason=answer.status_text or "",
            end="unknown",
        )


def _posted(posted: _Posted | None, number: int) -> bytes:
    if posted is None:
        return b""
    if not posted.text and posted.params:
        pairs = [(parameter.name, parameter.value) for parameter in posted.params]
        return body_bytes(urlencode(pairs))
    return _text(posted.text, posted.encoding, number)


def _pieces(given: _Given, number: int) -> list[bytes]:
    """The reads of a body that is a list of them; none for any other body."""
    if given.encoding != "base64" or not isinstance(given.text, str):
        return []
    if not given.text.startswith("["):
        return []
    place = f"entry {number}"
    return [
        decode_base64(piece, place) for piece in as_shape(parse_json(given.text), list[str], place)
    ]


def _text(text: Any, encoding: str | None, number: int) -> bytes:
    if encoding == "base64":
        return decode_base64(text or "", f"entry {number}")
    if encoding:
        raise CassetteError(f"entry {number}: a body in encoding {encoding!r}; known is base64")
    return body_bytes(text)


HAR: Final = Format("har", "HTTP archive (HAR)", _recognises, _read)
