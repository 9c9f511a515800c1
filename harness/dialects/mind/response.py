"""Translation of canonical events into the records that the mind program prints: one JSON object a
line.

``assistant`` for each piece of text, ``tool_code`` for each call, and at the end ``result`` with
the whole text, unless a call of the answer still waits for its result: then the program goes on
with another answer. ``error`` ends the stream instead, also where the prompt is blocked or the
stream is cut; its code is told by the status, never by the words of the message. Thoughts are never
printed.

A record's ``timestamp`` is the recording's clock, counted from 1970-01-01T00:00:00Z, the moment of
the request: what came 612.4 ms later has ``1970-01-01T00:00:00.612Z``. Without a clock it is that
moment itself.

A call whose arguments were interrupted is no record: ``tool_code`` says that a tool is run. Calls
go into the session, with their signatures, since records have no ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from harness.stream import events as ev
from harness.stream.session import Session, Tool
from harness.stream.tool_code import infer_name

from ..dialect import Payload

LOSSES: Final[Mapping[str, str]] = {
    "everything-else": "all but text, calls, results, errors, the end"
}

RATE_LIMITED: Final = frozenset({429, "RESOURCE_EXHAUSTED"})
"""The statuses of ``RATE_LIMIT_EXCEEDED``; the gRPC name counts for an error inside a stream that
has no number.
"""

ORDER: Final[Mapping[str, Mapping[str, str]]] = {
    "fresh": {
        "assistant": "fresh",
        "tool_result": "fresh",
        "tool_code": "called",
        "result": "over",
        "error": "over",
    },
    "called": {
        "assistant": "called",
        "tool_result": "called",
        "tool_code": "called",
        "result": "over",
        "error": "over",
    },
    "over": {},
}
"""A stream may end without ``result`` or ``error`` only after a call."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS: Final = 250_000_000_000_000
"""A clock beyond the year 9892 is broken, and stands there."""


class Translator:
    """One stream: ``feed`` its events, then ``close``."""

    def __init__(self, tools: Sequence[Tool], session: Session) -> None:
        self._tools = tools
        self._session = session
        self._over = False
        self._text = ""
        self._started: ev.CallStart | None = None
        self._waiting: dict[str, Payload] = {}  # the calls without a result, by id
        self._wire_ids: dict[
            str, str | None
        ] = {}  # an id that was given out → what the wire called that call
        self._noticed = ""  # what the wire's client complained of last

    def feed(self, event: ev.Event) -> list[Payload]:
        """The records that this event completes, perhaps none."""
        if self._over or getattr(event, "candidate", 0) > 0:
            return []
        match event:
            case ev.Text(text=text) if not event.role:  # else it is not the answer
                return self._assistant(text)
            case ev.CallStart():
                self._started = event
            case ev.CallEnd(arguments=arguments) if self._started:
                start, self._started = self._started, None
                return self._tool_code(start.id, start.name, arguments, start.signature)
            case ev.NamelessCall(payload=payload):
                name = infer_name(payload, self._tools)
                return (
                    self._assistant(event.raw)
                    if name is None
                    else self._tool_code(None, name, payload, event.signature)
                )
            case ev.ToolResult():
                return self._tool_result(event)
            case ev.Notice(message=message):
                self._noticed = message
            case ev.Finish(reason="failed", raw=raw):
                return self._error(self._noticed or f"the run ended with the status {raw!r}")
            case ev.Error(message=message):
                status = event.status if event.code is None else event.code
                return self._error(
                    message, "RATE_LIMIT_EXCEEDED" if status in RATE_LIMITED else "AGENT_ERROR"
                )
            case ev.Blocked(reason=reason, message=message):
                return self._error(
                    f"the prompt was blocked: {reason}" + (f" ({message})" if message else "")
                )
            case ev.Incomplete(end=end, rest=rest):
                inside = f", {len(rest)} characters into a message" if rest else ""
                return self._error(f"the stream ended before it was complete ({end}){inside}")
        return []

    def close(self) -> list[Payload]:
        """The result, where nothing is to follow; nothing after an error."""
        if self._over or self._waiting:
            return []
        self._over = True
        return [self._record("result", result=self._text)]

    def _assistant(self, text: str) -> list[Payload]:
        if not text:
            return []
        self._text += text
        return [self._record("assistant", message={"content": [{"type": "text", "text": text}]})]

    def _tool_code(
        self, wire_id: str | None, name: str, arguments: dict[str, Any], signature: str | None
    ) -> list[Payload]:
        call_id = self._session.call_id(wire_id, "call")
        self._session.remember(call_id, name, signature, wire_id)
        self._waiting[call_id] = {"name": name, "args": arguments}
        self._wire_ids[call_id] = wire_id
        return [self._record("tool_code", name=name, args=arguments)]

    def _tool_result(self, event: ev.ToolResult) -> list[Payload]:
        """The result of a tool that ran on the other side, beside the call it answers: the first
        one of that id, or of all, that waits.
        """
        fitting = (
            call_id
            for call_id in self._waiting
            if event.id is None or self._wire_ids[call_id] == event.id
        )
        answered = next(fitting, None)
        call = (
            {"name": event.name or "", "args": {}}
            if answered is None
            else self._waiting.pop(answered)
        )
        return [self._record("tool_result", **call, result=_result_of(event))]

    def _error(self, message: str, code: str = "AGENT_ERROR") -> list[Payload]:
        self._over = True
        return [self._record("error", code=code, message=message)]

    def _record(self, kind: str, **fields: Any) -> Payload:
        return {"type": kind, **fields, "timestamp": timestamp(self._session.at_ms)}


def _result_of(event: ev.ToolResult) -> Payload:
    """What the tool gave; of one that failed ``error``, the wire's word for it where it has no
    message, and what it gave besides.
    """
    error = event.error or (event.status if event.status not in (None, "", "success") else None)
    if error is not None:
        return (
            {"error": error}
            if event.response is None
            else {"error": error, "result": event.response}
        )
    return event.response if isinstance(event.response, dict) else {"result": event.response}


def timestamp(at_ms: float | None) -> str:
    """ISO 8601 in UTC, of milliseconds since 1970."""
    moment = _EPOCH + timedelta(milliseconds=min(max(at_ms or 0, 0), _LATEST_MS))
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
