"""Reads cassettes of Braintrust's SDK tests: entries with a ``matchKey``; each body has its kind.

A ``binary`` body is in another file, which is not read. Such a body stays empty, and the cassette's
note has the number of such bodies. https://github.com/braintrustdata/braintrust-sdk-javascript
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

from harness.stream.events import End
from harness.stream.exchange import Cassette, CassetteError, Exchange

from .build import (
    EVENT_END,
    Interaction,
    Received,
    SentRequest,
    StatusCode,
    body_bytes,
    build_cassette,
    build_exchange,
    build_request,
)
from .content import Content, Format, each


class _Body(Struct):
    kind: str
    value: Any = None
    events: list[str] = field(default_factory=list, name="chunks")
    path: str | None = None
    """The file that contains a binary body."""
    sha256: str | None = None


class _Request(SentRequest, kw_only=True):
    url: str
    body: _Body | None = None


class _Response(Received, kw_only=True, rename="camel"):
    status: StatusCode
    status_text: str | None = ""
    body: _Body | None = None


class _Entry(Interaction[_Request, _Response], rename="camel"):
    recorded_at: str | None = None


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"entries": [{"matchKey": _, "request": _, "response": _}, *_]}:
            return True
        case {"entries": [], "meta": {"createdAt": _}}:
            return True
    return False


def _read(content: Content) -> Cassette:
    entries = [entry for _, entry in each(content.mapping["entries"], _Entry, "entry")]
    elsewhere = sum(
        body is not None and body.kind == "binary"
        for entry in entries
        for body in (entry.request.body, entry.response.body)
    )
    note = "Braintrust cassette, bodies rebuilt" + (
        f"; bodies in other files: {elsewhere}" if elsewhere else ""
    )
    date = entries[0].recorded_at if entries else None
    return build_cassette(_exchanges(entries), date=date, note=note)


def _exchanges(entries: list[_Entry]) -> Iterator[Exchange]:
    for number, entry in enumerate(entries, 1):
        sent, answer = entry.request, entry.response
        request = build_request(sent.method, sent.url, sent.headers, _bytes(sent.body, number))
        end: End = (
            "unknown" if answer.body is not None and answer.body.kind == "binary" else "complete"
        )
        reason = answer.status_text or ""
        yield build_exchange(
            request,
            answer.status,
            answer.headers,
            _bytes(answer.body, number),
            reason=reason,
            rebuilt=True,
            end=end,
        )


def _bytes(body: _Body | None, number: int) -> bytes:
    match body:
        case None | _Body(kind="empty" | "binary"):
            return b""
        case _Body(kind="json" | "text"):
            return body_bytes(body.value)
        case _Body(kind="sse"):
            return b"".join(body_bytes(event) + EVENT_END for event in body.events)
    raise CassetteError(
        f"entry {number}: a body of kind {body.kind!r}; known kinds are json, text, sse, empty,"
        " binary"
    )


BRAINTRUST: Final = Format("braintrust", "Braintrust cassette", _recognises, _read)
