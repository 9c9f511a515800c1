"""Reads values of wires whose types are not certain, and the fields that nobody has read."""

from __future__ import annotations

from collections.abc import Container

from harness.stream.events import Event, Unknown
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities


def is_empty(value: Json) -> bool:
    """Return whether a field is empty: null, or an empty text, list or object."""
    return value is None or value == "" or value == [] or value == {}


def give_others(
    place: str, holder: dict[str, Json], known: Container[str], out: list[Event]
) -> None:
    """Emit every other field that has a value; ``place`` ends in a dot, or is empty."""
    out += [
        Unknown(f"field {place}{name}", {name: value})
        for name, value in holder.items()
        if name not in known and not is_empty(value)
    ]


def check_objects(place: str, value: Json, oddities: Oddities) -> None:
    """Note a list of objects that is something else; it may be missing."""
    if value is not None and not (
        type(value) is list and all(type(item) is dict for item in value)
    ):
        oddities.note(place, value)


def list_of(value: Json) -> list[Json]:
    """Return a list, or the one value instead of a list."""
    return value if type(value) is list else [] if value is None else [value]


def text_of(value: Json) -> str | None:
    """Return a text that is not empty, else None."""
    return value if type(value) is str and value else None


def word_of(value: Json) -> str:
    """Return a name as text, from a value of any type."""
    return value if type(value) is str else "" if value is None else str(value)
