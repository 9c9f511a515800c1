"""Reads one exchange in a JSON object of ``request`` and ``response``, a layout of many small
recorders.

The status has one of three keys, or is ``{code, message}``. Bodies are text, parsed JSON, ``{"b64":
…}`` or text with the prefix ``base64:``. A list of strings beside these keys has the reads of the
response.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import field

from harness.stream.exchange import Exchange

from .build import (
    Interaction,
    Received,
    SentRequest,
    Status,
    StatusCode,
    body_bytes,
    build_exchange,
    build_request,
    read_with,
    tagged_bytes,
)
from .content import Content, Format, as_shape


class _Request(SentRequest):
    method: str = "POST"
    url: str | None = None
    uri: str | None = None


class _Response(Received):
    status: Any = None
    status_code: StatusCode | None = None
    http_status: StatusCode | None = field(default=None, name="statusCode")


class _Recording(Interaction[_Request, _Response]):
    reads: list[str] | None = field(default=None, name="chunks")


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"request": {"url": str()} | {"uri": str()}, "response": dict()}:
            return True
    return False


def _exchanges(content: Content) -> Iterator[Exchange]:
    recording = content.shaped(_Recording)
    sent, answer = recording.request, recording.response
    request = build_request(
        sent.method,
        sent.url or sent.uri or "",
        sent.headers,
        tagged_bytes(sent.body, "request.body"),
    )
    code = (
        answer.status_code or answer.http_status or 200 if answer.status is None else answer.status
    )
    status = as_shape(code if isinstance(code, dict) else {"code": code}, Status, "response.status")
    reads = [body_bytes(read) for read in recording.reads or []]
    yield build_exchange(
        request,
        status.code,
        answer.headers,
        reads or tagged_bytes(answer.body, "response.body"),
        reason=status.message or "",
        rebuilt=not reads and isinstance(answer.body, dict | list) and "b64" not in answer.body,
        end="unknown" if reads else "complete",
    )


SINGLE_EXCHANGE: Final = Format(
    "single",
    "one request and response in a JSON object",
    _recognises,
    read_with(_exchanges, "request and response in one JSON object"),
)
