"""Plays a recorded exchange as a response of the client's HTTP library: all its reads, then its
end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from harness.cassettes import Exchange

CUT: Final = (
    "peer closed connection without sending complete message body (incomplete chunked read)"
)
LEFT: Final = "the client stopped here when this was recorded, so the rest of the answer is unknown"


def played(library: Any, exchange: Exchange) -> Any:
    """Return the response of a client library (`transport.Transports`) for a recorded exchange."""
    headers = [(name, value) for name, values in exchange.headers.items() for value in values]
    extensions = {
        "http_version": b"HTTP/1.1",
        "reason_phrase": exchange.reason_phrase.encode("ascii", "replace"),
    }
    stream = library.player(exchange)
    return library.http.Response(
        exchange.status, headers=headers, stream=stream, extensions=extensions
    )


class Player:
    """The body of a recorded exchange, for blocking and for asyncio clients. It is not an
    asynchronous generator, for the reason in `transport._Tee`.
    """

    http: Any

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._reads: Iterator[bytes] = iter(())

    def __iter__(self) -> Iterator[bytes]:
        for _, data in self.exchange.reads:
            yield data
        self._end()

    def __aiter__(self) -> AsyncIterator[bytes]:
        self._reads = iter(self)
        return self

    async def __anext__(self) -> bytes:
        for data in self._reads:
            return data
        raise StopAsyncIteration

    def _end(self) -> None:
        match self.exchange.end:
            case "cut":
                raise self.http.RemoteProtocolError(CUT)
            case "reset":
                raise self.http.ReadError("[Errno 104] Connection reset by peer")
            case "aborted":
                raise self.http.ReadError(LEFT)
