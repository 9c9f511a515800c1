"""Passes the sessions of a client of the relay on to the provider, and records the messages of both
sides; or plays a recorded session to the client.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from harness.cassettes import Exchange, Request
from harness.pipeline.replay import ReplayError
from harness.server.connection import BREAK_S, GRACE_S, MAX_BODY, Connection, HttpRequest
from harness.server.options import Options
from harness.server.response import phrase_of, recorded_answer
from harness.server.session import (
    EXTRA,
    TOO_BIG,
    ClientLeft,
    Peer,
    Play,
    ServedSession,
    SessionTooLong,
)
from harness.stream.websocket import NO_CODE, SWITCHED, Kind, Message, write_message

from .tape import CLIENT_LEFT, InFlightExchange, Tape
from .transport import headers_by_name

_READ: Final = 1 << 16
_AT_ONCE: Final = Options(pace="instant")
_OF_HANDSHAKE: Final = (b"host", b"connection", b"upgrade", b"content-length")
_SOCKET: Final = b"sec-websocket-"


def session_url(url: str) -> str:
    """Return the URL of a session below the base URL of a provider: ``wss:`` for ``https:``. Some
    clients begin the path with two slashes.
    """
    split = urlsplit(url)
    scheme = {"https": "wss", "http": "ws"}.get(split.scheme, split.scheme)
    return split._replace(scheme=scheme, path="/" + split.path.lstrip("/")).geturl()


async def play_session(
    connection: Connection, request: HttpRequest, exchange: Exchange, note: Callable[[str], None]
) -> None:
    """Play a recorded session to a client. ``note`` is called with each difference between the
    client and the recorded one.
    """
    served = ServedSession("the session", note=note)
    peer = Peer(connection, request, served)
    peer.accept()
    try:
        await Play(peer, served, _AT_ONCE).run(exchange)
    finally:
        peer.stop()


async def pass_session(
    connection: Connection,
    request: HttpRequest,
    asked: Request,
    source: Tape,
    context: ssl.SSLContext | None,
) -> None:
    """Open a session with the provider at the URL of ``asked``, pass the messages of both sides on,
    and record them.
    """
    exchange = source.begin(asked)
    provider = ProviderSocket()
    try:
        async with asyncio.timeout(source.silence_s):
            refused = await provider.open(asked.url, request.headers, context)
    except (OSError, TimeoutError) as error:
        exchange.failure = str(error) or type(error).__name__
        connection.reset()
        return
    try:
        if refused is not None:
            note_refusal(exchange, refused)
            answer = recorded_answer(exchange.exchange(), _AT_ONCE)
            await connection.send(answer, _AT_ONCE, 0.0)
            return
        exchange.answered(SWITCHED, {}, phrase_of(SWITCHED))
        peer = Peer(connection, request, ServedSession("the session"))
        peer.accept()
        try:
            await _Passing(peer, provider, exchange).run()
        finally:
            peer.stop()
    finally:
        await provider.close()


Refused = tuple[int, dict[str, list[str]], bytes]
"""The status, the headers and the body with which a provider refuses a session."""


def note_refusal(exchange: InFlightExchange, refused: Refused) -> None:
    """Note the answer of a provider that refuses a session."""
    status, headers, body = refused
    exchange.answered(status, headers, phrase_of(status))
    exchange.read(body)
    exchange.ended("complete")


class _Passing:
    """One session between a client and a provider."""

    def __init__(self, peer: Peer, provider: ProviderSocket, exchange: InFlightExchange) -> None:
        self._peer = peer
        self._provider = provider
        self._exchange = exchange

    async def run(self) -> None:
        tasks = [asyncio.create_task(self._up()), asyncio.create_task(self._down())]
        try:
            done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in rest:
                task.cancel()  # else it could take the client's answer to a close
            for task in done:
                task.result()
        except SessionTooLong as error:
            self._exchange.failure = str(error)
            self._exchange.ended("aborted")
            await self._peer.close(TOO_BIG, f"harness: {error}"[:120])
        except ConnectionError:
            self._exchange.ended("reset")
            await self._break(reset=True)
        except EOFError:
            self._exchange.ended("cut")
            await self._break(reset=False)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._exchange.left()

    async def _up(self) -> None:
        """Pass each message of the client on, at last its close."""
        while True:
            try:
                message = await self._peer.receive()
            except SessionTooLong:
                raise
            except ClientLeft:
                sent = self._peer.served.sent
                if not sent or sent[-1].kind != "close":
                    self._exchange.failure = CLIENT_LEFT
                    return
                message = sent[-1]
            self._peer.served.sent.clear()
            if self._exchange.end is not None:
                return  # the answer to the provider's close
            self._note(message)
            await self._provider.send(message)
            if message.kind == "close":
                self._exchange.ended("complete")
                await self._peer.send_close(message.code, message.data.decode())
                return

    async def _down(self) -> None:
        """Pass each message of the provider on, at last its close."""
        while True:
            message = await self._provider.receive()
            if self._exchange.end is not None:
                return  # the answer to the client's close
            self._note(message)
            if message.kind == "close":
                self._exchange.ended("complete")
                await self._peer.close(message.code, message.data.decode())
                return
            await self._peer.send(message, by_bytes=False)

    def _note(self, message: Message) -> None:
        self._exchange.read(write_message(message))
        if excess := self._exchange.excess:
            raise SessionTooLong(excess)

    async def _break(self, *, reset: bool) -> None:
        await self._peer.connection.until_read()
        await asyncio.sleep(BREAK_S)
        if reset:
            self._peer.connection.reset()


class ProviderSocket:
    """The connection to the provider."""

    def __init__(self) -> None:
        try:
            from wsproto import WSConnection
            from wsproto.connection import ConnectionType
        except ImportError:
            raise ReplayError(EXTRA) from None
        self._wire = WSConnection(ConnectionType.CLIENT)
        self._events: Any = iter(())
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter | None = None

    async def open(
        self, url: str, headers: Sequence[tuple[bytes, bytes]], context: ssl.SSLContext | None
    ) -> Refused | None:
        """Open the session with the headers of the client. Returns None, or the refusal of the
        provider. Raises OSError.
        """
        from wsproto.events import AcceptConnection, RejectConnection, RejectData
        from wsproto.events import Request as Upgrade

        split = urlsplit(url)
        tls = context if split.scheme == "wss" else None
        port = split.port or (443 if tls else 80)
        self._reader, self._writer = await asyncio.open_connection(split.hostname, port, ssl=tls)
        target = split._replace(scheme="", netloc="").geturl()
        own = [
            (name, value)
            for name, value in headers
            if name.lower() not in _OF_HANDSHAKE and not name.lower().startswith(_SOCKET)
        ]
        await self._write(Upgrade(host=split.netloc, target=target, extra_headers=own))
        status, given, body = 0, {}, b""
        while True:
            match await self._next():
                case AcceptConnection():
                    return None
                case RejectConnection() as event:
                    status = event.status_code
                    given = headers_by_name(list(event.headers))
                    if not event.has_body:
                        return status, given, body
                case RejectData() as event:
                    body += bytes(event.data)
                    if event.body_finished:
                        return status, given, body

    async def receive(self) -> Message:
        """Return the next message. Raises ConnectionError, EOFError for a connection that ends
        without a close, and `SessionTooLong` for a message that is longer than the limit.
        """
        from wsproto.events import CloseConnection, Ping
        from wsproto.events import Message as Piece

        pieces: list[bytes] = []
        size = 0
        while True:
            match await self._next():
                case Ping() as event:
                    await self._write(event.response())
                case CloseConnection() as event:
                    code = None if event.code == NO_CODE else int(event.code)
                    return Message("server", (event.reason or "").encode(), "close", code)
                case Piece() as event:
                    is_text = isinstance(event.data, str)
                    pieces.append(event.data.encode() if is_text else bytes(event.data))
                    size += len(pieces[-1])
                    if size > MAX_BODY:
                        fact = f"the provider has sent a message of more than {MAX_BODY} bytes"
                        raise SessionTooLong(fact)
                    if event.message_finished:
                        kind: Kind = "text" if is_text else "binary"
                        return Message("server", b"".join(pieces), kind)

    async def send(self, message: Message) -> None:
        from wsproto.events import BytesMessage, CloseConnection, TextMessage
        from wsproto.frame_protocol import CloseReason

        if message.kind == "close":
            code = CloseReason.NO_STATUS_RCVD if message.code is None else message.code
            await self._write(CloseConnection(code=code, reason=message.data.decode() or None))
        elif message.kind == "binary":
            await self._write(BytesMessage(data=message.data))
        else:
            await self._write(TextMessage(data=message.data.decode()))

    async def close(self) -> None:
        """End the connection, if the provider does not end it in a short time."""
        if self._writer is None:
            return
        self._writer.close()
        try:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._writer.wait_closed()
        finally:
            self._writer.transport.abort()

    async def _next(self) -> Any:
        """Return the next event of the wire."""
        from wsproto.utilities import RemoteProtocolError

        while (event := next(self._events, None)) is None:
            data = await self._reader.read(_READ)
            if not data:
                raise EOFError
            try:
                self._wire.receive_data(data)
            except RemoteProtocolError as error:
                raise ConnectionResetError(str(error)) from None
            self._events = self._wire.events()
        return event

    async def _write(self, event: Any) -> None:
        assert self._writer is not None  # it is open
        self._writer.write(self._wire.send(event))
        await self._writer.drain()
