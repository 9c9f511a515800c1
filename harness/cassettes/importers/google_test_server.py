"""Reads recordings of google/test-server: bodies as parsed objects, a stream as one object per
event.

The bodies are rebuilt: as SSE if the content type was ``text/event-stream``, else as JSON.
https://github.com/google/test-server
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.stream.exchange import Exchange, first_value

from .build import (
    Interaction,
    Received,
    SentRequest,
    StatusCode,
    build_exchange,
    build_request,
    join_responses,
    read_headers,
    read_with,
)
from .content import Content, Format, each


class _Request(SentRequest, kw_only=True, rename="camel"):
    url: str
    body_segments: list[Any] | None = None
    server_address: str = ""
    port: int = 443
    protocol: str = "https"


class _Response(Received, rename="camel"):
    status_code: StatusCode = 200
    body_segments: list[Any] | None = None


_Interaction = Interaction[_Request, _Response]


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"recordID": _, "interactions": list()}:
            return True
    return False


def _exchanges(content: Content) -> Iterator[Exchange]:
    for _, interaction in each(content.mapping["interactions"], _Interaction, "interaction"):
        sent, answer = interaction.request, interaction.response
        url = (
            f"{sent.protocol}://{sent.server_address}:{sent.port}{sent.url}"
            if sent.url.startswith("/")
            else sent.url
        )
        request = build_request(
            sent.method, url, sent.headers, join_responses(sent.body_segments or [], sse=False)
        )
        kind = first_value(read_headers(answer.headers), "content-type") or ""
        # an error before the stream is plain JSON even with the stream's content type
        streamed = "event-stream" in kind and answer.status_code < 400
        body = join_responses(answer.body_segments or [], sse=streamed)
        yield build_exchange(request, answer.status_code, answer.headers, body, rebuilt=True)


TEST_SERVER: Final = Format(
    "test-server",
    "google/test-server recording",
    _recognises,
    read_with(_exchanges, "google/test-server recording, bodies rebuilt"),
)
