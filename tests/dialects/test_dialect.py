"""The value of a dialect is complete, or an error names the missing field."""

from __future__ import annotations

import sys
from dataclasses import fields
from types import ModuleType
from typing import Any

import pytest

from harness.dialects import DIALECTS, Dialect
from harness.dialects.dialect import Mutations, PayloadPlace
from harness.proving.mutation.operators import OPERATORS
from harness.stream.plugins import Table

WHOLE: dict[str, Any] = {
    field.name: getattr(DIALECTS["mind"], field.name) for field in fields(Dialect)
}


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "name"])
def test_a_dialect_without_a_field_is_refused_by_name(name: str) -> None:
    given = {field: value for field, value in WHOLE.items() if field != name}
    with pytest.raises(TypeError, match=rf"the dialect mind lacks {name}: every field .* must be"):
        Dialect(**given)


def test_a_folder_without_a_dialect_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "harness.dialects.plain", ModuleType("plain"))
    table = Table("dialects", Dialect, "harness.dialects", ["plain"], "DIALECT")
    with pytest.raises(TypeError, match="harness/dialects/plain must define DIALECT, the Dialect"):
        table["plain"]


PAYLOADS: list[dict[str, Any]] = [
    {"type": "a", "b": {"c": [{"d": "x"}]}},
    {"type": "a", "b": {"c": []}},
    {"type": "a", "b": None},
    {"type": "e", "b": {"c": [{"d": "y"}]}},
    {},
]


def test_a_place_is_found_only_where_every_key_is_there() -> None:
    places = list(PayloadPlace("a", ("b", "c", 0, "d")).find(PAYLOADS))
    assert places == [({"d": "x"}, "d")]
    assert list(PayloadPlace("a", ("b", 0)).find(PAYLOADS)) == []


def test_a_place_may_name_the_key_of_the_type() -> None:
    payload = {"op": "say", "words": "x"}
    place = PayloadPlace("say", ("words",), key="op")
    assert list(place.find([*PAYLOADS, payload, {"op": "stop"}])) == [(payload, "words")]
    (lost,) = (operator for operator in OPERATORS if operator.name == "error-lost")
    change = lost.make(
        Mutations(texts=place, calls=None, stop_reason=None, count=None, error=place)
    )
    payloads = [payload, {"op": "stop"}]
    assert change is not None
    assert change(payloads)
    assert payloads == [{"op": "stop"}]
