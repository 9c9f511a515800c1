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

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from harness.facts import losses_of_model
from harness.stream import events as ev
from harness.stream.session import Session, Tool
from harness.stream.tool_code import infer_name

from ..dialect import Payload
from ..ending import Ending, EndKind, every_kind
from ..losses import BESIDE_CONTENT, usual_losses

LOSSES: Final = losses_of_model(
    {
        "finish": "the reason of the end: there is a result, or nothing after a call",
        **BESIDE_CONTENT,
        **usual_losses(
            "text[damaged] ids thoughts signatures usage billing server_tools finish_message "
            "model create_time trace_id credits usage_details blocks"
        ),
    }
)

RATE_LIMITED: Final = frozenset(
    {
        *(429, "RESOURCE_EXHAUSTED", "rate_limit_exceeded", "too_many_requests", "quota_exceeded"),
        *("insufficient_quota", "rate_limit_error"),
    }
)
"""The statuses of ``RATE_LIMIT_EXCEEDED``. The words are used for an error in a stream without a
number.
"""

BAD_ENDS: Final[frozenset[EndKind]] = frozenset({"invalid_call", "nothing", "malformed"})
"""The ends that are an error."""
UNFINISHED: Final[frozenset[EndKind]] = frozenset({"unfinished", "continuation"})
"""The ends of a result that is incomplete."""

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
        self._ending = Ending()

    def feed(self, event: ev.Event) -> list[Payload]:
        """Return the records that this event completes, perhaps none."""
        if self._over or getattr(event, "candidate", 0) > 0:
            return []
        self._ending.note(event)
        return _REACTIONS[type(event)](self, event)

    def close(self) -> list[Payload]:
        """Return the result, unless a call waits, or an error; nothing after an error. If an answer
        has a malformed call, its other calls are not run.
        """
        if self._over:
            return []
        kind = self._ending.kind(called=bool(self._waiting))
        if kind == "called":
            return []
        if kind in BAD_ENDS:
            return self._error(self._ending.message())
        self._over = True
        marks: Payload = {"incomplete": True} if kind in UNFINISHED else {}
        if self._ending.odd_reason is not None:
            marks["reason"] = self._ending.odd_reason
        return [self._record("result", result="".join(self._texts), **marks)]

    def _text(self, event: ev.Text) -> list[Payload]:
        return [] if event.role else self._assistant(event.text)  # other roles are not the answer

    def _call_start(self, event: ev.CallStart) -> list[Payload]:
        self._started = event
        return []

    def _call_end(self, event: ev.CallEnd) -> list[Payload]:
        start, self._started = self._started, None
        if start is None:
            return []
        return self._tool_code(start.id, start.name, event.arguments, start.signature)

    def _call_invalid(self, event: ev.CallInvalid) -> list[Payload]:
        self._started = None
        return []

    def _nameless_call(self, event: ev.NamelessCall) -> list[Payload]:
        name = infer_name(event.payload, self._tools)
        if name is None:
            return self._assistant(event.raw)
        return self._tool_code(None, name, event.payload, event.signature)

    def _notice(self, event: ev.Notice) -> list[Payload]:
        self._noticed = event.message
        return []

    def _finish(self, event: ev.Finish) -> list[Payload]:
        if event.reason == "failed":
            return self._error(self._noticed or self._ending.message())
        return []

    def _wire_error(self, event: ev.Error) -> list[Payload]:
        status = event.status if event.code is None else event.code
        code = "RATE_LIMIT_EXCEEDED" if status in RATE_LIMITED else "AGENT_ERROR"
        return self._error(event.message, code)

    def _blocked(self, event: ev.Blocked) -> list[Payload]:
        message = f" ({event.message})" if event.message else ""
        return self._error(f"the prompt was blocked: {event.reason}{message}")

    def _incomplete(self, event: ev.Incomplete) -> list[Payload]:
        inside = f", {len(event.rest)} characters into a message" if event.rest else ""
        return self._error(f"the stream ended before it was complete ({event.end}){inside}")

    def _lost(self, event: ev.Event) -> list[Payload]:
        """Emit nothing: a declared loss."""
        return []

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
        """Emit the result of a tool that the provider ran. It belongs to the first waiting call
        with the same id, or to the first waiting call if it has no id.
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


_REACTIONS: Final[Mapping[type[ev.Event], Callable[[Translator, Any], list[Payload]]]] = every_kind(
    "mind",
    {
        ev.Text: Translator._text,
        ev.CallStart: Translator._call_start,
        ev.CallEnd: Translator._call_end,
        ev.CallInvalid: Translator._call_invalid,
        ev.NamelessCall: Translator._nameless_call,
        ev.ToolResult: Translator._tool_result,
        ev.Notice: Translator._notice,
        ev.Finish: Translator._finish,
        ev.Error: Translator._wire_error,
        ev.Blocked: Translator._blocked,
        ev.Incomplete: Translator._incomplete,
        **dict.fromkeys(
            (
                ev.Reasoning,
                ev.CallPiece,
                ev.CallText,
                ev.Media,
                ev.Code,
                ev.CodeResult,
                ev.ServerCall,
                ev.ServerResult,
                ev.BlockStart,
                ev.BlockEnd,
                ev.Start,
                ev.Metadata,
                ev.Annotation,
                ev.Usage,
                ev.Unknown,
                ev.Mark,
            ),
            Translator._lost,
        ),
    },
)


def _result_of(event: ev.ToolResult) -> Payload:
    """Return the tool's result. A failed tool has ``error``: its message, or else its status."""
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
    """Return milliseconds since 1970 as ISO 8601 in UTC."""
    moment = _EPOCH + timedelta(milliseconds=min(max(at_ms or 0, 0), _LATEST_MS))
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
