"""Reads the facts in AgentEvents, and compares them with those of the wire.

AgentEvents carry text, calls, results, errors and whether the turn ended well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import (
    Facts,
    NamedArguments,
    call_findings,
    message_findings,
    result_findings,
    text_and_calls,
    text_findings,
    unreadable_findings,
    value_findings,
)
from harness.stream.json_codec import Json
from harness.stream.printable import short_json
from harness.stream.session import Session

_LIST_TOOL = "write_todos"
_STATUSES = ("pending", "in_progress", "completed", "cancelled")


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session | None = None) -> Facts:
    """The facts in AgentEvents. Text of the role ``system`` is not part of the answer."""
    facts = Facts()
    for payload in payloads:
        match payload["type"]:
            case "text" if payload.get("role") != "system":
                facts.add_text(payload["text"])
            case "tool.started":
                facts.calls.append((payload["toolName"], payload["input"]))
            case "todo_list":
                facts.calls.append((_LIST_TOOL, {"items": payload["items"]}))
            case "tool.completed":
                facts.add_result("error" in payload, payload.get("output"))
            case "error" if payload.get("code") == "JSONL_PARSE_ERROR":
                facts.unreadable.append(payload["error"])
            case "error":
                facts.add_error(None, payload["error"])
            case "turn.completed":
                facts.finish = payload["finishReason"]
                facts.ended_well = facts.finish == "done"
    return facts


def differences(wire: Facts, carried: Facts, interrupted: bool) -> list[str]:
    """The facts that AgentEvents lack or invent, without the declared losses."""
    text, calls = text_and_calls(wire, carried, _convert)
    traced = bool(carried.unreadable or wire.errors or carried.text != text or interrupted)
    if (
        wire.unreadable
        and carried.text.startswith(text)
        and carried.text[len(text) :].strip() in map(str.strip, wire.unreadable)
    ):
        text = carried.text  # the rest of the output, which is not JSON
    blocked = wire.block_reason is not None
    reasons = wire.malformed_reasons(carried.calls)
    malformed = bool(reasons)
    failed = bool(wire.errors) or blocked or interrupted
    done = not failed and (wire.ended_well or (wire.is_malformed and not malformed))
    more = interrupted + blocked + (malformed or not wire.understood)
    allowed = len(wire.errors) + len(wire.notices) + more
    return [
        *text_findings("text", text, carried.text),
        *call_findings(calls, carried.calls, ordered=not wire.blocks),
        *result_findings(wire, carried),
        *message_findings("error", (message for _, message in wire.errors), carried),
        *message_findings("notice", wire.notices, carried),
        *message_findings("finish", reasons, carried),
        *(f"error invented: {short_json(message)}" for _, message in carried.errors[allowed:]),
        *value_findings("end", "done" if done else "error", carried.finish),
        *unreadable_findings(wire, traced),
    ]


def _convert(name: str, arguments: Json) -> NamedArguments | None:
    """A to-do list has only items with a text and a known status. A call of the tool is not shown
    if it has no list, or if its arguments are not a whole object.
    """
    if not isinstance(arguments, dict):
        return None
    if name != _LIST_TOOL:
        return name, arguments
    todos = arguments.get("todos")
    if not isinstance(todos, list):
        return None
    return name, {"items": [item for todo in todos if (item := _item(todo))]}


def _item(todo: Json) -> dict[str, str] | None:
    if not isinstance(todo, dict):
        return None
    text, status = todo.get("description", todo.get("content")), todo.get("status")
    return (
        {"text": text, "status": status}
        if isinstance(text, str) and text.strip() and status in _STATUSES
        else None
    )
