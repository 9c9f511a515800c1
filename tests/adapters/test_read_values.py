"""Each way to read a mapping of ``at`` is recorded, because an adapter is asked for what it reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.adapters.reading import ReadValues


def by_match(values: Any) -> object:
    match values:
        case {"seed": seed}:
            return seed
    return None


ONE: dict[str, Callable[[Any], object]] = {
    "item": lambda values: values["seed"],
    "get": lambda values: values.get("seed"),
    "in": lambda values: "seed" in values,
    "pop": lambda values: values.pop("seed"),
    "setdefault": lambda values: values.setdefault("seed", 1),
    "match": by_match,
}
ALL: dict[str, Callable[[Any], object]] = {
    "for": list,
    "dict": dict,
    "unpacking": lambda values: {**values},
    "keywords": lambda values: (lambda **given: given)(**values),
    "items": lambda values: values.items(),
    "or": lambda values: values | {},
    "equal": lambda values: values == {"seed": 0},
    "unequal": lambda values: values != {"seed": 0},
    "json": json.dumps,
}


@pytest.mark.parametrize("way", ONE)
def test_a_key_is_noted(way: str) -> None:
    read = set[str]()
    ONE[way](ReadValues("settings", {"seed": 0, "top_p": 1}, read))
    assert read == {"settings.seed"}


@pytest.mark.parametrize("way", ALL)
def test_all_keys_are_noted(way: str) -> None:
    read = set[str]()
    ALL[way](ReadValues("settings", {"seed": 0, "top_p": 1}, read))
    assert "settings" in read


def test_its_truth_and_its_length_say_nothing_of_a_key() -> None:
    read = set[str]()
    values = ReadValues("settings", {"seed": 0}, read)
    assert (bool(values), len(values), read) == (True, 1, set())
