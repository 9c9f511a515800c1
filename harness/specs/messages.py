"""What is wrong, in our words: the fact, what was expected, the way out; never pydantic's own
message, never a raw control character.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from harness.stream.printable import shorten

from .models import PATTERNS, Case, Feature, KnownFailing, Outcome, Turn

Path = tuple[str | int, ...]
"""A place in the data of a file, from its top."""

Fault = tuple[Path, str]
"""A place and what is wrong there."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9._$-]{1,60}")
_LONGEST: Final = 60
_MOST_LISTED: Final = 24

_EXPECTED: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    "string_type": lambda _: "a string",
    "int_type": lambda _: "a whole number",
    "bool_type": lambda _: "true or false",
    "tuple_type": lambda _: "a list",
    "dict_type": lambda _: "a mapping",
    "model_type": lambda _: "a mapping",
    "day": lambda _: "a date like 2027-01-31",
    "greater_than_equal": lambda context: f"{context['ge']} or more",
    "literal_error": lambda context: str(context["expected"]),
    "string_pattern_mismatch": lambda context: PATTERNS[context["pattern"]],
}
"""For each kind of fault that pydantic can find in our models: what it misses."""

_WAYS_OUT: Final = {"reviewed": "; delete the line once somebody has read the expectation"}


def in_our_words(model: type[BaseModel], detail: ErrorDetails) -> Iterator[Fault]:
    """One finding of pydantic about a ``model`` as a fault; nothing where it only repeats
    another.
    """
    path, kind, value = detail["loc"], detail["type"], detail["input"]
    where, key = place(path), path[-1] if path else ""
    owner = _owner(model, path)
    if kind == "extra_forbidden":
        yield path, unknown("key", str(key), owner.model_fields)
    elif kind == "missing":
        needed = [name for name, field in owner.model_fields.items() if field.is_required()]
        yield path, f"{key} is missing; {_what(owner)} needs {listed(needed)}"
    elif kind == "too_short":
        if not value:  # pydantic also says it of a list whose items are all faulty
            yield path, f"{where} holds nothing; it needs one entry at least"
    elif value is None:
        yield (
            path,
            f"{where} is empty; give it a value"
            + (" or delete the line" if kind == "empty" else ""),
        )
    else:
        expected = _EXPECTED[kind](detail.get("ctx", {}))
        yield path, f"{where} must be {expected}, not {show(value)}{_WAYS_OUT.get(where, '')}"


def unknown(what: str, word: str, names: Collection[str], plural: str = "") -> str:
    """``unknown key 'casette' (did you mean cassette?); known keys are …``; of a long list only the
    names that are nearest.
    """
    short = word[:_LONGEST]  # comparing costs time by the square of the length
    near = difflib.get_close_matches(short, names, 1)
    fact = f"unknown {what} {show(word)}" + (f" (did you mean {near[0]}?)" if near else "")
    plural = plural or f"known {what}s"
    if not names:
        return f"{fact}; there are no {plural}"
    if len(names) <= _MOST_LISTED:
        return f"{fact}; {plural} are {listed(names)}"
    return (
        f"{fact}; the nearest of {len(names)} {plural} are"
        f" {listed(difflib.get_close_matches(short, names, 5, 0.0))}"
    )


def show(value: Any) -> str:
    """A value as an error names it; `repr` keeps control characters away from terminals."""
    match value:
        case str():
            return repr(shorten(value, _LONGEST))
        case bool():
            return str(value).lower()
        case int() if value.bit_length() > 200:  # Python itself refuses to write out very long ones
            return "a huge number"
        case int() | float():
            return f"the number {value}"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return "nothing"


def bare(key: str) -> str:
    """A key as part of a place, in quotes only where it needs them."""
    return key if _PLAIN.fullmatch(key) else show(key)


def listed(names: Collection[str]) -> str:
    """``a, b, c``"""
    return ", ".join(bare(name) for name in names)


def place(path: Path) -> str:
    """``cases, 3, features, 0`` → ``features[0]``: the line tells which case."""
    inner = path[2:] if len(path) > 2 and path[0] in ("cases", "features") else path
    return "".join(
        f"[{step}]" if isinstance(step, int) else f".{bare(step)}" for step in inner
    ).lstrip(".")


def _owner(model: type[BaseModel], path: Path) -> type[BaseModel]:
    """The model that a key at ``path`` belongs to."""
    match path:
        case ("cases", int(), _):
            return Case
        case ("cases", int(), "known_failing", str(), _):
            return KnownFailing
        case ("cases", int(), "turns", int(), _):
            return Turn
        case ("cases", int(), "turns", int(), "results", int(), _):
            return Outcome
        case ("features", int(), _):
            return Feature
        case _:
            return model


def _what(owner: type[BaseModel]) -> str:
    names: dict[type[BaseModel], str] = {
        Case: "a case",
        KnownFailing: "a mark",
        Feature: "a feature",
        Turn: "a turn",
        Outcome: "an outcome",
    }
    return names.get(owner, "the file")
