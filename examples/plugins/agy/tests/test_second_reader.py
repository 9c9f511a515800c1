"""The facts that are read from events are those of a second reader, field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from second_reader import read_agy

import harness
from harness.providers import PROVIDERS, Answer
from harness.proving.second_reader import compare_readers
from harness.stream.events import End

CASSETTES = Path(__file__).parents[1] / "cassettes"
ANSWERS = [
    (f"{path.stem}:{number}", exchange)
    for path in sorted(CASSETTES.rglob("*.yaml"))
    for number, exchange in enumerate(harness.load(path).exchanges, 1)
    if exchange.provider == "agy"
]


@pytest.mark.parametrize("changes", [0, 1000])
def test_both_readers_find_the_same_facts(changes: int) -> None:
    assert len(ANSWERS) > 40
    assert compare_readers(PROVIDERS["agy"], read_agy, ANSWERS, changes=changes) == []


def test_a_difference_is_seen() -> None:
    def without_results(body: bytes, answer: Answer, end: End) -> dict[str, Any]:
        facts = read_agy(body, answer, end)
        facts["results"].clear()
        return facts

    differences = compare_readers(PROVIDERS["agy"], without_results, ANSWERS)
    assert {name for difference in differences for name in difference.facts} == {"results"}
