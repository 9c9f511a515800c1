"""The example shims of the new wires keep everything that a client of OpenAI gives."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.adapters.named import adapter_of_target
from harness.judging.aspect_run import (
    JudgedExchange,
    items_with_second_turn,
    plan_answers,
    plan_second_turns,
)
from harness.judging.questions.service_faults import SERVICE_FAULTS, plan_faults
from harness.judging.rows import Row
from harness.judging.run import run_plan
from tests.faulty.faults import CASSETTE
from tests.support.need import need

FOLDER = Path(__file__).parents[2] / "examples" / "shims"
JUDGED = {
    "openai_responses": {
        "openai/text": 3,
        "openai/responses-calls": 6,
        "openai/responses-whole": 3,
    },
    "openai_chat": {"openai/chat-text": 3, "openai/chat-calls": 6, "openai/chat-whole": 3},
}
"""Shim → cassettes, each with the number of its first answers that the client understands."""


@pytest.mark.parametrize("shim", JUDGED)
@pytest.mark.slow  # the client is slow to import
def test_an_example_shim_has_no_finding_in_both_turns_and_at_a_failing_service(shim: str) -> None:
    need("openai", find_spec("openai"), "openai is not installed")
    items = [
        JudgedExchange(name, number, exchange)
        for name, most in JUDGED[shim].items()
        for number, exchange in enumerate(CASSETTE(name).exchanges[:most], 1)
    ]
    adapter = adapter_of_target(f"serve: {shim}:replay", FOLDER, {})
    cells: list[Row] = [*run_plan(plan_answers(items), [adapter])]
    cells += run_plan(plan_second_turns(items_with_second_turn(items, adapter)), [adapter])
    faults = plan_faults(SERVICE_FAULTS, items, adapter)
    cells += run_plan(faults, [adapter])
    adapter.close()

    assert {cell.verdict for cell in cells} == {"passed"}, [
        (cell.place, cell.reason) for cell in cells if cell.verdict != "passed"
    ]
    assert any(cell.aspects.get("calls") == "kept" for cell in cells)
    assert [cell.aspects.get("cancelled") for cell in cells].count("kept") == 1
