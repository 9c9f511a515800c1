"""The request after an answer on the other wires: a faithful one is kept, and the law and the rules
of second turns find each planted fault.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.facts import WireFacts
from tests.support.second_turn import judge_second_turn
from tests.support.wire_answers import facts_of_body

Steps = list[dict[str, Any]]
Change = Callable[[Steps], Any]

STEPS: Steps = [
    {"type": "thought", "signature": "QUJD", "summary": [{"type": "text", "text": "Hm."}]},
    {"type": "model_output", "content": [{"type": "text", "text": "I look."}]},
    {"type": "function_call", "id": "a1", "name": "w", "arguments": {"city": "Oslo"}},
    {"type": "function_call", "id": "a2", "name": "w", "arguments": {"city": "Bern"}},
]
STEP_RESULTS: Steps = [
    {"type": "function_result", "call_id": "a1", "name": "w", "result": "4"},
    {"type": "function_result", "call_id": "a2", "name": "w", "result": "9"},
]


def call(call_id: str, city: str, **more: Any) -> dict[str, Any]:
    function = {"name": "w", "arguments": json.dumps({"city": city})}
    return {"id": call_id, "type": "function", "function": function, **more}


SIGNED = {"extra_content": {"google": {"thought_signature": "QUJD"}}}
OF_TEXT = {"extra_content": {"google": {"thought_signature": "U0lH"}}}
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": "<thought>Hm.</thought>I look.",
    **OF_TEXT,
    "tool_calls": [call("a1", "Oslo", **SIGNED), call("", "Bern")],
}
SENT_CALLS = [call("a1", "Oslo", **SIGNED), call("own", "Bern")]
MESSAGES: Steps = [
    {**MESSAGE, "tool_calls": SENT_CALLS},
    {"role": "tool", "tool_call_id": "a1", "content": "4"},
    {"role": "tool", "tool_call_id": "own", "content": "9"},
]

INTERACTION = facts_of_body(
    json.dumps({"object": "interaction", "status": "requires_action", "steps": STEPS}).encode(),
    "interactions",
)
COMPLETION = facts_of_body(
    json.dumps(
        {
            "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": MESSAGE}],
        }
    ).encode(),
    "openai-compat",
)


def seen(answer: WireFacts, request: dict[str, Any]) -> tuple[bool, set[str]]:
    """Whether the law finds something, and the aspects of the second turn that are red."""
    law = judge_second_turn(answer, request, exact={kind for kind, _ in answer.signatures})
    findings = judge_second_turn(answer, request)
    red = {str(aspect) for aspect, finding in findings.items() if finding.red}
    return any(finding.red for finding in law.values()), red


def interaction_with(change: Change) -> tuple[bool, set[str]]:
    steps = copy.deepcopy([*STEPS, *STEP_RESULTS])
    change(steps)
    asked = {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]}
    return seen(INTERACTION, {"input": [asked, *steps]})


def completion_with(change: Change) -> tuple[bool, set[str]]:
    messages = copy.deepcopy(MESSAGES)
    change(messages)
    asked = {"role": "user", "content": "Weather?"}
    return seen(COMPLETION, {"messages": [asked, *messages]})


def test_a_faithful_history_is_kept() -> None:
    assert interaction_with(lambda steps: None) == (False, set())
    assert completion_with(lambda messages: None) == (False, set())


@pytest.mark.parametrize(
    ("change", "aspect"),
    [
        (lambda steps: steps.pop(0), "other_signatures"),
        (lambda steps: steps[0].pop("signature"), "other_signatures"),
        (lambda steps: steps.insert(1, steps[0]), "other_signatures"),
        (lambda steps: steps.insert(3, steps.pop(0)), "other_signatures"),
        (lambda steps: steps[2].update(id="b1"), "ids"),
        (lambda steps: steps[3].update(arguments={}), "calls"),
        (lambda steps: steps.pop(3), "calls"),
        (lambda steps: steps.insert(2, steps.pop(3)), "ids"),
        (lambda steps: steps.pop(), "results"),
        (lambda steps: steps[2].update(signature="QUJD"), "other_signatures"),
    ],
    ids=[
        *("thought step dropped", "signature dropped", "thought step twice"),
        *("thought step behind a call", "id replaced", "arguments lost", "call lost"),
        *("calls in another order", "result lost", "signature at a call"),
    ],
)
def test_each_fault_among_the_steps_is_seen(change: Change, aspect: str) -> None:
    law, red = interaction_with(change)
    assert law
    assert aspect in red


@pytest.mark.parametrize(
    ("change", "aspect"),
    [
        (lambda messages: messages[0]["tool_calls"][0].pop("extra_content"), "signatures"),
        (
            lambda messages: messages[0]["tool_calls"][1].update(
                messages[0]["tool_calls"][0].pop("extra_content")
            ),
            "signatures",
        ),
        (lambda messages: messages[0].pop("extra_content"), "other_signatures"),
        (lambda messages: messages[0]["tool_calls"][0].update(id="b1"), "ids"),
        (
            lambda messages: messages[0]["tool_calls"][1]["function"].update(arguments="{}"),
            "calls",
        ),
        (lambda messages: messages[0]["tool_calls"].pop(), "calls"),
        (lambda messages: messages.pop(), "results"),
        (lambda messages: messages[2].update(tool_call_id="other"), "results"),
    ],
    ids=[
        *("extra content of a call lost", "signature at another call"),
        *("extra content of the message lost", "id replaced", "arguments lost", "call lost"),
        *("result lost", "result of an unknown call"),
    ],
)
def test_each_fault_among_the_messages_is_seen(change: Change, aspect: str) -> None:
    law, red = completion_with(change)
    assert law
    assert aspect in red


def test_vertex_has_its_own_name_for_extra_content() -> None:
    def vertex(messages: Steps) -> None:
        messages[0]["tool_calls"][0]["extra_content"] = {"vertex": {"thought_signature": "QUJD"}}

    assert completion_with(vertex) == (False, set())


def test_an_answer_without_an_id_is_sent_back_with_one() -> None:
    def without(messages: Steps) -> None:
        messages[0]["tool_calls"][1]["id"] = ""
        messages[2]["tool_call_id"] = ""

    law, red = completion_with(without)
    assert law
    assert red == set()  # a public adapter may leave it to the server


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (STEP_RESULTS, {}),
        (STEP_RESULTS[:1], {"results": "lost"}),
        (STEP_RESULTS[::-1], {}),
        ([STEP_RESULTS[0], STEP_RESULTS[1] | {"call_id": "a3"}], {"ids": "wrong"}),
        ([*STEPS, *STEP_RESULTS], {"calls": "wrong"}),
    ],
    ids=["the results", "a result lost", "another order", "another id", "the answer again"],
)
def test_only_results_follow_a_stored_interaction(sent: Steps, expected: dict[str, str]) -> None:
    request = {"previous_interaction_id": "v1_x", "input": sent}
    findings = judge_second_turn(INTERACTION, request)
    red = {name: finding.verdict for name, finding in findings.items() if finding.red}
    assert red == expected
