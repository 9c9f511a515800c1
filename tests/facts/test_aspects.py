"""Each aspect of an answer: a faithful transcript is kept, and each planted fault is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.facts import (
    Aspect,
    AspectVerdict,
    Call,
    Entry,
    Error,
    Fact,
    Finish,
    Raised,
    Restart,
    Text,
    Thought,
    Transcript,
    Usage,
    WireFacts,
    judge_answer,
    merged_facts,
)
from harness.facts.detail import CallPiece
from tests.support.wire_answers import (
    answer,
    call_part,
    facts_of_body,
    frame,
    made_facts,
    red,
    verdicts,
    wire_of,
)

SIGNATURE = "c2lnbmF0dXJlIG9mIHRoZSBjYWxsIG9uZQ=="
MEDIUM = "aVZCT1J3MEtHZ29BQUFBTlNVaEVVZ0FB"


USAGE = {
    "promptTokenCount": 10,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 3,
    "totalTokenCount": 18,
}
WIRE = answer(
    frame({"text": "I think.", "thought": True}, {"text": "Hello "}),
    frame(
        {"text": "there."},
        call_part("f", "a1", x=1, on=True) | {"thoughtSignature": SIGNATURE},
        call_part("g", "b2"),
    ),
    frame(
        {"inlineData": {"mimeType": "image/png", "data": MEDIUM}},
        {"codeExecutionResult": {"output": "forty-two lines"}},
        finishReason="STOP",
        groundingMetadata={"groundingChunks": [{"web": {"uri": "https://example.org/page"}}]},
    )
    | {"usageMetadata": USAGE},
)
FAITHFUL = Transcript(
    (
        Entry({"thought": "I think.", "text": "Hello "}, (Thought("I think."), Text("Hello "))),
        Entry(
            {"calls": [{"id": "a1", "signature": SIGNATURE}, {"id": "b2"}]},
            (Text("there."), Call("a1", "f", {"x": 1, "on": True}), Call("b2", "g")),
        ),
        Entry(
            {"medium": MEDIUM, "output": "forty-two lines", "uri": "https://example.org/page"},
            (Finish("stop"), Usage(input=10, output=8, total=18)),
        ),
    )
)


def test_a_faithful_transcript_is_kept() -> None:
    assert set(verdicts(WIRE, FAITHFUL).values()) == {"kept"}
    assert {*verdicts(WIRE, FAITHFUL)} == {
        *("text", "thoughts", "calls", "ids", "signatures", "finish", "usage"),
        *("media", "code", "grounding"),
    }


Change = Callable[[Fact], "list[Fact]"]


def facts_changed(change: Change) -> Transcript:
    entries = (
        Entry(entry.native, tuple(new for fact in entry.facts for new in change(fact)))
        for entry in FAITHFUL.entries
    )
    return replace(FAITHFUL, entries=tuple(entries))


def native_without(text: str) -> Transcript:
    entries = (
        Entry(json.loads(json.dumps(entry.native).replace(text, "gone")), entry.facts)
        for entry in FAITHFUL.entries
    )
    return replace(FAITHFUL, entries=tuple(entries))


def changed(kind: type, *new: Fact) -> Transcript:
    """The faithful transcript with these facts in place of the first fact of a kind."""
    waiting = [list(new)]

    def change(fact: Fact) -> list[Fact]:
        return waiting.pop() if isinstance(fact, kind) and waiting else [fact]

    return facts_changed(change)


FAULTS: list[tuple[str, Transcript, dict[Aspect, AspectVerdict]]] = [
    ("text lost", changed(Text), {"text": "lost"}),
    ("text given twice", changed(Text, Text("Hello "), Text("Hello ")), {"text": "wrong"}),
    (
        "a thought as text",
        changed(Thought, Text("I think.")),
        {"text": "wrong", "thoughts": "lost"},
    ),
    ("a call lost", changed(Call), {"calls": "lost"}),
    (
        "a call given twice",
        changed(Call, *[Call("a1", "f", '{"x":1,"on":true}')] * 2),
        {"calls": "wrong"},
    ),
    (
        "a second call invented",
        changed(Call, Call("a1", "f", {"x": 1, "on": True}), Call(None, "f")),
        {"calls": "wrong"},
    ),
    ("true became 1", changed(Call, Call("a1", "f", {"x": 1, "on": 1})), {"calls": "wrong"}),
    (
        "both calls under one id",
        changed(Call, Call("b2", "f", {"x": 1, "on": True})),
        {"ids": "wrong"},
    ),
    ("an invented id", changed(Call, Call("call_1", "f", {"x": 1, "on": True})), {"ids": "wrong"}),
    (
        "ids exchanged",
        changed(Call, Call("b2", "g"), Call("a1", "f", {"x": 1, "on": True})),
        {"calls": "wrong"},
    ),
    ("a signature lost", native_without(SIGNATURE), {"signatures": "lost"}),
    ("a medium lost", native_without(MEDIUM), {"media": "lost"}),
    ("a source lost", native_without("https://example.org/page"), {"grounding": "lost"}),
    ("the output of code lost", native_without("forty-two lines"), {"code": "lost"}),
    ("the reason lost", changed(Finish), {"finish": "lost"}),
    ("another reason", changed(Finish, Finish("length")), {"finish": "wrong"}),
    ("usage lost", changed(Usage), {"usage": "lost"}),
    ("one token more", changed(Usage, Usage(input=10, output=9, total=18)), {"usage": "wrong"}),
    ("thought tokens lost", changed(Usage, Usage(input=10, output=5, total=18)), {"usage": "lost"}),
    ("a wrong total", changed(Usage, Usage(input=10, output=8, total=15)), {"usage": "wrong"}),
    (
        "a needless error",
        replace(FAITHFUL, raised=Raised("ValueError", "boom")),
        {"needless_error": "raised"},
    ),
    (
        "an error in place of the text",
        changed(Text, Error(None, "boom")),
        {"needless_error": "raised", "text": "raised"},
    ),
]


@pytest.mark.parametrize(
    ("transcript", "expected"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_each_planted_fault_is_seen(
    transcript: Transcript, expected: dict[Aspect, AspectVerdict]
) -> None:
    findings = red(WIRE, transcript)
    assert findings.items() >= expected.items()
    assert findings.keys() <= expected.keys() | {"ids"}


def test_a_call_stated_again_with_more_arguments_is_one_call() -> None:
    transcript = changed(Call, Call("a1", "f", {"x": 1}), Call("a1", "f", {"x": 1, "on": True}))
    assert not red(WIRE, transcript)


F1, F2 = {"x": 1}, {"x": 2}


@pytest.mark.parametrize("call_id", [None, "call_1"])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((F1, F2), {"ids": "wrong"}),
        (({}, F1, {}, F2), {"ids": "wrong"}),
        ((F1, F2, {"x": 3}), {"calls": "wrong", "ids": "wrong"}),
        ((F2, F1), {"calls": "wrong", "ids": "wrong"}),
        ((F2,), {"calls": "lost"}),
        ((F2, F2), {"calls": "lost"}),
        (({}, F2), {"calls": "lost"}),
    ],
)
def test_calls_that_share_an_id_are_kept_and_their_ids_are_wrong(
    call_id: str | None, given: tuple[dict[str, int], ...], expected: dict[Aspect, AspectVerdict]
) -> None:
    wire = answer(
        frame(call_part("f", None, **F1), call_part("f", call_id, **F2), finishReason="STOP")
    )
    facts = [Call("call_1", "f", arguments) for arguments in given]
    assert red(wire, Transcript((Entry(None, (*facts, Finish("STOP"))),))) == expected


def test_two_equal_calls_under_one_id_are_given_as_often_as_the_wire_has_them() -> None:
    call = Call("f", "f")
    once, twice = (
        answer(frame(*[call_part("f", None)] * number, finishReason="STOP")) for number in (1, 2)
    )
    transcript = Transcript((Entry(None, (call, call, Finish("STOP"))),))
    assert red(once, transcript) == {"calls": "wrong"}
    assert red(twice, transcript) == {"ids": "wrong"}


def test_an_id_may_be_part_of_the_adapters_own_id() -> None:
    transcript = changed(Call, Call("a1__thought__SIG", "f", {"x": 1, "on": True}))
    assert not red(WIRE, transcript)


def test_a_signature_in_the_other_alphabet_without_padding_is_kept() -> None:
    signed = "__-_c2lnbmF0dXJlIG9mIHRoZQ"
    wire = answer(
        frame(
            {"text": "a", "thoughtSignature": "//+/c2lnbmF0dXJlIG9mIHRoZQ=="}, finishReason="STOP"
        )
    )
    stop = (Text("a"), Finish("STOP"))
    assert not red(wire, Transcript((Entry({"s": signed}, stop),)))
    assert red(wire, Transcript((Entry({"s": signed[1:]}, stop),))) == {"signatures": "lost"}


def test_equal_signatures_are_counted() -> None:
    part = {"text": "a", "thoughtSignature": SIGNATURE}
    wire = answer(frame(part, part, finishReason="STOP"))
    facts = (Text("aa"), Finish("STOP"))
    assert red(wire, Transcript((Entry([SIGNATURE], facts),))) == {"signatures": "lost"}
    assert not red(wire, Transcript((Entry([SIGNATURE, SIGNATURE], facts),)))


def test_pieces_under_one_key_are_joined_over_consecutive_events() -> None:
    entries = (
        Entry({"text": "Hello the"}),
        Entry({"text": "re, reader"}, (Text("Hello there, reader"), Finish("STOP"))),
    )
    wire = answer(
        frame(
            {"text": "Hello there, reader"},
            finishReason="STOP",
            finishMessage="Hello there, reader",
        )
    )
    assert verdicts(wire, Transcript(entries))["finish_message"] == "kept"


def test_a_value_below_a_raw_key_counts_and_has_a_note() -> None:
    wire = answer(frame({"inlineData": {"data": MEDIUM}}, finishReason="STOP"))
    transcript = Transcript((Entry({"raw_response": MEDIUM}, (Finish("STOP"),)),))
    finding = judge_answer(*wire, transcript)["media"]
    assert (finding.verdict, finding.note) == ("kept", "only in raw data")


def test_a_value_in_raw_data_and_in_pieces_is_not_only_in_raw_data() -> None:
    wire = answer(frame({"inlineData": {"data": MEDIUM}}, finishReason="STOP"))
    pieces = (Entry({"raw": MEDIUM, "piece": MEDIUM[:9]}), Entry({"piece": MEDIUM[9:]}))
    transcript = Transcript((*pieces, Entry({}, (Finish("STOP"),))))
    finding = judge_answer(*wire, transcript)["media"]
    assert (finding.verdict, finding.note) == ("kept", "")


def test_equal_media_are_counted_in_leaves_and_in_joined_pieces() -> None:
    media = [{"inlineData": {"data": MEDIUM}}] * 2
    wire = answer(frame(*media, finishReason="STOP"))
    whole = Entry({"data": MEDIUM}, (Finish("STOP"),))
    pieces = (Entry({"piece": MEDIUM[:9]}), Entry({"piece": MEDIUM[9:]}))
    assert verdicts(wire, Transcript((whole, *pieces)))["media"] == "kept"
    assert verdicts(wire, Transcript((whole, *pieces[:1])))["media"] == "lost"


def test_arguments_passed_on_in_pieces_are_a_loss() -> None:
    piece = {"jsonPath": "$.path", "stringValue": "notes.txt", "willContinue": False}
    wire = answer(
        frame({"functionCall": {"name": "read", "willContinue": True}}),
        frame({"functionCall": {"partialArgs": [piece], "willContinue": True}}),
        frame({"functionCall": {}}, finishReason="STOP"),
    )
    entries = (
        Entry({}, (Call(None, "read"),)),
        Entry({"partial_args": [piece]}, (Call(None, ""), Finish("STOP"))),
    )
    finding = judge_answer(*wire, Transcript(entries))["calls"]
    assert finding.verdict == "lost"
    assert finding.note == "the arguments of read are passed on in pieces, not joined"


@pytest.mark.parametrize(
    ("text", "given", "verdict"),
    [
        ('{"path": "no', '{"path": "no', "kept"),
        ('{"path": "no', {"path": "no"}, "wrong"),
        ('{"path": "no', {}, "wrong"),
        ('["Oslo"]', ["Oslo"], "kept"),
        ('["Oslo"]', '[ "Oslo" ]', "kept"),
        ('["Oslo"]', ["Bergen"], "wrong"),
    ],
)
def test_arguments_that_are_no_object_are_passed_on_as_they_are(
    text: str, given: Any, verdict: str
) -> None:
    wire = answer(
        frame(call_part("clock", "a1")),
        frame({"functionCall": {"name": "read", "args": text}}, finishReason="MAX_TOKENS"),
    )
    facts = (Call("a1", "clock"), Call("b2", "read", given), Finish("MAX_TOKENS"))
    assert verdicts(wire, Transcript((Entry({}, facts),)))["calls"] == verdict
    assert red(wire, Transcript((Entry({}, (facts[0], facts[2])),))) == {}


def test_joined_arguments_are_not_said_to_be_in_pieces() -> None:
    wire = wire_of(
        made_facts(calls=[("f", {"path": "notes.txt"})], finish="tool_calls"), "complete"
    )
    pieces_of_wire = ['{"path": "no', 'tes.txt"}']
    facts = WireFacts([*wire.facts.facts, *map(CallPiece, pieces_of_wire)])
    wire = wire_of(facts, "complete")
    natives = [{"delta": piece} for piece in pieces_of_wire]
    call = Call(None, "f", '{"path": "no')
    entries = (*map(Entry, natives), Entry({}, (call, Finish("tool_calls"))))
    pieces = judge_answer(*wire, Transcript(entries))["calls"]
    assert pieces.reason == "arguments-in-pieces"
    call = Call(None, "f", '{"path": "notes"')
    entries = (*map(Entry, natives), Entry({}, (call, Finish("tool_calls"))))
    assert judge_answer(*wire, Transcript(entries))["calls"].reason == "calls"


def test_tool_code_may_be_text_or_a_call() -> None:
    text = 'a<tool_code>{"name": "f", "args": {"x": 1}}</tool_code>b'
    body = json.dumps(frame({"text": text}, finishReason="STOP")).encode()
    wire = wire_of(facts_of_body(body, tool_code=True), "complete")
    stop = Finish("STOP")
    assert not red(wire, Transcript((Entry(None, (Text(text), stop)),)))
    assert not red(wire, Transcript((Entry(None, (Text("ab"), Call(None, "f", {"x": 1}), stop)),)))
    assert "text" in red(wire, Transcript((Entry(None, (Text("ab"), stop)),)))


@pytest.mark.parametrize(
    ("name", "tools", "accepted"),
    [
        ("run", {"run", "look"}, True),
        ("Bash", {"run", "look"}, False),
        ("Bash", set(), True),
        ("", set(), False),
    ],
)
def test_tool_code_without_a_name_is_a_call_of_a_declared_tool(
    name: str, tools: set[str], accepted: bool
) -> None:
    text = '<tool_code>{"command": "ls"}</tool_code>'
    body = json.dumps(frame({"text": text}, finishReason="STOP")).encode()
    facts = facts_of_body(body, tool_code=True)
    wire = wire_of(facts, "complete", tools=frozenset(tools))
    call = Entry(None, (Call(None, name, {"command": "ls"}), Finish("STOP")))
    expected = {} if accepted else {"text": "lost", "calls": "wrong"}
    assert red(wire, Transcript((call,))) == expected


def test_the_results_of_tools_that_a_program_ran_are_looked_for() -> None:
    used = '{"type":"tool_use","timestamp":"t","tool_name":"read","tool_id":"r1","parameters":{}}'
    failed = (
        '{"type":"tool_result","timestamp":"t","tool_id":"r1","status":"error","output":"no file",'
        '"error":{"type":"E","message":"Path not in workspace"}}'
    )
    end = '{"type":"result","timestamp":"t","status":"success"}'
    body = f"{used}\n{failed}\n{end}\n".encode()
    wire = wire_of(facts_of_body(body, "gemini-cli"), "complete", program=True)
    facts = (Call("r1", "read", {}), Finish("success"))
    for native, expected in (
        ({"output": "no file", "error": "Path not in workspace"}, {}),
        ({"output": "no file", "error": "error"}, {"server_tools": "lost"}),
        ({"error": "Path not in workspace"}, {"server_tools": "lost"}),
    ):
        assert red(wire, Transcript((Entry(native, facts),))) == expected


@pytest.mark.parametrize(
    ("text", "native", "expected"),
    [
        ("Gr\ufffd\ufffde", "Grüe", {}),
        ("Grüe", "Grüe", {}),
        ("Grüe", "", {}),
        ("Gr\ufffd\ufffde", "", {"text": "lost"}),
    ],
)
def test_damaged_text_is_repaired_or_passed_on_with_the_intact_one(
    text: str, native: str, expected: dict[Aspect, AspectVerdict]
) -> None:
    facts = made_facts(text="Gr\ufffd\ufffde", mended="Grüe", finish="SUCCESS", ended_well=True)
    wire = wire_of(facts, "complete", program=True)
    assert red(wire, Transcript((Entry([native], (Text(text), Finish("SUCCESS"))),))) == expected


def test_a_total_may_have_the_thoughts_that_the_total_of_the_wire_lacks() -> None:
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 4}
    for thoughts, of_wire, given, expected in (
        (3, 14, 14, {}),  # the total of the Live API
        (3, 14, 17, {}),
        (3, 14, 16, {"usage": "wrong"}),
        (0, 10, 14, {"usage": "wrong"}),  # something else is not in the total of the wire
    ):
        usage = counts | {"thoughtsTokenCount": thoughts, "totalTokenCount": of_wire}
        wire = answer({**frame({"text": "a"}, finishReason="STOP"), "usageMetadata": usage})
        facts = (Text("a"), Finish("STOP"), Usage(input=10, output=4 + thoughts, total=given))
        assert red(wire, Transcript((Entry(None, facts),))) == expected


def test_counts_that_the_wire_does_not_have_are_wrong() -> None:
    wire = answer(frame({"text": "a"}, finishReason="STOP"))
    facts = (Text("a"), Finish("STOP"), Usage(input=8, output=4, total=12))
    assert red(wire, Transcript((Entry(None, facts),))) == {"usage": "wrong"}


def test_counts_beside_an_error_are_wrong_if_the_wire_has_none() -> None:
    malformed = frame({"text": "a"}, finishReason="MALFORMED_FUNCTION_CALL")
    raised = Raised("InvalidCall", "MALFORMED_FUNCTION_CALL")
    stated = Transcript((Entry(None, (Text("a"), Usage(output=1))),), raised)
    assert red(answer(malformed), stated) == {"usage": "wrong"}
    counted = {**malformed, "usageMetadata": {"candidatesTokenCount": 4, "totalTokenCount": 4}}
    assert red(answer(counted), stated) == {"usage": "lost"}, "the last counts come after the error"
    too_many = Transcript((Entry(None, (Text("a"), Usage(output=9))),), raised)
    assert red(answer(counted), too_many) == {"usage": "wrong"}


def test_cache_reads_that_are_counted_beside_the_input_may_be_in_it() -> None:
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 4, "totalTokenCount": 904}
    counts = usage | {"cachedContentTokenCount": 100, "cacheReadTokens": 100}
    facts_of_wire = made_facts(text="a", finish="SUCCESS", ended_well=True, usage=counts)
    wire = wire_of(facts_of_wire, "complete", program=True)
    for counted, expected in ((900, {}), (1000, {}), (800, {"usage": "wrong"})):
        facts = (Text("a"), Finish("SUCCESS"), Usage(input=counted, output=4, total=904))
        assert red(wire, Transcript((Entry({"cached": 100}, facts),))) == expected


def test_a_count_may_be_divided_if_its_parts_are_in_native_events() -> None:
    counts = {"promptTokenCount": 4793, "cachedContentTokenCount": 51, "cacheWriteTokenCount": 4425}
    wire = answer(frame(finishReason="STOP"))
    wire.facts.usage |= counts
    for given, native, verdict in (
        (317, {"read": 51, "write": 4425}, "kept"),
        (4742, {"read": 51}, "kept"),
        (317, {"read": 51}, "wrong"),
        (318, {"read": 51, "write": 4425}, "wrong"),
    ):
        entry = Entry(native, (Finish("STOP"), Usage(input=given)))
        assert verdicts(wire, Transcript((entry,)))["usage"] == verdict


def test_cached_tokens_are_looked_for_in_native_events() -> None:
    counts = {"promptTokenCount": 900, "cachedContentTokenCount": 640, "totalTokenCount": 900}
    wire = answer({**frame({"text": "a"}, finishReason="STOP"), "usageMetadata": counts})
    facts = (Text("a"), Finish("STOP"), Usage(input=900, total=900))
    assert not red(wire, Transcript((Entry({"details": {"cached_tokens": 640}}, facts),)))
    assert red(wire, Transcript((Entry({"prompt_tokens": 900}, facts),))) == {"usage": "lost"}


@pytest.mark.parametrize(
    ("counted", "native", "lost"),
    [
        ({"input": 80, "output": 100}, {}, False),
        ({"input": 30, "output": 100, "total": 180}, {}, False),
        ({"input": 30, "output": 100}, {"tool_tokens": 50}, False),
        ({"input": 30, "output": 100}, {}, True),
    ],
)
def test_tokens_of_tool_use_are_in_a_count(
    counted: dict[str, int], native: dict[str, int], lost: bool
) -> None:
    counts = {"promptTokenCount": 30, "candidatesTokenCount": 100, "toolUsePromptTokenCount": 50}
    ended = frame({"text": "a"}, finishReason="STOP")
    wire = answer({**ended, "usageMetadata": {**counts, "totalTokenCount": 180}})
    facts = (Text("a"), Finish("STOP"), Usage(**counted))
    assert red(wire, Transcript((Entry(native, facts),))) == ({"usage": "lost"} if lost else {})


def test_a_skipped_exchange_is_not_asked() -> None:
    skipped = Transcript(skipped="this client can't ask for a unary answer")
    assert set(verdicts(WIRE, skipped).values()) == {"not_asked"}


def test_merged_facts_do_not_depend_on_granularity() -> None:
    whole = Transcript((Entry(None, (Text("ab"), Call("i", "f", "{}"), Finish("STOP"))),))
    two = Transcript(
        (
            Entry(None, (Text("a"),)),
            Entry(None, (Text("b"), Call("j", "f", {}))),
            Entry(None, (Finish("STOP"),)),
        )
    )
    assert merged_facts(whole) == merged_facts(two)


def test_a_restart_takes_back_what_came_before() -> None:
    wire = answer(frame({"text": "b"}, call_part("f", "1"), finishReason="STOP"))
    call = Call("1", "f", {})
    first = (Thought("hm"), Text("a"), call, Usage(input=3), Finish("length"), Error(1, "x"))
    entries = (Entry(1, first), Entry(2, (Restart(), Text("b"), call, Finish("STOP"))))
    assert not red(wire, Transcript(entries, attempts=2))
    assert not red(wire, Transcript(entries, asked_again=1))
    nothing_failed = Transcript((Entry(1, (Text("a"),)), *entries[1:]))
    assert red(wire, nothing_failed) == {"text": "wrong"}
    assert merged_facts(Transcript(entries)) == [Text("b"), Call(None, "f", {}), Finish("STOP")]


def test_an_empty_id_is_no_id() -> None:
    wire = answer(frame(call_part("f", None), call_part("g", None), finishReason="STOP"))
    facts = (Call("", "f"), Call("", "g"), Finish("STOP"))
    assert not red(wire, Transcript((Entry(None, facts),)))


@pytest.mark.parametrize(
    "calls",
    [
        (),
        (Call(None, "generic_tool", {"x": 1}),),
        (Call(None, None, {"x": 1}),),
        (Call(None, "", {"x": 1}),),
    ],
)
def test_a_call_without_a_name_is_not_asked(calls: tuple[Call, ...]) -> None:
    wire = answer(frame(call_part("", None, x=1), finishReason="STOP"))
    assert wire.facts.calls
    facts: tuple[Fact, ...] = (*calls, Finish("STOP"))
    assert verdicts(wire, Transcript((Entry(None, facts),))) == {
        "calls": "not_asked",
        "finish": "kept",
    }


def test_a_call_that_has_lost_its_name_is_wrong() -> None:
    wire = answer(frame(call_part("f", None, x=1), finishReason="STOP"))
    facts = (Call(None, None, {"x": 1}), Finish("STOP"))
    finding = judge_answer(*wire, Transcript((Entry(None, facts),)))["calls"]
    assert (finding.verdict, finding.note) == (
        "wrong",
        'the wire calls f({"x": 1}), the adapter a call without a name({"x": 1})',
    )
