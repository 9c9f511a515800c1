"""Recordings with numbers in arguments and with text after calls: adapters that change them are
red.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes.load import load
from harness.facts import Call, Fact, Text
from harness.judging.aspects import judge_exchange
from harness.judging.reading import Reading
from tests.support.facts_adapters import Change, facts_adapter, with_facts

FOLDER = Path(__file__).parents[2] / "cassettes"
CASSETTES = ("gemini-api/numbers-in-arguments", "openai-compat/numbers-in-arguments")


def red(change: Change) -> dict[str, list[str]]:
    """The red aspects of an adapter with this change, for each exchange."""
    judged = {}
    for name in CASSETTES:
        exchanges = load(FOLDER / f"{name}.yaml").exchanges
        for number, exchange in enumerate(exchanges, 1):
            adapter = facts_adapter(change)
            judged[f"{name.partition('/')[0]}:{number}"] = judge_exchange(
                Reading(exchange), adapter
            ).red
    return judged


def with_numbers(change: Callable[[Any], Any]) -> Change:
    """Changes each number in arguments."""

    def changed(fact: Fact) -> Iterator[Fact]:
        if isinstance(fact, Call):
            arguments = {name: change(value) for name, value in fact.arguments.items()}
            fact = Call(fact.id, fact.name, arguments)
        yield fact

    return with_facts(changed)


def without_last_text(fact: Fact) -> Iterator[Fact]:
    yield (
        Text(fact.text.removesuffix("both up.").removesuffix("a moment."))
        if isinstance(fact, Text)
        else fact
    )


ALL = ("gemini-api:1", "gemini-api:2", "openai-compat:1", "openai-compat:2")


def test_a_faithful_adapter_is_kept() -> None:
    assert red(lambda transcript: transcript) == {key: [] for key in ALL}


@pytest.mark.parametrize(
    "change", [str, float, lambda value: round(value), lambda value: abs(value)]
)
def test_changed_numbers_are_seen(change: Callable[[Any], Any]) -> None:
    assert red(with_numbers(change)) == {key: ["calls"] for key in ALL}


def test_a_number_may_have_another_spelling() -> None:
    def spelled(value: float) -> float:
        return int(value) if value == int(value) else value

    assert red(with_numbers(spelled)) == {key: [] for key in ALL}


def test_a_lost_last_text_is_seen() -> None:
    expected = {"gemini-api:2": ["text"], "openai-compat:2": ["text"]}
    assert red(with_facts(without_last_text)) == {key: [] for key in ALL} | expected
