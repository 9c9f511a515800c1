"""A request that the API refuses is red in its own turn, on each wire."""

from __future__ import annotations

import pytest

from tests.faulty.refused import FAITHFUL, REFUSED


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_request_is_red_in_its_own_turn(name: str) -> None:
    fault = REFUSED[name]
    verdicts = [result.aspects["accepted"] for result in fault.results]
    refused = fault.results[fault.turn - 1]
    [finding] = [each for each in refused.red_findings if each.subject == "accepted"]

    assert verdicts == (["wrong", "kept"] if fault.turn == 1 else ["kept", "wrong"])
    assert [rule["rule"] for rule in finding.wire] == [fault.rule]


@pytest.mark.parametrize("wire", FAITHFUL)
def test_a_faithful_request_is_accepted_in_both_turns(wire: str) -> None:
    assert [result.aspects["accepted"] for result in FAITHFUL[wire].results] == ["kept", "kept"]
