"""Compares the facts of a raw body with those that events or payloads carry, and gives one sentence
for each fact that was lost or invented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from .account import Facts, Json
from .differences import (
    call_findings,
    error_findings,
    part_findings,
    same,
    signature_findings,
    take,
    text_findings,
    unreadable_findings,
    usage_findings,
    value_findings,
)

Call = tuple[str, Json]
"""A call: its name and its arguments."""


def event_differences(wire: Facts, carried: Facts, interrupted: bool = False) -> list[str]:
    """What canonical events lack or invent; they carry everything.

    ``interrupted``: the exchange ended early, which may be carried as an error that the wire does
    not have.
    """
    return compare_answers(wire, carried, _compare_all, interrupted=interrupted)


def compare_answers(
    wire: Facts,
    carried: Facts,
    compare_rest: Callable[[Facts, Facts], list[str]],
    *,
    interrupted: bool,
    numbered: bool = True,
) -> list[str]:
    """Compare text, thoughts, calls, errors and unreadable pieces; ``compare_rest`` compares the
    other facts.

    ``numbered``: carried errors have the code that the wire gave.
    """
    if wire.blocks:  # a signature beside a block may be the call's or the text's
        wire, carried = (
            replace(facts, signatures=_without_calls(facts.signatures)) for facts in (wire, carried)
        )
    text, calls = text_and_calls(wire, carried)
    findings = [
        *text_findings("text", text, carried.text),
        *text_findings("thought", wire.thoughts, carried.thoughts),
        *call_findings(calls, carried.calls, ordered=not wire.blocks),
        *error_findings(wire, carried, interrupted, numbered=numbered),
        *compare_rest(wire, carried),
        *carried.contradictions,
    ]
    if carried.open_call and not (interrupted or carried.errors):
        findings.append(
            f"call end lost: {carried.calls[-1][0]} is still open when the stream has ended"
        )
    traced = bool(interrupted or carried.unreadable or carried.errors)
    return findings + unreadable_findings(wire, traced)


def _same_call(name: str, arguments: Json) -> Call | None:
    return name, arguments


def text_and_calls(
    wire: Facts, carried: Facts, convert: Callable[[str, Json], Call | None] = _same_call
) -> tuple[str, list[Call]]:
    """The text and the calls that must be carried.

    Each ``<tool_code>`` block of the wire is a call if such a call is carried, else it is text.
    ``convert(name, arguments)`` gives a call as a dialect shows it, or None if it shows no such
    call.
    """
    calls = [shown for call in wire.calls if (shown := convert(*call)) is not None]
    text, free = wire.text, list(carried.calls)
    for call in calls:
        take(free, call)
    for raw, name, arguments in wire.blocks:
        for call in free:
            shown = convert(name or call[0], arguments)
            if shown is not None and shown[0] == call[0] and same(shown[1], call[1]):
                free.remove(call)
                calls.append(call)
                text = text.replace(raw, "", 1)
                break
    return text, calls


def text_without_calls(wire: Facts, carried: Facts) -> str:
    """The text that a dialect without calls must carry.

    A ``<tool_code>`` block with a name is a call; one without may be a call or text.
    """
    text = wire.text
    for raw, name, _ in wire.blocks:
        if name is not None or raw not in carried.text:
            text = text.replace(raw, "", 1)
    return text


def _compare_all(wire: Facts, carried: Facts) -> list[str]:
    return [
        *signature_findings(wire.signatures, carried.signatures),
        *value_findings("finish", wire.finish, carried.finish),
        *value_findings("finish message", wire.finish_message, carried.finish_message),
        *value_findings("block reason", wire.block_reason, carried.block_reason),
        *usage_findings(wire.usage, carried.usage),
        *part_findings(wire, carried),
        *field_findings(wire, carried),
    ]


def field_findings(wire: Facts, carried: Facts, declared: Iterable[str] = ()) -> list[str]:
    """Fields of the wire that no other fact covers, less those that are ``declared`` as lost."""
    return [f"field lost: {name}" for name in sorted(wire.others - carried.others - {*declared})]


def _without_calls(signatures: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [("text" if kind == "call" else kind, signature) for kind, signature in signatures]
