"""A client that is asked questions on another wire than generateContent is red by its own fault."""

from __future__ import annotations

import pytest

from tests.faulty.asked import ASKED_FAULTS, WORDS, AskedFault


@pytest.mark.parametrize("name", ASKED_FAULTS)
def test_a_faulty_client_is_red_by_its_own_aspect_alone(name: str) -> None:
    assert ASKED_FAULTS[name].red == {ASKED_FAULTS[name].aspect}


@pytest.mark.parametrize("wire", WORDS)
def test_a_client_without_a_fault_passes_first_and_later_turns(wire: str) -> None:
    rows = AskedFault(wire).rows
    passed = {row.case for row in rows if row.verdict == "passed"}

    assert {row.verdict for row in rows} == {"passed", "not-run"}
    assert len(passed) >= 80
    assert any(case.startswith("stored-history (") for case in passed)
    assert any(case.startswith("settings-in-second-turn (") for case in passed)
