"""Faults of agent-events adapters: of the parser that the event model comes from, in its states,
and of what its neighbours met.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.dialects import Payload
from harness.dialects.agent_events.response import LIST_TOOL, STATUSES, AgentEventsTranslator
from harness.stream import events as ev

from .pipeline import Items, Table

AGENT_EVENTS = Table("agent-events")


# The end of the output


@AGENT_EVENTS.events
def last_line_leaks(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A last line that maps to nothing, such as the prompt, is shown as text, raw (the parser's
    flush).
    """
    last: ev.Event | None = None
    for last in events:
        yield last
    if isinstance(last, ev.Metadata) and last.name == "echo":
        yield ev.Text(json.dumps(last.raw), role="")


@AGENT_EVENTS.translator
class NoResultNoEnd(AgentEventsTranslator):
    """A run that prints no result never ends its turn, and the team waits for it (a failed login of
    the CLI).
    """

    def close(self) -> list[Payload]:
        told = self.failed or self.finished is not None
        return super().close() if told else self._open_call()


@AGENT_EVENTS.translator
class EndedWellWithoutAResult(AgentEventsTranslator):
    """A process that exits without a result has done its work (the caller of the parser)."""

    def close(self) -> list[Payload]:
        self.finished = self.finished or (None if self.failed else "stop")
        return super().close()


@AGENT_EVENTS.event
def no_status_is_done(event: ev.Event) -> ev.Event:
    """A result without a status, or with another one than error, is done (what the parser's table
    guards against).
    """
    if isinstance(event, ev.Finish) and event.reason == "failed" and event.raw != "error":
        event.reason = "stop"
    return event


@AGENT_EVENTS.translator
class TheRestIsDropped(AgentEventsTranslator):
    """What stands at the end and is no JSON vanishes (the parser of a sibling agent)."""

    def feed(self, event: ev.Event) -> list[Payload]:
        return (
            [] if isinstance(event, ev.Unknown) and event.where == "rest" else super().feed(event)
        )


# Lines


@AGENT_EVENTS.read
def a_character_over_two_reads(data: bytes) -> bytes:
    """Each read is decoded by itself: a character that is split over two of them becomes two
    question marks (the parser).
    """
    return data.decode("utf-8", "replace").encode()


@AGENT_EVENTS.event
def prompt_is_an_answer(event: ev.Event) -> ev.Event:
    """The prompt that the CLI prints once more is shown as a message of the agent (the parser's
    first state).
    """
    if isinstance(event, ev.Metadata) and event.name == "echo":
        return ev.Text(str(event.raw.get("content")))
    return event


@AGENT_EVENTS.event
def errors_of_the_cli_dropped(event: ev.Event) -> ev.Event | None:
    """A line of the type error maps to nothing (the parser)."""
    return None if isinstance(event, ev.Notice) else event


@AGENT_EVENTS.event
def every_line_is_json(event: ev.Event) -> ev.Event | None:
    """A line that is no JSON is passed over, and nobody learns of it (what the parser's error code
    guards against).
    """
    return None if isinstance(event, ev.Unknown) and event.where == "frame" else event


@AGENT_EVENTS.event
def noise_is_text(event: ev.Event) -> ev.Event:
    """A line that is no JSON is shown as text of the agent (the parsers of the sibling agents)."""
    noise = isinstance(event, ev.Unknown) and event.where == "frame" and isinstance(event.raw, str)
    return ev.Text(event.raw) if isinstance(event, ev.Unknown) and noise else event


@AGENT_EVENTS.event
def unknown_types_are_errors(event: ev.Event) -> ev.Event:
    """A type of line that is new is an error (what users of the CLI ask of its consumers)."""
    if isinstance(event, ev.Unknown) and event.where.startswith("type "):
        return ev.Unknown("frame", json.dumps(event.raw))
    return event


@AGENT_EVENTS.event
def empty_text_dropped(event: ev.Event) -> ev.Event | None:
    """A message with empty text is no event (what the parser's table guards against)."""
    return None if isinstance(event, ev.Text) and not event.text else event


@AGENT_EVENTS.event
def every_role_is_the_assistant(event: ev.Event) -> ev.Event:
    """What the system says is shown as if the agent said it (what the parser's table guards
    against).
    """
    if isinstance(event, ev.Text):
        event.role = None
    return event


# Tools


@AGENT_EVENTS.translator
class ResultOfATodoListIsAnOrphan(AgentEventsTranslator):
    """The id of a to-do list is not remembered: its result belongs to the tool "unknown" (the
    parser).
    """

    def feed(self, event: ev.Event) -> list[Payload]:
        told = super().feed(event)
        for payload in told:
            if payload["type"] == "tool.completed" and payload.get("toolName") == LIST_TOOL:
                payload["toolName"] = "unknown"
        return told


@AGENT_EVENTS.payloads
def unseen_tools_are_unknown(payloads: Items) -> Items:
    """A result of a call that was never seen belongs to a tool of the name "unknown" (the
    parser).
    """
    for payload in payloads:
        if payload["type"] == "tool.completed":
            payload.setdefault("toolName", "unknown")
    return payloads


@AGENT_EVENTS.payloads
def results_without_a_name(payloads: Items) -> Items:
    """tool.completed does not say which tool (the parser's state in the design document)."""
    for payload in payloads:
        if payload["type"] == "tool.completed":
            payload.pop("toolName", None)
    return payloads


@AGENT_EVENTS.event
def error_is_the_status(event: ev.Event) -> ev.Event:
    """A failed tool is told with the word "error"; its message is lost (the parser)."""
    if isinstance(event, ev.ToolResult) and event.status not in (None, "", "success"):
        event.error = event.status
    return event


@AGENT_EVENTS.event
def message_of_the_end_lost(event: ev.Event) -> ev.Event:
    """A result with an error ends the turn without its message (the parser)."""
    return (
        ev.Finish("failed", "error")
        if isinstance(event, ev.Error) and event.code is None
        else event
    )


@AGENT_EVENTS.event
def older_outputs_ignored(event: ev.Event) -> ev.Event:
    """An output that is an object with a text is not read (what the parser's table guards
    against).
    """
    if isinstance(event, ev.ToolResult) and isinstance(event.response, dict):
        event.response = None
    return event


# To-do lists


@AGENT_EVENTS.translator
class TodoListIsAlsoATool(AgentEventsTranslator):
    """A to-do list is told twice, as a list and as a tool that started (what the design document
    forbids).
    """

    def _called(self, wire_id: str | None, name: str, arguments: dict[str, Any]) -> list[Payload]:
        told = super()._called(wire_id, name, arguments)
        lists = [payload for payload in told if payload["type"] == "todo_list"]
        return [
            *(
                self.make("tool.started", toolName=name, toolId=one["todoId"], input=arguments)
                for one in lists
            ),
            *told,
        ]


@AGENT_EVENTS.translator
class TodoListIsOnlyATool(AgentEventsTranslator):
    """A to-do list is a tool like any other (the parser before the design document)."""

    def _called(self, wire_id: str | None, name: str, arguments: dict[str, Any]) -> list[Payload]:
        told = super()._called(wire_id, name, arguments)
        for payload in told:
            if payload["type"] == "todo_list":
                del payload["items"]
                payload |= {
                    "type": "tool.started",
                    "toolName": name,
                    "toolId": payload.pop("todoId"),
                    "input": arguments,
                }
        return told


@AGENT_EVENTS.translator
class BadItemIsABrokenLine(AgentEventsTranslator):
    """An item that is null makes the whole list a line that cannot be parsed (the parser)."""

    def _called(self, wire_id: str | None, name: str, arguments: dict[str, Any]) -> list[Payload]:
        told = super()._called(wire_id, name, arguments)
        todos = arguments.get("todos")
        if name == LIST_TOOL and isinstance(todos, list) and None in todos:
            return [
                self.make(
                    "error",
                    error="Failed to parse JSONL: cannot read 'description' of null",
                    code="JSONL_PARSE_ERROR",
                )
            ]
        return told


@AGENT_EVENTS.translator
class AnyStatus(AgentEventsTranslator):
    """The status of an item is passed on unseen, also one that the event model has no word for
    (what the parser's check guards against).
    """

    def _called(self, wire_id: str | None, name: str, arguments: dict[str, Any]) -> list[Payload]:
        told = super()._called(wire_id, name, arguments)
        for payload in told:
            if payload["type"] == "todo_list":
                todos = [
                    todo
                    for todo in arguments["todos"]
                    if isinstance(todo, dict) and str(todo.get("description") or "").strip()
                ]
                more = [
                    {"text": todo["description"], "status": todo.get("status")} for todo in todos
                ]
                payload["items"] += [item for item in more if item["status"] not in STATUSES]
        return told


@AGENT_EVENTS.translator
class BlankItems(AgentEventsTranslator):
    """An item of blanks is an item (what the parser's check guards against)."""

    def _called(self, wire_id: str | None, name: str, arguments: dict[str, Any]) -> list[Payload]:
        told = super()._called(wire_id, name, arguments)
        for payload in told:
            if payload["type"] == "todo_list":
                blank = [
                    todo
                    for todo in arguments["todos"]
                    if isinstance(todo, dict) and str(todo.get("description")).isspace()
                ]
                payload["items"] += [
                    {"text": todo["description"], "status": todo["status"]} for todo in blank
                ]
        return told


@AGENT_EVENTS.translator
class EmptyListDropped(AgentEventsTranslator):
    """A list without items is no event, though it says that all is cleared (what the parser's table
    guards against).
    """

    def _called(self, wire_id: str | None, name: str, arguments: dict[str, Any]) -> list[Payload]:
        return [
            payload
            for payload in super()._called(wire_id, name, arguments)
            if payload.get("items") != []
        ]


@AGENT_EVENTS.frame
def parameters_hide_the_input(frame: Any) -> Any:
    """Empty ``parameters`` hide an ``input`` that has the list (the parser)."""
    line = frame.json
    if (
        isinstance(line, dict)
        and line.get("tool_name", line.get("name")) == LIST_TOOL
        and line.get("parameters") == {}
    ):
        line.pop("input", None)
    return frame


@AGENT_EVENTS.payloads
def ids_of_lists_are_counted(payloads: Items) -> Items:
    """A to-do list gets an id of its own although the wire has one (what the parser's table guards
    against).
    """
    lists = [payload for payload in payloads if payload["type"] == "todo_list"]
    for number, payload in enumerate(lists, 1):
        payload["todoId"] = f"todo_{number}"
    return payloads
