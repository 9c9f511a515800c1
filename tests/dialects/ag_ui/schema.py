"""Checks an event against the models of `ag-ui-protocol`, and as strictly as the JSON Schema of the
protocol: no unknown field, no null for an absent one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ag_ui.core import Event
from pydantic import BaseModel, TypeAdapter

_EVENTS: Final[TypeAdapter[Any]] = TypeAdapter(Event)


def check_event(event: dict[str, Any]) -> None:
    """Raise an exception for an event that the schema does not allow."""
    model = _EVENTS.validate_json(_EVENTS.dump_json(event, warnings=False), strict=True)
    assert [*_unknown(model)] == [], event
    assert model.model_dump(mode="json", by_alias=True) == event


def _unknown(value: Any) -> Iterator[str]:
    """The fields that the schema does not have."""
    if isinstance(value, BaseModel):
        yield from value.model_extra or {}
        for name in type(value).model_fields:
            yield from _unknown(getattr(value, name))
    elif isinstance(value, list):
        for item in value:
            yield from _unknown(item)
