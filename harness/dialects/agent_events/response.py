"""Translates canonical events into AgentEvents, the common event model of the command-line agents
in a team.

The event model has text, calls, results, errors and the end; everything else is a declared loss.
Each canonical event becomes at most one AgentEvent, in wire order. ``turn.completed`` comes last,
exactly once. A call of ``write_todos`` becomes a ``todo_list``, which replaces the one before.

`harness.systems.agent_events` has the interface of the original system: it turns the output
of a process into AgentEvents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from harness.facts import losses_of_model
from harness.stream import events as ev
from harness.stream.json_codec import decode_object
from harness.stream.json_path import Assembly
from harness.stream.session import Session, Tool
from harness.stream.tool_code import infer_name

from ..dialect import Payload
from ..ending import Ending, EndKind, describe_break, every_kind
from ..losses import BESIDE_CONTENT, usual_losses

AGENT_TYPE: Final = "google-gemini"
LIST_TOOL: Final = "write_todos"
STATUSES: Final = frozenset({"pending", "in_progress", "completed", "cancelled"})

LOSSES: Final = losses_of_model(
    {
        "text[block]": "a call of the to-do list tool that the model wrote as text",
        "calls[call:write_todos]": (
            "calls of the to-do list tool: a list is shown, without items that have no text or a"
            " status that the event model does not have, such as blocked"
        ),
        "calls[failed]": "whether the last call of an answer that failed is whole",
        "ids[call:write_todos]": "the id of such a call without a list",
        "finish[length]": "that the answer reached a limit: the turn is done",
        "finish[filter]": "that the answer was filtered: the turn is done",
        "finish[other]": "the class of other reasons: the turn is done, with the reason",
        **BESIDE_CONTENT,
        **usual_losses(
            "text[damaged] thoughts signatures usage billing server_tools finish_message "
            "model create_time trace_id credits usage_details blocks"
        ),
    }
)

BAD_ENDS: Final[frozenset[EndKind]] = frozenset({"nothing", "invalid_call", "malformed"})
"""The ends with an error before the end of the turn."""
DONE: Final[frozenset[EndKind]] = frozenset({"stop", "length", "content_filter", "other", "empty"})
"""The ends after which a turn is done."""

_LABELS: Final = ("session.started", "text", "tool.started", "tool.completed", "error", "todo_list")
_ANY: Final = {**dict.fromkeys(_LABELS, "open"), "turn.completed": "over"}
ORDER: Final[Mapping[str, Mapping[str, str]]] = {"fresh": _ANY, "open": _ANY, "over": {}}
"""State → type → next state: anything in any order, then the end once."""


class AgentEventsTranslator:
    """Translates one stream. The session's ``context`` may have ``agentId`` and
    ``teamMetadata``.
    """

    def __init__(self, tools: Sequence[Tool], session: Session) -> None:
        self.tools = tools
        self.session = session
        self.agent_id = session.context.get("agentId", "agent")
        self.team = session.context.get("teamMetadata", {})
        self.call: tuple[ev.CallStart, Assembly] | None = None
        self.call_text: list[str] = []
        # the wire's id → our ids for it that have no result yet
        self.waiting: dict[str, list[str]] = {}
        self.given: dict[str, str] = {}  # id of the wire → our latest id for it
        self.names: dict[str, str] = {}
        self._begin_turn()

    def _begin_turn(self) -> None:
        self.failed = False
        self.called = False
        self.ending = Ending()

    def feed(self, event: ev.Event) -> list[Payload]:
        if getattr(event, "candidate", 0) > 0:
            return []
        kind = type(event)
        if kind in self.ending.watched:
            self.ending.note(event)
        return _REACTIONS[kind](self, event)

    def close(self) -> list[Payload]:
        payloads, kind = self._open_call(), self.ending.kind()
        if kind == "malformed" and self.called:
            kind = "stop"  # a whole call ends the turn, whatever the reason
        if kind in BAD_ENDS:
            finish = self.ending.finish if kind == "malformed" else None
            payloads += self._fail(self.ending.message(), finish.raw if finish else None)
        done = not self.failed and kind in DONE
        reason = self.ending.odd_reason if done else None
        self._begin_turn()
        end = self.make("turn.completed", finishReason="done" if done else "error", reason=reason)
        return [*payloads, end]

    def make(self, kind: str, **fields: Any) -> Payload:
        """Return an AgentEvent with its base fields; a field that is None is left out."""
        payload = {
            "type": kind,
            "eventId": self.session.next_id("event"),
            "agentId": self.agent_id,
            "agentType": AGENT_TYPE,
            "teamMetadata": self.team,
            "timestamp": int(self.session.at_ms or 0),
        }
        for name, value in fields.items():
            if value is not None:
                payload[name] = value
        return payload

    def _start(self, event: ev.Start) -> list[Payload]:
        return [] if event.implied else [self.make("session.started")]

    def _text(self, event: ev.Text) -> list[Payload]:
        if not event.text and event.signature is not None:
            return []
        if event.role is None:
            return [self.make("text", text=event.text, role="assistant", category="message")]
        return [
            self.make("text", text=event.text, role="system" if event.role == "system" else None)
        ]

    # Calls and results

    def _call_start(self, event: ev.CallStart) -> list[Payload]:
        payloads = self._open_call()
        self.call, self.call_text = (event, Assembly()), []
        return payloads

    def _call_piece(self, event: ev.CallPiece) -> list[Payload]:
        if self.call and self.call[0].call == event.call:
            self.call[1].add(event.path, event.value, event.more)
        return []

    def _call_text(self, event: ev.CallText) -> list[Payload]:
        """Show a call whose arguments are JSON text when it is whole."""
        self.call_text.append(event.text)
        return []

    def _call_end(self, event: ev.CallEnd) -> list[Payload]:
        if self.call is None or self.call[0].call != event.call:
            return []
        start, self.call = self.call[0], None
        return self._called(start.id, start.name, event.arguments)

    def _call_invalid(self, event: ev.CallInvalid) -> list[Payload]:
        self.call = None  # the error at the end names the call
        return []

    def _open_call(self) -> list[Payload]:
        """Emit the call that has not ended, with the arguments so far, if these are an object."""
        if self.call is None:
            return []
        (start, pieces), self.call = self.call, None
        arguments = decode_object("".join(self.call_text)) if self.call_text else pieces.value()
        return [] if arguments is None else self._called(start.id, start.name, arguments)

    def _nameless_call(self, event: ev.NamelessCall) -> list[Payload]:
        name = (
            LIST_TOOL
            if isinstance(event.payload.get("todos"), list)
            else infer_name(event.payload, self.tools)
        )
        return (
            self._text(ev.Text(event.raw))
            if name is None
            else self._called(None, name, event.payload)
        )

    def _called(self, wire_id: str | None, name: str, arguments: dict[str, Any]) -> list[Payload]:
        self.called = True
        todos = arguments.get("todos") if name == LIST_TOOL else None
        if name == LIST_TOOL and not isinstance(todos, list):
            if wire_id is not None:
                self._remember(wire_id, wire_id, name)
            return []
        call_id = self.session.call_id(wire_id, "call")
        self.session.remember(call_id, name, None)
        self._remember(call_id if wire_id is None else wire_id, call_id, name)
        if isinstance(todos, list):
            return [
                self.make(
                    "todo_list",
                    todoId=call_id,
                    items=[item for todo in todos if (item := _todo_item(todo))],
                )
            ]
        return [self.make("tool.started", toolName=name, toolId=call_id, input=arguments)]

    def _remember(self, wire_id: str, call_id: str, name: str) -> None:
        self.waiting.setdefault(wire_id, []).append(call_id)
        self.given[wire_id] = call_id
        self.names[call_id] = name

    def _tool_result(self, event: ev.ToolResult) -> list[Payload]:
        waiting = self.waiting.get(event.id or "")
        call_id = waiting.pop(0) if waiting else self.given.get(event.id or "", event.id)
        error = event.error or (event.status if event.status not in (None, "", "success") else None)
        name = self.names.get(call_id or "", None if event.status is not None else event.name)
        return [
            self.make(
                "tool.completed", toolName=name, toolId=call_id, output=_output(event), error=error
            )
        ]

    # Errors and the end

    def _error(self, event: ev.Error) -> list[Payload]:
        code = event.status or (None if event.code is None else str(event.code))
        return self._fail(event.message, code)

    def _incomplete(self, event: ev.Incomplete) -> list[Payload]:
        return self._fail(describe_break(event), None)

    def _blocked(self, event: ev.Blocked) -> list[Payload]:
        return self._fail(
            ": ".join(filter(None, ("the prompt was blocked", event.message or event.reason))),
            event.reason,
        )

    def _fail(self, message: str, code: str | None) -> list[Payload]:
        self.failed = True
        return [*self._open_call(), self.make("error", error=message, code=code)]

    def _notice(self, event: ev.Notice) -> list[Payload]:
        return [self.make("error", error=event.message, code=event.severity.upper() or None)]

    def _unknown(self, event: ev.Unknown) -> list[Payload]:
        """Report an unknown fact: a line that is not JSON is an error; a line without an end is
        text; JSON of an unknown kind is a declared loss.
        """
        if event.where == "rest":
            return [self.make("text", text=event.raw)]
        if event.where == "frame" and isinstance(event.raw, str):
            return [
                self.make(
                    "error", error=f"Failed to parse JSONL: {event.raw}", code="JSONL_PARSE_ERROR"
                )
            ]
        return []

    def _lost(self, event: ev.Event) -> list[Payload]:
        """Emit nothing: a declared loss, or an event that `Ending` has seen."""
        return []


_REACTIONS: Final[
    Mapping[type[ev.Event], Callable[[AgentEventsTranslator, Any], list[Payload]]]
] = every_kind(
    "agent-events",
    {
        ev.Start: AgentEventsTranslator._start,
        ev.Text: AgentEventsTranslator._text,
        ev.CallStart: AgentEventsTranslator._call_start,
        ev.CallPiece: AgentEventsTranslator._call_piece,
        ev.CallText: AgentEventsTranslator._call_text,
        ev.CallEnd: AgentEventsTranslator._call_end,
        ev.CallInvalid: AgentEventsTranslator._call_invalid,
        ev.NamelessCall: AgentEventsTranslator._nameless_call,
        ev.ToolResult: AgentEventsTranslator._tool_result,
        ev.Error: AgentEventsTranslator._error,
        ev.Incomplete: AgentEventsTranslator._incomplete,
        ev.Blocked: AgentEventsTranslator._blocked,
        ev.Notice: AgentEventsTranslator._notice,
        ev.Unknown: AgentEventsTranslator._unknown,
        **dict.fromkeys(
            (
                ev.Reasoning,
                ev.Media,
                ev.Code,
                ev.CodeResult,
                ev.ServerCall,
                ev.ServerResult,
                ev.BlockStart,
                ev.BlockEnd,
                ev.Metadata,
                ev.Annotation,
                ev.Usage,
                ev.Finish,
                ev.Mark,
            ),
            AgentEventsTranslator._lost,
        ),
    },
)


def _todo_item(todo: Any) -> Payload | None:
    """Return the item in the form of the event model; None for a status that it does not have. A
    call that leaked into the text has ``content`` instead of ``description``.
    """
    if not isinstance(todo, dict):
        return None
    text, status = todo.get("description", todo.get("content")), todo.get("status")
    kept = isinstance(text, str) and text.strip() and isinstance(status, str) and status in STATUSES
    return {"text": text, "status": status} if kept else None


def _output(event: ev.ToolResult) -> str | None:
    """Return the output as text: the text of the result if it has one; of a Gemini API result
    without a text, its JSON.
    """
    match event.response:
        case None:
            return None
        case str(text) | {"text": str(text)} | {"output": str(text)} | {"result": str(text)}:
            return text
    return None if event.status is not None else json.dumps(event.response, ensure_ascii=False)
