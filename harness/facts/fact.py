"""The facts of an answer as an adapter states them, one small value for each statement.

A shim yields ``(native, [facts])`` for every event of the adapter. Each fact has a JSON form too,
for programs: ``{"text": …}``, ``{"thought": …}``, ``{"call": {"id", "name", "arguments"}}``,
``{"finish": …}`` or ``{"finish": {"raw", "class"}}``, ``{"usage": {"input", "output", "thoughts",
"total"}}``, ``{"error": {"code", "message"}}``, ``{"raw": …}``, ``{"restart": true}``; in a session
also ``{"input_transcript": …}``, ``{"output_transcript": …}``, ``{"interrupted": true}`` and
``{"cancelled": …}``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, Final, get_args

from harness.stream.json_codec import MAX_NESTING, Json
from harness.stream.printable import short_json, shorten

from .detail import Detail
from .finish import FinishClass, finish_class

MAX_VALUES: Final = 200_000
MAX_BITS: Final = 13_000
"""The limit of a whole number: Python does not print longer ones."""


class NoFact(ValueError):
    """An adapter gave another value instead of a fact; the message has the fault. ``group`` is the
    message without values.
    """

    def __init__(self, message: str, group: str = "") -> None:
        super().__init__(message)
        self.group = group or message


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of answer text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A whole call of a tool. A call that is still streaming is not a fact."""

    id: str | None
    """Calls with the same id (not None) are states of one call, and the last one is used, unless
    the wire has each of them as a call.
    """
    name: str | None
    """None if the wire has none."""
    arguments: Json = None
    """An object, or its JSON text; None is ``{}``. Whatever else the model sent is passed on."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The reason why the answer ended, in the adapter's own word; a block reason is one too."""

    raw: str | None
    kind: FinishClass | None = None
    """The class of a word that the harness does not know: ``stop``, ``length``, ``filter`` or
    ``other``. It has precedence over the class of a known word.
    """

    @property
    def finish_class(self) -> FinishClass | None:
        """The class of the reason; None for no reason."""
        return self.kind or finish_class(self.raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts. The last value of each count is the answer's; None: not stated."""

    input: int | None = None
    output: int | None = None
    thoughts: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Error:
    """An error that the adapter reports."""

    code: int | str | None
    """A number or a word."""
    message: str


@dataclass(frozen=True, slots=True)
class Raw:
    """A whole message of the wire that the adapter passes on; the wire's oracle reads its facts."""

    object: Json


@dataclass(frozen=True, slots=True)
class Restart:
    """The adapter takes back all that it gave before, because it asks again after a failed
    answer.
    """


@dataclass(frozen=True, slots=True)
class InputTranscript:
    """A piece of the words that the user has spoken in a session."""

    text: str


@dataclass(frozen=True, slots=True)
class OutputTranscript:
    """A piece of the words that the model speaks in a session."""

    text: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The user interrupts the present turn of a session."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A call of a session is cancelled: its result must not be sent."""

    id: str


OfSession = InputTranscript | OutputTranscript | Interrupted | Cancelled
Fact = Text | Thought | Call | Finish | Usage | Error | Raw | Restart | OfSession | Detail

_CLASSES: Final = get_args(FinishClass)
_KINDS: Final[dict[str, type[Any]]] = {
    "text": Text,
    "thought": Thought,
    "call": Call,
    "finish": Finish,
    "usage": Usage,
    "error": Error,
    "raw": Raw,
    "restart": Restart,
    "input_transcript": InputTranscript,
    "output_transcript": OutputTranscript,
    "interrupted": Interrupted,
    "cancelled": Cancelled,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
DEEP: Final = f"nests deeper than {MAX_NESTING} levels"
_JSON: Final = (dict, list, str, int, float, bool, type(None))
_TYPES: Final[dict[tuple[str, str], tuple[tuple[type, ...], str]]] = {
    ("text", "text"): ((str,), "a string"),
    ("thought", "text"): ((str,), "a string"),
    ("call", "id"): ((str, type(None)), "a string or None"),
    ("call", "name"): ((str, type(None)), "a string or None"),
    ("call", "arguments"): ((*_JSON,), "JSON data"),
    ("finish", "raw"): ((str, type(None)), "a string or None"),
    ("finish", "kind"): ((str, type(None)), f"one of {', '.join(_CLASSES)}, or None"),
    **{
        ("usage", name): ((int, type(None)), "a whole number or None")
        for name in ("input", "output", "thoughts", "total")
    },
    ("error", "code"): ((int, str, type(None)), "a number, a word or None"),
    ("error", "message"): ((str,), "a string"),
    ("raw", "object"): ((dict,), "an object of the wire"),
    ("input_transcript", "text"): ((str,), "a string"),
    ("output_transcript", "text"): ((str,), "a string"),
    ("cancelled", "id"): ((str,), "a string"),
}
_TEXTS: Final = {
    place for place, (types, _) in _TYPES.items() if int not in types and dict not in types
} - {("finish", "kind")}
"""The fields that are a text or None."""
_EXPECTED: Final = f"expected one of {', '.join(kind.__name__ for kind in _KINDS.values())}"


def check_fact(value: object) -> Fact:
    """Return the same value, if it is a fact whose fields have the right types. Arguments that nest
    too deeply become a text, which no call of the wire has. Raises `NoFact`.
    """
    name = _NAMES.get(type(value))
    if name is None:
        kind = type(value).__name__
        raise NoFact(f"{kind} {shorten(repr(value), 80)} is not a fact; {_EXPECTED}", _EXPECTED)
    for field in fields(value):  # type: ignore[arg-type]  # one of the dataclasses above
        content = getattr(value, field.name)
        types, expected = _TYPES[name, field.name]
        if (
            not isinstance(content, types)
            or (
                isinstance(content, bool) and int in types and bool not in types
            )  # True is not a number
            or (field.name == "kind" and content not in (None, *_CLASSES))
        ):
            place, kind = f"{type(value).__name__}.{field.name}", type(content).__name__
            expected += _way_to_text(content) if (name, field.name) in _TEXTS else ""
            raise NoFact(
                f"{place} is {kind} {shorten(repr(content), 80)}; expected {expected}",
                f"{place}; expected {expected}",
            )
        fault = "" if isinstance(content, str) else _json_fault(content)
        if fault == DEEP and isinstance(value, Call):
            return replace(value, arguments=f"… ({DEEP})")
        if fault:
            raise NoFact(f"{type(value).__name__}.{field.name} {fault}")
    return value  # type: ignore[return-value]  # its type is a key of _NAMES


def _way_to_text(content: object) -> str:
    if isinstance(content, Enum):
        return ": pass its .name"
    return ": pass str(…)" if isinstance(content, int) else ""


def _json_fault(content: Json) -> str:
    """Return why a value is not JSON data that can be compared, else ""."""
    rest, values = [(content, 0)], 0
    while rest:
        (item, depth), values = rest.pop(), values + 1
        if depth > MAX_NESTING or values > MAX_VALUES:
            return DEEP if depth > MAX_NESTING else f"has more than {MAX_VALUES:,} values"
        match item:
            case dict() if all(isinstance(key, str) for key in item):
                rest += [(inner, depth + 1) for inner in item.values()]
            case list():
                rest += [(inner, depth + 1) for inner in item]
            case int() if item.bit_length() > MAX_BITS:
                return f"has a number of more than {MAX_BITS:,} bits"
            case str() | int() | float() | None:
                pass
            case dict():
                return "has a key that is not a string"
            case _:
                return f"has a {type(item).__name__}, which is not JSON data"
    return ""


def fact_of_json(value: Json) -> Fact:
    """Return the fact of a JSON form. Raises `NoFact`."""
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in _KINDS:
        raise NoFact(
            f"{short_json(value)} is not a fact; expected an object with one of the keys"
            f" {', '.join(_KINDS)}"
        )
    ((name, content),) = value.items()
    kind = _KINDS[name]
    if name == "finish" and isinstance(content, dict):
        if not content.keys() <= {"raw", "class"}:
            raise NoFact(
                f"{short_json(value)} is not a fact; the value of finish is a string, or an object"
                " with the keys raw, class"
            )
        return check_fact(Finish(content.get("raw"), content.get("class")))
    if kind in (Restart, Interrupted):
        if content is not True:
            raise NoFact(f"{short_json(value)} is not a fact; the value of {name} is true")
        return check_fact(kind())
    if name not in ("call", "usage", "error"):
        return check_fact(kind(content))
    known = [field.name for field in fields(kind)]
    if not isinstance(content, dict) or not content.keys() <= {*known}:
        raise NoFact(
            f"{short_json(value)} is not a fact; the value of {name} is an object with the keys"
            f" {', '.join(known)}"
        )
    missing = {} if name == "usage" else dict.fromkeys(known)
    return check_fact(kind(**missing | content))


def json_of_fact(fact: Fact) -> Json:
    """Return the JSON form of a fact."""
    name = _NAMES[type(fact)]
    content = {field.name: getattr(fact, field.name) for field in fields(fact)}
    if isinstance(fact, Finish) and fact.kind is not None:
        return {name: {"raw": fact.raw, "class": fact.kind}}
    if isinstance(fact, Restart | Interrupted):
        return {name: True}
    if name not in ("call", "usage", "error"):
        return {name: next(iter(content.values()))}
    return {
        name: {key: part for key, part in content.items() if part is not None or name == "call"}
    }
