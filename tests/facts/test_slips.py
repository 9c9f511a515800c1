"""Slips of Gemini's models: both forms, as they are and mended, are kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.facts import (
    Aspect,
    AspectVerdict,
    Call,
    Entry,
    Fact,
    Finish,
    Text,
    Thought,
    Transcript,
)
from tests.support.wire_answers import answer, call_part, facts_of_body, frame, red, wire_of

STOP = Finish("STOP")


def given(*facts: Fact) -> Transcript:
    return Transcript((Entry(None, (*facts, STOP)),))


def thought(text: str) -> dict[str, Any]:
    return {"text": text, "thought": True}


@pytest.mark.parametrize(
    ("thoughts", "verdict"),
    [
        ("I add.\n```thinking\nI check.", None),
        ("I add.\nI check.", None),
        ("I add.\nthinking\nI check.", "lost"),
        ("I add.\n```\nI check.", "lost"),
        ("I add.\n", "lost"),
        ("I add.\n\nI check.", "lost"),
    ],
)
def test_a_stray_fence_between_thoughts_may_be_removed(thoughts: str, verdict: str | None) -> None:
    wire = answer(
        frame(*map(thought, ("I add.\n", "```thinking\n", "I check."))), frame(finishReason="STOP")
    )
    assert red(wire, given(Thought(thoughts))).get("thoughts") == verdict


def test_a_fence_of_code_in_thoughts_is_no_slip() -> None:
    code = "I add:\n```python\n1 + 1\n```\nIt is 2."
    wire = answer(frame(thought(code), finishReason="STOP"))
    assert red(wire, given(Thought(code))) == {}
    without = given(Thought("I add:\n1 + 1\nIt is 2."))
    assert red(wire, without) == {"thoughts": "lost"}


WRITTEN: list[tuple[str, str, dict[str, Any], str]] = [
    ('A\n```tool_code\nprint(default_api.f(x=1, y=["a"]))\n```', "f", {"x": 1, "y": ["a"]}, "A\n"),
    ('```tool_call\npython(default_api.f(x="v"))\n```B', "f", {"x": "v"}, "B"),
    ('<ctrl42>call\nprint(default_api.f(x="v"))\n', "f", {"x": "v"}, ""),
    ('A\nprint(default_api.f(x="v"))\nB', "f", {"x": "v"}, "A\n\nB"),
    ("A.call:default_api:f{x: a.txt, y: b}", "f", {"x": "a.txt", "y": "b"}, "A."),
    ('call:f {"x": "a.txt"}', "f", {"x": "a.txt"}, ""),
    ('```json\n{"tool_name": "f", "parameters": {"x": 1}}\n```', "f", {"x": 1}, ""),
    ('{"name": "f", "arguments": {"x": 1}}', "f", {"x": 1}, ""),
]


@pytest.mark.parametrize(("text", "name", "arguments", "rest"), WRITTEN)
def test_a_call_that_is_written_as_text_may_stay_text_or_become_a_call(
    text: str, name: str, arguments: dict[str, Any], rest: str
) -> None:
    body = json.dumps(frame({"text": text}, finishReason="STOP")).encode()
    wire = wire_of(facts_of_body(body, tool_code=True), "complete")
    assert red(wire, given(Text(text))) == {}
    assert red(wire, given(Text(rest), Call(None, name, arguments))) == {}
    assert red(wire, given(Text(rest))) == {"text": "lost"}
    assert red(wire, given(Text(rest), Call(None, "g", arguments))).keys() == {"text", "calls"}
    assert red(wire, given(Text(text), Call(None, name, arguments))) == {"text": "wrong"}


@pytest.mark.parametrize(
    "text",
    ["print(f(x=1))", "print(default_api.f(x=1 + 1))", '```json\n{"a": {}}\n```', "call: f {x: 1}"],
)
def test_other_text_is_no_call(text: str) -> None:
    body = json.dumps(frame({"text": text}, finishReason="STOP")).encode()
    assert facts_of_body(body, tool_code=True).calls_in_text == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("default_api:f", "g"), {}),
        (("f", "g"), {}),
        (("f", "default_api:g"), {"calls": "wrong"}),
        (("api:f", "g"), {"calls": "wrong"}),
    ],
)
def test_the_prefix_of_a_name_may_be_removed(
    names: tuple[str, str], expected: dict[Aspect, AspectVerdict]
) -> None:
    wire = answer(
        frame(call_part("default_api:f", None), call_part("g", None), finishReason="STOP")
    )
    assert red(wire, given(*(Call(None, name) for name in names))) == expected


F = Call("a", "f", {"x": 1})


@pytest.mark.parametrize(
    ("call_id", "second", "calls", "expected"),
    [
        ("a", {"x": 1}, [F, F], {}),
        ("a", {"x": 1}, [F], {}),
        ("a", {"x": 1}, [], {"calls": "lost", "ids": "lost"}),
        ("a", {"x": 1}, [F, F, F], {"calls": "wrong"}),
        ("a", {"x": 2}, [F], {"calls": "lost"}),
        (None, {"x": 1}, [Call(None, "f", {"x": 1})], {"calls": "lost"}),
    ],
)
def test_a_copy_of_a_call_under_its_id_may_be_removed(
    call_id: str | None,
    second: dict[str, int],
    calls: list[Call],
    expected: dict[Aspect, AspectVerdict],
) -> None:
    wire = answer(
        frame(call_part("f", call_id, x=1)),
        frame(call_part("f", call_id, **second)),
        frame(finishReason="STOP"),
    )
    assert red(wire, given(*calls)) == expected
