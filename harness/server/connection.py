"""One client's connection: requests in, answers out, each read written and flushed as a
transfer-coding block of its own.

h11 speaks HTTP/1.1, asyncio moves the bytes, this module decides when. A block is written by itself
with TCP_NODELAY (asyncio sets it), and except at the pace ``instant`` only after the one before has
left this process and `GAP_S` has passed: a client that reads meanwhile gets the blocks one by one,
and one that parses HTTP by blocks (h11, undici) tells them apart even when it reads late. TCP
itself promises no bounds. A peer is not trusted: the sizes of what it sends and the time it may
take are bounded.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import h11

from .options import SLOW_S, Fault, Manner
from .response import Answer, phrase_of

MAX_HEAD: Final = 1 << 16
MAX_BODY: Final = 1 << 27
IDLE_S: Final = 60.0
"""How long a client may be silent before and inside a request, or not take what is sent."""

GAP_S: Final = 0.001
GRACE_S: Final = 2.0
"""How long a client that left when it was recorded has to leave again, before the connection is
cut.
"""

_READ: Final = 1 << 16
_NO_HEAD: Final = h11.Request(method="GET", headers=[("Host", "")], target="/")
_LINGER_NONE: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it came; ``url`` is whole, on whatever host."""

    method: str
    url: str
    body: bytes


Answers = Callable[[HttpRequest], tuple[Answer, Manner]]
"""Gives the answer to a request, and the manner to send it in."""


class Connection:
    """Serves one client until it leaves, an answer ends the connection, or it breaks the rules of
    HTTP.
    """

    def __init__(
        self, answers: Answers, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._answers = answers
        self._reader = reader
        self._writer = writer
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._clock = asyncio.get_running_loop().time
        writer.transport.set_write_buffer_limits(0)  # so that drain() waits until all has left

    async def run(self) -> None:
        """Answer request after request; returns when the connection is to be closed."""
        try:
            while (asked := await self._read_request()) is not None:
                began = self._clock()
                answer, manner = self._answers(asked)
                await self._send(answer, manner, began)
                if self._wire.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
                    return
                self._wire.start_next_cycle()
        except (ConnectionError, TimeoutError):
            return  # the client is gone, or as good as gone
        except h11.RemoteProtocolError as error:
            await self._refuse(error.error_status_hint, str(error))
        except h11.LocalProtocolError as error:
            await self._refuse(500, f"the recorded answer can't be sent: {error}")

    async def _read_request(self) -> HttpRequest | None:
        """The next request; None when the client has left or asked too much."""
        head = _NO_HEAD
        body = bytearray()
        while True:
            event = await self._next_event()
            match event:
                case h11.Request():
                    head = event
                case h11.Data():
                    body += event.data
                case h11.EndOfMessage():
                    return _asked(head, bytes(body))
                case _:
                    return None
            if max(len(body), _said_length(head)) > MAX_BODY:
                await self._refuse(413, f"the request is longer than {MAX_BODY} bytes")
                return None

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._wire.next_event()) is h11.NEED_DATA:
            if self._wire.they_are_waiting_for_100_continue:
                self._write(
                    h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
                )
            async with asyncio.timeout(
                IDLE_S
            ):  # wait_for() of Python 3.11 can swallow the cancellation that ends a server
                data = await self._reader.read(_READ)
            self._wire.receive_data(data)
        # NEED_DATA is told by identity, which mypy does not narrow
        return event  # type: ignore[return-value]

    async def _send(self, answer: Answer, manner: Manner, began: float) -> None:
        head = h11.Response(
            status_code=answer.status,
            headers=[
                (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
                for name, value in answer.headers
            ],
            reason=answer.reason.encode("latin-1", "replace"),
        )
        due = 0.0
        for number, (at_ms, data) in enumerate(answer.reads):
            due = _due(at_ms, manner) or due
            await self._wait(began + due, manner, first=number == 0)
            if number == 0:
                self._write(head)
            self._write(h11.Data(data))
            await self._flush()
        if not answer.reads:
            self._write(head)
        await self._end(answer)

    async def _wait(self, until: float, manner: Manner, *, first: bool) -> None:
        """Until the time of a read; no shorter than keeps it apart from the read before."""
        shortest = (
            SLOW_S
            if manner.fault == Fault("slow")
            else 0.0
            if first or manner.pace == "instant"
            else GAP_S
        )
        await asyncio.sleep(max(until - self._clock(), shortest))

    async def _end(self, answer: Answer) -> None:
        """End as the recording did; only a whole answer leaves the connection usable."""
        if answer.end in ("complete", "unknown"):
            self._write(h11.EndOfMessage())
        await self._flush()
        match answer.end:
            case "reset":
                await asyncio.sleep(
                    GAP_S
                )  # the client takes what came before it is told that it broke
                transport = self._writer.transport
                transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE
                )
                transport.abort()
            case "aborted":
                try:
                    async with asyncio.timeout(GRACE_S):
                        await self._until_client_leaves()
                except TimeoutError:
                    return
            case "stall":
                await self._until_client_leaves()

    async def _until_client_leaves(self) -> None:
        while await self._reader.read(_READ):
            pass

    async def _refuse(self, status: int, reason: str) -> None:
        """Say what is wrong, as far as the connection lets us, and close."""
        try:
            body = reason.encode() + b"\n"
            headers = [
                (b"Content-Type", b"text/plain; charset=utf-8"),
                (b"Content-Length", b"%d" % len(body)),
                (b"Connection", b"close"),
            ]
            self._write(
                h11.Response(status_code=status, headers=headers, reason=phrase_of(status).encode())
            )
            self._write(h11.Data(body))
            await self._flush()
        except (h11.LocalProtocolError, ConnectionError, TimeoutError):
            return

    def _write(self, event: h11.Event) -> None:
        data = self._wire.send(event)
        if data:
            self._writer.write(data)

    async def _flush(self) -> None:
        async with asyncio.timeout(IDLE_S):
            await self._writer.drain()


def _due(at_ms: float | None, manner: Manner) -> float:
    """Seconds from the request to a read, 0 for at once."""
    if at_ms is None or manner.pace in ("step", "instant"):
        return 0.0
    return at_ms / 1000 if manner.pace == "recorded" else at_ms / 1000 / float(manner.pace)


def _said_length(head: h11.Request) -> int:
    return next((int(value) for name, value in head.headers if name == b"content-length"), 0)


def _asked(head: h11.Request, body: bytes) -> HttpRequest:
    """The host is not the peer's to choose: what it says may be no host at all."""
    target = head.target.decode("latin-1")
    _, absolute, rest = target.partition("?")[0].partition("://")
    path = target[target.index("://") + 3 + len(rest.partition("/")[0]) :] if absolute else target
    return HttpRequest(
        head.method.decode("latin-1"), f"http://localhost/{path.removeprefix('/')}", body
    )
