"""Native events of any type as JSON data."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, deque
from datetime import date
from enum import Enum
from types import SimpleNamespace
from typing import Any

import msgspec
import pydantic
import pytest

from harness.adapters import json_data
from harness.adapters.json_data import json_of_native


class Colour(Enum):
    RED = "red"


class Word(str):
    __slots__ = ()


@dataclasses.dataclass
class Point:
    x: int
    y: Any = None


class Struct(msgspec.Struct):
    data: bytes


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    kind: Colour
    point: Point | None = None


class Slotted:
    __slots__ = ("inner", "unset")

    def __init__(self) -> None:
        self.inner = (1, 2)


class Hostile:
    @property
    def __dict__(self) -> Any:  # type: ignore[override]  # a class that no reader can open
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("native", "expected"),
    [
        (None, None),
        ([True, 1, 1.5, "a"], [True, 1, 1.5, "a"]),
        (float("nan"), "nan"),
        (b"\x00\xff", "AP8="),
        (bytearray(b"a"), "YQ=="),
        (Colour.RED, "red"),
        (Word("w"), "w"),
        (OrderedDict(a=1), {"a": 1}),
        ({1: "a", Colour.RED: "b"}, {"1": "a", "red": "b"}),
        (({1}, deque([2])), [[1], "deque([2])"]),
        (Point(1, Point(2)), {"x": 1, "y": {"x": 2, "y": None}}),
        (Struct(b"a"), {"data": "YQ=="}),
        (Model(kind=Colour.RED, more=[Point(1)]), {"kind": "red", "point": None, "more": [{"x": 1, "y": None}]}),  # type: ignore[call-arg]  # pydantic makes the arguments
        (SimpleNamespace(_hidden={"a": 1}), {"_hidden": {"a": 1}}),
        (Slotted(), {"inner": [1, 2]}),
        (ValueError("no"), {"type": "ValueError", "message": "no"}),
        (date(2026, 1, 2), "datetime.date(2026, 1, 2)"),
        (len, "<built-in function len>"),
        (int, "<class 'int'>"),
        ([Hostile()], ["… (Hostile can't be read: RuntimeError)"]),
    ],
)  # fmt: skip
def test_a_native_event_becomes_json_data(native: Any, expected: Any) -> None:
    assert json_of_native(native) == expected
    json.dumps(json_of_native(native), allow_nan=False)


def test_a_value_that_contains_itself_ends() -> None:
    own: dict[str, Any] = {"a": 1}
    own["own"] = [own]
    assert json_of_native(own) == {"a": 1, "own": ["… (a value that contains itself)"]}
    twice = {"a": [1]}
    assert json_of_native([twice, twice]) == [{"a": [1]}, {"a": [1]}]


def test_depth_and_size_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_data, "MAX_DEPTH", 3)
    assert json_of_native([[[[1]]]]) == [[["… (nested deeper than 3 levels)"]]]
    monkeypatch.setattr(json_data, "MAX_VALUES", 10)
    wide = json_of_native([[1] * 4 for _ in range(9)])
    assert len(json.dumps(wide)) < 200
    assert wide[-1] == "… (more than 10 values)"
    assert json_of_native({"a": [1] * 20, "b": 2})["…"] == "… (more than 10 values)"
