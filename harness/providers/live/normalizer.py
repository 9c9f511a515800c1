"""The reader of a session of the Live API.

The parts of ``modelTurn``, calls, counts and annotations are those of Gemini's messages, and its
reader reads them. Everything else is a fact about the session: a `Metadata` event, whose name says
what it is. A message of the client is a `Mark`. A turn ends with a `Finish`.
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import (
    INTERRUPTED,
    End,
    Error,
    Event,
    Finish,
    FinishClass,
    Incomplete,
    Mark,
    Metadata,
    Notice,
    Start,
    Unknown,
)
from harness.stream.framing import Frame
from harness.stream.json_codec import Json
from harness.stream.websocket import NORMAL

from ..gemini.normalizer import GeminiNormalizer
from ..provider import Answer
from .messages import CONTINUES, sent_member

COMPLETE: Final = "turnComplete"
"""The word of a turn that ends without a reason."""
_MESSAGE: Final = {
    "setupComplete": "session",
    "toolCallCancellation": "cancelled",
    "sessionResumptionUpdate": "resumption",
    "voiceActivity": "voice_activity",
    "voiceActivityDetectionSignal": "voice_activity",
    "interactionStatus": "status",
}
"""The members of a message that are facts about the session → their names."""
_CONTENT: Final = {
    "inputTranscription": "input_transcript",
    "interimInputTranscription": "interim_transcript",
    "outputTranscription": "output_transcript",
    "interrupted": "interrupted",
    "waitingForInput": "status",
    "interactionStatus": "status",
}
"""The same of ``serverContent``."""
_FILTERED: Final = (
    *("PROHIBITED", "SAFETY", "UNSAFE", "BLOCKLIST", "CELEBRITY", "PROMINENT", "NCII", "MINORS"),
    "IDENTIFIABLE",
)
_READ: Final = frozenset({"serverContent", "toolCall", "usageMetadata"})
_ANSWER: Final = frozenset({"modelTurn", "groundingMetadata", "urlContextMetadata"})


class LiveNormalizer:
    """One connection: see `harness.providers.provider.Normalizer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._content = GeminiNormalizer(answer)
        self._started = False
        self._rest: list[Frame] = []
        """The message in which the log ends."""

    def feed(self, frame: Frame) -> list[Event]:
        if self._answer.failed:
            return self._content.feed(frame)
        out: list[Event] = []
        match frame.json:
            case {"from": "client", "message": dict(message)}:
                self._start(message, out)
                self._read_sent(message, out)
            case {"from": "server", "message": dict(message)}:
                self._start({}, out)
                self._read_received(message, out)
            case {"from": side, "close": dict(close)}:
                self._start({}, out)
                self._read_close(close, side == "server", out)
            case _ if frame.partial:
                self._rest.append(frame)  # perhaps of the setup, which names the model
            case _:
                self._start({}, out)
                out.append(_unknown(frame))
        return out

    def close(self, end: End = "complete") -> list[Event]:
        out: list[Event] = []
        if self._answer.failed:
            return self._content.close(end)
        out += self._content_events(self._content.close())
        if end in INTERRUPTED:
            return [*out, Incomplete(end, "".join(frame.raw or "" for frame in self._rest))]
        return [*out, *map(_unknown, self._rest)]

    def _start(self, message: dict[str, Json], out: list[Event]) -> None:
        """Begin the session with its first message, which names the model."""
        if self._started:
            return
        self._started = True
        setup = message.get("setup")
        model = setup.get("model") if isinstance(setup, dict) else None
        out.append(Start(model if isinstance(model, str) else self._answer.model))

    def _read_sent(self, message: dict[str, Json], out: list[Event]) -> None:
        if sent_member(message) is None:
            out.append(Unknown("message of the client", message))
        else:
            out.append(Mark("sent", message))

    def _read_received(self, message: dict[str, Json], out: list[Event]) -> None:
        """Read a message, all of whose members count."""
        content = message.get("serverContent")
        fields = content if isinstance(content, dict) else {}
        read = {name: value for name, value in fields.items() if name in _ANSWER}
        candidate = {("content" if name == "modelTurn" else name): read[name] for name in read}
        calls, others = _calls_of(message.get("toolCall"))
        beside: dict[str, Json] = {}
        if "usageMetadata" in message:
            beside["usageMetadata"] = message["usageMetadata"]
        if candidate or beside or calls:
            parts = [{"functionCall": call} for call in calls]
            candidates = [candidate, *([{"content": {"parts": parts}}] if parts else [])]
            self._feed({**beside, "candidates": [each for each in candidates if each]}, out)
        out += others
        for name, value in fields.items():
            self._read_content(name, value, fields, out)
        for name, value in message.items():
            _read_member(name, value, out)
        if not message or (len(message) == 1 and content == {}):
            out.append(Mark("keep_alive", message))
        if fields.get("turnComplete") is True:
            out.append(_end_of_turn({**message, **fields}))

    def _read_content(
        self, name: str, value: Json, fields: dict[str, Json], out: list[Event]
    ) -> None:
        """Read a member of ``serverContent`` that the reader of Gemini's messages does not read."""
        if name in _ANSWER or (name == COMPLETE and type(value) is bool):
            return
        if name == "turnCompleteReason" and fields.get(COMPLETE) is True and type(value) is str:
            return
        if name == "generationComplete" and type(value) is bool:
            if value:
                out.append(Mark("generation_complete", {name: value}))
        elif name in _CONTENT and value is not False:
            out.append(Metadata(_CONTENT[name], {name: value}))
        elif name not in _CONTENT:
            out.append(Unknown(f"serverContent field {name}", {name: value}))

    def _feed(self, message: dict[str, Json], out: list[Event]) -> None:
        out += self._content_events(self._content.feed(Frame(0, message)))

    @staticmethod
    def _content_events(events: list[Event]) -> list[Event]:
        """Return the events of Gemini's reader without its start; the session has its own."""
        return [event for event in events if type(event) is not Start]

    def _read_close(self, close: dict[str, Json], by_server: bool, out: list[Event]) -> None:
        """Read the end of a side. From the server, every code but 1000 is an error, and 1000 with a
        text is one too: "The operation was cancelled." ends a session before its time.
        """
        code, reason = close.get("code"), close.get("reason")
        if by_server and (code != NORMAL or reason):
            number = code if type(code) is int else None
            message = str(reason) or f"the server closed the session with the code {code}"
            raw = {"error": {"code": number, "message": message}}
            out.append(Error(message, number, raw=raw))
        else:
            out.append(Metadata("close", {"close": close}))


def _unknown(frame: Frame) -> Unknown:
    return Unknown("frame", frame.raw if frame.json is None else frame.json)


def _calls_of(calls: Json) -> tuple[list[dict[str, Json]], list[Event]]:
    """Return the calls of ``toolCall``, and the events of what is no call."""
    if calls is None:
        return [], []
    listed = calls.get("functionCalls") if isinstance(calls, dict) else None
    if not isinstance(listed, list):
        return [], [Unknown("field toolCall", {"toolCall": calls})]
    others = {name: value for name, value in calls.items() if name != "functionCalls"}
    strange = [call for call in listed if not isinstance(call, dict)]
    unknown: list[Event] = [Unknown("call", call) for call in strange]
    unknown += [Unknown(f"toolCall field {name}", {name: others[name]}) for name in others]
    return [call for call in listed if isinstance(call, dict)], unknown


def _read_member(name: str, value: Json, out: list[Event]) -> None:
    """Read a member of a message beside the content, the calls and the counts."""
    if name in _MESSAGE:
        out.append(Metadata(_MESSAGE[name], {name: value}))
    elif name == "goAway":
        left = value.get("timeLeft") if isinstance(value, dict) else None
        out.append(Notice("goAway", left if isinstance(left, str) else "", {name: value}))
    elif name not in _READ or (name == "serverContent" and not isinstance(value, dict)):
        out.append(Unknown(f"field {name}", {name: value}))


def _end_of_turn(fields: dict[str, Json]) -> Finish:
    reason = fields.get("turnCompleteReason")
    if type(reason) is str and reason and not reason.endswith("UNSPECIFIED"):
        kind: FinishClass = "other"
        if reason == "MALFORMED_FUNCTION_CALL":
            kind = "malformed"
        elif reason == "RESPONSE_REJECTED" or any(word in reason for word in _FILTERED):
            kind = "content_filter"
        return Finish(kind, reason)
    if fields.get("interactionStatus") == CONTINUES:
        return Finish("continuation", CONTINUES)
    return Finish("stop", COMPLETE)
