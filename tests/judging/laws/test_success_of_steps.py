"""Law 9 on streams of the Interactions API: an adapter must not treat the changed ends as good."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.adapters import Subject
from harness.judging.laws.success import STEP_ENDS, SUCCESS
from harness.pipeline.replay import replay
from tests.support.adapters import payloads_of

ROOT = Path(__file__).parents[3]
CALL = harness.load(ROOT / "cassettes" / "interactions" / "calls.yaml").exchanges[0]
TEXT = harness.load(ROOT / "cassettes" / "interactions" / "text.yaml").exchanges[0]


def always_done(exchange: Any, **options: Any) -> list[dict[str, Any]]:
    """An adapter that treats every end as good."""
    payloads = [item for item in replay(exchange, **options) if item["type"] != "error"]
    done = {"type": "result", "result": "", "timestamp": "1970-01-01T00:00:00.000Z"}
    return [*(item for item in payloads if item["type"] != "result"), done]


OF_CALLS = {"the answer with half a call", "the answer with a piece of no call"}


@pytest.mark.parametrize(
    ("exchange", "names"),
    [
        (TEXT, STEP_ENDS.keys() - OF_CALLS),
        (CALL, OF_CALLS),
    ],
    ids=["text", "call"],
)
def test_a_changed_end_that_is_taken_for_good_is_found(exchange: Any, names: set[str]) -> None:
    assert names <= STEP_ENDS.keys()
    breaches = SUCCESS.findings(exchange, Subject(payloads_of(always_done, "mind")))
    changed_ends = {breach.sentence.partition(" ends like")[0] for breach in breaches}
    assert names <= changed_ends
    assert SUCCESS.findings(exchange, Subject(payloads_of(replay, "mind"))) == []


@pytest.mark.parametrize("name", STEP_ENDS)
def test_an_answer_that_failed_is_not_changed(name: str) -> None:
    assert STEP_ENDS[name](replace(CALL, status=500)) is None
