"""Facts that a client of its kind can't give: it is not asked for them, and for nothing more."""

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
    Usage,
    judge_answer,
)
from harness.facts.calls import in_doubles
from tests.support.second_turn import judge_second_turn
from tests.support.wire_answers import (
    Wire,
    answer,
    call_part,
    facts_of_body,
    frame,
    red,
    verdicts,
    wire_of,
)

LARGE = 2**53 + 1
STOP = Finish("stop")


def chat(*deltas: dict[str, Any], reason: str = "stop", **members: Any) -> Wire:
    """An answer on the OpenAI-compatible wire."""
    return wire_of(
        facts_of_body(chat_body(*deltas, reason=reason, **members), "openai-compat"), "complete"
    )


def chat_body(*deltas: dict[str, Any], reason: str = "stop", **members: Any) -> bytes:
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": reason})
    events = [{"object": "chat.completion.chunk", "choices": [choice]} for choice in choices]
    events[-1] |= members
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def stated(*facts: Fact, doubles: bool = False) -> Transcript:
    return Transcript((Entry(None, facts),), doubles=doubles)


@pytest.mark.parametrize(
    ("reason", "given", "expected"),
    [
        ("stop", "content-filter", {}),
        ("stop", "refusal", {}),
        ("stop", "stop", {}),
        ("stop", "length", {"finish": "wrong"}),
        ("stop", "other", {"finish": "wrong"}),
        ("length", "content-filter", {"finish": "wrong"}),
    ],
)
def test_a_refusal_with_a_stop_may_end_as_a_filter(
    reason: str, given: str, expected: dict[Aspect, AspectVerdict]
) -> None:
    refused = chat({"refusal": "I can't help."}, reason=reason)
    assert red(refused, stated(Text("I can't help."), Finish(given))) == expected


def test_a_stop_without_a_refusal_is_no_filter() -> None:
    wire = chat({"content": "I can't help."})
    assert red(wire, stated(Text("I can't help."), Finish("content-filter"))) == {"finish": "wrong"}


TAGGED: list[list[str]] = [
    ["<thought>Hm</thought>Hi"],
    ["<thought>", "Hm", "</thou", "ght>Hi"],
]


@pytest.mark.parametrize("pieces", TAGGED)
def test_thoughts_between_tags_may_stay_in_the_text(pieces: list[str]) -> None:
    wire = chat(*({"content": piece} for piece in pieces))
    assert (wire.facts.thoughts, wire.facts.text) == ("Hm", "Hi")
    split = stated(Thought("Hm"), Text("Hi"), STOP)
    assert verdicts(wire, split) == {"text": "kept", "thoughts": "kept", "finish": "kept"}
    whole = stated(Text("<thought>Hm</thought>Hi"), STOP)
    assert verdicts(wire, whole) == {"text": "kept", "thoughts": "not_asked", "finish": "kept"}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ((Text("HmHi"),), {"text": "wrong", "thoughts": "lost"}),
        ((Text("<thought>Hm</thought>"),), {"text": "wrong", "thoughts": "lost"}),
        ((Text("<thought>Hm</thought>H"),), {"text": "wrong", "thoughts": "lost"}),
        ((Text("Hi"),), {"thoughts": "lost"}),
        ((Thought("m"), Text("<thought>Hm</thought>Hi")), {"thoughts": "lost"}),
        ((Thought("no"), Text("<thought>Hm</thought>Hi")), {"thoughts": "wrong"}),
    ],
)
def test_thoughts_in_the_text_have_their_tags_and_lose_nothing(
    facts: tuple[Fact, ...], expected: dict[Aspect, AspectVerdict]
) -> None:
    wire = chat({"content": "<thought>Hm</thought>Hi"})
    assert red(wire, stated(*facts, STOP)) == expected


def test_thoughts_that_are_only_marked_may_not_stay_in_the_text() -> None:
    marked = {"content": "Hm", "extra_content": {"google": {"thought": True}}}
    wire = chat(marked, {"content": "Hi"})
    assert wire.facts.thoughts == "Hm"
    assert red(wire, stated(Text("HmHi"), STOP)) == {"text": "wrong", "thoughts": "lost"}


MARK = {"extra_content": {"google": {"thought": True}}}


@pytest.mark.parametrize(
    ("thought", "text", "expected"),
    [
        ("<thought>Hm", "</thought>Hi", {}),
        ("<thought>Hm</thought>", "Hi", {}),
        ("<thought>Hm", "Hi", {"thoughts": "wrong"}),
        ("<thought>Hm</thought>H", "i", {"text": "lost", "thoughts": "wrong"}),
        ("<thought>H", "m</thought>Hi", {"text": "wrong", "thoughts": "wrong"}),
    ],
)
def test_thoughts_with_tags_may_be_told_by_their_mark(
    thought: str, text: str, expected: dict[Aspect, AspectVerdict]
) -> None:
    wire = chat({"content": "<thought>Hm", **MARK}, {"content": "</thought>Hi"})
    assert red(wire, stated(Thought(thought), Text(text), STOP)) == expected


@pytest.mark.parametrize(
    ("text", "asks", "expected"),
    [
        ("HmHi", False, {}),
        ("Hi", False, {}),
        ("HiHm", False, {"text": "wrong"}),
        ("Hm", False, {"text": "wrong"}),
        ("HmHi", True, {"text": "wrong", "thoughts": "lost"}),
    ],
)
def test_thoughts_that_a_client_can_not_ask_for_may_be_in_its_text(
    text: str, asks: bool, expected: dict[Aspect, AspectVerdict]
) -> None:
    facts, _ = chat({"content": "Hm", **MARK}, {"content": "Hi"})
    wire = wire_of(facts, asks_thoughts=asks)
    assert red(wire, stated(Text(text), STOP)) == expected


def test_thoughts_as_text_are_before_the_calls_that_follow_them() -> None:
    thought = {"text": "Hm", "thought": True}
    events = [
        frame({"text": "a"}),
        frame(thought),
        frame(call_part("f", "i")),
        frame({"text": "b"}),
    ]
    as_text = answer(*events).facts.with_thoughts_in_text()
    assert (as_text.text, as_text.thoughts, as_text.call_places) == ("aHmb", "", [3])


def test_tags_of_another_name_are_text() -> None:
    content = "<think>Hm</think>Four <thought>kilos</thought>."
    facts = facts_of_body(
        chat_body({"content": content}), "openai-compat", asked=b'{"thought_tag_marker": "think"}'
    )
    assert facts.text == "Four <thought>kilos</thought>."
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": content}]
    assert judge_second_turn(facts, {"messages": messages})["text"].verdict == "kept"


def test_a_signature_may_be_sent_back_beside_the_content_as_it_came() -> None:
    delta = {"content": "Noon.", "thought_signature": "EpwCAePx3kq/9Lw+sea+Yg=="}
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", **delta}]
    findings = judge_second_turn(chat(delta).facts, {"messages": messages})
    assert findings["other_signatures"].verdict == "kept"
    del messages[1]["thought_signature"]
    findings = judge_second_turn(chat(delta).facts, {"messages": messages})
    assert findings["other_signatures"].verdict == "lost"


@pytest.mark.parametrize(
    ("content", "verdict"),
    [
        ("Hi", "kept"),
        ("<thought>Hm</thought>Hi", "kept"),
        ("HmHi", "wrong"),
        ("<thought>Hm</thought>", "lost"),
    ],
)
def test_thoughts_between_tags_may_be_sent_back_in_the_text(
    content: str, verdict: AspectVerdict
) -> None:
    wire = chat({"content": "<thought>Hm</thought>Hi"})
    messages = [
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "Go on."},
    ]
    findings = judge_second_turn(wire.facts, {"messages": messages})
    assert findings["text"].verdict == verdict


def test_a_refusal_is_a_part_of_the_text_with_tags() -> None:
    wire = chat({"content": "<thought>Hm</thought>"}, {"refusal": "No."})
    assert not red(wire, stated(Text("<thought>Hm</thought>No."), STOP))


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ({"total": 20}, "kept"),
        ({}, "kept"),
        ({"total": 9}, "kept"),
        ({"thoughts": 11, "total": 20}, "kept"),
        ({"output": 17, "total": 20}, "kept"),
        ({"total": 19}, "wrong"),
        ({"thoughts": 10, "total": 20}, "wrong"),
        ({"output": 16, "total": 20}, "wrong"),
        ({"output": 0, "total": 20}, "lost"),
    ],
)
def test_thoughts_that_only_the_total_counts_may_be_anywhere(
    counts: dict[str, int], verdict: AspectVerdict
) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 6, "total_tokens": 20}
    wire = chat({"content": "a"}, usage=usage)
    given = Usage(**{"input": 3, "output": 6, **counts})
    assert verdicts(wire, stated(Text("a"), STOP, given))["usage"] == verdict


def test_a_total_leaves_out_no_thoughts_that_the_wire_counts() -> None:
    counts = {"promptTokenCount": 3, "candidatesTokenCount": 6, "thoughtsTokenCount": 11}
    wire = answer(
        frame({"text": "a"}, finishReason="STOP")
        | {"usageMetadata": {**counts, "totalTokenCount": 20}}
    )
    given = Usage(input=3, output=6, thoughts=11, total=9)
    assert red(wire, stated(Text("a"), STOP, given)) == {"usage": "wrong"}


@pytest.mark.parametrize(
    ("number", "given", "doubles", "verdict"),
    [
        (LARGE, LARGE, True, "kept"),
        (LARGE, LARGE - 1, True, "not_asked"),
        (-LARGE, -LARGE + 1, True, "not_asked"),
        (2**64 + 1, 18446744073709552000, True, "not_asked"),
        (2**64 + 1, 18446744073709552000, False, "wrong"),
        (10**400, None, True, "not_asked"),
        (LARGE, LARGE - 1, False, "wrong"),
        (LARGE, float(LARGE), False, "wrong"),
        (LARGE, LARGE + 1, True, "wrong"),
        (LARGE, str(LARGE), True, "wrong"),
        (7, 8, True, "wrong"),
        (2**53, 2**53 - 1, True, "wrong"),
    ],
)
def test_a_language_with_only_doubles_may_round_integers(
    number: int, given: Any, doubles: bool, verdict: AspectVerdict
) -> None:
    wire = answer(frame(call_part("f", "a", x=[{"y": number}]), finishReason="STOP"))
    call = Call("a", "f", {"x": [{"y": given}]})
    judged = verdicts(wire, stated(call, STOP, doubles=doubles))
    assert judged["calls"] == verdict
    other_id = Call("b", "f", {"x": [{"y": given}]})
    if verdict != "wrong":
        ids = judge_answer(*wire, stated(other_id, STOP, doubles=doubles))["ids"]
        assert ids.verdict == "wrong", "the ids are judged as for kept calls"


@pytest.mark.parametrize(
    "value", [1, 0.5, True, None, "9007199254740993", [2**53], {"a": -(2**53)}]
)
def test_other_values_are_the_same_in_doubles(value: Any) -> None:
    assert in_doubles(value) == value


SHELL = {"type": "local_shell_call", "call_id": "call_s", "status": "completed"} | {
    "action": {"type": "exec", "command": ["ls"]}
}
RUN_OF_SHELL = {"type": "shell_call", "call_id": "call_s", "action": {"commands": ["ls"]}}
OUTPUT = {"type": "shell_call_output", "call_id": "call_s", "output": []}


@pytest.mark.parametrize(
    ("items", "call_id", "expected"),
    [
        ([SHELL], "call_s", {}),
        ([RUN_OF_SHELL], "call_s", {}),
        ([SHELL], "call_t", {"calls": "wrong"}),
        ([RUN_OF_SHELL, OUTPUT], "call_s", {"calls": "wrong"}),  # the service has run it
    ],
)
def test_a_built_in_tool_that_the_client_runs_may_be_a_call(
    items: list[dict[str, Any]], call_id: str, expected: dict[Aspect, AspectVerdict]
) -> None:
    response = {"object": "response", "status": "completed", "output": items}
    wire = wire_of(facts_of_body(json.dumps(response).encode(), "openai"), "complete")
    call = Call(call_id, "local_shell", {"command": ["ls"]})
    natives = [{"id": "call_s", "command": "ls"}, {"finish": "completed"}]
    for finish in ("tool_calls", "stop"):
        entries = Entry(natives[0], (call,)), Entry(natives[1], (Finish(finish),))
        assert red(wire, Transcript(entries)) == expected
