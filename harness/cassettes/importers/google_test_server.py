"""Recordings of google/test-server: requests chained by hash, bodies as parsed objects, the events
of a stream one object each.

The bytes are gone, so they are written anew: an SSE event an object where the answer was
``text/event-stream``, else JSON. https://github.com/google/test-server
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

from .. import Cassette, Exchange
from .build import StatusCode, build_cassette, build_exchange, build_request, join_responses
from .content import Content, as_shape
from .format import Format


class _Request(Struct, rename="camel"):
    method: str
    url: str
    headers: Any = None
    body_segments: list[Any] | None = None
    server_address: str = ""
    port: int = 443
    protocol: str = "https"


class _Response(Struct, rename="camel"):
    status_code: StatusCode = 200
    headers: dict[str, Any] = field(default_factory=dict)
    body_segments: list[Any] | None = None


class _Interaction(Struct):
    request: _Request
    response: _Response


class _Recording(Struct):
    interactions: list[Any]


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"recordID": _, "interactions": list()}:
            return True
    return False


def _read(content: Content) -> Cassette:
    return build_cassette(
        _exchanges(content.shaped(_Recording).interactions),
        note="google/test-server recording, bodies rebuilt",
    )


def _exchanges(interactions: list[Any]) -> Iterator[Exchange]:
    for number, recorded in enumerate(interactions, 1):
        interaction = as_shape(recorded, _Interaction, f"interaction {number}")
        asked, given = interaction.request, interaction.response
        url = (
            f"{asked.protocol}://{asked.server_address}:{asked.port}{asked.url}"
            if asked.url.startswith("/")
            else asked.url
        )
        request = build_request(
            asked.method, url, asked.headers, join_responses(asked.body_segments or [], sse=False)
        )
        kind = next(
            (value for name, value in given.headers.items() if name.lower() == "content-type"), ""
        )
        # an error before the stream is plain JSON even under the stream's content type
        streamed = "event-stream" in str(kind) and given.status_code < 400
        body = join_responses(given.body_segments or [], sse=streamed)
        yield build_exchange(request, given.status_code, given.headers, body, rebuilt=True)


TEST_SERVER: Final = Format("test-server", "google/test-server recording", _recognises, _read)
