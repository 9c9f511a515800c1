"""Law 8 on the wires other than generateContent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import ADAPTERS, Adapter, Subject
from harness.cassettes.load import load
from harness.dialects import DIALECTS
from harness.judging.laws.round_trip import nothing_goes_back, return_findings
from harness.stream.exchange import Exchange
from harness.stream.prompt import Prompt
from harness.stream.session import Session
from tests.faulty.wire_requests import REQUEST_FAULTS

CASSETTES = Path(__file__).parents[3] / "cassettes"
WIRES = {"interactions": "interactions/stateless-turns", "openai-compat": "openai-compat/turns"}


def answer(wire: str) -> Exchange:
    return load(CASSETTES / f"{WIRES[wire]}.yaml").exchanges[0]


def sending(dialect: str, fault: str) -> Adapter:
    return replace(ADAPTERS[dialect], request=REQUEST_FAULTS[f"{dialect}: {fault}"].half)


@pytest.mark.parametrize("dialect", ["unified-llm", "anthropic"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_faithful_request_breaks_nothing(dialect: str, wire: str) -> None:
    assert nothing_goes_back(answer(wire), Subject(ADAPTERS[dialect])) == ""
    assert return_findings(answer(wire), Subject(ADAPTERS[dialect])) == []


@pytest.mark.parametrize("dialect", ["unified-llm", "anthropic"])
@pytest.mark.parametrize(
    ("wire", "fault"),
    [
        ("interactions", "thought_steps_dropped"),
        ("interactions", "thought_steps_behind_the_calls"),
        ("interactions", "calls_get_new_ids"),
        ("openai-compat", "extras_of_calls_lost"),
        ("openai-compat", "calls_get_new_ids"),
    ],
)
def test_each_fault_of_a_request_is_found(dialect: str, wire: str, fault: str) -> None:
    assert return_findings(answer(wire), Subject(sending(dialect, fault))) != []


def test_a_model_that_only_knows_generate_content_is_not_asked() -> None:
    reason = nothing_goes_back(answer("interactions"), Subject(ADAPTERS["mind"]))
    assert reason == "mind builds only requests of generateContent"


def test_a_request_that_cannot_be_made_is_a_breach() -> None:
    own = DIALECTS["unified-llm"].request
    assert own is not None

    def without_calls(prompt: Any, options: Any, session: Session) -> Prompt:
        messages = [message for message in prompt["messages"] if message["role"] != "assistant"]
        assert own is not None
        return own.translate({**prompt, "messages": messages}, options, Session())

    adapter = replace(ADAPTERS["unified-llm"], request=replace(own, translate=without_calls))
    (breach,) = return_findings(answer("openai-compat"), Subject(adapter))
    assert breach.sentence.startswith("the answer can't be sent back: ")


def reasoning(number: int) -> Exchange:
    return load(CASSETTES / "openai/responses-reasoning.yaml").exchanges[number - 1]


def test_an_answer_that_ends_in_reasoning_is_not_asked() -> None:
    assert nothing_goes_back(reasoning(8), Subject(ADAPTERS["unified-llm"])) == (
        "the service would refuse the answer: messages[1].content[0].thinking: is reasoning without"
        " the item that followed it, which OpenAI refuses"
    )


def test_reasoning_before_nothing_that_goes_back_is_not_asked() -> None:
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABo1R=="},
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "aGk="},
        {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": ""}]},
    ]
    body = json.dumps({"object": "response", "id": "r", "status": "completed", "output": output})
    answered = Exchange(None, 200, {}, ((None, body.encode()),), "complete", "", "openai", True)
    assert nothing_goes_back(answered, Subject(ADAPTERS["unified-llm"])) == (
        "the service would refuse the reasoning: nothing that can be sent back follows it"
    )


def test_reasoning_is_no_excuse_for_a_call_that_is_lost_after_it() -> None:
    own = DIALECTS["unified-llm"].request
    assert own is not None

    def without_calls(prompt: Any, options: Any, session: Session) -> Prompt:
        messages = prompt["messages"][:-1]
        content = [part for part in messages[-1]["content"] if part["kind"] != "tool_call"]
        assert own is not None
        cut = [*messages[:-1], {**messages[-1], "content": content}]
        return own.translate({**prompt, "messages": cut}, options, session)

    adapter = replace(ADAPTERS["unified-llm"], request=replace(own, translate=without_calls))
    assert nothing_goes_back(reasoning(4), Subject(adapter)) == ""
    (breach,) = return_findings(reasoning(4), Subject(adapter))
    assert breach.sentence.startswith("the answer can't be sent back: ")
