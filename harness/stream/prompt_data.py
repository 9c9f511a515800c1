"""A prompt as plain data, so that two prompts can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from .json_codec import Json


def as_data(value: Any, *, but: Iterable[str] = ()) -> Json:
    """Return a prompt, or a value of one, as JSON: without the fields of its classes that are None
    or among ``but``, and with whole numbers as integers.
    """
    if is_dataclass(value):
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        value = {name: item for name, item in own.items() if item is not None and name not in but}
    if isinstance(value, Mapping):
        return {key: as_data(item, but=but) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_data(item, but=but) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
