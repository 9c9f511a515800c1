"""Describes faults in the data of a file: the place, the fact, the expectation. Findings of
msgspec, findings of pydantic and our own checks get the same words.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin

import msgspec

from harness.stream.json_path import Steps, readable_path
from harness.stream.printable import shorten

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Fault = tuple[Steps, str]
"""A path and the fault at this path. A missing key also has a path."""

_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]`$]+)")
# The messages of msgspec, which has the place and the kind of a fault only as text.
_MISSING: Final = re.compile(r"Object missing required field `(.+)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.+)`")
_CHOICE: Final = re.compile(r"Invalid enum value (.+)", re.DOTALL)
_KIND: Final = re.compile(r"Expected `(.+)`, got `(.+)`")
_BOUND: Final = re.compile(r"Expected `\w+` ([<>]=) (\S+)")
_MALFORMED: Final = re.compile(r"JSON is malformed: .* \(byte (\d+)\)")

_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
}
"""msgspec's name of a JSON type → our name of the type."""

_PYDANTIC: Final = {
    "string_type": "a string",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "greater_than_equal": "{ge} or more",
    "literal_error": "{expected}",
}
"""pydantic's error type → the expected value, with the names of the error's context."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9._$-]{1,60}")
_MAX_SHOWN: Final = 60
_MAX_LISTED: Final = 24


def msgspec_fault(error: Exception, shape: Any, root: str = "the file") -> Fault:
    """Return the fault in an ``error`` of msgspec: bytes that are not JSON or not UTF-8, or data
    that does not fit ``shape``.

    ``root`` is a name for the whole data. An unknown finding keeps msgspec's words.
    """
    finding, _, where = str(error).partition(" - at `")
    path = tuple(int(index) if index else name for index, name in _STEP.findall(where))
    owner = _shape_at(shape, path)
    if match := _MISSING.fullmatch(finding):
        return _missing_key((*path, match[1]), owner)
    if match := _UNKNOWN.fullmatch(finding):
        return _unknown_key((*path, match[1]), owner)
    name = place(path) or root
    if match := _CHOICE.fullmatch(finding):
        words = [repr(word) for kind in _alternatives(owner) for word in get_args(kind)]
        expected = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        return path, f"{name} must be {expected}, not {match[1]}"
    if match := _KIND.fullmatch(finding):
        kinds = [kind for kind in match[1].split(" | ") if kind != "null"]
        expected = " or ".join(_KINDS.get(kind, kind) for kind in kinds)
        if match[2] == "null":
            return path, f"{name} is empty; it must be {expected}"
        return path, f"{name} must be {expected}, not {_KINDS.get(match[2], match[2])}"
    if match := _BOUND.fullmatch(finding):
        return path, f"{name} must be {match[2]} or {'more' if match[1] == '>=' else 'less'}"
    if match := _MALFORMED.fullmatch(finding):
        return path, f"{name} is not JSON from byte {match[1]} on"
    if finding == "Input data was truncated":
        return path, f"{name} is incomplete: its JSON ends early"
    return path, f"{name}: {finding}"


def pydantic_fault(
    detail: ErrorDetails, model: Any, *, inside: int = 0, patterns: Mapping[str, str] = {}
) -> Fault:
    """Return the fault in one of pydantic's error details about a ``model``.

    The message does not contain the first ``inside`` steps of the path, because a line number
    replaces them. ``patterns`` has a description for each regular expression of the model. If the
    model defines the error type, its message describes the expectation.
    """
    path: Steps = detail["loc"]
    kind, value = detail["type"], detail["input"]
    owner = _shape_at(model, path[:-1])
    if kind == "extra_forbidden":
        return _unknown_key(path, owner, inside)
    if kind == "missing":
        return _missing_key(path, owner, inside)
    name = place(path[inside:]) or "the file"
    if kind == "too_short":
        return path, f"{name} has no entries; it needs at least one"
    context = detail.get("ctx", {})
    if kind == "string_pattern_mismatch":
        expected = patterns[context["pattern"]]
    else:
        expected = _PYDANTIC.get(kind, detail["msg"]).format(**context)
    if value is None:
        return path, f"{name} is empty; it must be {expected}"
    return path, f"{name} must be {expected}, not {show(value)}"


def unknown(kind: str, word: str, names: Collection[str], plural: str = "") -> str:
    """Return ``unknown key 'casette' (did you mean cassette?); known keys are …``; for a long list,
    only the nearest names. ``plural`` replaces ``known keys``.
    """
    short = word[:_MAX_SHOWN]  # the time of a comparison grows with the square of the length
    begun = [name for name in names if word and name.startswith(word)]
    near = begun or difflib.get_close_matches(short, names, 1)
    fact = f"unknown {kind} {show(word)}" + (f" (did you mean {near[0]}?)" if near else "")
    plural = plural or f"known {kind}s"
    if not names:
        return f"{fact}; there are no {plural}"
    if len(names) <= _MAX_LISTED:
        return f"{fact}; {plural} are {listed(names)}"
    nearest = listed(difflib.get_close_matches(short, names, 5, 0.0))
    return f"{fact}; the nearest of {len(names)} {plural} are {nearest}"


def show(value: Any) -> str:
    """Return a value in the short form of error messages; `repr` escapes control characters."""
    match value:
        case str():
            return repr(shorten(value, _MAX_SHOWN))
        case bool():
            return str(value).lower()
        case int() if value.bit_length() > 200:  # Python refuses to write very long integers
            return "a huge number"
        case int() | float():
            return f"the number {value}"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return "nothing"


def place(path: Steps) -> str:
    """Return ``expect.anthropic[0]`` for ``("expect", "anthropic", 0)``."""
    return readable_path(path) if path else ""


def bare(key: str) -> str:
    """Return a key as part of a place, quoted only if it has unusual characters."""
    return key if _PLAIN.fullmatch(key) else show(key)


def listed(names: Collection[str]) -> str:
    """Return ``a, b, c``."""
    return ", ".join(map(bare, names))


def _missing_key(path: Steps, owner: Any, inside: int = 0) -> Fault:
    required = [name for name, (_, is_required) in _fields(owner).items() if is_required]
    return path, f"{place(path[inside:])} is missing; required keys are {listed(required)}"


def _unknown_key(path: Steps, owner: Any, inside: int = 0) -> Fault:
    fact = unknown("key", str(path[-1]), _fields(owner))
    where = place(path[inside:-1])
    return path, f"{where}: {fact}" if where else fact


def _fields(shape: Any) -> dict[str, tuple[Any, bool]]:
    """Return the keys of a Struct or a pydantic model: the type of each, and whether it is
    required. Those of a union are the keys of its first member that has some.
    """
    members = _alternatives(shape)
    if len(members) > 1:
        return next(filter(None, map(_fields, members)), {})
    kind = get_origin(shape) or shape  # a Struct may be generic
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = msgspec.structs.fields(shape)
        return {field.encode_name: (field.type, field.required) for field in fields}
    model_fields = getattr(shape, "model_fields", {})
    return {name: (field.annotation, field.is_required()) for name, field in model_fields.items()}


def _shape_at(shape: Any, path: Steps) -> Any:
    """Return the type of the value at ``path`` in data of type ``shape``; None if it is unknown."""
    for step in path:
        members = (_member(kind, step) for kind in _alternatives(shape))
        shape = next((member for member in members if member is not None), None)
    return shape


def _alternatives(shape: Any) -> tuple[Any, ...]:
    return get_args(shape) if get_origin(shape) in (Union, UnionType) else (shape,)


def _member(shape: Any, step: str | int) -> Any:
    if fields := _fields(shape):
        return fields.get(str(step), (None, False))[0]
    arguments = get_args(shape) or (None,)
    return arguments[-1] if isinstance(step, str) else arguments[0]
