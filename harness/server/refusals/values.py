"""Reads JSON values whose type is not known."""

from __future__ import annotations

from typing import Any


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if type(value) is list else []


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if type(value) is dict else {}


def parts_of(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a content that are objects."""
    return [part for part in as_list(content.get("parts")) if type(part) is dict]
