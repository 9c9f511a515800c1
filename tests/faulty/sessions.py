"""A client of sessions, and faults of it that public reports tell of.

`Client` is faithful. Each fault is a class with one changed piece; its functions are adapters under
``serve:``. `SESSION_FAULTS` has the aspect that is red, and a session that shows it.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from harness import At
from harness.adapters.script import Step
from harness.facts import (
    Call,
    Cancelled,
    Error,
    Fact,
    Finish,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    Text,
    Thought,
    Usage,
)
from harness.stream.json_codec import decode_object

PROVIDERS = ("live",)
PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
Native = tuple[Any, list[Fact]]


class Client:
    """Reads every member of a message, and runs each tool in a task."""

    def __init__(self, at: At) -> None:
        self.at = at
        self.tools: dict[str | None, asyncio.Task[None]] = {}
        self.texts: dict[str | None, str] = {}
        self.ended = False
        self.end_of_turn = asyncio.Event()

    async def run(self) -> AsyncIterator[Native]:
        assert self.at.script is not None
        context = ssl.create_default_context(cafile=self.at.script.certificate)
        url = self.at.base_url.replace("https", "wss") + PATH
        async with connect(url, ssl=context) as socket:
            self.socket = socket
            await self.open(socket)
            user = asyncio.create_task(self.talk())
            try:
                async for item in self.read():
                    yield item
            finally:
                user.cancel()
                for tool in self.tools.values():
                    tool.cancel()

    async def open(self, socket: ClientConnection) -> None:
        assert self.at.script is not None
        await self.send(setup=self.at.script.setup)

    async def send(self, **message: Any) -> None:
        with suppress(ConnectionClosed):  # the reader reports it
            await self.socket.send(json.dumps(message))

    async def talk(self) -> None:
        assert self.at.script is not None
        async for step in self.at.script:
            await self.say(step)
        self.ended = True
        await self.socket.close()

    async def say(self, step: Step) -> None:
        if step.kind == "text":
            turns = [{"role": "user", "parts": [{"text": step.text}]}]
            await self.send(clientContent={"turns": turns, "turnComplete": True})
        else:
            sound = {"mimeType": step.mime_type, "data": b64encode(step.data).decode()}
            await self.send(realtimeInput={"audio": sound})

    async def read(self) -> AsyncIterator[Native]:
        try:
            while True:
                data = await self.socket.recv()
                message = decode_object(data)
                yield message or repr(data), self.facts(message or {})
        except ConnectionClosed as closed:
            if not self.ended:
                yield self.closed(closed)

    def closed(self, closed: ConnectionClosed) -> Native:
        code, reason = (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")
        return {"closed": code}, [Error(code, reason)]

    def facts(self, message: dict[str, Any]) -> list[Fact]:
        facts: list[Fact] = []
        for call in message.get("toolCall", {}).get("functionCalls", ()):
            facts.append(self.called(Call(call.get("id"), call["name"], call["args"])))
        for call_id in message.get("toolCallCancellation", {}).get("ids", ()):
            facts += self.cancelled(call_id)
        content = message.get("serverContent", {})
        for part in content.get("modelTurn", {}).get("parts", ()):
            if "text" in part:
                facts.append(self.text(part))
        facts += self.words(content)
        if content.get("interrupted"):
            facts += self.interrupted()
        if counts := message.get("usageMetadata"):
            facts.append(self.usage(counts))
        if content.get("turnComplete"):
            facts += self.complete(content)
        return facts

    def called(self, call: Call) -> Call:
        self.tools[call.id] = asyncio.create_task(self.answer(call))
        return call

    async def answer(self, call: Call) -> None:
        await self.result(call, await asyncio.to_thread(self.at.result, call))

    async def result(self, call: Call, text: str) -> None:
        result = {"name": call.name, "response": {"output": text}, "id": call.id}
        await self.send(toolResponse={"functionResponses": [result]})

    def cancelled(self, call_id: str) -> list[Fact]:
        self.tools[call_id].cancel()
        return [Cancelled(call_id)]

    def text(self, part: dict[str, Any]) -> Fact:
        return Thought(part["text"]) if part.get("thought") else Text(part["text"])

    def words(self, content: dict[str, Any]) -> list[Fact]:
        heard = content.get("inputTranscription", {}).get("text")
        spoken = content.get("outputTranscription", {}).get("text")
        return [
            *([InputTranscript(heard)] if heard else []),
            *([OutputTranscript(spoken)] if spoken else []),
        ]

    def interrupted(self) -> list[Fact]:
        return [Interrupted()]

    def usage(self, counts: dict[str, Any]) -> Usage:
        output = counts.get("responseTokenCount", counts.get("candidatesTokenCount"))
        return Usage(
            input=counts.get("promptTokenCount"),
            output=output,
            thoughts=counts.get("thoughtsTokenCount"),
            total=counts.get("totalTokenCount"),
        )

    def complete(self, content: dict[str, Any]) -> list[Fact]:
        if content.get("interactionStatus") == "IN_PROGRESS":
            return []
        return [Finish(content.get("turnCompleteReason", "turnComplete"))]


@dataclass(frozen=True, slots=True)
class SessionFault:
    """A client with one fault."""

    make: Callable[[At], Client]
    aspect: str
    session: str
    """A cassette with the number of a session."""

    @property
    def name(self) -> str:
        return self.make.__name__


SESSION_FAULTS: dict[str, SessionFault] = {}


def faulty(aspect: str, session: str) -> Callable[[type[Client]], type[Client]]:
    def file(make: type[Client]) -> type[Client]:
        SESSION_FAULTS[make.__name__] = SessionFault(make, aspect, session)
        return make

    return file


def __getattr__(name: str) -> Callable[[At], AsyncIterator[Native]]:
    """Return the function of a client, by the name of its class in small letters."""
    others = (Collects, AsksInTwoMessages, GivesWholeTranscripts)
    made: dict[str, Callable[[At], Client]] = {"faithful": Client}
    made |= {each.__name__.lower(): each for each in others}
    made |= {each.name.lower(): each.make for each in SESSION_FAULTS.values()}
    try:
        make = made[name]
    except KeyError:
        raise AttributeError(name) from None
    return lambda at: make(at).run()


@faulty("finish", "text:2")
class LosesTheEnd(Client):
    """livekit/agents#4979"""

    def complete(self, content: dict[str, Any]) -> list[Fact]:
        known, self.known = getattr(self, "known", 0), getattr(self, "known", 0) + 1
        return [] if known else super().complete(content)


@faulty("finish", "cancelled-call:2")
class EndsAnExchangeThatGoesOn(Client):
    """google/adk-python#4902"""

    def complete(self, content: dict[str, Any]) -> list[Fact]:
        return [Finish("turnComplete")]


@faulty("finish", "interruption:2")
class EndsATurnTwice(Client):
    """googleapis/python-genai#2117"""

    def interrupted(self) -> list[Fact]:
        return [Interrupted(), Finish("turnComplete")]


@faulty("finish", "reasons:2")
class LosesTheReason(Client):
    def complete(self, content: dict[str, Any]) -> list[Fact]:
        return [Finish("turnComplete")]


@faulty("results", "cancelled-call:1")
class RunsACancelledCall(Client):
    """google/adk-python#5239"""

    def cancelled(self, call_id: str) -> list[Fact]:
        return [Cancelled(call_id)]


@faulty("cancelled_calls", "cancelled-call:1")
class HidesACancellation(Client):
    """pipecat-ai/pipecat#4448"""

    def cancelled(self, call_id: str) -> list[Fact]:
        return super().cancelled(call_id)[1:]


@faulty("results", "tool-round:1")
class SendsAResultTwice(Client):
    async def result(self, call: Call, text: str) -> None:
        await super().result(call, text)
        await super().result(call, text)


@faulty("results", "tool-round:1")
class LeavesOutTheName(Client):
    """roomkit-live/roomkit#42"""

    async def result(self, call: Call, text: str) -> None:
        result = {"id": call.id, "name": "", "response": {"output": text}}
        await self.send(toolResponse={"functionResponses": [result]})


@faulty("results", "tool-round:1")
class SendsATextAsResponse(Client):
    """mastra-ai/mastra#17019"""

    async def result(self, call: Call, text: str) -> None:
        result = {"id": call.id, "name": call.name, "response": text}
        await self.send(toolResponse={"functionResponses": [result]})


@faulty("interrupted", "interruption:1")
class HidesAnInterruption(Client):
    """BerriAI/litellm#31709"""

    def interrupted(self) -> list[Fact]:
        return []


@faulty("output_transcript", "tool-round:1")
class StripsThePiecesOfWords(Client):
    """The words of two pieces run into each other."""

    def words(self, content: dict[str, Any]) -> list[Fact]:
        return [
            OutputTranscript(fact.text.strip()) if isinstance(fact, OutputTranscript) else fact
            for fact in super().words(content)
        ]


@faulty("output_transcript", "interruption:2")
class ReadsOneMember(Client):
    """pipecat-ai/pipecat#3780: words beside a piece of the answer are lost."""

    def words(self, content: dict[str, Any]) -> list[Fact]:
        return [] if "modelTurn" in content else super().words(content)


@faulty("output_transcript", "tool-round-vertex:1")
class GivesWordsLate(Client):
    """google/adk-python#6045: the words of a turn come in the next one."""

    held: tuple[Fact, ...] = ()
    late: tuple[Fact, ...] = ()

    def words(self, content: dict[str, Any]) -> list[Fact]:
        late, self.late = self.late, ()
        self.held += tuple(super().words(content))
        return [*late]

    def complete(self, content: dict[str, Any]) -> list[Fact]:
        self.late, self.held = self.held, ()
        return super().complete(content)


@faulty("input_transcript", "interruption:1")
class LosesTheWordsOfTheUser(Client):
    """langwatch/scenario#907: the words that interrupt come after the end of the turn."""

    def interrupted(self) -> list[Fact]:
        self.words = lambda content: [  # type: ignore[method-assign]  # the fault begins here
            fact for fact in Client.words(self, content) if not isinstance(fact, InputTranscript)
        ]
        return super().interrupted()


@faulty("text", "thoughts:1")
class GivesThoughtsAsText(Client):
    """mastra-ai/mastra#17434"""

    def text(self, part: dict[str, Any]) -> Fact:
        return Text(part["text"])


@faulty("usage", "text:2")
class AddsTheCounts(Client):
    """pipecat-ai/pipecat#5052"""

    total = 0

    def usage(self, counts: dict[str, Any]) -> Usage:
        self.total += counts["totalTokenCount"]
        return super().usage({**counts, "totalTokenCount": self.total})


@faulty("error", "closes:1")
class TakesACloseForAGoodEnd(Client):
    """googleapis/java-genai#914"""

    def closed(self, closed: ConnectionClosed) -> Native:
        return {"closed": closed.rcvd.code if closed.rcvd else None}, []


@faulty("unfinished", "closes:6")
class TakesACutForAGoodEnd(Client):
    def closed(self, closed: ConnectionClosed) -> Native:
        return super().closed(closed) if closed.rcvd else ({}, [])


@faulty("hangs", "text:2")
class WaitsForEver(Client):
    """livekit/agents#3821: the second turn is never begun."""

    async def say(self, step: Step) -> None:
        if self.end_of_turn.is_set():
            await asyncio.Event().wait()
        self.end_of_turn.set()
        await super().say(step)


@faulty("hangs", "text:1")
class DoesNotCompleteItsTurn(Client):
    """livekit/agents-js#2506: the service waits for the rest of the turn."""

    async def say(self, step: Step) -> None:
        await self.send(clientContent={"turns": [{"role": "user", "parts": [{"text": step.text}]}]})


@faulty("sent", "text:1")
class SpeaksBeforeTheSetup(Client):
    async def open(self, socket: ClientConnection) -> None:
        await self.send(realtimeInput={"text": "Hello."})
        await super().open(socket)


@faulty("sent", "text:2")
class LeavesAfterOneTurn(Client):
    """google/adk-python#954"""

    async def talk(self) -> None:
        assert self.at.script is not None
        async for step in self.at.script:
            await self.say(step)
            return  # with its second step, the server could send all before the client leaves

    async def read(self) -> AsyncIterator[Native]:
        async for message, facts in super().read():
            yield message, facts
            if any(isinstance(fact, Finish) for fact in facts):
                return


@faulty("sent", "text:2")
class LeavesBeforeItReadsAll(Client):
    """The same, but the second turn comes while it leaves."""

    async def talk(self) -> None:
        assert self.at.script is not None
        turns = 0
        async for step in self.at.script:
            await self.say(step)
            turns += 1
            if turns == 2:
                self.end_of_turn.set()
                return  # it never asks whether its user has ended

    async def read(self) -> AsyncIterator[Native]:
        async for message, facts in super().read():
            yield message, facts
            if any(isinstance(fact, Finish) for fact in facts):
                await self.end_of_turn.wait()
                return


class Collects(Client):
    """Sends the results of the calls in one message when the last tool has ended, as google-adk
    does; a cancelled call has none. This is no fault.
    """

    def facts(self, message: dict[str, Any]) -> list[Fact]:
        facts = super().facts(message)
        if calls := [fact for fact in facts if isinstance(fact, Call)]:
            self.tools[""] = asyncio.create_task(self.together(calls))
        return facts

    def called(self, call: Call) -> Call:
        self.tools[call.id] = asyncio.create_task(self.collect(call))
        return call

    async def collect(self, call: Call) -> None:
        self.texts[call.id] = await asyncio.to_thread(self.at.result, call)

    async def together(self, calls: list[Call]) -> None:
        await asyncio.wait([self.tools[call.id] for call in calls])
        results = [
            {"id": call.id, "name": call.name, "response": {"output": self.texts[call.id]}}
            for call in calls
            if call.id in self.texts
        ]
        await self.send(toolResponse={"functionResponses": results})


class AsksInTwoMessages(Client):
    """Sends a text, and then that the turn is complete, as livekit does. This is no fault."""

    async def say(self, step: Step) -> None:
        await self.send(clientContent={"turns": [{"role": "user", "parts": [{"text": step.text}]}]})
        await self.send(clientContent={"turnComplete": True})


class GivesWholeTranscripts(Client):
    """Gives the words of a whole turn without blanks at their ends, as livekit does. This is no
    fault.
    """

    heard = ""

    def words(self, content: dict[str, Any]) -> list[Fact]:
        self.heard += content.get("inputTranscription", {}).get("text", "")
        return [fact for fact in super().words(content) if isinstance(fact, OutputTranscript)]

    def complete(self, content: dict[str, Any]) -> list[Fact]:
        heard, self.heard = self.heard.strip(), ""
        return [*([InputTranscript(heard)] if heard else []), *super().complete(content)]
