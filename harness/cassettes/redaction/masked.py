"""Replaces the secrets in values: results, so that nothing that is made from results can show them,
and the parts of pytest's reports.

Values keep their form. Names that other parts refer to, and words of closed lists, do not change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache
from typing import Any, Final, Literal, TypeVar, get_origin

from msgspec import Struct
from msgspec.structs import fields, replace

from harness.facts import Finding, Place
from harness.stream.json_codec import Json

from .mask import Mask

NAMES: Final = frozenset(
    {"adapter", "aspects", "digest", "features", "lost_features", "name", "of", "provider"}
)
"""The fields with names that other parts of a document refer to."""
NAMES_OF: Final[Mapping[type[Struct], frozenset[str]]] = {
    Finding: frozenset({"reason"}),
    Place: frozenset(),
}
"""The same for types in which ``adapter`` is not a name, but text of the adapter."""

Value = TypeVar("Value")


def masked(value: Value, mask: Mask) -> Value:
    """A value without secrets. A secret that is divided between several of its texts is also
    replaced.
    """
    changed: Value = mask.value(lambda change: _replace(value, change))
    return changed


def _replace(value: Any, change: Callable[[str], str]) -> Any:
    """The value with each text changed, in order."""
    match value:
        case str():
            return change(value)
        case tuple() | list():
            return type(value)(_replace(item, change) for item in value)
        case dict():
            return {key: _replace(item, change) for key, item in value.items()}
        case Finding():
            texts = {
                name: _replace_json(item, change)
                if isinstance(item, dict | list)
                else _replace(item, change)
                for name in _free_fields(Finding)
                if (item := getattr(value, name))
            }
            return replace(value, **texts)
        case Struct():
            changed = {
                name: _replace(item, change)
                for name in _free_fields(type(value))
                if (item := getattr(value, name))  # most fields of a result are empty
            }
            return replace(value, **changed) if changed else value
        case object(toterminal=_):  # pytest's form of an exception, a traceback or a line of it
            shown = copy(value)
            vars(shown).update(_replace({**vars(value)}, change))
            return shown
        case _:
            return value


def _replace_json(value: Json, change: Callable[[str], str]) -> Json:
    """JSON data that is changed as text, because the name of a member tells that its value is a
    secret. Text that is no JSON any more stays text.
    """
    text = json.dumps(value, ensure_ascii=False)
    changed = change(text)
    if changed == text:
        return value
    try:
        return json.loads(changed)
    except ValueError:
        return changed


@cache
def _free_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields that may contain any text, directly or in a part."""
    return tuple(
        field.name
        for field in fields(kind)
        if field.name not in NAMES_OF.get(kind, NAMES) and get_origin(field.type) is not Literal
    )
