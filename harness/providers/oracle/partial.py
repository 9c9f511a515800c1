"""The three event models that carry a part of an answer only: what of it they must carry, and how
that differs.

Their declared losses are written down here once more, from their contracts: agent-events and mind
carry text, calls, results, errors and the end; art carries text, thoughts, counts, errors and
whatever is declared nowhere. What they must carry is made from the facts of the wire first, so that
the comparison itself knows no dialect.
"""

from __future__ import annotations

from harness.facts.account import Facts, Json
from harness.facts.differences import (
    call_findings,
    error_findings,
    same,
    take,
    text_findings,
    usage_findings,
    value_findings,
)
from harness.stream.printable import short_json

PARTIAL = ("agent-events", "art", "mind")

LIST_TOOL = "write_todos"
_STATUSES = ("pending", "in_progress", "completed", "cancelled")
_ART_LOSSES = {
    *(
        "citationMetadata",
        "groundingMetadata",
        "groundingAttributions",
        "urlContextMetadata",
        "urlRetrievalMetadata",
    ),
    *(
        "logprobsResult",
        "avgLogprobs",
        "safetyRatings",
        "tokenCount",
        "responseId",
        "modelVersion",
        "blockReasonMessage",
    ),
    *(
        "inlineData",
        "fileData",
        "executableCode",
        "codeExecutionResult",
        "videoMetadata",
        "mediaResolution",
        "partialArgs",
    ),
}


def partial_losses(
    wire: Facts, carried: Facts, dialect: str, *, interrupted: bool = False
) -> list[str]:
    """What ``carried`` lacks or has too much by the contract of ``dialect``; arguments as in
    `losses`.
    """
    if dialect == "art":
        return _art(wire.until_the_end(), carried, interrupted)
    if dialect == "mind":
        return _mind(wire.until_the_end(), carried, interrupted)
    return _agent_events(wire, carried, interrupted)


def _agent_events(wire: Facts, carried: Facts, interrupted: bool) -> list[str]:
    text, calls = _text_and_calls(wire, carried, todo_lists=True)
    traced = bool(carried.unreadable or wire.errors or carried.text != text)
    if (
        wire.unreadable
        and carried.text.startswith(text)
        and carried.text[len(text) :].strip() in map(str.strip, wire.unreadable)
    ):
        text = carried.text  # the rest of the output, which is no JSON
    failed = bool(wire.errors) or wire.block_reason is not None or interrupted
    return [
        *text_findings("text", text, carried.text),
        *call_findings(calls, carried.calls, ordered=not wire.blocks),
        *_result_findings(wire, carried),
        *_all_there("error", [message for _, message in wire.errors], carried.errors),
        *_all_there("notice", wire.notices, carried.errors),
        *_no_more_errors(wire, carried, interrupted),
        *value_findings(
            "end", "done" if wire.ended_well and not failed else "error", carried.finish
        ),
        *_unreadable_findings(wire, traced or interrupted),
    ]


def _art(wire: Facts, carried: Facts, interrupted: bool) -> list[str]:
    found = text_findings("thought", wire.thoughts, carried.thoughts)
    found += text_findings("text", _text_without_calls(wire, carried), carried.text)
    nothing = bool(carried.errors) and "Invalid response structure" in carried.errors[0][1]
    if nothing:
        return [
            *found,
            *(
                []
                if _is_empty(wire)
                else [
                    "answer lost: it holds something, and the error is"
                    f" {short_json(carried.errors[0][1])}"
                ]
            ),
        ]
    blocked = wire.block_reason is not None and not wire.errors
    if blocked:
        found += value_findings("block reason", wire.block_reason, carried.block_reason)
    else:
        found += error_findings(wire, carried, interrupted, numbered=True)
    if not (carried.errors or blocked):
        found += value_findings("finish", wire.finish, carried.finish)
        found += usage_findings(wire.usage, carried.usage)
    found += [f"field lost: {name}" for name in sorted(wire.others - carried.others - _ART_LOSSES)]
    return found + _unreadable_findings(
        wire, bool(carried.unreadable or carried.errors) or interrupted
    )


def _mind(wire: Facts, carried: Facts, interrupted: bool) -> list[str]:
    text, calls = _text_and_calls(wire, carried, todo_lists=False)
    blocked = wire.block_reason is not None and not wire.errors
    if wire.open_call and (interrupted or wire.errors or blocked):
        calls = calls[:-1]  # a call that never ended is none that is run
    found = [
        *text_findings("text", text, carried.text),
        *call_findings(calls, carried.calls, ordered=not wire.blocks),
        *_result_findings(wire, carried),
        *value_findings("end", _end_of_mind(wire, len(calls), interrupted), carried.finish),
        *carried.contradictions,
    ]
    if blocked:
        return found + _all_there("block reason", [wire.block_reason or ""], carried.errors)
    return found + error_findings(
        wire, carried, interrupted or _says_it_failed(wire), numbered=False
    )


def _says_it_failed(wire: Facts) -> bool:
    """Whether the wire says that it has ended, and not well, without an error."""
    return wire.finish is not None and not wire.ended_well


def _end_of_mind(wire: Facts, calls: int, interrupted: bool) -> str | None:
    if wire.errors:
        return "RATE_LIMIT_EXCEEDED" if wire.limited else "AGENT_ERROR"
    if wire.block_reason is not None or interrupted or _says_it_failed(wire):
        return "AGENT_ERROR"
    return None if calls > len(wire.results) else "result"


def _text_and_calls(
    wire: Facts, carried: Facts, *, todo_lists: bool
) -> tuple[str, list[tuple[str, Json]]]:
    """Text and calls as the dialect must have them; a ``<tool_code>`` block is the call that was
    carried, or text.
    """
    calls = [call for one in wire.calls if (call := _told(one[0], one[1], todo_lists)) is not None]
    text, free = wire.text, list(carried.calls)
    for call in calls:
        take(free, call)
    for raw, name, arguments in wire.blocks:
        wanted = (
            _told(name or LIST_TOOL, arguments, todo_lists)
            if name or isinstance(arguments.get("todos"), list)
            else None
        )
        choices = [call for call in (wanted, (None, arguments)) if call is not None]
        taken = next(
            (
                one
                for one in free
                for call in choices
                if call[0] in (None, one[0]) and same(call[1], one[1])
            ),
            None,
        )
        if taken is not None:
            free.remove(taken)
            calls.append(taken)
            text = text.replace(raw, "", 1)
    return text, calls


def _told(name: str, arguments: Json, todo_lists: bool) -> tuple[str, Json] | None:
    """A call as the dialect tells it: a to-do list by its items, one without a list not at all."""
    if not todo_lists or name != LIST_TOOL:
        return name, arguments
    todos = arguments.get("todos") if isinstance(arguments, dict) else None
    return (
        (name, {"items": [item for todo in todos if (item := _item(todo))]})
        if isinstance(todos, list)
        else None
    )


def _item(todo: Json) -> dict[str, str] | None:
    if not isinstance(todo, dict):
        return None
    text, status = todo.get("description", todo.get("content")), todo.get("status")
    return (
        {"text": text, "status": status}
        if isinstance(text, str) and text.strip() and status in _STATUSES
        else None
    )


def _text_without_calls(wire: Facts, carried: Facts) -> str:
    """Text without the ``<tool_code>`` blocks that are calls; a block without a name may be
    either.
    """
    text = wire.text
    for raw, name, _ in wire.blocks:
        if name is not None or raw not in carried.text:
            text = text.replace(raw, "", 1)
    return text


def _result_findings(wire: Facts, carried: Facts) -> list[str]:
    if len(wire.results) != len(carried.results):
        verb = "lost" if len(wire.results) > len(carried.results) else "invented"
        return [f"tool result {verb}: {len(wire.results)} became {len(carried.results)}"]
    found = []
    for index, (there, here) in enumerate(zip(wire.results, carried.results, strict=True), 1):
        if there[0] != here[0]:
            found.append(
                f"tool result changed: number {index} has {'failed' if there[0] else 'not failed'},"
                " carried is the opposite"
            )
        if there[1] is not None and here[1] != there[1] and not there[0]:
            found.append(
                f"tool result changed: number {index} says {short_json(there[1])}, carried is"
                f" {short_json(here[1])}"
            )
    return found


def _all_there(what: str, messages: list[str], errors: list[tuple[int | None, str]]) -> list[str]:
    return [
        f"{what} lost: {short_json(message)}"
        for message in messages
        if not any(message in said for _, said in errors)
    ]


def _no_more_errors(wire: Facts, carried: Facts, interrupted: bool) -> list[str]:
    allowed = len(wire.errors) + len(wire.notices) + interrupted + (wire.block_reason is not None)
    return [f"error invented: {short_json(message)}" for _, message in carried.errors[allowed:]]


def _unreadable_findings(wire: Facts, traced: bool) -> list[str]:
    return (
        []
        if traced or not wire.unreadable
        else [f"unreadable lost: {short_json(wire.unreadable[0])} left no trace"]
    )


def _is_empty(wire: Facts) -> bool:
    """Whether nothing that is known stands in the answer's candidate."""
    said = (wire.text, wire.thoughts, wire.calls, wire.finish, wire.media, wire.code, wire.results)
    return not any(said)
