"""Compares two accounts of one answer: a sentence for each fact that was lost or invented."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from harness.stream.json_codec import Json, finite_json, same_json
from harness.stream.printable import short_json

from .account import Facts

NamedArguments = tuple[str, Json]
"""A call: its name and its arguments."""


def event_differences(wire: Facts, carried: Facts, interrupted: bool = False) -> list[str]:
    """The facts that canonical events lack or invent. They have no declared losses.

    ``interrupted``: the exchange ended early, so the adapter may report an error that the wire does
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
        *invalid_call_findings(wire, carried),
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


def _same_call(name: str, arguments: Json) -> NamedArguments | None:
    return name, arguments


def text_and_calls(
    wire: Facts, carried: Facts, convert: Callable[[str, Json], NamedArguments | None] = _same_call
) -> tuple[str, list[NamedArguments]]:
    """The text and the calls that must be carried.

    Each ``<tool_code>`` block of the wire counts as a call if the payloads carry such a call, else
    as text. ``convert(name, arguments)`` returns a call in the dialect's form, or None if the
    dialect does not show such a call.
    """
    calls = [shown for call in wire.calls if (shown := convert(*call)) is not None]
    text, free = wire.text, list(carried.calls)
    for call in calls:
        take_call(free, call)
    for raw, name, arguments in wire.blocks:
        for call in free:
            shown = convert(name or call[0], arguments)
            if shown is not None and shown[0] == call[0] and same_json(shown[1], call[1]):
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
    """Fields of the wire that no other fact covers, without those that are ``declared`` as lost."""
    return [f"field lost: {name}" for name in sorted(wire.others - carried.others - {*declared})]


def _without_calls(signatures: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [("text" if kind == "call" else kind, signature) for kind, signature in signatures]


def take_call(calls: list[tuple[str, Json]], wanted: tuple[str, Json]) -> bool:
    """Remove a call from a list; returns whether it was there."""
    for index, call in enumerate(calls):
        if call[0] == wanted[0] and same_json(call[1], wanted[1]):
            del calls[index]
            return True
    return False


def first_difference(wire: str, carried: str) -> int:
    """The index of the first character that differs."""
    pairs = enumerate(zip(wire, carried, strict=False))
    return next((at for at, pair in pairs if pair[0] != pair[1]), min(len(wire), len(carried)))


def text_findings(name: str, wire: str, carried: str) -> list[str]:
    """The first place where a concatenated text differs."""
    if wire == carried:
        return []
    at = first_difference(wire, carried)
    verb = "lost" if len(carried) < len(wire) else "invented"
    return [
        f"{name} {verb}: at character {at} the wire has {short_json(wire[at:])}, carried is"
        f" {short_json(carried[at:])}"
    ]


def call_findings(
    wire: list[tuple[str, Json]], carried: list[tuple[str, Json]], *, ordered: bool
) -> list[str]:
    """Calls by name and arguments; with ``ordered`` also their order."""
    extra = list(carried)
    missing = [call for call in wire if not take_call(extra, call)]
    findings = []
    for name, arguments in missing:
        twin = next((call for call in extra if call[0] == name), None)
        if twin is None:
            findings.append(f"call lost: {name}({short_json(arguments)})")
        else:
            extra.remove(twin)
            findings.append(
                f"argument lost: {name} has {short_json(arguments)},"
                f" carried is {short_json(twin[1])}"
            )
    findings += [f"call invented: {name}({short_json(arguments)})" for name, arguments in extra]
    if not findings and ordered and [name for name, _ in wire] != [name for name, _ in carried]:
        findings.append(
            f"call order: {short_json([name for name, _ in wire])} became"
            f" {short_json([name for name, _ in carried])}"
        )
    return findings


def invalid_call_findings(wire: Facts, carried: Facts) -> list[str]:
    """Calls whose arguments are not a JSON object, by name and text."""
    sides = (
        ("lost", wire.invalid_calls, carried.invalid_calls),
        ("invented", carried.invalid_calls, wire.invalid_calls),
    )
    return [
        f"invalid call {verb}: {name}({short_json(text)})"
        for verb, there, here in sides
        for name, text in there
        if (name, text) not in here
    ]


def error_findings(wire: Facts, carried: Facts, interrupted: bool, *, numbered: bool) -> list[str]:
    """Errors in order, by message and, with ``numbered``, by number. An interrupted answer may
    carry one more.
    """
    findings = []
    for (code, message), (carried_code, carried_message) in zip(
        wire.errors, carried.errors, strict=False
    ):
        if numbered and code != carried_code:
            findings.append(f"error changed: number {code} became {carried_code}")
        if message and message not in carried_message:
            findings.append(
                f"error lost: {short_json(message)} became {short_json(carried_message)}"
            )
    findings += [
        f"error lost: {code} {short_json(message)}"
        for code, message in wire.errors[len(carried.errors) :]
    ]
    if not interrupted:
        findings += [
            f"error invented: {code} {short_json(message)}"
            for code, message in carried.errors[len(wire.errors) :]
        ]
    return findings


def signature_findings(
    wire: Iterable[tuple[str, str]], carried: Iterable[tuple[str, str]]
) -> list[str]:
    """Signatures in any order, each with the kind of part that it signs."""
    there, here = Counter(wire), Counter(carried)
    lost = [
        f"signature lost: {short_json(signature)} of {kind}"
        for kind, signature in (there - here).elements()
    ]
    return lost + [
        f"signature invented: {short_json(signature)} of {kind}"
        for kind, signature in (here - there).elements()
    ]


def value_findings(name: str, wire: str | None, carried: str | None) -> list[str]:
    """One value that may be missing from the wire or from the carried account."""
    return (
        []
        if wire == carried
        else [
            f"{name} {'invented' if wire is None else 'lost'}: {short_json(wire)} became"
            f" {short_json(carried)}"
        ]
    )


def usage_findings(wire: dict[str, int], carried: dict[str, int]) -> list[str]:
    """Token counts by name."""
    findings = [
        f"usage lost: {name} is {count}, carried is {carried.get(name)}"
        for name, count in wire.items()
        if carried.get(name) != count
    ]
    return findings + [
        f"usage invented: {name} {count}" for name, count in carried.items() if name not in wire
    ]


def part_findings(wire: Facts, carried: Facts) -> list[str]:
    """The numbers of parts with media, with code, and of tools that the server runs."""
    pairs = (
        ("media", wire.media, carried.media),
        ("code", wire.code, carried.code),
        ("server tool", wire.server_tools, carried.server_tools),
    )
    return [
        f"{name} {'lost' if there > here else 'invented'}: {there} became {here}"
        for name, there, here in pairs
        if there != here
    ]


def result_findings(wire: Facts, carried: Facts) -> list[str]:
    """Results of tools in order: whether each failed, and its text."""
    if len(wire.results) != len(carried.results):
        verb = "lost" if len(wire.results) > len(carried.results) else "invented"
        return [f"tool result {verb}: {len(wire.results)} became {len(carried.results)}"]
    findings = []
    for index, (there, here) in enumerate(zip(wire.results, carried.results, strict=True), 1):
        if there[0] != here[0]:
            findings.append(
                f"tool result changed: number {index} has {'failed' if there[0] else 'not failed'},"
                " carried is the opposite"
            )
        if there[1] is not None and here[1] != there[1] and not there[0]:
            findings.append(
                f"tool result changed: number {index} has the text {short_json(there[1])},"
                f" carried is {short_json(here[1])}"
            )
    return findings


def message_findings(name: str, messages: Iterable[str], carried: Facts) -> list[str]:
    """Messages that no carried error contains."""
    return [
        f"{name} lost: {short_json(message)}"
        for message in messages
        if not any(message in error for _, error in carried.errors)
    ]


def _is_json(text: str) -> bool:
    try:
        finite_json(text)
    except (ValueError, RecursionError):
        return False
    return True


def unreadable_findings(wire: Facts, traced: bool) -> list[str]:
    """The first piece of the wire that is not JSON, unless the payloads show it in some way."""
    return (
        []
        if traced or not (lost := [piece for piece in wire.unreadable if not _is_json(piece)])
        else [f"unreadable lost: {short_json(lost[0])} left no trace"]
    )
