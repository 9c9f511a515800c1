"""The rules of a wire for a history, and values that all readers of histories share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.stream.json_codec import Json, objects_in
from harness.stream.prompt import Function, Instruction, Opaque, Prompt, Schema, Text

from .request_reading import Unread, objects


@dataclass(frozen=True, slots=True)
class HistoryRules:
    """The rules of a wire for the answer in the request that follows it."""

    by_id: bool = False
    """Whether every call and result must have an id, even if the answer gave none."""
    together: bool = False
    """Whether it refuses a request with the results of one turn in several contents."""
    opaque: tuple[str, ...] = ("server_tools",)
    """The aspects whose opaque values must be sent back."""


NO_PROMPT = Prompt(messages=())


@dataclass(slots=True)
class CallNames:
    """The names of the calls with each id, in order. A result of these wires has no name."""

    names: dict[str, list[str]] = field(default_factory=dict)

    def add(self, call_id: Json, name: str) -> None:
        """Note a call."""
        self.names.setdefault(str(call_id), []).append(name)

    def take(self, call_id: Json) -> str:
        """Return the name of the next call with this id; "" if there is none."""
        names = self.names.get(str(call_id), [""])
        return names.pop(0) if len(names) > 1 else names[0]


def opaque(value: Json) -> Opaque | None:
    """Return a signature or an encrypted thought; None for an empty value."""
    return Opaque(value if isinstance(value, str) else str(value)) if value else None


def text_of(value: Json) -> str:
    """Return a text; "" for a value that is no text."""
    return value if isinstance(value, str) else ""


def word(value: Json) -> str:
    """Return a name or an id; "" for an empty value."""
    return str(value) if value else ""


def texts_in(content: Json) -> Iterator[Text]:
    """Yield the texts of a content that is a text, or a list of parts. A refusal is a text too."""
    if isinstance(content, str):
        yield Text(content)
    for part in objects_in(content):
        if isinstance(part.get("text"), str):
            yield Text(part["text"])
        elif isinstance(part.get("refusal"), str):
            yield Text(part["refusal"], refusal=True)


def instruction(content: Json, place: str, unread: Unread) -> Instruction:
    """Return an instruction of the system: a text, or a list of parts."""
    for part, own in [] if isinstance(content, str) else objects(content, place, unread):
        is_text = isinstance(part.get("text"), str)
        unread.keep(part, own, but=("type", "text") if is_text else ("type",))
        unread.keep_unusual(part, own, type=("text",))
    return Instruction(tuple(texts_in(content)), place=place)


def function(declaration: dict[str, Any], place: str, schema: str = "parameters") -> Function:
    """Return the function of a declaration, whose JSON Schema has the key ``schema``."""
    fields = dict(declaration)
    name, described, value, cache = (
        fields.pop(key) if isinstance(fields.get(key), kind) else None
        for key, kind in (
            *(("name", str), ("description", str)),
            *((schema, dict), ("cache_control", dict)),
        )
    )
    return Function(
        name or "",
        described,
        None if value is None else Schema(value, f"{place}.{schema}"),
        fields.pop("strict", None),
        place,
        cache,
        {key: item for key, item in fields.items() if item is not None},
    )
