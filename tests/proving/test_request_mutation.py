"""The mutation operators on requests, for every wire that has requests."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.dialects import DIALECTS
from harness.project.project import Project
from harness.providers import PROVIDERS
from harness.providers.request_places import NOUNS, RequestPlaces
from harness.proving.mutation import REQUEST_OPERATORS, MutationOperator, prove

ROOT = Path(__file__).parents[2]

BODY: Mapping[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "a"}]},
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"id": "i", "name": "f", "args": {"a": 1}},
                    "thoughtSignature": "QQ==",
                },
                {"text": "b"},
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "i", "name": "f", "response": {"r": 1}}}],
        },
    ],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "f", "parameters": {"type": "OBJECT", "required": ["a"]}}
            ]
        }
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    "systemInstruction": {"parts": [{"text": "s"}]},
    "generationConfig": {"temperature": 1.0},
}
STEPS: Mapping[str, Any] = {
    "input": [
        {"type": "user_input", "content": [{"type": "text", "text": "a"}]},
        {"type": "thought", "signature": "QQ=="},
        {"type": "function_call", "id": "i", "name": "f", "arguments": {"a": 1}},
        {"type": "function_result", "call_id": "i", "name": "f", "result": {"r": 1}},
        {"type": "model_output", "content": [{"type": "text", "text": "b"}]},
    ],
    "tools": [{"type": "function", "name": "f", "parameters": {"required": ["a"]}}],
    "system_instruction": "s",
    "generation_config": {"temperature": 1.0, "tool_choice": "any"},
    "previous_interaction_id": "v1_a",
    "store": False,
}
MESSAGES: Mapping[str, Any] = {
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "i",
                    "type": "function",
                    "function": {"name": "f", "arguments": '{"a":1}'},
                    "extra_content": {"google": {"thought_signature": "QQ=="}},
                },
                {"id": "j", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "i", "content": "r"},
        {"role": "assistant", "content": "b"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"required": ["a"]}}}],
    "tool_choice": "required",
    "stream": True,
    "temperature": 1.0,
}
ITEMS: Mapping[str, Any] = {
    "instructions": "s",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "QQ=="},
        {"type": "function_call", "call_id": "i", "name": "f", "arguments": '{"a":1}'},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "j", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "i", "output": "r"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "b"}],
        },
    ],
    "tools": [{"type": "function", "name": "f", "parameters": {"required": ["a"]}}],
    "tool_choice": "required",
    "temperature": 1.0,
    "previous_response_id": "resp_1",
    "store": False,
}
WIRES: dict[str, Mapping[str, Any]] = {
    "items": ITEMS,
    "contents": BODY,
    "enveloped": {"model": "m", "request": BODY},
    "steps": STEPS,
    "messages": MESSAGES,
}
NOT_THERE = {
    *((wire, "sent-memory-wrong") for wire in ("contents", "enveloped", "messages")),
    # the result of a tool has no name there
    *((wire, "sent-result-renamed") for wire in ("messages", "items")),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("operator", REQUEST_OPERATORS, ids=lambda operator: operator.name)
def test_every_operator_on_requests_changes_one_request(
    operator: MutationOperator, wire: str
) -> None:
    body = WIRES[wire]
    change = operator.change_for(DIALECTS["unified-llm"])
    assert change is not None
    case: Any = copy.deepcopy({"request": body})
    applies = (wire, operator.name) not in NOT_THERE
    assert change(case) is applies
    assert (case != {"request": body}) is applies
    turns: Any = [{"error": "no"}, *(copy.deepcopy({"request": body}) for _ in range(2))]
    assert change(turns) is applies
    assert [turn == {"request": body} for turn in turns[1:]] == [not applies, True]
    assert not change({"error": "no"})


def mutated(name: str, body: Mapping[str, Any]) -> Any:
    """The body of a request after the operator of this name."""
    (operator,) = (operator for operator in REQUEST_OPERATORS if operator.name == name)
    change = operator.change_for(DIALECTS["unified-llm"])
    case: Any = copy.deepcopy({"request": body})
    assert change is not None
    assert change(case)
    return case["request"]


def test_the_operators_on_steps() -> None:
    steps = mutated("sent-signature-moved", STEPS)["input"]
    assert [step.get("signature") for step in steps] == ["QQ==", None, None, None, None]
    assert mutated("sent-result-id-wrong", STEPS)["input"][3]["call_id"] == "i_"
    assert mutated("sent-memory-wrong", STEPS)["previous_interaction_id"] == "v1_a_"
    stateless = {key: value for key, value in STEPS.items() if key != "previous_interaction_id"}
    assert mutated("sent-memory-wrong", stateless)["store"] is True
    assert mutated("sent-role-wrong", STEPS)["input"][0]["type"] == "model_output"
    merged = mutated("sent-contents-merged", STEPS)["input"]
    assert [len(step.get("content", ())) for step in merged] == [2, 0, 0, 0]


def test_the_operators_on_messages() -> None:
    calls = mutated("sent-signature-moved", MESSAGES)["messages"][2]["tool_calls"]
    assert ["extra_content" in call for call in calls] == [False, True]
    calls = mutated("sent-argument-lost", MESSAGES)["messages"][2]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ["{}", "{}"]
    roles = [message["role"] for message in mutated("sent-system-lost", MESSAGES)["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert mutated("sent-setting-wrong", MESSAGES)["temperature"] == 2.0
    assert "content" in mutated("sent-text-lost", MESSAGES)["messages"][0]


def test_a_wire_with_requests_declares_its_places_to_change() -> None:
    paths = dict.fromkeys([*(NOUNS - {"signature"}), "signatur"], ("a",))
    with pytest.raises(TypeError, match=r"missing or unknown: \['signatur', 'signature'\]"):
        RequestPlaces("a", ("b", "c"), paths)
    with pytest.raises(
        TypeError, match="the provider gemini-cli needs write and places, or neither"
    ):
        replace(PROVIDERS["gemini-cli"], write=PROVIDERS["gemini-api"].write)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["unified-llm", "anthropic"])
@pytest.mark.parametrize(
    ("wire", "files"),
    [
        ("steps", ["{}/requests-interactions", "interactions/conversations"]),
        ("messages", ["{}/requests-compat", "openai-compat/conversations"]),
    ],
)
def test_the_cases_of_a_wire_notice_every_operator(
    dialect: str, wire: str, files: list[str]
) -> None:
    project = Project([ROOT / "specs"], ROOT / "cassettes")
    specs = [ROOT / "specs" / f"{file.format(dialect)}.yaml" for file in files]
    cells = [cell for spec in specs for cell in project.cells(spec) if cell.layer == "requests"]
    proof = prove(cells, project.cassette, [dialect])
    assert proof.survivors == []
    assert {result.operator.name for result in proof.results if result.applied} == {
        operator.name for operator in REQUEST_OPERATORS if (wire, operator.name) not in NOT_THERE
    }
