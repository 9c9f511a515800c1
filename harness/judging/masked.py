"""Replaces the secrets in results, so that nothing that is made from results can show them.

Results keep their form. Names that other parts refer to, and words of closed lists, do not change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, Literal, TypeVar, get_origin

from msgspec import Struct
from msgspec.structs import fields, replace

from harness.cassettes.redaction.mask import Mask

NAMES: Final = frozenset(
    {"adapter", "aspects", "digest", "features", "lost_features", "name", "of", "provider"}
)
"""The fields with names that other parts of a document refer to."""

AnyStruct = TypeVar("AnyStruct", bound=Struct)


def masked(value: AnyStruct, mask: Mask) -> AnyStruct:
    """A result, or a part of one, without secrets. A secret that is divided between several of its
    texts is also replaced.
    """
    changed: AnyStruct = mask.value(lambda change: _replace(value, change))
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
        case Struct():
            changed = {
                name: _replace(item, change)
                for name in _free_fields(type(value))
                if (item := getattr(value, name))  # most fields of a result are empty
            }
            return replace(value, **changed) if changed else value
        case _:
            return value


@cache
def _free_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields that may contain any text, directly or in a part."""
    return tuple(
        field.name
        for field in fields(kind)
        if field.name not in NAMES and get_origin(field.type) is not Literal
    )
