"""A client that is asked questions on another wire than generateContent is red by its own fault."""

from __future__ import annotations

from typing import Any

import pytest

from harness.judging.questions.question import own_questions
from harness.judging.questions.run import plan_questions
from harness.judging.run import run_plan
from harness.providers import Provider
from harness.stream.prompt import Prompt
from tests.faulty.asked import ASKED_FAULTS, WORDS, AskedFault, load


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


def test_the_request_of_a_question_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    prompt_of = Provider.prompt_of

    def counted(provider: Provider, body: Any) -> Prompt:
        read.append(body)
        return prompt_of(provider, body)

    monkeypatch.setattr(Provider, "prompt_of", counted)
    fault = AskedFault("messages")
    first = [question for question in own_questions() if question.turns == 1]
    items = plan_questions(first, [fault.provider], load, fault.adapter)
    rows = [*run_plan(items, [fault.adapter])]

    judged = [row for row in rows if row.verdict == "passed"]
    assert len(judged) > 70
    assert len(read) == 2 * len(judged)  # and that of the writer
