"""The facts that an adapter states: their types and their JSON form."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import pytest

from harness.facts import (
    Call,
    Error,
    Fact,
    Finish,
    NoFact,
    Raw,
    Restart,
    Text,
    Thought,
    Usage,
    check_fact,
    fact_of_json,
    json_of_fact,
)

FORMS: list[tuple[Fact, Any]] = [
    (Text("a"), {"text": "a"}),
    (Thought("b"), {"thought": "b"}),
    (
        Call(None, "f", {"x": 1}),
        {"call": {"id": None, "name": "f", "arguments": {"x": 1}}},
    ),
    (
        Call("i", None, {}),
        {"call": {"id": "i", "name": None, "arguments": {}}},
    ),
    (Finish("STOP"), {"finish": "STOP"}),
    (Finish(None), {"finish": None}),
    (Finish("guard", "filter"), {"finish": {"raw": "guard", "class": "filter"}}),
    (Usage(input=3, total=4), {"usage": {"input": 3, "total": 4}}),
    (Error(503, "busy"), {"error": {"code": 503, "message": "busy"}}),
    (Raw({"candidates": []}), {"raw": {"candidates": []}}),
    (Restart(), {"restart": True}),
]


@pytest.mark.parametrize(("fact", "form"), FORMS)
def test_each_fact_has_a_json_form(fact: Fact, form: Any) -> None:
    assert json_of_fact(fact) == form
    assert fact_of_json(form) == fact


CIRCLE: dict[str, Any] = {}
CIRCLE["a"] = CIRCLE


class Reason(IntEnum):
    STOP = 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", "str 'text' is not a fact; expected one of Text, Thought, Call"),
        (Text(3), "Text.text is int 3; expected a string: pass str(…)"),  # type: ignore[arg-type]  # the wrong type is tested
        (
            Finish("guard", "blocked"),  # type: ignore[arg-type]  # the fault
            "Finish.kind is str 'blocked'; expected one of stop, length, filter, other, or None",
        ),
        (Finish("guard", ["filter"]), "Finish.kind is list ['filter']; expected one of stop"),  # type: ignore[arg-type]  # the fault
        (Call("1", 3), "Call.name is int 3; expected a string or None: pass str(…)"),  # type: ignore[arg-type]  # the fault
        (
            Finish(Reason.STOP),  # type: ignore[arg-type]  # the fault
            "Finish.raw is Reason <Reason.STOP: 1>; expected a string or None: pass its .name",
        ),
        (Usage(input=True), "Usage.input is bool True; expected a whole number or None"),
        (Call("1", "f", {1}), "Call.arguments is set {1}; expected JSON data"),
        (Call("1", "f", {"a": {1}}), "Call.arguments has a set, which is not JSON data"),
        (Call("1", "f", {"a": {1: 2}}), "Call.arguments has a key that is not a string"),
        (Call("1", "f", {"a": [0] * 200_000}), "Call.arguments has more than 200,000 values"),
        (Call("1", "f", {"a": 10**5000}), "Call.arguments has a number of more than 13,000 bits"),
        (Usage(input=10**5000), "Usage.input has a number of more than 13,000 bits"),
        (Raw(CIRCLE), "Raw.object nests deeper than 200 levels"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(NoFact) as raised:
        check_fact(value)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"restart": {}},
        {"words": "a"},
        {"text": "a", "thought": "b"},
        {"call": "f"},
        {"usage": {"in": 1}},
        [],
    ],
)
def test_json_of_another_form_is_not_a_fact(form: Any) -> None:
    with pytest.raises(NoFact, match="is not a fact"):
        fact_of_json(form)


def test_arguments_that_nest_too_deeply_become_a_text() -> None:
    assert check_fact(Call("1", "f", CIRCLE)) == Call("1", "f", "… (nests deeper than 200 levels)")
    assert check_fact(Call("1", "f", "[" * 900)) == Call("1", "f", "[" * 900)
