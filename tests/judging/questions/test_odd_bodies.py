"""A value of any type at any place of a request is judged, and never an error of ours."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any, Final

import pytest

from harness.judging.questions.run import plan_questions
from harness.judging.run import run_plan
from harness.providers import PROVIDERS
from tests.faulty.asked import WORDS, AskedFault, Body, load
from tests.judging.questions.test_wires import QUESTIONS

VALUES: Final[tuple[Any, ...]] = (
    None,
    1.5,
    True,
    "x",
    [],
    {},
    [1],
    [None],
    {"type": 5},
    [{"type": "x"}],
)
NAMES: Final = ("schema-enums", "choice-named", "history-calls", "media-image", "google-safety")
PLACES: Final = {
    "a name of a function": ("tools", 0, "functionDeclarations", 0, "name"),
    "a description": ("tools", 0, "functionDeclarations", 0, "description"),
    "allowed names": ("toolConfig", "functionCallingConfig", "allowedFunctionNames"),
    "a category": ("safetySettings", 0, "category"),
}
"""Places of generateContent whose types were once taken for granted."""


def judged(wire: str, name: str, change: Any) -> set[str]:
    """The verdicts of one question, with a change of the request."""
    fault = AskedFault(wire, change=change)
    items = plan_questions([QUESTIONS[name]], [fault.provider], load, fault.adapter)
    return {row.verdict for row in run_plan(items, [fault.adapter])}


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value inside another."""
    inner = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else inner:
        yield (*above, key)
        yield from places(item, (*above, key))


def put(body: Body, place: tuple[Any, ...], value: Any) -> None:
    holder: Any = body
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = copy.deepcopy(value)


@pytest.mark.parametrize("place", PLACES)
def test_a_value_of_another_type_is_judged(place: str) -> None:
    name = "google-safety" if place == "a category" else "choice-named"
    for value in VALUES:
        assert judged("gemini", name, lambda body, value=value: put(body, PLACES[place], value))


@pytest.mark.parametrize("wire", WORDS)
def test_odd_values_at_any_place_are_judged(wire: str) -> None:
    chance = random.Random(46)

    def odd(body: Body) -> None:
        put(body, chance.choice([*places(body)]), chance.choice(VALUES))

    for name in NAMES * 8:
        assert judged(wire, name, odd) <= {"passed", "failed", "not-run"}


def test_settings_of_another_form_are_kept_as_they_are() -> None:
    twice = [{"category": "A", "threshold": "B"}] * 2
    prompt = PROVIDERS["gemini-api"].prompt_of({"contents": [], "safetySettings": twice})

    assert prompt.google == {}
    assert prompt.more["safetySettings"] == twice
