"""Offers a session to one adapter under test: the recorded server, and a script of its user.

The adapter connects to the base URL. The user's next step is the answer to ``GET …/user``, which
waits until the session has come to its place; after the last step it is ``null``. The result of a
call is the answer to ``GET …/result?id=…&name=…``. That of a cancelled call comes at the end, after
the cancellation: an adapter must not send it.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from harness.providers.live.messages import (
    Blob,
    asks,
    audio_bytes,
    called,
    cancelled,
    canonical,
    media_of,
    results_in,
    sent_member,
)
from harness.providers.second_turn import result_text
from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json, decode_object
from harness.stream.printable import excerpt
from harness.stream.websocket import Message, read_messages

from .connection import Connection, HttpRequest
from .google import error_answer
from .options import Options
from .response import ServedAnswer, made_answer
from .session import OTHER_KIND, ClientLeft, Peer, Play, ServedSession, is_upgrade

QUIET_S: Final = 0.5
"""The time for the result of a cancelled call, which the adapter must not send, and for the adapter
to notice the end of a session before its user ends it.
"""
READ_S: Final = 0.02
"""The time for an adapter to read the last messages, which its library has got, before its user
ends the session.
"""
_SHOWN: Final = 200


class SessionOffer(AbstractContextManager["SessionOffer"]):
    """A session for one adapter. ``turn_s``: the time limit for each message of the adapter, in
    seconds. The end of a ``with`` block closes the offer.
    """

    def __init__(
        self,
        base_url: str,
        exchange: Exchange,
        turn_s: float,
        *,
        options: Options,
        close: Callable[[], object],
    ) -> None:
        self.base_url = base_url
        self._close = close
        self.exchange = exchange
        self.turn_s = turn_s
        self.served = ServedSession("the session")
        self.path = ""
        """The path at which the adapter has opened the session; "" before that."""
        self.played = False
        """Whether the session came to its end."""
        self.left = False
        """Whether the adapter has left the session before its user has ended it."""
        self.opened_again = False
        """Whether the adapter has opened a second session, which is not recorded."""
        self.late = ""
        """The kind of the message that the adapter did not send within the limit, else ""."""
        self.unexpected = ""
        """The kind of the message that the adapter sent where another is expected, else ""."""
        self.messages = read_messages(exchange.body, cut=True)
        self.calls = [*_calls(self.messages)]
        """The id and the name of each call, in order."""
        self.options = options
        self.turns = sum(message.side == "client" for message in self.messages)
        """The number of messages of the recorded client."""
        self._below = urlsplit(base_url).path
        self._steps: asyncio.Queue[Json] = asyncio.Queue()
        self._released: set[int] = set()
        self._asked: Counter[int] = Counter()
        self._changed = asyncio.Event()
        self._ended = False
        self.told = False
        """Whether the adapter knows that its user has ended the session."""

    def __exit__(self, *raised: object) -> None:
        self._close()
        self.messages = []  # a late timer keeps the offer a little longer

    async def respond(self, connection: Connection, request: HttpRequest) -> None:
        """Play the session to the adapter, or answer a request for the script."""
        url = urlsplit(request.url)
        path = url.path.removeprefix(self._below)
        self.opened_again |= is_upgrade(request) and bool(self.path)
        if is_upgrade(request) and not self.path:
            self.path = path
            peer = Peer(connection, request, self.served)
            peer.accept()
            try:
                await _Play(peer, self).run(self.exchange)
            finally:
                peer.stop()
                asyncio.get_running_loop().call_later(QUIET_S, self.end)
            return
        answer: ServedAnswer
        if path == "/user":
            step = None if self._ended and self._steps.empty() else await self._steps.get()
            self.told |= step is None
            answer = made_answer(200, step, note="", indent=None)
        elif path == "/result":
            answer = made_answer(200, await self._result(parse_qs(url.query)), note="", indent=None)
        else:
            fact = "the session was opened before" if is_upgrade(request) else "no such path"
            answer = error_answer(request, 404, f"{fact}; this address serves one session.")
        await connection.send(answer, self.options, asyncio.get_running_loop().time())

    async def _result(self, query: dict[str, list[str]]) -> Json:
        """Return the text of the result of a call, when it is there."""
        number = self.number(query.get("id", [""])[0], query.get("name", [""])[0])
        self._asked[number] += 1
        while number not in self._released and not self._ended:
            await self._changed.wait()
        return result_text(number)

    def number(self, call_id: str, name: str) -> int:
        """Return the number of a call by its id or, without one, by its name; 0 for another."""
        for number, (wire_id, wire_name) in enumerate(self.calls, 1):
            if call_id == wire_id if call_id and wire_id else name == wire_name:
                return number
        return 0

    def release(self, numbers: Sequence[int]) -> bool:
        """Let the adapter have these results. Returns whether it waits for one of them."""
        self._released.update(numbers)
        self._notify()
        return any(self._asked[number] for number in numbers)

    def waits_beside(self, numbers: set[int]) -> bool:
        """Return whether the adapter has got these results, and waits for that of another call."""
        others = any(number and number not in self._released for number in self._asked)
        return others and self._asked.keys() >= numbers

    def say(self, step: Json) -> None:
        """Let the user take the next step; None is the end."""
        self._steps.put_nowait(step)

    def end(self) -> None:
        """Answer everything that the adapter still waits for."""
        self._ended = True
        self._steps.put_nowait(None)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class _Play(Play):
    """One play of a recorded session to an adapter."""

    def __init__(self, peer: Peer, offer: SessionOffer) -> None:
        super().__init__(peer, offer.served, offer.options)
        self._offer = offer
        self._script = iter(_script(offer.messages))
        self._results: Counter[int] = Counter()
        """The results that the adapter has sent, by the number of the call."""
        self._owed: set[int] = set()
        """The recorded results that the adapter has not sent at their place."""
        self._cancelled: set[int] = set()

    def messages_of(self, exchange: Exchange) -> Sequence[Message]:
        return self._offer.messages  # read once

    def sending(self, message: Message) -> None:
        if message.kind == "close":
            self._offer.played = True
        for call_id in cancelled(decode_object(message.data) or {}):
            self._cancelled.add(self._offer.number(call_id, ""))

    async def finish(self, exchange: Exchange) -> None:
        self._offer.played = True
        if exchange.end in ("cut", "reset"):
            await super().finish(exchange)
        else:
            await self._hang_up()

    async def _expect(self, message: Message) -> bool:
        if message.kind == "close":
            self._offer.played = True
            await self._hang_up()
            return False
        recorded = decode_object(message.data) or {}
        results = [self._offer.number(*result) for result in results_in(recorded)]
        kind = _kind(recorded)
        if not kind:
            return True  # no message of the API
        if results:
            self._offer.release(results)
        elif kind != "setup":
            self._offer.say(next(self._script, None))
        try:
            async with asyncio.timeout(self._offer.turn_s):
                if results:
                    await self._wait_for_results(results)
                elif (size := audio_bytes(recorded)) is not None:
                    while size > 0:
                        size -= audio_bytes(await self._receive()) or 0
                else:
                    await self._wait_for(kind, kind == "text" or asks(recorded))
        except TimeoutError:
            await self._give_up(kind)
        return not (self._offer.late or self._offer.unexpected)

    async def _wait_for_results(self, numbers: Sequence[int]) -> None:
        """Wait for the results of these calls. An adapter that sends the results of several calls
        together waits for a tool that has not ended; then the session goes on.
        """
        while missing := {number for number in numbers if not self._results[number]}:
            try:
                async with asyncio.timeout(QUIET_S):
                    await self._receive()
            except TimeoutError:
                if self._offer.waits_beside(missing):
                    self._owed |= missing
                    return

    async def _wait_for(self, kind: str, asked: bool) -> None:
        """Wait for a message of this kind. Results, and sound that is not recorded, may come
        before it. A text may come as input, or as contents of the client. If the user ``asked``,
        the contents go on until their turn is complete.
        """
        while True:
            sent = await self._receive()
            its_kind = _kind(sent)
            if its_kind == "clientContent" and asked and not asks(sent):
                continue
            if its_kind == kind or {its_kind, kind} == {"clientContent", "text"}:
                return
            if kind == "setup" or its_kind not in _AT_ANY_TIME:
                shown = excerpt(json.dumps(sent), _SHOWN)
                await self._refuse(f"{its_kind or shown} in place of {kind}")
                return

    async def _receive(self) -> dict[str, Any]:
        sent = decode_object((await self._peer.receive()).data) or {}
        for result in results_in(sent):
            self._results[self._offer.number(*result)] += 1
        return canonical(sent)

    async def _hang_up(self) -> None:
        """Release the results of the calls that were cancelled, wait whether one is sent, and let
        the user end the session.
        """
        try:
            await self._end_session()
        except ClientLeft:
            self._offer.left = not self._offer.told
            raise

    async def _end_session(self) -> None:
        offer = self._offer
        await self._until_read()
        waited = offer.release(range(1, len(offer.calls) + 1))
        with suppress(TimeoutError):
            async with asyncio.timeout(offer.turn_s):
                while not all(self._results[number] for number in self._owed):
                    await self._receive()
        if waited and self._cancelled:
            with suppress(TimeoutError):
                async with asyncio.timeout(QUIET_S):
                    while not any(self._results[number] for number in self._cancelled):
                        await self._receive()
        await self._until_read()
        offer.say(None)
        try:
            async with asyncio.timeout(offer.turn_s):
                while True:
                    await self._receive()
        except TimeoutError:
            await self._give_up("close")

    async def _until_read(self) -> None:
        """Wait until the client has got all messages, and its adapter has had time to read them.
        Raises `ClientLeft`.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_S):
                await self._peer.ping()
        while self._peer.left:
            await self._receive()  # what it has sent before
        await asyncio.sleep(READ_S)

    async def _refuse(self, fact: str, code: int = OTHER_KIND) -> None:
        self._offer.unexpected = fact.removeprefix("the client has sent ")
        await super()._refuse(fact, code)

    async def _give_up(self, kind: str) -> None:
        self._offer.late = kind
        await self._peer.close(OTHER_KIND, f"harness: expected {kind}")


_AT_ANY_TIME: Final = (
    *("toolResponse", "audio", "audioStreamEnd", "activityStart", "activityEnd"),
)
"""The kinds of messages that an adapter may send at a place where they are not recorded."""


def _kind(message: dict[str, Any]) -> str:
    """Return the member of a message of the client, or that of ``realtimeInput`` in it."""
    member = sent_member(message) or ""
    if member != "realtimeInput":
        return member
    if audio_bytes(message) is not None:
        return "audio"
    content = message.get(member)
    return next(iter(canonical(content)), "") if isinstance(content, dict) else ""


def _calls(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    for message in messages:
        if message.side == "server" and message.kind != "close":
            yield from called(decode_object(message.data) or {})


def _script(messages: Sequence[Message]) -> Iterator[Json]:
    """Yield each step of the recorded user; consecutive pieces of sound are one step."""
    clip: list[Blob] = []
    for message in messages:
        by_client = message.side == "client" and message.kind != "close"
        sent = canonical(decode_object(message.data) or {}) if by_client else {}
        if blobs := media_of(sent):
            clip += blobs
            continue
        if clip:
            yield _clip(clip)
        if step := _step(sent):
            yield step
    if clip:
        yield _clip(clip)


def _clip(blobs: list[Blob]) -> Json:
    """Return the step with these pieces of sound or pictures, and empty the list."""
    mime_type = blobs[0].mime_type
    kind = "video" if mime_type.startswith(("image/", "video/")) else "audio"
    data = b"".join(blob.data for blob in blobs)
    blobs.clear()
    return {"kind": kind, "data": base64.b64encode(data).decode(), "mime_type": mime_type}


def _step(sent: dict[str, Any]) -> dict[str, Json] | None:
    """Return the step of a message of the client; None for its setup and for results."""
    kind = _kind(sent)
    match kind:
        case "setup" | "toolResponse" | "":
            return None
        case "clientContent":
            content = sent[kind]
            turns = content.get("turns") or [] if isinstance(content, dict) else []
            parts = [part for turn in turns for part in (turn.get("parts") or ())]
            text = "".join(part.get("text", "") for part in parts)
            return {"kind": "text" if asks(sent) else "history", "text": text, "turns": turns}
        case "text":
            return {"kind": kind, "text": canonical(sent["realtimeInput"])[kind], "turns": []}
    return {"kind": kind}
