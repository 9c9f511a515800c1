"""The comparison of a provider with a second reader, as a plugin's tests call it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from threading import Thread
from typing import Any

import pytest

from harness.providers import PROVIDERS
from harness.proving.second_reader import ReaderError, SecondReader, compare_readers
from tests.readers import READERS, answers

WIRE = PROVIDERS["anthropic"]
READ = READERS["anthropic"]
ANSWERS = cache(lambda: list(answers("anthropic")))


def with_fault(change: Callable[[dict[str, Any]], object]) -> SecondReader:
    """The second reader with a change of its facts."""

    def read(*given: Any) -> dict[str, Any]:
        facts = READ(*given)
        change(facts)
        return facts

    return read


def test_a_difference_has_its_place_its_facts_and_its_body() -> None:
    place, exchange = next(
        (place, exchange) for place, exchange in ANSWERS() if WIRE.facts(exchange).calls
    )
    lost = with_fault(lambda facts: facts["calls"].clear())
    (difference,) = compare_readers(WIRE, lost, [(place, exchange)])
    assert (difference.place, difference.body) == (place, exchange.body)
    assert difference.facts == {"calls": (WIRE.facts(exchange).calls, [])}


def test_changed_bodies_grow_until_a_fault_of_many_calls_is_seen() -> None:
    fault = with_fault(lambda facts: facts["calls"].__delitem__(slice(4, None)))
    assert compare_readers(WIRE, fault, ANSWERS()) == []
    found = compare_readers(WIRE, fault, ANSWERS(), changes=60, seed=1)
    assert any("calls" in difference.facts for difference in found)
    assert found == compare_readers(WIRE, fault, ANSWERS(), changes=60, seed=1)
    assert found != compare_readers(WIRE, fault, ANSWERS(), changes=60, seed=2)


def hang(*given: object) -> dict[str, Any]:
    while True:
        with suppress(Exception):  # the exception of the time limit must not be one of these
            while True:
                pass


def fail(*given: object) -> dict[str, Any]:
    raise KeyError("text")


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        (hang, "no facts after 0.05 s"),
        (fail, r"raised KeyError: 'text' \(.*test_second_reader\.py:\d+\)"),
        (lambda *given: given[0], "returned bytes instead of dict"),
    ],
)
def test_a_fault_of_a_reader_is_one_clear_error(reader: SecondReader, words: str) -> None:
    place, _ = ANSWERS()[0]
    start = f"the second reader of anthropic, for {place}: {words}; the body begins b'"
    with pytest.raises(ReaderError, match=start):
        compare_readers(WIRE, reader, ANSWERS(), seconds=0.05)


def test_another_thread_compares_without_a_limit_of_time() -> None:
    found: list[object] = []
    thread = Thread(target=lambda: found.append(compare_readers(WIRE, READ, ANSWERS()[:2])))
    thread.start()
    thread.join()
    assert found == [[]]
