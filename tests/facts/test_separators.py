"""White space that an adapter puts between two parts of the thoughts is no difference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from harness.facts import Call, Entry, Fact, Finish, Text, Thought, Transcript
from harness.facts.order import find_separators
from tests.support.wire_answers import Wire, answer, facts_of_body, frame, verdicts, wire_of


def responses(*summaries: Sequence[str]) -> Wire:
    items: list[dict[str, Any]] = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": text} for text in texts]}
        for texts in summaries
    ]
    content = [{"type": "output_text", "text": "Hi"}]
    items.append({"type": "message", "role": "assistant", "content": content})
    body = {"object": "response", "status": "completed", "output": items}
    return wire_of(facts_of_body(json.dumps(body).encode(), "openai"), "complete")


def messages(*thoughts: str) -> Wire:
    blocks = [{"type": "thinking", "thinking": text, "signature": "QQ=="} for text in thoughts]
    content = [*blocks, {"type": "text", "text": "Hi"}]
    body = {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    return wire_of(facts_of_body(json.dumps(body).encode(), "anthropic"), "complete")


def interactions(*thoughts: str) -> Wire:
    steps: list[dict[str, Any]] = [
        {"type": "thought", "summary": [{"type": "text", "text": text}]} for text in thoughts
    ]
    steps.append({"type": "model_output", "content": [{"type": "text", "text": "Hi"}]})
    body = {"object": "interaction", "status": "completed", "steps": steps}
    return wire_of(facts_of_body(json.dumps(body).encode(), "interactions"), "complete")


def thoughts_of(wire: Wire, *pieces: str) -> str:
    entries = [Entry(number, (Thought(piece),)) for number, piece in enumerate(pieces)]
    end = Entry("end", (Text("Hi"), Finish("stop")))
    return verdicts(wire, Transcript((*entries, end)))["thoughts"]


WIRES = {
    "two parts of a summary": responses(["Plan.", "Check."]),
    "two items": responses(["Plan."], ["Check."]),
    "two blocks": messages("Plan.", "Check."),
    "two steps": interactions("Plan.", "Check."),
}


@pytest.mark.parametrize("wire", WIRES.values(), ids=[*WIRES])
@pytest.mark.parametrize(
    ("pieces", "verdict"),
    [
        (("Plan.", "Check."), "kept"),
        (("Plan.", "\n", "Check."), "kept"),
        (("Plan.\n\nCheck.",), "kept"),
        (("Pl\nan.Check.",), "wrong"),
        (("Plan.Check.\n",), "wrong"),
        (("\nPlan.Check.",), "wrong"),
        (("Plan. - Check.",), "wrong"),
        (("Plan.\nChe",), "lost"),
        (("Plan.\n",), "lost"),
    ],
)
def test_white_space_is_a_separator_only_between_parts(
    wire: Wire, pieces: tuple[str, ...], verdict: str
) -> None:
    assert thoughts_of(wire, *pieces) == verdict


def test_pieces_of_one_part_have_no_separator() -> None:
    wire = answer(
        frame({"text": "Pl", "thought": True}),
        frame({"text": "an.", "thought": True}),
        frame({"text": "Hi"}, finishReason="STOP"),
    )
    assert thoughts_of(wire, "Pl\nan.") == "wrong"


CALLED = answer(
    frame({"text": "Plan.", "thought": True}),
    frame({"functionCall": {"name": "f", "args": {}}}),
    frame({"text": "Check.", "thought": True}),
    frame({"text": "Hi"}, finishReason="STOP"),
)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [("Plan.", "\nCheck.", "kept"), ("Plan.\n", "Check.", "kept"), ("P", "lan.\nCheck.", "wrong")],
)
def test_thoughts_around_a_call_are_parts_and_keep_their_order(
    first: str, second: str, verdict: str
) -> None:
    facts: list[Fact] = [Thought(first), Call(None, "f", {}), Thought(second), Text("Hi")]
    entries = [Entry(number, (fact,)) for number, fact in enumerate(facts)]
    found = verdicts(CALLED, Transcript((*entries, Entry("end", (Finish("stop"),)))))
    assert found["thoughts"] == verdict


@pytest.mark.parametrize(
    ("parts", "given", "places"),
    [
        (["a", "\nb"], "a\n\nb", [range(1, 2)]),
        (["a", "\nb"], "a\nb", []),
        (["a\n", "b"], "a\n b", [range(2, 3)]),
        (["a", "b", "c"], "a b c", [range(1, 2), range(3, 4)]),
        (["a", " ", "c"], "a  c", [range(2, 3)]),
        (["a", "b"], "a x", [range(1, 2)]),
        ([], "a b", []),
    ],
)
def test_places_of_separators(parts: list[str], given: str, places: list[range]) -> None:
    assert find_separators(parts, given) == places
