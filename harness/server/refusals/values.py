"""Reads JSON values of unknown type."""

from __future__ import annotations

from typing import Any

from harness.stream.json_codec import objects_in


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if type(value) is list else []


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if type(value) is dict else {}


def parts_of(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a content that are objects."""
    return objects_in(content.get("parts"))
