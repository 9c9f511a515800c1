"""A second reader of sessions of the Live API: the account of a session, turn by turn.

`read_session` reads the log plainly, with the decoder of Python's `json`. `account_of` makes the
same account of the events of the package.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from harness.stream import events as ev

CLOSE = re.compile(r'([<>])close (-|\d+) (".*")\n')
HEAD = re.compile(r"([<>])b? ")
EMPTY: tuple[dict[str, Any], ...] = ({}, {"serverContent": {}})


@dataclass
class Turn:
    """What one turn has; texts are joined."""

    input: str = ""
    interim: str = ""
    output: str = ""
    text: str = ""
    thoughts: str = ""
    audio: int = 0
    code: list[str] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    interrupted: int = 0
    counts: list[Any] = field(default_factory=list)
    complete: bool = False
    end: str | None = None


@dataclass
class Session:
    """What one connection has."""

    model: str | None = None
    id: str | None = None
    turns: list[Turn] = field(default_factory=lambda: [Turn()])
    sent: int = 0
    handles: list[Any] = field(default_factory=list)
    voice: list[Any] = field(default_factory=list)
    going: list[str] = field(default_factory=list)
    closes: list[Any] = field(default_factory=list)
    empty: int = 0


def messages_of(body: str) -> Iterable[tuple[str, Any]]:
    """Yield the side of each message and its JSON; a close is its code and its text."""
    place = 0
    while place < len(body):
        if close := CLOSE.match(body, place):
            code = None if close[2] == "-" else int(close[2])
            yield close[1] + "close", (code, json.loads(close[3]))
            place = close.end()
            continue
        head = HEAD.match(body, place)
        assert head, body[place : place + 40]
        message, place = json.JSONDecoder().raw_decode(body, head.end())
        yield head[1], message
        while body[place : place + 1] == "\n":
            place += 1


def read_session(body: bytes) -> Session:
    session = Session()
    for side, message in messages_of(body.decode()):
        if side == ">":
            session.sent += 1
            if session.model is None and "setup" in message:
                session.model = message["setup"].get("model")
            response = message.get("toolResponse") or message.get("tool_response") or {}
            for result in response.get("functionResponses", []):
                session.turns[-1].results.append((result.get("id"), result["name"]))
        elif side == "<":
            session.empty += message in EMPTY
            _read(session, message)
        else:
            session.closes.append(message)
    return session


def _read(session: Session, message: dict[str, Any]) -> None:
    turn = session.turns[-1]
    content = message.get("serverContent", {})
    session.id = message.get("setupComplete", {}).get("sessionId") or session.id
    for part in content.get("modelTurn", {}).get("parts", []):
        if "inlineData" in part:
            turn.audio += len(urlsafe_b64decode(_padded(part["inlineData"]["data"])))
        elif "executableCode" in part:
            turn.code.append(part["executableCode"]["code"])
        elif part.get("thought"):
            turn.thoughts += part["text"]
        else:
            turn.text += part["text"]
    turn.input += content.get("inputTranscription", {}).get("text", "")
    turn.interim += content.get("interimInputTranscription", {}).get("text", "")
    turn.output += content.get("outputTranscription", {}).get("text", "")
    for call in message.get("toolCall", {}).get("functionCalls", []):
        turn.calls.append((call.get("id"), call["name"], call.get("args", {})))
    turn.cancelled += message.get("toolCallCancellation", {}).get("ids", [])
    turn.interrupted += bool(content.get("interrupted"))
    turn.complete |= bool(content.get("generationComplete"))
    if usage := message.get("usageMetadata"):
        output = usage.get("responseTokenCount", usage.get("candidatesTokenCount"))
        turn.counts.append((usage.get("promptTokenCount"), output, usage.get("totalTokenCount")))
    if "sessionResumptionUpdate" in message:
        session.handles.append(message["sessionResumptionUpdate"])
    if "voiceActivity" in message:
        session.voice.append(message["voiceActivity"])
    if "goAway" in message:
        session.going.append(message["goAway"]["timeLeft"])
    if content.get("turnComplete"):
        status = message.get("interactionStatus", content.get("interactionStatus"))
        goes_on = "IN_PROGRESS" if status == "IN_PROGRESS" else "turnComplete"
        turn.end = content.get("turnCompleteReason") or goes_on
        session.turns.append(Turn())


def account_of(events: Iterable[ev.Event]) -> Session:
    session = Session()
    names: dict[int, ev.CallStart] = {}
    for event in events:
        turn = session.turns[-1]
        match event:
            case ev.Start(model=model):
                session.model = model
            case ev.Text(text=text):
                turn.text += text
            case ev.Reasoning(text=text):
                turn.thoughts += text
            case ev.Media(data=str(data)):
                turn.audio += len(urlsafe_b64decode(_padded(data)))
            case ev.Code(code=code):
                turn.code.append(code)
            case ev.CallStart(call=number):
                names[number] = event
            case ev.CallEnd(call=number, arguments=arguments):
                turn.calls.append((names[number].id, names[number].name, arguments))
            case ev.Usage():
                turn.counts.append((event.input, event.output, event.total))
            case ev.Finish(raw=raw):
                turn.end = raw
                session.turns.append(Turn())
            case ev.Notice(severity="goAway", message=left):
                session.going.append(left)
            case ev.Error(code=code, message=message):
                session.closes.append((code, message))
            case ev.Mark(name="keep_alive"):
                session.empty += 1
            case ev.Mark(name="generation_complete"):
                turn.complete = True
            case ev.Mark(name="sent", raw=dict(raw)):
                session.sent += 1
                ((name, value),) = raw.items()
                results = value["functionResponses"] if name.lower().startswith("tool") else []
                turn.results += [(result.get("id"), result["name"]) for result in results]
            case ev.Metadata(name=name, raw=raw):
                ((_, value),) = raw.items()
                _account_metadata(session, name, value)
            case _:
                raise AssertionError(event)
    return session


def _account_metadata(session: Session, name: str, value: Any) -> None:
    turn = session.turns[-1]
    match name:
        case "session":
            session.id = value.get("sessionId")
        case "input_transcript":
            turn.input += value.get("text", "")
        case "interim_transcript":
            turn.interim += value.get("text", "")
        case "output_transcript":
            turn.output += value.get("text", "")
        case "interrupted":
            turn.interrupted += 1
        case "cancelled":
            turn.cancelled += value["ids"]
        case "resumption":
            session.handles.append(value)
        case "voice_activity":
            session.voice.append(value)
        case "close":
            session.closes.append((value["code"], value["reason"]))
        case _:
            assert name == "status"


def _padded(data: str) -> str:
    """Return base64 of either alphabet, perhaps cut by a recorder, in a form that can be decoded."""
    data = data.replace("+", "-").replace("/", "_").rstrip("=")
    data = data[: len(data) - (len(data) % 4 == 1)]
    return data + "=" * (-len(data) % 4)
