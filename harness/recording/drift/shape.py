"""Computes the shape of an exchange: its form without its text.

The fields are those of the raw messages, because the shape must contain fields that our providers
do not read; the order of parts is the order of the events. A path has the names of the wire:
``candidates[].content.parts[].text``, ``delta.text``. The path of a line of the Gemini CLI begins
with the type of the line: ``lines[result].status``. In a list, an object with an ``@type`` has the
last word of the type as its index. The shape does not contain data (arguments, results, names of
models).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.providers import EXIT_CODE
from harness.stream.events import End
from harness.stream.exchange import Exchange
from harness.stream.framing import Frame
from harness.stream.json_codec import Json

Presence = frozenset[str]
"""The messages that have a field: ``running`` (all from the first one on), ``final`` (only the
last), ``not in the last``, ``in some``. For a short stream, several can be true.
"""

HIDDEN: Final = "another word"
"""Replaces a word that does not look like an enum value; it may be text."""

_DATA: Final = re.compile(
    r"(?:(?:functionCall|function_call|toolCall|tool_call)\.args|(?:functionResponse|function_response|toolResponse|tool_response)\.response"
    r"|tool_info\.(?:parameters|output)|\bsubagent_info|structured_output|json_schema|\bcommand\.data"
    r"|(?:^|\.)(?:step|steps\[\]|delta)\.(?:arguments|result)"
    r"|lines\[tool_use\]\.(?:parameters|input)|lines\[tool_result\]\.output|\[ErrorInfo\]\.metadata)$"
)
_MAPS: Final = re.compile(r"(?:^|\.)(?:stats\.models|stats\.tools\.byName|errorsByType)$")
"""Objects with names as keys."""
_KEY: Final = re.compile(r"[A-Za-z_@$][A-Za-z0-9_]{0,63}")
_ENUM: Final = re.compile(
    r"(?:reason|status|type|category|probability|severity|modality|outcome|language|role|tier|stage|state|level|mode)$",
    re.IGNORECASE,
)
"""Names of fields that contain an enum value."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./+-]{0,63}")
_COUNTS: Final = re.compile(
    r"(?:^|\.)(?:usageMetadata|usage_metadata|usage|lines\[result\]\.stats|^stats)(?:\.[^.\[]+)?$"
)
_FINISH: Final = re.compile(
    r"candidates\[\]\.(?:finishReason|finish_reason)$|^choices\[\]\.finish_reason$"
    r"|^(?:interaction\.)?status$"
)
_RUNNING: Final = frozenset({"in_progress", "queued"})
"""Statuses of an interaction that has not finished."""
_KINDS: Final = {
    "text": "text",
    "reasoning": "thought",
    "call_start": "call",
    "nameless_call": "call",
    "tool_result": "tool result",
    "media": "media",
    "code": "code",
    "code_result": "code result",
    "server_call": "server call",
    "server_result": "server result",
}
"""Kind of an event → kind of a part."""


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """The shape of an answer: everything that is the same for two answers with different texts."""

    status: int
    end: End
    media_type: str
    line_end: str
    exit_code: str
    readable: bool
    types: dict[str, frozenset[str]]
    """Path → JSON types."""
    words: dict[str, frozenset[str]]
    """Path of an enum → its words."""
    parts: tuple[str, ...]
    """Kinds of the first candidate's parts; consecutive equal kinds are joined."""
    counts: dict[str, Presence]
    """Path of a count → its `Presence`."""
    finish: str | None
    """The last finish reason; None if there is none."""
    finish_at: Presence
    """The messages that have a finish reason."""


def shape_of(
    exchange: Exchange, frames: Sequence[Frame], events: Iterable[dict[str, Any]] = ()
) -> AnswerShape:
    """Return the shape of an answer; ``frames`` are its messages, ``events`` are the events of
    these frames.
    """
    messages = [frame.json for frame in frames if frame.raw is None]
    walked = [_Walk(message) for message in messages]
    types: dict[str, set[str]] = {}
    words: dict[str, set[str]] = {}
    for walk in walked:
        for path, kinds in walk.types.items():
            types.setdefault(path, set()).update(kinds)
        for path, values in walk.words.items():
            words.setdefault(path, set()).update(values)
    answers = [walk for walk in walked if not walk.is_error]
    counts = {
        path: presence_of([path in walk.types for walk in answers])
        for path in types
        if _COUNTS.search(path)
    }
    finishes = [walk.finish for walk in walked]
    return AnswerShape(
        status=exchange.status,
        end=exchange.end,
        media_type=(exchange.header("content-type") or "").partition(";")[0].strip().lower(),
        line_end="" if exchange.header("content-encoding") else _line_end(exchange.body),
        exit_code=exchange.header(EXIT_CODE) or "",
        readable=all(frame.raw is None for frame in frames),
        types={path: frozenset(kinds) for path, kinds in types.items()},
        words={
            path: frozenset(values) for path, values in words.items() if not _FINISH.search(path)
        },
        parts=collapse(kind for event in events for kind in _kinds(event)),
        counts=counts,
        finish=next((finish for finish in reversed(finishes) if finish), None),
        finish_at=presence_of([bool(finish) for finish in finishes]),
    )


def presence_of(present: Sequence[bool]) -> Presence:
    """Return the `Presence` of a field; ``present``: for each message, whether it has the field."""
    if True not in present:
        return frozenset()
    if not present[-1]:
        return frozenset({"not in the last"})
    since = present.index(True)
    places = {"running"} if all(present[since:]) else {"in some"}
    if since == len(present) - 1:
        places = {"final", "running"} if len(present) < 3 else {"final"}
    return frozenset(places)


def collapse(kinds: Iterable[str]) -> tuple[str, ...]:
    """Join consecutive equal kinds."""
    collapsed: list[str] = []
    for kind in kinds:
        if collapsed[-1:] != [kind]:
            collapsed.append(kind)
    return tuple(collapsed)


class _Walk:
    """Collects the types and enum values of one message."""

    def __init__(self, message: Json) -> None:
        self.types: dict[str, set[str]] = {}
        self.words: dict[str, set[str]] = {}
        self.finish: str | None = None
        line = _is_line(message)
        self.is_error = type(message) is dict and "error" in message
        self._go(message, f"lines[{shown_key(message['type'])}]" if line else "")

    def _go(self, value: Json, path: str) -> None:
        if path:
            self.types.setdefault(path, set()).add(_type(value))
        if _DATA.search(path):
            return
        if type(value) is dict:
            names = bool(_MAPS.search(path))
            for key, inner in value.items():
                if key != "@type":
                    self._go(inner, f"{path}.{'*' if names else shown_key(key)}".lstrip("."))
        elif type(value) is list:
            for item in value:
                self._go(item, f"{path}[{_typed(item)}]")
        elif type(value) is str and _ENUM.search(path.rpartition(".")[2]):
            word = shown_word(value)
            self.words.setdefault(path, set()).add(word)
            if _FINISH.search(path) and word not in _RUNNING:
                self.finish = word


def shown_key(key: str) -> str:
    """Return a field's name; ``*`` for a key that does not look like one."""
    return key if _KEY.fullmatch(key) else "*"


def shown_word(value: str) -> str:
    """Return an enum value; `HIDDEN` for anything else."""
    return value if _WORD.fullmatch(value) else HIDDEN


def _type(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
    return "number"


def _typed(item: Json) -> str:
    """Return the last word of an object's ``@type``, which details of google.rpc have."""
    url = item.get("@type") if type(item) is dict else None
    return shown_key(url.rpartition(".")[2]) if type(url) is str else ""


def _is_line(message: Json) -> bool:
    """Return whether a message is a line of the Gemini CLI."""
    return type(message) is dict and type(message.get("type")) is str and "timestamp" in message


def _kinds(event: dict[str, Any]) -> list[str]:
    """Return the kinds of the part of an event. A signature is a separate kind, because the cuts of
    the text determine which pieces have signatures.
    """
    kind = _KINDS.get(event["kind"])
    if kind is None or event.get("candidate"):
        return []
    held = [kind] if event.get("text", True) else []
    return [*held, "signature"] if event.get("signature") else held


def _line_end(body: bytes) -> str:
    """Return the line end of the first line; empty for a body of one line."""
    line, _, _ = body.partition(b"\n")
    return "" if len(line) == len(body) else "CRLF" if line.endswith(b"\r") else "LF"
