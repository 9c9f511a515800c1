"""Faults of agent-events adapters.

The parser from which the event model comes had them in one of its states, or a similar parser had
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.dialects.agent_events.response import LIST_TOOL, STATUSES
from harness.stream import events as ev

from .pipeline import Items, Table, Wrapper

AGENT_EVENTS = Table("agent-events")
ENDS = (ev.Finish, ev.Error, ev.Incomplete, ev.Blocked)

NOTHING, EMPTY = "nothing in the answer was understood", "the answer has no content"
"""The beginnings of the messages of an answer in which nothing was understood."""


class TodoLists(Wrapper):
    """Gives each ``todo_list`` to `change`, with the arguments of its call."""

    arguments: dict[str, Any]

    def feed(self, event: ev.Event) -> Items:
        if isinstance(event, ev.CallEnd):
            self.arguments = event.arguments
        elif isinstance(event, ev.NamelessCall):
            self.arguments = event.payload
        changed: Items = []
        for payload in super().feed(event):
            changed += self.change(payload) if payload["type"] == "todo_list" else [payload]
        return changed

    def change(self, todo_list: dict[str, Any]) -> Items:
        raise NotImplementedError

    def todos(self) -> list[dict[str, Any]]:
        """The items of the call that are objects."""
        return [todo for todo in self.arguments["todos"] if isinstance(todo, dict)]


def as_tool(todo_list: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """A ``tool.started`` instead of a ``todo_list``."""
    base = {key: value for key, value in todo_list.items() if key not in ("items", "todoId")}
    tool = {"toolName": LIST_TOOL, "toolId": todo_list["todoId"], "input": arguments}
    return base | {"type": "tool.started"} | tool


# The end of the output


@AGENT_EVENTS.events
def last_line_leaks(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A last line that maps to no event, such as the prompt, is shown as raw text (the parser's
    flush).
    """
    last: ev.Event | None = None
    for last in events:
        yield last
    if isinstance(last, ev.Metadata) and last.name == "echo":
        yield ev.Text(json.dumps(last.raw), role="")


@AGENT_EVENTS.wrapper
class NoResultNoEnd(Wrapper):
    """A run that prints no result never ends its turn, and the team waits for it (a failed login of
    the CLI).
    """

    ended = False

    def feed(self, event: ev.Event) -> Items:
        self.ended = self.ended or isinstance(event, ENDS)
        return super().feed(event)

    def close(self) -> Items:
        payloads = super().close()
        return payloads if self.ended else payloads[:-1]


@AGENT_EVENTS.events
def ended_well_without_a_result(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A process that exits without a result counts as done (the caller of the parser)."""
    ended = False
    for event in events:
        ended = ended or isinstance(event, ENDS)
        yield event
    if not ended:
        yield ev.Finish("stop", "success")


@AGENT_EVENTS.payloads
def failure_without_an_error(payloads: Items) -> Items:
    """A turn in which nothing was understood, or whose call was malformed, has no error event."""
    messages = (NOTHING, EMPTY, "MALFORMED")
    return [
        payload
        for payload in payloads
        if payload["type"] != "error" or not payload["error"].startswith(messages)
    ]


@AGENT_EVENTS.event
def no_status_is_done(event: ev.Event) -> ev.Event:
    """A result without a status, or with a status other than error, counts as done (the parser's
    table guards against this).
    """
    if isinstance(event, ev.Finish) and event.reason == "failed" and event.raw != "error":
        event.reason = "stop"
    return event


@AGENT_EVENTS.event
def the_rest_is_dropped(event: ev.Event) -> ev.Event | None:
    """Text at the end of the output that is not JSON is lost (the parser of a sibling agent)."""
    return None if isinstance(event, ev.Unknown) and event.where == "rest" else event


# Lines


@AGENT_EVENTS.read
def a_character_over_two_reads(data: bytes) -> bytes:
    """Each read is decoded separately: a character that is split over two reads becomes two
    question marks (the parser).
    """
    return data.decode("utf-8", "replace").encode()


@AGENT_EVENTS.event
def prompt_is_an_answer(event: ev.Event) -> ev.Event:
    """The prompt that the CLI repeats is shown as a message of the agent (the parser's first
    state).
    """
    if isinstance(event, ev.Metadata) and event.name == "echo":
        return ev.Text(str(event.raw.get("content")))
    return event


@AGENT_EVENTS.event
def errors_of_the_cli_dropped(event: ev.Event) -> ev.Event | None:
    """A line of the type error maps to no event (the parser)."""
    return None if isinstance(event, ev.Notice) else event


@AGENT_EVENTS.event
def every_line_is_json(event: ev.Event) -> ev.Event | None:
    """A line that is not JSON is silently ignored (the parser's error code guards against this)."""
    return None if isinstance(event, ev.Unknown) and event.where == "frame" else event


@AGENT_EVENTS.event
def noise_is_text(event: ev.Event) -> ev.Event:
    """A line that is not JSON is shown as text of the agent (the parsers of the sibling agents)."""
    noise = isinstance(event, ev.Unknown) and event.where == "frame" and isinstance(event.raw, str)
    return ev.Text(event.raw) if isinstance(event, ev.Unknown) and noise else event


@AGENT_EVENTS.event
def unknown_types_are_errors(event: ev.Event) -> ev.Event:
    """A line of a new type is an error (users of the CLI ask this of its consumers)."""
    if isinstance(event, ev.Unknown) and event.where.startswith("type "):
        return ev.Unknown("frame", json.dumps(event.raw))
    return event


@AGENT_EVENTS.event
def empty_text_dropped(event: ev.Event) -> ev.Event | None:
    """A message with empty text gives no event (the parser's table guards against this)."""
    return None if isinstance(event, ev.Text) and not event.text else event


@AGENT_EVENTS.event
def every_role_is_the_assistant(event: ev.Event) -> ev.Event:
    """Text of the system is shown as text of the agent (the parser's table guards against this)."""
    if isinstance(event, ev.Text):
        event.role = None
    return event


# Tools


@AGENT_EVENTS.payloads
def result_of_a_todo_list_is_an_orphan(payloads: Items) -> Items:
    """The id of a to-do list is not remembered, so its result is assigned to the tool "unknown"
    (the parser).
    """
    for payload in payloads:
        if payload["type"] == "tool.completed" and payload.get("toolName") == LIST_TOOL:
            payload["toolName"] = "unknown"
    return payloads


@AGENT_EVENTS.payloads
def unseen_tools_are_unknown(payloads: Items) -> Items:
    """A result of a call that was never seen is assigned to a tool with the name "unknown" (the
    parser).
    """
    for payload in payloads:
        if payload["type"] == "tool.completed":
            payload.setdefault("toolName", "unknown")
    return payloads


@AGENT_EVENTS.payloads
def results_without_a_name(payloads: Items) -> Items:
    """tool.completed does not name the tool (the parser's state in the design document)."""
    for payload in payloads:
        if payload["type"] == "tool.completed":
            payload.pop("toolName", None)
    return payloads


@AGENT_EVENTS.event
def error_is_the_status(event: ev.Event) -> ev.Event:
    """A failed tool is reported with the word "error", and its message is lost (the parser)."""
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
    """An output that is an object with a text is not read (the parser's table guards against this)."""
    if isinstance(event, ev.ToolResult) and isinstance(event.response, dict):
        event.response = None
    return event


# To-do lists


@AGENT_EVENTS.wrapper
class TodoListIsAlsoATool(TodoLists):
    """A to-do list is reported twice, as a list and as a tool that started (the design document
    forbids this).
    """

    def change(self, todo_list: dict[str, Any]) -> Items:
        tool = as_tool(todo_list, self.arguments) | {"eventId": self.session.next_id("event")}
        return [tool, todo_list]


@AGENT_EVENTS.wrapper
class TodoListIsOnlyATool(TodoLists):
    """A to-do list is an ordinary tool (the parser before the design document)."""

    def change(self, todo_list: dict[str, Any]) -> Items:
        return [as_tool(todo_list, self.arguments)]


@AGENT_EVENTS.wrapper
class BadItemIsABrokenLine(TodoLists):
    """A null item makes the whole list a line that cannot be parsed (the parser)."""

    def change(self, todo_list: dict[str, Any]) -> Items:
        if None not in self.arguments["todos"]:
            return [todo_list]
        base = {key: value for key, value in todo_list.items() if key not in ("items", "todoId")}
        message = "Failed to parse JSONL: cannot read 'description' of null"
        return [base | {"type": "error", "error": message, "code": "JSONL_PARSE_ERROR"}]


@AGENT_EVENTS.wrapper
class AnyStatus(TodoLists):
    """The status of an item is passed on unchecked, even if the event model has no word for it (the
    parser's check guards against this).
    """

    def change(self, todo_list: dict[str, Any]) -> Items:
        for todo in self.todos():
            if str(todo.get("description") or "").strip() and todo.get("status") not in STATUSES:
                item = {"text": todo["description"], "status": todo.get("status")}
                todo_list["items"].append(item)
        return [todo_list]


@AGENT_EVENTS.wrapper
class BlankItems(TodoLists):
    """An item that contains only blanks is kept (the parser's check guards against this)."""

    def change(self, todo_list: dict[str, Any]) -> Items:
        for todo in self.todos():
            if str(todo.get("description")).isspace():
                item = {"text": todo["description"], "status": todo["status"]}
                todo_list["items"].append(item)
        return [todo_list]


@AGENT_EVENTS.payloads
def empty_list_dropped(payloads: Items) -> Items:
    """A list without items gives no event, though it means that the list was cleared (the parser's
    table guards against this).
    """
    return [payload for payload in payloads if payload.get("items") != []]


@AGENT_EVENTS.frame
def parameters_hide_the_input(frame: Any) -> Any:
    """Empty ``parameters`` hide an ``input`` that contains the list (the parser)."""
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
    """A to-do list gets a counted id although the wire has one (the parser's table guards against
    this).
    """
    lists = [payload for payload in payloads if payload["type"] == "todo_list"]
    for number, payload in enumerate(lists, 1):
        payload["todoId"] = f"todo_{number}"
    return payloads


@AGENT_EVENTS.events
def invalid_call_without_arguments(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A call whose arguments are not a JSON object becomes a call without arguments."""
    for event in events:
        yield ev.CallEnd(event.call, {}) if isinstance(event, ev.CallInvalid) else event
