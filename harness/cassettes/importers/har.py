"""Reads HTTP archives (HAR 1.2): bodies as text or base64, usually without their content encoding.
Polly writes a compressed body as a JSON list of its reads in base64.

http://www.softwareishard.com/blog/har-12-spec/
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Raw, Struct, field

from harness.stream.exchange import Cassette, CassetteError, Exchange

from .build import (
    Interaction,
    Received,
    SentRequest,
    StatusCode,
    body_bytes,
    build_cassette,
    build_exchange,
    build_request,
    decode_base64,
)
from .content import Content, Format, as_shape, each, parse_json, parse_part


class _Parameter(Struct):
    name: str
    value: str = ""


class _Posted(Struct):
    text: Any = None
    params: list[_Parameter] | None = None
    encoding: str | None = None


class _Request(SentRequest, kw_only=True, rename="camel"):
    url: str
    post_data: _Posted | None = None


class _Given(Struct):
    text: Any = None
    encoding: str | None = None


class _Response(Received, kw_only=True, rename="camel"):
    status: StatusCode
    status_text: str | None = ""
    content: _Given = field(default_factory=_Given)


class _Entry(Interaction[_Request, _Response], rename="camel"):
    started_date_time: str = ""
    messages: list[Any] | None = field(default=None, name="_webSocketMessages")


class _Log(Struct):
    entries: list[Raw]


class _Archive(Struct):
    log: _Log


def _recognises(content: Content) -> bool:
    if content.parts(_Archive):
        return True
    match content.mapping:
        case {"log": {"entries": list()}}:
            return True
    return False


def _read(content: Content) -> Cassette:
    answered = _by_start(
        [(entry.started_date_time, _exchange(entry, place)) for place, entry in _entries(content)]
    )
    date = answered[0][0] if answered else None
    return build_cassette((exchange for _, exchange in answered), date=date, note="HTTP archive")


def _entries(content: Content) -> Iterator[tuple[str, _Entry]]:
    """Yield the entries, each with its place for errors. In a usual archive, they are read one by
    one.
    """
    archive = content.parts(_Archive)
    if archive is None:
        yield from each(content.mapping["log"]["entries"], _Entry, "entry")
        return
    for number, part in enumerate(archive.log.entries, 1):
        place = f"entry {number}"
        try:
            value = parse_part(part)
        except UnicodeDecodeError:
            raise CassetteError(f"{place} is not UTF-8") from None
        yield place, as_shape(value, _Entry, place)


def _by_start(answered: list[tuple[str, Exchange]]) -> list[tuple[str, Exchange]]:
    """Return the exchanges in start order, or in file order if dates are missing or only some have
    a time zone.
    """
    try:
        return sorted(answered, key=lambda started: datetime.fromisoformat(started[0]))
    except (ValueError, TypeError):
        return answered


def _exchange(entry: _Entry, place: str) -> Exchange:
    sent, answer = entry.request, entry.response
    if entry.messages:
        raise CassetteError(
            f"{place}: a WebSocket with {len(entry.messages)} messages ({sent.url[:200]}), which"
            " are not read; remove this entry from the archive to import the others"
        )
    request = build_request(sent.method, sent.url, sent.headers, _posted(sent.post_data, place))
    given = answer.content
    body = _pieces(given, place) or [_text(given.text, given.encoding, place)]
    # a browser may save the archive in the middle of a stream
    return build_exchange(
        request,
        answer.status,
        answer.headers,
        body,
        reason=answer.status_text or "",
        end="unknown",
    )


def _posted(posted: _Posted | None, place: str) -> bytes:
    if posted is None:
        return b""
    if not posted.text and posted.params:
        pairs = [(parameter.name, parameter.value) for parameter in posted.params]
        return body_bytes(urlencode(pairs))
    return _text(posted.text, posted.encoding, place)


def _pieces(given: _Given, place: str) -> list[bytes]:
    """Return the reads of a body that is a list of reads; empty for any other body."""
    if given.encoding != "base64" or not isinstance(given.text, str | bytes):
        return []
    if given.text[:1] != ("[" if isinstance(given.text, str) else b"["):
        return []
    text = given.text if isinstance(given.text, str) else given.text.decode()
    return [decode_base64(piece, place) for piece in as_shape(parse_json(text), list[str], place)]


def _text(text: Any, encoding: str | None, place: str) -> bytes:
    if encoding == "base64":
        return decode_base64(text or "", place)
    if encoding:
        raise CassetteError(
            f"{place}: a body in encoding {encoding!r}; the only known encoding is base64"
        )
    return body_bytes(text)


HAR: Final = Format("har", "HTTP archive (HAR)", _recognises, _read)
