"""Calls by their names and arguments."""

from __future__ import annotations

import json
from typing import Final

from harness.stream.json_codec import Json, nests_deeply, same_json

from .detail import CallBegins, OpenCall
from .fact import Call

MAX_EXACT: Final = 2**53
"""The largest integer up to which a double holds every integer."""

NamedArguments = tuple[str, Json]
"""A call: its name, "" for none, and its arguments."""


def named_arguments(call: Call | OpenCall | CallBegins) -> NamedArguments:
    """Return the name and the arguments of a call."""
    return call.name or "", call.arguments


def arguments_of(text: str) -> Json:
    """Return the object in the JSON text of a call's arguments, ``{}`` for an empty text; the text
    itself if it is not an object, or nests too deeply to be compared.
    """
    if nests_deeply(text.encode("utf-8", "surrogatepass")):
        return text
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def in_doubles(value: Json) -> Json:
    """Return a value in a language in which every number is a double, such as JavaScript: integers
    beyond 2⁵³ are rounded, and numbers that are too large become null.
    """
    if isinstance(value, dict):
        return {name: in_doubles(item) for name, item in value.items()}
    if isinstance(value, list):
        return [in_doubles(item) for item in value]
    if isinstance(value, int) and abs(value) > MAX_EXACT:
        try:
            return int(float(value))
        except OverflowError:
            return None
    return value


def take_call(calls: list[NamedArguments], wanted: NamedArguments) -> bool:
    """Remove a call from a list; returns whether it was there."""
    for index, call in enumerate(calls):
        if call[0] == wanted[0] and same_json(call[1], wanted[1]):
            del calls[index]
            return True
    return False
