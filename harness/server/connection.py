"""Serves one client's connection: reads requests, and writes each read of an answer as a separate
block.

h11 implements HTTP/1.1, asyncio transports the bytes, and this module decides when each block is
sent. With every pace except ``instant``, a block is written only after the previous block has left
this process and `GAP_S` has passed. A client on this machine has up to `PATIENCE_S` more to read
the previous block. Thus a client receives the blocks one by one. A client that parses HTTP by
blocks (h11, undici) can distinguish them even if it reads late. asyncio sets TCP_NODELAY; TCP
itself does not preserve boundaries. The size and the time of a request are limited, because clients
are not trusted.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import h11

from .callers import Callers
from .options import SLOW_S, Options, ServedFault
from .response import ServedAnswer, phrase_of
from .unread import unread_by_client

MAX_HEAD: Final = 1 << 16
MAX_BODY: Final = 1 << 27
IDLE_S: Final = 60.0
"""The maximum time in which a client sends no byte of a request, or reads no byte of an answer."""

GAP_S: Final = 0.001
PATIENCE_S: Final = 0.02
BREAK_S: Final = 0.01
"""The time that a client has to process its input before the server breaks the connection. Many
clients discard unprocessed input when the connection breaks. Without this time, their results would
vary.
"""
GRACE_S: Final = 2.0
"""The time that the server waits for a client to disconnect, if the recorded client disconnected.
Then the server closes the connection.
"""

_READ: Final = 1 << 16
_NO_HEAD: Final = h11.Request(method="GET", headers=[("Host", "")], target="/")
_LINGER_NONE: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request."""

    method: str
    url: str
    """Absolute, on the host ``localhost``."""
    body: bytes
    headers: Sequence[tuple[bytes, bytes]] = ()
    """Pairs of a name, as sent, and a value."""


class Connection:
    """Serves one client until it disconnects, an answer ends the connection, or the client violates
    HTTP.

    ``callers`` decides which clients are allowed. ``answer`` returns the answer to a request and
    the options for sending it. A subclass may override `respond` instead. ``origin_form``: only a
    path is accepted as the target of a request.
    """

    idle_s: float | None = IDLE_S
    origin_form = False

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        callers: Callers,
        answer: Callable[[HttpRequest], tuple[ServedAnswer, Options]] | None = None,
    ) -> None:
        self._answer = answer
        self._callers = callers
        self.reader = reader
        self.writer = writer
        self.wire = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._clock = asyncio.get_running_loop().time
        if (
            writer.get_extra_info("sslcontext") is None
        ):  # with TLS, asyncio never wakes drain() at 0
            writer.transport.set_write_buffer_limits(0)  # so drain() waits until all bytes are sent

    async def run(self) -> None:
        """Answer each request; return when the connection must be closed."""
        try:
            while (request := await self._read_request()) is not None:
                await self.respond(request)
                if self.wire.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
                    return
                self.wire.start_next_cycle()
        except (ConnectionError, TimeoutError):
            return  # the client disconnected, or sent nothing for too long
        except h11.RemoteProtocolError as error:
            await self._refuse(error.error_status_hint, str(error))
        except h11.LocalProtocolError as error:
            await self._refuse(500, f"the recorded answer can't be sent: {error}")

    async def respond(self, request: HttpRequest) -> None:
        """Send the answer to one request."""
        began = self._clock()
        assert self._answer is not None, "a subclass without ``answer`` overrides respond()"
        answer, options = self._answer(request)
        try:
            await self.send(answer, options, began)
        except ConnectionError:
            answer.left.set()
            raise

    async def _read_request(self) -> HttpRequest | None:
        """Return the next request; None if the client has disconnected or its request is too
        long.
        """
        head = _NO_HEAD
        body = bytearray()
        while True:
            event = await self._next_event()
            match event:
                case h11.Request():
                    head = event
                    if fault := self._find_fault(head):
                        await self._refuse(*fault)
                        return None
                case h11.Data():
                    body += event.data
                case h11.EndOfMessage():
                    return _request(head, bytes(body))
                case _:
                    return None
            if max(len(body), _declared_length(head)) > MAX_BODY:
                await self._refuse(413, f"the request is longer than {MAX_BODY} bytes")
                return None

    def _find_fault(self, head: h11.Request) -> tuple[int, str] | None:
        """Return the status and the reason if a request is refused independently of its content."""
        if not head.http_version.startswith(b"1."):
            version = head.http_version.decode("ascii")
            return 505, f"the request is HTTP/{version}; this server speaks HTTP/1.1"
        names = {name for name, _ in head.headers}
        if {b"content-length", b"transfer-encoding"} <= names:
            # RFC 9112, section 6.3: servers do not agree on which of the two is used
            return 400, "the request has a Content-Length and a Transfer-Encoding"
        target = head.target.decode("latin-1")
        if self.origin_form and not target.startswith("/"):
            return 400, "the target of the request is not a path"
        if stranger := self._callers.find_stranger(target, list(head.headers)):
            return 403, f"{stranger} is not a name of this machine; see --allow-host"
        return None

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self.wire.next_event()) is h11.NEED_DATA:
            if self.wire.they_are_waiting_for_100_continue:
                self.write(
                    h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
                )
            # In Python 3.11 wait_for() can swallow the cancellation that ends a server.
            async with asyncio.timeout(self.idle_s):
                data = await self.reader.read(_READ)
            self.wire.receive_data(data)
        return event  # type: ignore[return-value]  # the loop ends only without NEED_DATA

    async def send(self, answer: ServedAnswer, options: Options, began: float) -> None:
        """Send an answer. ``began``: the time of the request, in seconds of the loop's clock."""
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
            due = _due(at_ms, options) or due
            await self._wait(began + due, options, first=number == 0)
            if number == 0:
                self.write(head)
            self.write(h11.Data(data))
            await self.flush()
        if not answer.reads:
            self.write(head)
        await self._end(answer)

    async def _wait(self, until: float, options: Options, *, first: bool) -> None:
        """Wait until a read is due and the minimum gap after the previous read has passed."""
        if options.fault == ServedFault("slow"):
            shortest = SLOW_S
        else:
            shortest = 0.0 if first or options.pace == "instant" else GAP_S
        await asyncio.sleep(max(until - self._clock(), shortest))
        if shortest:
            await self.until_read()

    async def _end(self, answer: ServedAnswer) -> None:
        """End in the same way as the recording. The connection can be reused only after a complete
        answer.
        """
        if answer.end in ("complete", "unknown"):
            self.write(h11.EndOfMessage())
        await self.flush()
        match answer.end:
            case "cut" | "reset":
                await self.until_read()
                await asyncio.sleep(BREAK_S)
                if answer.end == "reset":
                    self.reset()
            case "aborted":
                try:
                    async with asyncio.timeout(GRACE_S):
                        await self._until_client_leaves()
                except TimeoutError:
                    return
                answer.left.set()
            case "stall":
                await self._until_client_leaves()

    async def until_read(self) -> None:
        """Wait until the client has read everything that was sent, if the kernel reports this."""
        ours, until = self.writer.get_extra_info("socket"), self._clock() + PATIENCE_S
        while unread_by_client(ours) and self._clock() < until:
            await asyncio.sleep(GAP_S)

    async def _until_client_leaves(self) -> None:
        while await self.reader.read(_READ):
            pass

    async def _refuse(self, status: int, reason: str) -> None:
        """Answer with an error, if the state of the connection allows it."""
        body = reason.encode() + b"\n"
        headers = [
            (b"Content-Type", b"text/plain; charset=utf-8"),
            (b"Content-Length", b"%d" % len(body)),
            (b"Connection", b"close"),
        ]
        try:
            self.write(
                h11.Response(status_code=status, headers=headers, reason=phrase_of(status).encode())
            )
            self.write(h11.Data(body))
            await self.flush()
        except (h11.LocalProtocolError, ConnectionError, TimeoutError):
            return

    def write(self, event: h11.Event) -> None:
        data = self.wire.send(event)
        if data:
            self.writer.write(data)

    async def flush(self) -> None:
        """Wait until everything that was written has left this process."""
        async with asyncio.timeout(self.idle_s):
            await self.writer.drain()

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        transport = self.writer.transport
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE
        )
        transport.abort()


def _due(at_ms: float | None, options: Options) -> float:
    """Return the seconds from the request to a read; 0 means at once."""
    if at_ms is None or options.pace in ("step", "instant"):
        return 0.0
    return at_ms / 1000 if options.pace == "recorded" else at_ms / 1000 / float(options.pace)


def _declared_length(head: h11.Request) -> int:
    return next((int(value) for name, value in head.headers if name == b"content-length"), 0)


def _request(head: h11.Request, body: bytes) -> HttpRequest:
    """Return the request. The host in its URL is always ``localhost``, because clients may send an
    invalid one.
    """
    target = head.target.decode("latin-1")
    _, absolute, rest = target.partition("?")[0].partition("://")
    if absolute and not target.startswith("/"):
        target = target[target.index("://") + 3 + len(rest.partition("/")[0]) :]
    return HttpRequest(
        head.method.decode("latin-1"),
        f"http://localhost/{target.removeprefix('/')}",
        body,
        list(head.headers.raw_items()),
    )
