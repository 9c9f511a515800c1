"""Serves recorded sessions over a WebSocket: the server's messages come at their recorded places.

A message of the server is sent when the client has sent everything that precedes it in the
recording. A message of the client is matched by its kind; another content is a warning, another
kind ends the session. Audio may come in other pieces than recorded: its length counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from harness.pipeline.replay import ReplayError
from harness.providers.live.messages import asks, audio_bytes, canonical, sent_member
from harness.specs.matching import compare, sides
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_object
from harness.stream.printable import excerpt
from harness.stream.websocket import NO_CODE, Kind, Message, read_messages

from .callers import Callers
from .connection import BREAK_S, GRACE_S, MAX_BODY, Connection, HttpRequest
from .options import Options, ServedFault
from .response import ServedAnswer

EXTRA: Final = "sessions need wsproto and trustme: pip install 'gemini-conformance[live]'"
OTHER_KIND: Final = 1008
"""The code of the close after a message of another kind than recorded, or after a long silence
(policy violation).
"""
TOO_BIG: Final = 1009
"""The code of the close of a session that is too long."""
_TEXT: Final = 1
_BINARY: Final = 2
_READ: Final = 1 << 16


class ClientLeft(Exception):
    """The client has closed the session, or its connection."""


class SessionTooLong(ClientLeft):
    """The client has sent more than the limit. The rest is not kept."""


@dataclass
class ServedSession:
    """A session that a client has had with the server."""

    name: str
    """The recorded exchange."""
    sent: list[Message] = field(default_factory=list)
    """The messages of the client, in order; the last one may be its close."""
    differences: list[str] = field(default_factory=list)
    """A sentence for each difference from the messages of the recorded client."""
    note: Callable[[str], None] = lambda difference: None
    """Called with each difference."""


def is_upgrade(request: HttpRequest) -> bool:
    """Return whether a request opens a WebSocket."""
    return any(
        name.lower() == b"upgrade" and value.lower() == b"websocket"
        for name, value in request.headers
    )


Respond = Callable[[Connection, HttpRequest], Awaitable[None]]


class SessionConnection(Connection):
    """A connection that may become a WebSocket. ``session`` returns the recorded session for a
    request and the record of what the client does, or None if no session is left. ``offered``
    returns the function that responds to a request for a session that one adapter is offered.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        callers: Callers,
        answer: Callable[[HttpRequest], tuple[ServedAnswer, Options]],
        session: Callable[[HttpRequest], tuple[Exchange, ServedSession, Options] | None],
        offered: Callable[[HttpRequest], Respond | None],
    ) -> None:
        super().__init__(reader, writer, callers, answer)
        self._session = session
        self._offered = offered

    async def respond(self, request: HttpRequest) -> None:
        if offered := self._offered(request):
            await offered(self, request)
            return
        known = self._session(request) if is_upgrade(request) else None
        if known is None:
            await super().respond(request)
            return
        exchange, served, options = known
        try:
            peer = Peer(self, request, served)
        except ReplayError as error:
            await self._refuse(501, str(error))
            return
        peer.accept()
        try:
            await Play(peer, served, options).run(exchange)
        finally:
            peer.stop()


class Peer:
    """The client of one WebSocket: its messages in a queue, and the frames that it gets."""

    def __init__(self, connection: Connection, request: HttpRequest, served: ServedSession) -> None:
        try:
            from wsproto.connection import ConnectionType
            from wsproto.handshake import H11Handshake
        except ImportError:
            raise ReplayError(EXTRA) from None
        self.connection = connection
        self.served = served
        self._writer = connection.writer
        self._handshake = H11Handshake(ConnectionType.SERVER)
        self._request = request
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self._reading: asyncio.Task[None] | None = None
        self._back: Message | None = None
        self._answered = asyncio.Event()
        self.left = False
        """Whether the client has closed the session, or its connection."""
        self._size = 0
        """The number of bytes of the client's messages."""

    def accept(self) -> None:
        """Accept the upgrade; no extension is used."""
        from wsproto.events import AcceptConnection

        path = self._request.url.removeprefix("http://localhost")
        self._handshake.initiate_upgrade_connection(list(self._request.headers), path)
        self._writer.write(self._handshake.send(AcceptConnection()))
        self._reading = asyncio.create_task(self._read())

    def stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    async def _read(self) -> None:
        """Put each message of the client into the queue, at last None."""
        from wsproto import events
        from wsproto.utilities import RemoteProtocolError

        wire = self._handshake.connection
        assert wire is not None
        pieces: list[bytes] = []
        data = self.connection.wire.trailing_data[0]
        try:
            while True:
                if data:
                    wire.receive_data(data)
                for event in wire.events():
                    match event:
                        case events.Ping():
                            self._writer.write(wire.send(event.response()))
                        case events.Pong():
                            self._answered.set()
                        case events.CloseConnection(code=code, reason=reason):
                            self._leave()
                            number = None if code == NO_CODE else int(code)
                            text = (reason or "").encode()
                            self._messages.put_nowait(Message("client", text, "close", number))
                        case events.Message() if self._size <= MAX_BODY:
                            sent = event.data
                            piece = sent.encode() if isinstance(sent, str) else bytes(sent)
                            pieces.append(piece)
                            self._size += len(piece)
                            if self._size > MAX_BODY:
                                self._messages.put_nowait(None)
                            elif event.message_finished:
                                kind: Kind = "text" if isinstance(sent, str) else "binary"
                                self._messages.put_nowait(Message("client", b"".join(pieces), kind))
                                pieces.clear()
                data = await self.connection.reader.read(_READ)
                if not data:
                    return
        except (ConnectionError, RemoteProtocolError):
            return
        finally:
            self._leave()
            self._messages.put_nowait(None)

    def _leave(self) -> None:
        self.left = True
        self._answered.set()

    async def receive(self) -> Message:
        """Return the next message of the client. Raises `ClientLeft` when it closes, and
        TimeoutError if it is silent for too long.
        """
        if (back := self._back) is not None:
            self._back = None
            return back
        async with asyncio.timeout(self.connection.idle_s):
            message = await self._messages.get()
        if message is not None:
            self.served.sent.append(message)
        elif self._size > MAX_BODY:
            raise SessionTooLong(f"the client has sent more than {MAX_BODY} bytes")
        if message is None or message.kind == "close":
            raise ClientLeft
        return message

    def give_back(self, message: Message) -> None:
        """Give a message back; it is the next one again."""
        self._back = message

    async def send(self, message: Message, *, by_bytes: bool) -> None:
        """Send a message as one frame, or each byte as a fragment of its own."""
        opcode = _BINARY if message.kind == "binary" else _TEXT
        data = message.data
        pieces = [data[at : at + 1] for at in range(len(data))] if by_bytes and data else [data]
        for number, piece in enumerate(pieces):
            self._writer.write(
                frame(0 if number else opcode, piece, final=number == len(pieces) - 1)
            )
        await self.connection.flush()

    async def ping(self) -> None:
        """Wait until the client has answered a ping, so that it has got all messages before it, or
        has left.
        """
        if not self.left:
            self._answered.clear()
            self._writer.write(frame(9, b"", final=True))
        await self._answered.wait()

    async def send_close(self, code: int | None, reason: str = "") -> None:
        data = b"" if code is None else code.to_bytes(2, "big") + reason.encode()[:123]
        self._writer.write(frame(8, data, final=True))
        await self.connection.flush()

    async def close(self, code: int | None, reason: str) -> None:
        """Close the session, and wait for the client's answer for a short time."""
        await self.send_close(code, reason)
        try:
            async with asyncio.timeout(GRACE_S):
                while True:
                    await self.receive()
        except (ClientLeft, TimeoutError):
            return


def frame(opcode: int, data: bytes, *, final: bool) -> bytes:
    """Return a frame of a server, which has no mask (RFC 6455, section 5.2)."""
    first = opcode | (0x80 if final else 0)
    if len(data) < 126:
        return bytes([first, len(data)]) + data
    if len(data) < 1 << 16:
        return bytes([first, 126]) + len(data).to_bytes(2, "big") + data
    return bytes([first, 127]) + len(data).to_bytes(8, "big") + data


class Play:
    """One play of a recorded session to a client."""

    def __init__(self, peer: Peer, served: ServedSession, options: Options) -> None:
        self._peer = peer
        self._served = served
        self._options = options

    async def run(self, exchange: Exchange) -> None:
        steps = [*_steps(exchange, self.messages_of(exchange))]
        sent = 0
        try:
            for message, delay in steps:
                if message.side == "client":
                    if not await self._expect(message):
                        return
                elif message.kind == "close":
                    self.sending(message)
                    await self._peer.close(message.code, message.data.decode())
                    return
                else:
                    if await self._break(sent):
                        return
                    await self._wait(delay)
                    self.sending(message)
                    await self._peer.send(message, by_bytes=self._options.cuts == "bytes")
                    sent += 1
            if not await self._break(sent):
                await self.finish(exchange)
        except SessionTooLong as error:
            await self._refuse(str(error), TOO_BIG)
        except TimeoutError:
            await self._refuse(f"the client sent nothing for {self._peer.connection.idle_s:g} s")
        except ClientLeft:
            self._note_missing(steps)
            if self._served.sent and self._served.sent[-1].kind == "close":
                await self._peer.send_close(self._served.sent[-1].code)

    async def finish(self, exchange: Exchange) -> None:
        """End the session after its last message as recorded."""
        if exchange.end in ("cut", "reset"):
            await self._peer.connection.until_read()
            await asyncio.sleep(BREAK_S)
        if exchange.end == "reset":
            self._peer.connection.reset()
        elif exchange.end in ("complete", "unknown", "aborted"):
            while True:
                await self._peer.receive()

    def messages_of(self, exchange: Exchange) -> Sequence[Message]:
        """Return the messages of the recorded session."""
        return read_messages(exchange.body, cut=True)

    def sending(self, message: Message) -> None:
        """Note a message of the server that is sent now."""

    async def _wait(self, delay: float) -> None:
        match self._options.pace:
            case "recorded":
                await asyncio.sleep(delay)
            case float(factor):
                await asyncio.sleep(delay / factor)

    async def _break(self, sent: int) -> bool:
        """Return whether the fault ends the session after this number of the server's messages."""
        fault = self._options.fault
        if fault is None or sent != fault.number:
            return False
        match fault:
            case ServedFault("close", code=code):
                await self._peer.close(code, "")
            case ServedFault("reset"):
                self._peer.connection.reset()
            case ServedFault("stall"):
                while True:
                    await self._peer.receive()
            case ServedFault("cut"):
                pass
            case _:
                return False
        return True

    async def _expect(self, message: Message) -> bool:
        """Wait until the client has sent this message; returns whether the session goes on."""
        if message.kind == "close":
            while True:
                await self._peer.receive()
        recorded = decode_object(message.data) or {}
        member, left = _member_of(recorded), audio_bytes(recorded)
        if left is not None:
            return await self._expect_audio(left)
        while True:
            sent = await self._peer.receive()
            theirs = decode_object(sent.data) or {}
            if audio_bytes(theirs) is not None:
                continue  # more audio than recorded
            if asks(recorded) and _member_of(theirs) == member and not asks(theirs):
                self._note("clientContent without turnComplete, which is recorded; waiting for it")
                continue
            if _member_of(theirs) == member or (member == "clientContent" and _has_text(theirs)):
                self._compare(canonical(recorded), canonical(theirs))
                return True
            await self._refuse(f"expected {member}, got {_shown(sent)}")
            return False

    async def _expect_audio(self, left: int) -> bool:
        """Wait until the client has sent this number of bytes of audio."""
        whole = left
        while left > 0:
            sent = await self._peer.receive()
            theirs = decode_object(sent.data) or {}
            size = audio_bytes(theirs)
            if size is None:
                self._peer.give_back(sent)
                self._note(f"{whole - left} bytes of audio, recorded were {whole}")
                return True
            left -= size
        return True

    def _compare(self, recorded: dict[str, Any], sent: dict[str, Any]) -> None:
        for mismatch in compare({"$literal": recorded}, sent, limit=3):
            expected, got = sides(mismatch)
            fact = f"{mismatch.path}: expected {expected or 'nothing'}, got {got or 'nothing'}"
            self._note(fact if expected or got else mismatch.note)

    async def _refuse(self, fact: str, code: int = OTHER_KIND) -> None:
        self._note(fact)
        reason = f"harness: {fact}"[:100].encode("ascii", "replace")
        await self._peer.close(code, reason.decode())

    def _note_missing(self, steps: Sequence[tuple[Message, float]]) -> None:
        """Note the first message of the recorded client that this client has not sent."""
        expected = [_member(step) for step, _ in steps if step.side == "client"]
        expected = [member for member in expected if member not in ("", "realtimeInput")]
        sent = [_member(message) for message in self._served.sent]
        for member in dict.fromkeys(expected):
            if sent.count(member) < expected.count(member):
                self._note(f"the client closed the session before it sent {member}")
                return

    def _note(self, fact: str) -> None:
        difference = f"{self._served.name}: {fact}"
        self._served.differences.append(difference)
        self._served.note(difference)


def _has_text(sent: dict[str, Any]) -> bool:
    """Return whether a message has a text of the user as input in real time."""
    content = canonical(sent).get("realtimeInput")
    return isinstance(content, dict) and "text" in content


def _steps(exchange: Exchange, messages: Sequence[Message]) -> Iterator[tuple[Message, float]]:
    """Yield each message with the seconds since the one before it. Consecutive audio of the client
    is one message with all of its bytes.
    """
    times = [at for at, data in exchange.reads if data.endswith(b"\n")]
    known = times if len(times) == len(messages) else [None] * len(messages)
    before, audio = 0.0, 0
    for number, (message, at) in enumerate(zip(messages, known, strict=True)):
        delay = max(0.0, at - before) / 1000 if at is not None else 0.0
        before = before if at is None else at
        size = _audio(message)
        if size is not None:
            audio += size
            if number + 1 < len(messages) and _audio(messages[number + 1]) is not None:
                continue
            yield Message("client", _AUDIO % audio), delay
            audio = 0
            continue
        yield message, delay


_AUDIO: Final = b'{"realtimeInput": {"audio": {"bytes": %d}}}'
"""Stands for consecutive audio of the client."""


def _audio(message: Message) -> int | None:
    if message.side == "server" or message.kind == "close":
        return None
    return audio_bytes(decode_object(message.data) or {})


def _member(message: Message) -> str:
    return _member_of(decode_object(message.data) or {}) or "" if message.kind != "close" else ""


def _member_of(message: dict[str, Any]) -> str | None:
    """Return the kind of a message: its member, or the type of an event of the Interactions API."""
    kind = message.get("event_type")
    return kind if isinstance(kind, str) else sent_member(message)


def _shown(message: Message) -> str:
    return excerpt(message.data.decode("utf-8", "backslashreplace"), 200)
