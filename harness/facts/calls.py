"""Calls by their names and arguments."""

from __future__ import annotations

from harness.stream.json_codec import Json, same_json

from .fact import Call

NamedArguments = tuple[str, Json]
"""A call: its name, "" for none, and its arguments."""


def named_arguments(call: Call) -> NamedArguments:
    """The name and the arguments of a call that an adapter states."""
    return call.name or "", call.arguments


def take_call(calls: list[NamedArguments], wanted: NamedArguments) -> bool:
    """Remove a call from a list; returns whether it was there."""
    for index, call in enumerate(calls):
        if call[0] == wanted[0] and same_json(call[1], wanted[1]):
            del calls[index]
            return True
    return False
