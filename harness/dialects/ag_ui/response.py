"""Translates canonical events into AG-UI 1.0 events.

One answer is one run. A payload is one event, as it stands in the ``data`` of a server-sent event.
A run of text is a message; a signature ends it, because a message can keep only one. A fact for
which the protocol has no event is passed through in a ``RAW`` event, or is in the ``metadata`` of
the last event, under the key ``harness``.

Source: https://docs.ag-ui.com/spec/1.0 (Runs and Steps, Streaming Messages, Tool Calls, Reasoning,
Raw and Custom Events, Metadata).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import to_builtins

from harness.stream import events as ev
from harness.stream.json_codec import decode_object
from harness.stream.json_path import Assembly
from harness.stream.session import Session, Tool
from harness.stream.tool_code import infer_name

from ..dialect import Payload
from ..ending import Ending, describe_break, every_kind
from ..running_usage import RunningUsage
from .protocol import CANCELLED, LARGEST, OUTCOMES, VERSION, describe_block, ours


@dataclass(slots=True)
class _Message:
    """An open message."""

    kind: str
    """``text`` or ``reasoning``."""
    id: str
    wire_id: str | None
    """The wire's id; None if it has none."""
    marks: Mapping[str, Any]
    """The keys that the whole message has in common."""


@dataclass(slots=True)
class _Call:
    """An open call."""

    id: str
    wire_id: str | None
    streamed: str = ""
    """The JSON text that was passed on."""
    pieces: Assembly = field(default_factory=Assembly)
    """Arguments that came by path."""


class Translator:
    """One stream: see `harness.dialects.dialect.Translator`."""

    def __init__(self, tools: Sequence[Tool], session: Session) -> None:
        self._tools = tools
        self._session = session
        self._out: list[Payload] = []
        self._begun = False
        self._over = False
        self._run: dict[str, str] = {}
        self._message: _Message | None = None
        self._text_id: str | None = None  # the latest message of text, which holds later calls
        self._call: _Call | None = None
        self._waiting: dict[str, str | None] = {}  # calls without a result: id → the wire's id
        self._other_calls: set[int] = set()
        self._model: str | None = None
        self._response_id: str | None = None
        self._usage = RunningUsage()
        self._ending = Ending()

    def feed(self, event: ev.Event) -> list[Payload]:
        """Return the events that this event completes, perhaps none."""
        if self._over:
            return []
        if type(event) in self._ending.watched:
            self._ending.note(event)
        if self._is_of_another_candidate(event):
            self._raw(to_builtins(event))
        else:
            _REACTIONS[type(event)](self, event)
        return self._take()

    def close(self) -> list[Payload]:
        """Return the end of the run; nothing after a `RUN_ERROR`."""
        if self._over:
            return []
        kind = self._ending.kind(called=bool(self._waiting or self._call))
        finish = self._ending.finish
        outcome = OUTCOMES[kind]
        if kind == "other" and finish is not None and finish.raw in CANCELLED:
            outcome = "cancelled"
        if kind == "blocked":
            assert self._ending.blocked is not None
            self._fail(describe_block(self._ending.blocked), self._ending.blocked.reason)
        elif outcome is None:
            self._fail(self._ending.message(), finish.raw if finish else None)
        else:
            self._finish(outcome)
        return self._take()

    # The run

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        context = self._session.context
        self._run = {
            "threadId": str(context.get("threadId", "thread")),
            "runId": str(context.get("runId") or self._session.next_id("run")),
        }
        self._write("RUN_STARTED", **self._run, protocolVersion=VERSION)

    def _finish(self, outcome: str) -> None:
        self._begin()
        self._close_message()
        self._close_call()
        pending = {"pendingToolCallIds": [*self._waiting]} if self._waiting else {}
        self._write(
            "RUN_FINISHED",
            **self._run,
            outcome={"type": outcome, **(pending if outcome == "success" else {})},
            **self._account(),
        )
        self._over = True

    def _fail(self, message: str, code: str | None, raw: Any = None) -> None:
        """End a run that failed. An open message has all the text that came; an open call never
        ends.
        """
        self._close_message()
        if self._call is not None and not self._call.streamed:
            self._write_pieces(self._call)
        given = {"code": code or None, "rawEvent": raw}
        known = {name: value for name, value in given.items() if value is not None}
        self._write("RUN_ERROR", message=message, **known, **self._account())
        self._over = True

    def _account(self) -> dict[str, Any]:
        """Return the token counts, and what else is known about the whole answer."""
        counts, ending = self._usage.counts, self._ending
        prompt, answer = _sum(counts, "input", "tool_use"), _sum(counts, "output", "reasoning")
        total = (prompt or 0) + (answer or 0)
        usage = {
            "model": self._model,
            "inputTokens": prompt,
            "outputTokens": answer,
            "totalTokens": total
            if total == counts.get("total")
            else None,  # else counted otherwise
            "reasoningTokens": counts.get("reasoning"),
            "cachedInputTokens": counts.get("cached"),
            "cacheWriteInputTokens": counts.get("cache_write"),
        }
        usage = {name: value for name, value in usage.items() if _is_valid(value)}
        beside = {
            "responseId": self._response_id,
            "finishReason": ending.finish.raw if ending.finish else None,
            "finishMessage": ending.finish.message if ending.finish else None,
            "blockReason": ending.blocked.reason if ending.blocked else None,
            "blockMessage": ending.blocked.message if ending.blocked else None,
            "toolUseTokens": counts.get("tool_use"),
            "usage": self._usage.raw or None,
        }
        return {**({"usage": [usage]} if usage else {}), **ours(**beside)}

    # Messages

    def _text(self, event: ev.Text) -> None:
        if event.role:  # not the answer
            self._close_message()
            self._raw(to_builtins(event))
        elif event.text or event.signature is not None:
            marks = {"refusal": True} if event.refusal else {}
            message = self._open("text", None, marks)
            if event.text:
                self._write("TEXT_MESSAGE_CONTENT", messageId=message.id, delta=event.text)
            self._sign_message(event.signature)

    def _reasoning(self, event: ev.Reasoning) -> None:
        if not event.text and event.signature is None and event.id is None:
            return
        marks = {"redacted": True} if event.redacted else {}
        message = self._open("reasoning", event.id, marks)
        if event.text:
            self._write("REASONING_MESSAGE_CONTENT", messageId=message.id, delta=event.text)
        self._sign_message(event.signature)

    def _open(self, kind: str, wire_id: str | None, marks: Mapping[str, Any]) -> _Message:
        """Return the open message, or a new one if that has another kind, id or mark."""
        message = self._message
        if (
            message is not None
            and (message.kind, message.marks) == (kind, marks)
            and wire_id in (None, message.wire_id)
        ):
            return message
        self._close_message()
        if kind == "text":
            message = _Message(kind, self._session.next_id("msg"), None, marks)
            self._text_id = message.id
            self._write(
                "TEXT_MESSAGE_START", messageId=message.id, role="assistant", **ours(**marks)
            )
        else:
            message = _Message(kind, self._session.call_id(wire_id, "reasoning"), wire_id, marks)
            self._write("REASONING_START", messageId=message.id)
            self._write(
                "REASONING_MESSAGE_START", messageId=message.id, role="reasoning", **ours(**marks)
            )
        self._message = message
        return message

    def _sign_message(self, signature: str | None) -> None:
        """End the open message with its signature."""
        if signature is not None:
            self._close_message(signature)

    def _close_message(self, signature: str | None = None) -> None:
        message, self._message = self._message, None
        if message is None:
            return
        self._write(f"{message.kind.upper()}_MESSAGE_END", messageId=message.id)
        if signature is not None:
            self._encrypted("message", message.id, signature)
        if message.kind == "reasoning":
            self._write("REASONING_END", messageId=message.id)

    def _encrypted(self, subtype: str, entity: str, value: str) -> None:
        self._write(
            "REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=entity, encryptedValue=value
        )

    # Calls

    def _call_start(self, event: ev.CallStart) -> None:
        self._close_message()
        call_id = self._session.call_id(event.id, "call")
        self._session.remember(call_id, event.name, event.signature, event.id)
        holder = {"parentMessageId": self._text_id} if self._text_id else {}
        self._write("TOOL_CALL_START", toolCallId=call_id, toolCallName=event.name, **holder)
        if event.signature is not None:
            self._encrypted("tool-call", call_id, event.signature)
        self._call = _Call(call_id, event.id)

    def _call_piece(self, event: ev.CallPiece) -> None:
        if self._call is not None:
            self._call.pieces.add(event.path, event.value, event.more)

    def _call_text(self, event: ev.CallText) -> None:
        if self._call is not None and event.text:
            self._arguments(self._call, event.text)

    def _call_end(self, event: ev.CallEnd) -> None:
        if self._call is not None and not self._call.streamed.strip():
            self._arguments(self._call, _json(event.arguments))
        self._close_call()

    def _call_invalid(self, event: ev.CallInvalid) -> None:
        """Emit the call. The protocol carries arguments as text and does not check them. If the
        text would be a JSON object, the call stays open, because a client would take it for a valid
        one.
        """
        call, text = self._call, event.text
        if decode_object(text) is not None:
            self._call = None
            return
        if call is not None and text.startswith(call.streamed) and text != call.streamed:
            self._arguments(call, text.removeprefix(call.streamed))
        self._close_call()

    def _nameless_call(self, event: ev.NamelessCall) -> None:
        name = infer_name(event.payload, self._tools)
        if name is None:
            self._text(ev.Text(event.raw, event.signature))
        else:
            self._call_start(ev.CallStart(event.call, name, None, event.signature))
            self._call_end(ev.CallEnd(event.call, event.payload))

    def _arguments(self, call: _Call, delta: str) -> None:
        call.streamed += delta
        self._write("TOOL_CALL_ARGS", toolCallId=call.id, delta=delta)

    def _write_pieces(self, call: _Call) -> None:
        """Write the arguments that came by path so far, if any."""
        if pieces := call.pieces.value():
            self._arguments(call, _json(pieces))

    def _close_call(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            if not call.streamed:
                self._write_pieces(call)
            self._write("TOOL_CALL_END", toolCallId=call.id)
            self._waiting[call.id] = call.wire_id

    def _tool_result(self, event: ev.ToolResult) -> None:
        """Emit the result of a tool that the provider ran. It belongs to the first waiting call
        with the same id, or to the first waiting call if it has no id.
        """
        self._close_message()
        fitting = (
            call_id
            for call_id, wire_id in self._waiting.items()
            if event.id is None or wire_id == event.id
        )
        call_id = next(fitting, event.id)
        if call_id is None:
            self._raw(to_builtins(event))
            return
        self._waiting.pop(call_id, None)
        response = event.response
        content = event.error or "" if response is None else response
        marks = {"name": event.name, "status": event.status, "error": event.error, "raw": event.raw}
        self._write(
            "TOOL_CALL_RESULT",
            messageId=self._session.next_id("result"),
            toolCallId=call_id,
            content=content if isinstance(content, str) else _json(content),
            role="tool",
            **ours(**marks),
        )

    # What the protocol has no event for

    def _part(self, event: ev.Media | ev.Code | ev.CodeResult | ev.ServerCall) -> None:
        """Emit a part of the answer, whose place is between the messages."""
        self._close_message()
        self._raw(event.raw)

    def _unknown(self, event: ev.Unknown) -> None:
        if event.where == "part" or event.where.startswith("part kind"):
            self._close_message()
        self._raw(event.raw)

    def _aside(self, event: ev.Annotation | ev.Notice) -> None:
        self._raw(event.raw)

    def _metadata(self, event: ev.Metadata) -> None:
        match event.name, next(iter(event.raw.values()), None):
            case "model", str(model):
                self._model = model
            case "id", str(response_id):
                self._response_id = response_id
        self._raw(event.raw)

    def _raw(self, value: Any) -> None:
        self._write("RAW", event=value)

    # Beside the content

    def _start(self, event: ev.Start) -> None:
        self._model = event.model or self._model
        self._response_id = event.id or self._response_id
        self._begin()

    def _count(self, event: ev.Usage) -> None:
        self._usage.add(event)

    def _boundary(self, event: ev.BlockStart | ev.BlockEnd) -> None:
        """Close the message: pieces of two blocks of the wire never share a message. The rest is a
        declared loss.
        """
        self._close_message()

    def _end(self, event: ev.Finish | ev.Blocked) -> None:
        self._close_message()

    def _nothing(self, event: ev.Mark) -> None:
        """Emit nothing: a mark has no content."""

    def _error(self, event: ev.Error) -> None:
        code = event.status or (None if event.code is None else str(event.code))
        self._fail(event.message, code, event.raw)

    def _incomplete(self, event: ev.Incomplete) -> None:
        self._fail(describe_break(event), None)

    def _is_of_another_candidate(self, event: ev.Event) -> bool:
        if isinstance(event, ev.CallPiece | ev.CallText | ev.CallEnd | ev.CallInvalid):
            return event.call in self._other_calls
        if getattr(event, "candidate", 0) <= 0:
            return False
        if isinstance(event, ev.CallStart):
            self._other_calls.add(event.call)
        return True

    def _write(self, kind: str, **fields: Any) -> None:
        if not self._begun and kind != "RUN_ERROR":  # an answer may fail before its run begins
            self._begin()
        self._out.append({"type": kind, **fields})

    def _take(self) -> list[Payload]:
        out, self._out = self._out, []
        return out


def _sum(counts: Mapping[str, int], total: str, more: str) -> int | None:
    """Return a count and one that the wire has beside it; None if it has neither."""
    given = [counts[name] for name in (total, more) if name in counts]
    return sum(given) if given else None


def _is_valid(value: Any) -> bool:
    return value is not None and (isinstance(value, str) or 0 <= value <= LARGEST)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_Reactions = Mapping[type[ev.Event], Callable[[Translator, Any], None]]

_REACTIONS: Final[_Reactions] = every_kind(
    "ag-ui",
    {
        ev.Start: Translator._start,
        ev.Metadata: Translator._metadata,
        ev.Text: Translator._text,
        ev.Reasoning: Translator._reasoning,
        ev.CallStart: Translator._call_start,
        ev.CallPiece: Translator._call_piece,
        ev.CallText: Translator._call_text,
        ev.CallEnd: Translator._call_end,
        ev.CallInvalid: Translator._call_invalid,
        ev.NamelessCall: Translator._nameless_call,
        ev.ToolResult: Translator._tool_result,
        **dict.fromkeys(
            (ev.Media, ev.Code, ev.CodeResult, ev.ServerCall, ev.ServerResult), Translator._part
        ),
        ev.BlockStart: Translator._boundary,
        ev.BlockEnd: Translator._boundary,
        ev.Annotation: Translator._aside,
        ev.Notice: Translator._aside,
        ev.Unknown: Translator._unknown,
        ev.Usage: Translator._count,
        ev.Mark: Translator._nothing,
        ev.Finish: Translator._end,
        ev.Blocked: Translator._end,
        ev.Error: Translator._error,
        ev.Incomplete: Translator._incomplete,
    },
)
