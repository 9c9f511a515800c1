"""A faithful client of sessions passes every cassette; each fault is red by its own aspect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.adapters import Adapter
from harness.adapters.named import NamedAdapter, make_adapter
from harness.cassettes.load import load
from harness.judging.aspect_run import JudgedExchange, plan_answers
from harness.judging.aspects import ExchangeJudgement, judge_exchange
from harness.judging.reading import Reading
from harness.judging.run import run_plan
from harness.providers import with_provider
from harness.stream.exchange import Exchange
from tests.faulty.sessions import SESSION_FAULTS

ROOT = Path(__file__).parents[2]
CASSETTES = ROOT / "cassettes" / "live"
LIMIT_S = 10


def sessions() -> Iterator[tuple[str, Exchange]]:
    for path in sorted(CASSETTES.glob("*.yaml")):
        for number, exchange in enumerate(load(path).exchanges, 1):
            yield f"{path.stem}:{number}", with_provider(exchange)


SESSIONS = dict(sessions())


def adapter_of(name: str, timeout: float = LIMIT_S) -> Adapter:
    target = f"serve: tests.faulty.sessions:{name.lower()}"
    return make_adapter(NamedAdapter("live", "facts", target), ROOT, timeout=timeout)


def judged(name: str, session: str, timeout: float = LIMIT_S) -> ExchangeJudgement:
    judgement = judge_exchange(Reading(SESSIONS[session]), adapter_of(name, timeout))
    assert not judgement.error
    return judgement


@pytest.mark.parametrize("session", SESSIONS)
def test_a_faithful_client_passes(session: str) -> None:
    judgement = judged("faithful", session)
    assert [finding.sentence for finding in judgement.findings if finding.red] == []
    assert any(finding.verdict == "kept" for finding in judgement.findings)


def test_a_session_is_not_a_unary_answer() -> None:
    item = JudgedExchange("live/text", 1, SESSIONS["text:1"])
    (row,) = run_plan(plan_answers([item]), [adapter_of("faithful")])
    assert (row.verdict, row.unary) == ("passed", False)


@pytest.mark.parametrize(
    ("name", "session"),
    [
        ("Collects", "cancelled-call:1"),
        ("Collects", "tool-round:1"),
        ("AsksInTwoMessages", "text:2"),
        ("AsksInTwoMessages", "tool-round:1"),
        ("GivesWholeTranscripts", "interruption:1"),
    ],
)
def test_a_client_that_does_it_in_another_way_passes(name: str, session: str) -> None:
    assert judged(name, session).red == []


@pytest.mark.parametrize("name", SESSION_FAULTS)
def test_a_fault_is_red_by_its_own_aspect(name: str) -> None:
    fault = SESSION_FAULTS[name]
    red = judged(name, fault.session, 0.5 if fault.aspect == "hangs" else LIMIT_S).red
    assert fault.aspect in red
    assert set(red) <= {fault.aspect, *BESIDE.get(name, ())}


BESIDE = {
    "GivesThoughtsAsText": ("thoughts",),
    "LeavesAfterOneTurn": ("finish", "text", "usage"),
    "LeavesBeforeItReadsAll": ("finish", "text", "usage"),
}
"""The other aspects that the same fault loses."""
