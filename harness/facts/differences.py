"""How two accounts of one answer differ, thing by thing: text, calls, errors, signatures, counts;
one sentence for each difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from harness.stream.printable import short_json

from .account import Facts, Json


def take(calls: list[tuple[str, Json]], wanted: tuple[str, Json]) -> bool:
    """Take a call out of a list; whether it was there."""
    for index, call in enumerate(calls):
        if call[0] == wanted[0] and same(call[1], wanted[1]):
            del calls[index]
            return True
    return False


def same(left: Json, right: Json) -> bool:
    """Equal as JSON: true is not 1, 1 equals 1.0."""
    return bool(_exact(left) == _exact(right))


def _exact(value: Json) -> Json:
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return {name: _exact(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return value


def text_findings(what: str, wire: str, carried: str) -> list[str]:
    """Where a concatenated text differs first."""
    if wire == carried:
        return []
    at = next(
        (at for at, (one, other) in enumerate(zip(wire, carried, strict=False)) if one != other),
        min(len(wire), len(carried)),
    )
    verb = "lost" if len(carried) < len(wire) else "invented"
    return [
        f"{what} {verb}: at character {at} the wire has {short_json(wire[at:])}, carried is"
        f" {short_json(carried[at:])}"
    ]


def call_findings(
    wire: list[tuple[str, Json]], carried: list[tuple[str, Json]], *, ordered: bool
) -> list[str]:
    """Calls by name and arguments, and their order where it is known."""
    extra = list(carried)
    missing = [call for call in wire if not take(extra, call)]
    found = []
    for name, arguments in missing:
        twin = next((call for call in extra if call[0] == name), None)
        if twin is None:
            found.append(f"call lost: {name}({short_json(arguments)})")
        else:
            extra.remove(twin)
            found.append(
                f"argument lost: {name} has {short_json(arguments)},"
                f" carried is {short_json(twin[1])}"
            )
    found += [f"call invented: {name}({short_json(arguments)})" for name, arguments in extra]
    if not found and ordered and [name for name, _ in wire] != [name for name, _ in carried]:
        found.append(
            f"call order: {short_json([name for name, _ in wire])} became"
            f" {short_json([name for name, _ in carried])}"
        )
    return found


def error_findings(wire: Facts, carried: Facts, interrupted: bool, *, numbered: bool) -> list[str]:
    """Errors in order: number, if the dialect has numbers, and message; one more is right where the
    answer was interrupted.
    """
    found = []
    for (code, message), (carried_code, carried_message) in zip(
        wire.errors, carried.errors, strict=False
    ):
        if numbered and code != carried_code:
            found.append(f"error changed: number {code} became {carried_code}")
        if message and message not in carried_message:
            found.append(f"error lost: {short_json(message)} became {short_json(carried_message)}")
    found += [
        f"error lost: {code} {short_json(message)}"
        for code, message in wire.errors[len(carried.errors) :]
    ]
    if not interrupted:
        found += [
            f"error invented: {code} {short_json(message)}"
            for code, message in carried.errors[len(wire.errors) :]
        ]
    return found


def signature_findings(
    wire: Iterable[tuple[str, str]], carried: Iterable[tuple[str, str]]
) -> list[str]:
    """Signatures as a bag, each with the kind of part that it signs."""
    there, here = Counter(wire), Counter(carried)
    lost = [
        f"signature lost: {short_json(signature)} of {kind}"
        for kind, signature in (there - here).elements()
    ]
    return lost + [
        f"signature invented: {short_json(signature)} of {kind}"
        for kind, signature in (here - there).elements()
    ]


def value_findings(what: str, wire: str | None, carried: str | None) -> list[str]:
    """One value against another."""
    return (
        []
        if wire == carried
        else [
            f"{what} {'invented' if wire is None else 'lost'}: {short_json(wire)} became"
            f" {short_json(carried)}"
        ]
    )


def usage_findings(wire: dict[str, int], carried: dict[str, int]) -> list[str]:
    """Counts by name; one that is not on the wire is invented."""
    found = [
        f"usage lost: {name} is {count}, carried is {carried.get(name)}"
        for name, count in wire.items()
        if carried.get(name) != count
    ]
    return found + [
        f"usage invented: {name} {count}" for name, count in carried.items() if name not in wire
    ]


def part_findings(wire: Facts, carried: Facts) -> list[str]:
    """How many parts of media and of code there are."""
    pairs = (("media", wire.media, carried.media), ("code", wire.code, carried.code))
    return [
        f"{what} {'lost' if there > here else 'invented'}: {there} became {here}"
        for what, there, here in pairs
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
                f"tool result changed: number {index} says {short_json(there[1])}, carried is"
                f" {short_json(here[1])}"
            )
    return findings


def message_findings(name: str, messages: Iterable[str], carried: Facts) -> list[str]:
    """Messages that stand in no carried error."""
    return [
        f"{name} lost: {short_json(message)}"
        for message in messages
        if not any(message in error for _, error in carried.errors)
    ]


def unreadable_findings(wire: Facts, traced: bool) -> list[str]:
    """The first piece of the wire that is no JSON, unless it left a trace in the payloads."""
    return (
        []
        if traced or not wire.unreadable
        else [f"unreadable lost: {short_json(wire.unreadable[0])} left no trace"]
    )
