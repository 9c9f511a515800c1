"""The rules of the API's JSON parser: a request has only fields that the API publishes, and values
that proto3 JSON can read (https://protobuf.dev/programming-guides/json/).

The fields are those of `harness.providers.gemini.spelling`. Code Assist sends its requests on to
either API, so it has those of both.

As the recorded services do, the rules accept a word of an enumeration in any case, and a single
value in place of a list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from typing import Any, Final, Literal

from harness.providers.gemini.spelling import published
from harness.providers.request_rules import Checks, Spot
from harness.stream.printable import short_json

from .rule import Asked

_INVALID: Final = "Invalid JSON payload received."

_Fault = Literal["unknown", "twice", "value"]

KnownFields = dict[str, tuple[str, str]]
"""Name of a field, as in JSON or as in the protocol buffer → its name in the protocol buffer, and
the type of its values.
"""

_WHOLE: Final = re.compile(r"-?[0-9]+(?:\.0+)?")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|NaN|-?Infinity")
_DURATION: Final = re.compile(r"-?[0-9]+(?:\.[0-9]{1,9})?s")
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/\s]*+|[A-Za-z0-9_\s-]*+)={0,2}\s*")


def _is_whole(bits: int, value: Any) -> bool:
    if type(value) is str:
        value = float(value) if _WHOLE.fullmatch(value) and len(value) < 30 else None
    is_whole = type(value) is int or (type(value) is float and value.is_integer())
    return is_whole and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def _is_base64(value: Any) -> bool:
    if type(value) is not str or not _BASE64.fullmatch(value):
        return False
    return len("".join(value.split()).rstrip("=")) % 4 != 1


_SCALARS: Final[dict[str, tuple[str, Callable[[Any], object]]]] = {
    "string": ("TYPE_STRING", lambda value: type(value) is str),
    "bool": ("TYPE_BOOL", lambda value: type(value) is bool),
    "int32": ("TYPE_INT32", partial(_is_whole, 32)),
    "int64": ("TYPE_INT64", partial(_is_whole, 64)),
    "number": (
        "TYPE_FLOAT",
        lambda value: (
            type(value) in (int, float) or (type(value) is str and _NUMBER.fullmatch(value))
        ),
    ),
    "bytes": ("TYPE_BYTES", _is_base64),
    "duration": (
        "type.googleapis.com/google.protobuf.Duration",
        lambda value: type(value) is str and _DURATION.fullmatch(value),
    ),
    "struct": ("type.googleapis.com/google.protobuf.Struct", lambda _: False),
}
"""Scalar type → its name in an error, and whether proto3 JSON can read a value of it."""


def _faults(request: Asked) -> Iterator[Spot]:
    """Yield each fault: the line of the API's message, and the kind."""
    root = "CodeAssistRequest" if request.wire == "code-assist" else "GenerateContentRequest"
    for kind, line in _Parser(request.wire).message("", root, request.sent):
        yield line, kind


class _Parser:
    """Yields the faults of values, each with its kind. A message comes before those in it."""

    def __init__(self, wire: str) -> None:
        self._known, self._words = known_fields(wire), _published_words(wire)
        api = "cloud.aiplatform.v1beta1" if wire == "vertex-ai" else "ai.generativelanguage.v1beta"
        self._types = f"type.googleapis.com/google.{api}."

    def message(
        self, path: str, message: str, sent: dict[str, Any]
    ) -> Iterator[tuple[_Fault, str]]:
        """Yield the faults of the fields of a message; ``path`` is "" for the request itself."""
        known, at = self._known[message], f" at '{path}'" if path else ""
        names = Counter(known[key][0] for key in sent if key in known)
        for name, count in names.items():
            if count > 1:
                yield "twice", f'{_INVALID} Duplicate field "{name}"{at}.'
        for key, value in sent.items():
            if key not in known:
                yield "unknown", f'{_INVALID} Unknown name "{key}"{at}: Cannot find field.'
            elif value is not None:
                name, kind = known[key]
                yield from self._field(f"{path}.{name}" if path else name, kind, value)

    def _field(self, path: str, kind: str, value: Any) -> Iterator[tuple[_Fault, str]]:
        if kind.endswith("{}") and type(value) is dict:
            for number, inner in enumerate(value.values()):
                yield from self._value(f"{path}[{number}].value", kind[:-2], inner)
        elif kind.endswith("[]") and type(value) is list:
            for number, inner in enumerate(value):
                yield from self._value(f"{path}[{number}]", kind[:-2], inner)
        elif kind.endswith("{}"):
            yield from self._value(path, "struct", value)
        else:
            yield from self._value(path, kind.removesuffix("[]"), value)

    def _value(self, path: str, kind: str, value: Any) -> Iterator[tuple[_Fault, str]]:
        if kind == "any":
            return
        name, is_readable = _SCALARS.get(kind, (self._types + kind, None))
        if type(value) is list:
            parent, _, field = path.rpartition(".")
            at = f" at '{parent}'" if parent else ""
            fault = "Proto field is not repeating, cannot start list."
            yield "value", f'{_INVALID} Unknown name "{field}"{at}: {fault}'
        elif type(value) is dict and kind in self._known:
            yield from self.message(path, kind, value)
        elif type(value) is dict:
            fault = "Starting an object on a scalar field"
            yield "value", f"Invalid value at '{path}' ({name}), {fault}"
        elif not (is_readable or partial(_is_word, self._words.get(kind, ())))(value):
            failed = "Base64 decoding failed for " if kind == "bytes" and type(value) is str else ""
            yield "value", f"Invalid value at '{path}' ({name}), {failed}{short_json(value)}"


def _is_word(words: Collection[str], value: Any) -> bool:
    """Return whether a value is a word or a number of an enumeration. A message has no words."""
    if type(value) is str and value.upper() in words:
        return True
    return bool(words) and _is_whole(32, value)


def _foreign(wire: str) -> set[tuple[str, str]]:
    """Return the fields and words that a wire does not have, each with its message or
    enumeration.
    """
    return {
        (name, own)
        for other, names in published()["only"].items()
        if wire not in (other, "code-assist")
        for name, owned in names.items()
        for own in owned
    }


@cache
def _published_words(wire: str) -> dict[str, frozenset[str]]:
    """Return enumeration → its words in upper case, of the requests of one wire."""
    foreign = _foreign(wire)
    return {
        name: frozenset(word.upper() for word in words if (name, word) not in foreign)
        for name, words in published()["enums"].items()
    }


@cache
def known_fields(wire: str) -> dict[str, KnownFields]:
    """Return message → its fields, of the requests of one wire."""
    foreign = _foreign(wire)
    known: dict[str, KnownFields] = {}
    for message, fields in published()["messages"].items():
        known[message] = {}
        for field, kind in fields.items():
            if (message, field) not in foreign:
                name = _proto_name(field)
                known[message] |= {field: (name, kind), name: (name, kind)}
    return known


def _proto_name(field: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in field)


FIELD_CHECKS: Final[Checks] = {
    "field-unknown": (_faults, lambda kind: kind == "unknown"),
    "field-twice": (_faults, lambda kind: kind == "twice"),
    "field-value": (_faults, lambda kind: kind == "value"),
}
