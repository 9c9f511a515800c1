"""Translates canonical events into the records that the mind program prints, one JSON object per
line.

Each piece of text gives an ``assistant`` record, each call a ``tool_code`` record. The last record
is ``result`` with the whole text. There is no ``result`` while a call waits for its result, because
another answer follows. ``error`` ends the stream instead, also if the prompt is blocked or the
stream is cut. Its code depends on the status, never on the words of the message. Thoughts are never
printed.

A record's ``timestamp`` is the recording's clock; the request is at 1970-01-01T00:00:00Z. A record
612.4 ms later has ``1970-01-01T00:00:00.612Z``. Without a clock, every record has the time of the
request.

``tool_code`` means that the tool is run, so a call with incomplete arguments has no record. Records
have no ids, so calls go into the session with their ids and signatures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from harness.facts import losses_of_model
from harness.stream import events as ev
from harness.stream.session import Session, Tool
from harness.stream.tool_code import infer_name

from ..dialect import Payload
from ..understanding import Understanding, describe_failure

LOSSES: Final = losses_of_model(
    {
        "text[damaged]": "undamaged text beside damaged pieces",
        "ids": "ids of calls",
        "finish": "the reason of the end: there is a result, or nothing after a call",
        "thoughts": "thoughts",
        "signatures": "thought signatures",
        "usage": "token counts",
        "media": "images, sounds and files",
        "code": "code that the server runs, and its output",
        "server_tools": "calls of tools that the server runs, and their results",
        "grounding": "grounding metadata",
        "citations": "citation metadata",
        "urls": "the pages that were fetched for the URL context",
        "finish_message": "the text beside a finish reason or a block reason",
        "candidates": "every candidate but the first",
        "model": "the model that answered",
        "response_id": "the id of the response",
        "create_time": "the time of the response",
        "trace_id": "the trace id of Code Assist",
        "credits": "credits consumed and left",
        "logprobs": "log probabilities",
        "safety_ratings": "safety ratings",
        "usage_details": "token counts by kind of content and of service",
        "blocks": "the boundaries of steps, blocks and items, with their indexes and ids",
        "fields": "fields and objects of the wire that no other name covers",
    }
)

RATE_LIMITED: Final = frozenset(
    {429, "RESOURCE_EXHAUSTED", "rate_limit_exceeded", "too_many_requests", "quota_exceeded"}
)
"""The statuses of ``RATE_LIMIT_EXCEEDED``. The words are used for an error in a stream without a
number.
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
"""A stream without ``result`` or ``error`` must have a call."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS: Final = 250_000_000_000_000
"""The latest time, in the year 9892; a later time becomes this one."""


class Translator:
    """One stream: ``feed`` its events, then ``close``."""

    def __init__(self, tools: Sequence[Tool], session: Session) -> None:
        self._tools = tools
        self._session = session
        self._over = False
        self._texts: list[str] = []
        self._started: ev.CallStart | None = None
        self._waiting: dict[str, Payload] = {}  # the calls without a result, by id
        self._wire_ids: dict[str, str | None] = {}  # our id → the id on the wire
        self._noticed = ""  # the last message of a notice
        self._finish: ev.Finish | None = None
        self._understanding = Understanding()

    def feed(self, event: ev.Event) -> list[Payload]:
        """The records that this event completes, perhaps none."""
        if self._over or getattr(event, "candidate", 0) > 0:
            return []
        self._understanding.note(event)
        match event:
            case ev.Text(text=text) if not event.role:  # text of any other role is not the answer
                return self._assistant(text)
            case ev.CallStart():
                self._started = event
            case ev.CallEnd(arguments=arguments) if self._started:
                start, self._started = self._started, None
                return self._tool_code(start.id, start.name, arguments, start.signature)
            case ev.CallInvalid():
                self._started = None
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
            case ev.Finish(reason="failed"):
                return self._error(self._noticed or describe_failure(event))
            case ev.Finish():
                self._finish = event
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
        """The result, unless a call waits, or an error; nothing after an error. If an answer has a
        malformed call, its other calls are not run.
        """
        if self._over:
            return []
        if self._understanding.invalid:
            return self._error(self._understanding.invalid)
        if self._waiting:
            return []
        finish = self._finish
        if not self._understanding.understood:
            return self._error(self._understanding.nothing())
        if finish and finish.reason == "malformed":
            return self._error(describe_failure(finish))
        self._over = True
        goes_on = finish is None or finish.reason == "continuation"
        incomplete = {"incomplete": True} if goes_on else {}
        return [self._record("result", result="".join(self._texts), **incomplete)]

    def _assistant(self, text: str) -> list[Payload]:
        if not text:
            return []
        self._texts.append(text)
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
        """The result of a tool that the provider ran. It belongs to the first waiting call with the
        same id, or to the first waiting call if it has no id.
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
    """The tool's result. A failed tool has ``error``: its message, or else its status."""
    error = event.error or (event.status if event.status not in (None, "", "success") else None)
    if error is not None:
        return (
            {"error": error}
            if event.response is None
            else {"error": error, "result": event.response}
        )
    return event.response if isinstance(event.response, dict) else {"result": event.response}


@lru_cache
def timestamp(at_ms: float | None) -> str:
    """ISO 8601 in UTC, of milliseconds since 1970."""
    moment = _EPOCH + timedelta(milliseconds=min(max(at_ms or 0, 0), _LATEST_MS))
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
