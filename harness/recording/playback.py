"""A recorded answer as a response of the client's own library: all of it at once, then its recorded
end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import lru_cache
from typing import Any, Final

from harness.cassettes import Exchange

CUT: Final = (
    "peer closed connection without sending complete message body (incomplete chunked read)"
)
LEFT: Final = (
    "the client left here when this was recorded; the recording does not know what came next"
)


def played(http: Any, exchange: Exchange) -> Any:
    """The library's response for a recorded answer."""
    headers = [(name, value) for name, values in exchange.headers.items() for value in values]
    extensions = {
        "http_version": b"HTTP/1.1",
        "reason_phrase": exchange.reason_phrase.encode("ascii", "replace"),
    }
    return http.Response(
        exchange.status, headers=headers, stream=_player(http)(exchange), extensions=extensions
    )


class _Player:
    """A recorded body, for both kinds of client: at once, as far as it goes, then its recorded
    end.
    """

    http: Any

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        for _, data in self.exchange.reads:
            yield data
        self._end()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _, data in self.exchange.reads:
            yield data
        self._end()

    def _end(self) -> None:
        match self.exchange.end:
            case "cut":
                raise self.http.RemoteProtocolError(CUT)
            case "reset":
                raise self.http.ReadError("[Errno 104] Connection reset by peer")
            case "aborted":
                raise self.http.ReadError(LEFT)

    def close(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


@lru_cache
def _player(http: Any) -> Any:
    return type("Player", (_Player, http.SyncByteStream, http.AsyncByteStream), {"http": http})
