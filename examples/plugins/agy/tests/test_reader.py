"""The output of the Antigravity CLI: the reading of each line, by our reader and by the independent
reader.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from agy_support import facts_of, losses, read_with
from hypothesis import given
from hypothesis import strategies as st

from harness.facts import Error
from harness.providers import PROVIDERS, Answer, Identity, detect_provider, with_provider
from harness.stream.events import End, Event, Text
from harness.stream.exchange import Exchange
from harness.stream.framing import FramingError

ID = "7c1e0a52"
USAGE = {
    "input_tokens": 900,
    "output_tokens": 47,
    "thinking_tokens": 40,
    "cache_read_tokens": 100,
    "total_tokens": 947,
}
ZERO = dict.fromkeys(USAGE, 0)
TIMEOUT = "[agy] print timeout after 8s with turn in progress; returning partial output"


def init(**fields: Any) -> str:
    return json.dumps({"event": "init", "conversation_id": ID, "init": {"cwd": "/w", **fields}})


def step(index: Any, kind: Any, state: Any = "DONE", **fields: Any) -> str:
    payload = {"conversation_id": ID, "step_index": index, "state": state, "step_type": kind}
    return json.dumps({"event": "step_update", "step_update": payload | fields})


def result(status: Any = "SUCCESS", response: Any = "Hi\n", **fields: Any) -> str:
    payload = {"conversation_id": ID, "status": status, "response": response}
    return json.dumps({"event": "result", "result": payload | fields})


SAID = step(1, "agent_response", text_delta="Hi\n")


def events(*lines: str, answer: Answer | None = None, end: End = "complete") -> list[Any]:
    """The events of a run; each of them is in legal order."""
    provider = PROVIDERS["agy"]
    framer = provider.framer(1 << 20)
    frames = framer.feed("\n".join([*lines, ""]).encode()) + framer.close()
    return read_with(provider.normalizer(answer or Answer()), frames, end)


def of_kind(kind: str, all_events: list[Any]) -> list[Any]:
    return [
        {k: v for k, v in event.items() if k != "kind"}
        for event in all_events
        if event["kind"] == kind
    ]


def test_a_call_and_its_result_are_one_step() -> None:
    info = {"name": "ls", "parameters": {"a": 1}}
    all_events = events(
        init(),
        step(2, "tool", "ACTIVE", tool_name="ls", tool_info=info),
        step(2, "tool", tool_name="ls", tool_info={**info, "output": "x"}, duration_seconds=0.5),
    )
    edge = {"step_index": 2, "step_type": "tool"}
    assert all_events[2:] == [
        {"kind": "block_start", "type": "tool", "raw": {**edge, "state": "ACTIVE"}, "index": 2},
        {"kind": "call_start", "call": 1, "name": "ls", "id": "2"},
        {"kind": "call_end", "call": 1, "arguments": {"a": 1}},
        {"kind": "tool_result", "id": "2", "name": "ls", "response": "x"},
        {
            "kind": "block_end",
            "raw": {**edge, "state": "DONE", "duration_seconds": 0.5},
            "index": 2,
        },
    ]


def test_a_failed_tool_has_its_message_or_its_state() -> None:
    error = {"type": "TOOL_ERROR", "message": "no such file"}
    all_events = events(
        init(),
        step(1, "tool", "ERROR", tool_name="a", tool_info={"parameters": {}, "error": error}),
        step(2, "tool", "ERROR", tool_name="b"),
    )
    assert of_kind("tool_result", all_events) == [
        {"id": "1", "name": "a", "error": "no such file", "raw": {"error": error}},
        {"id": "2", "name": "b", "error": "ERROR"},
    ]


def test_parameters_that_change_within_a_step_are_kept() -> None:
    all_events = events(
        step(1, "tool", "ACTIVE", tool_name="a", tool_info={"name": "a", "parameters": {"x": 1}}),
        step(1, "tool", tool_name="a", tool_info={"name": "b", "parameters": {"x": 2}, "new": 3}),
    )
    assert of_kind("call_end", all_events) == [{"call": 1, "arguments": {"x": 1}}]
    assert of_kind("unknown", all_events) == [
        {"where": "field step_update.tool_info.name", "raw": {"name": "b"}},
        {"where": "field step_update.tool_info.parameters", "raw": {"parameters": {"x": 2}}},
        {"where": "field step_update.tool_info.new", "raw": {"new": 3}},
    ]


def test_usage_counts_the_steps_so_far_and_then_the_result() -> None:
    all_events = events(
        init(),
        step(0, "user_input"),
        step(1, "agent_response", usage=USAGE),
        step(2, "checkpoint", usage=USAGE),
        result(usage={**USAGE, "input_tokens": 5}, num_turns=1),
    )
    counts = {"input": 1000, "output": 7, "reasoning": 40, "cached": 100, "total": 947}
    first, second, last = of_kind("usage", all_events)
    assert first == {"raw": USAGE, **counts}
    assert second["raw"]["input_tokens"] == 1800
    assert {name: second[name] for name in counts} == {k: 2 * v for k, v in counts.items()}
    assert last["input"] == 105


@pytest.mark.parametrize("usage", [{**USAGE, "input_tokens": 5000}, ZERO])
def test_totals_of_other_turns_and_zeros_are_no_counts(usage: dict[str, int]) -> None:
    all_events = events(
        init(),
        step(7, "user_input"),
        step(8, "agent_response", usage=USAGE),
        result(usage=usage, num_turns=3),
    )
    assert [event["raw"] for event in of_kind("usage", all_events)] == [USAGE]
    assert {"name": "usage", "raw": {"usage": usage}} in of_kind("metadata", all_events)


@pytest.mark.parametrize(
    ("response", "snapshots"),
    [("Hé\n", []), ("H\n", [{"name": "snapshot", "raw": {"response": "H\n"}}])],
)
def test_only_a_different_response_is_a_snapshot(response: str, snapshots: list[Any]) -> None:
    all_events = events(
        init(),
        step(1, "agent_response", "ACTIVE", text_delta="H"),
        step(1, "agent_response", text_delta="é\n"),
        result(response=response),
    )
    assert [
        event for event in of_kind("metadata", all_events) if event["name"] == "snapshot"
    ] == snapshots
    assert of_kind("text", all_events) == [{"text": "H"}, {"text": "é\n"}]


def test_a_response_without_deltas_is_the_text() -> None:
    assert of_kind("text", events(init(), result("ERROR", error="x"))) == [{"text": "Hi\n"}]
    document = json.dumps(json.loads(result())["result"])
    assert of_kind("text", events(document)) == [{"text": "Hi\n"}]


@pytest.mark.parametrize(
    ("fields", "finish"),
    [
        ({}, [{"reason": "stop", "raw": "SUCCESS"}]),
        ({"response": ""}, []),
        ({"response": "", "denied_actions": [{"action": "command", "display_name": "Run"}]}, []),
        ({"response": "", "structured_output": {}}, [{"reason": "stop", "raw": "SUCCESS"}]),
        ({"response": "", "command": {"name": "usage"}}, [{"reason": "stop", "raw": "SUCCESS"}]),
        ({"response": None}, [{"reason": "stop", "raw": "SUCCESS"}]),
        ({"status": "CANCELED"}, [{"reason": "failed", "raw": "CANCELED"}]),
        ({"status": "RUNNING", "response": ""}, [{"reason": "failed", "raw": "RUNNING"}]),
        ({"status": None}, [{"reason": "failed", "raw": ""}]),
    ],
)
def test_success_is_a_good_end_only_with_an_answer(
    fields: dict[str, Any], finish: list[Any]
) -> None:
    all_events = events(init(), SAID, result(**fields))
    assert of_kind("finish", all_events) == finish
    if not finish:
        assert {"name": "status", "raw": {"status": "SUCCESS"}} in of_kind("metadata", all_events)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"usage": ZERO}, "length"), ({}, "length"), ({"usage": USAGE}, "stop")],
)
def test_a_time_limit_has_the_finish_reason_length(fields: dict[str, Any], reason: str) -> None:
    all_events = events(init(), SAID, result(**fields), answer=Answer(stderr=("warning", TIMEOUT)))
    (finish,) = of_kind("finish", all_events)
    assert finish["reason"] == reason
    assert finish.get("message") == (TIMEOUT if reason == "length" else None)


def test_a_time_limit_without_an_answer_gives_no_finish_reason() -> None:
    all_events = events(init(), result(response="", usage=ZERO), answer=Answer(stderr=(TIMEOUT,)))
    assert of_kind("finish", all_events) == []
    assert {"status": "SUCCESS", "stderr": TIMEOUT} in [
        event["raw"] for event in of_kind("metadata", all_events)
    ]


AGY_ERROR = {"short_error": "quota", "status": "RESOURCE_EXHAUSTED", "error_code": 429}
STDERR = ("error: too much", f"AGY_ERROR: {json.dumps(AGY_ERROR)}")


@pytest.mark.parametrize(
    ("lines", "code", "error"),
    [
        (
            [result("ERROR", error="too much")],
            "3",
            {"message": "too much", "code": 429, "status": "RESOURCE_EXHAUSTED"},
        ),
        ([], "3", {"message": "quota", "code": 429, "status": "RESOURCE_EXHAUSTED"}),
        ([SAID, result()], "0", {"message": "quota", "code": 429, "status": "RESOURCE_EXHAUSTED"}),
    ],
)
def test_stderr_has_the_code_of_a_failure(
    lines: list[str], code: str, error: dict[str, Any]
) -> None:
    all_events = events(*lines, answer=Answer(headers={"x-exit-code": code}, stderr=STDERR))
    (given_error,) = of_kind("error", all_events)
    assert {name: given_error[name] for name in error} == error
    assert given_error["raw"]["AGY_ERROR"] == AGY_ERROR


def test_an_exit_code_is_an_error_where_the_output_gives_no_end() -> None:
    answer = Answer(headers={"x-exit-code": "2"}, stderr=("flags provided but not defined: -x",))
    (error,) = of_kind("error", events(answer=answer))
    assert error["message"] == "exit code 2: flags provided but not defined: -x"
    assert of_kind("error", events(SAID, result(), answer=answer)) == []
    assert of_kind("error", events(SAID, answer=answer, end="cut")) == []


def test_damaged_details_on_stderr_are_no_error() -> None:
    assert of_kind("error", events(SAID, result(), answer=Answer(stderr=("AGY_ERROR: {",)))) == []


def test_a_message_before_any_init_has_an_implied_start_with_its_id() -> None:
    assert events(SAID)[0] == {"kind": "start", "id": ID, "implied": True}
    later = SAID.replace(ID, "other")
    assert {"name": "id", "raw": {"conversation_id": "other"}} in of_kind(
        "metadata", events(init(), later)
    )


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ('{"event": "new", "new": {}}', "event new"),
        (step("1", "tool"), "event step_update"),
        (step(1, None), "event step_update"),
        (step(1, "plan"), "step plan"),
        (step(1, "user_input", "PAUSED"), "state PAUSED"),
        (step(1, "agent_response", text_delta=7), "field step_update.text_delta"),
        (result(new=1), "field result.new"),
        ('{"event": "command_result", "command": {}, "x": 1}', "field command_result.x"),
        ("{}", "event None"),
        ("7", "line"),
        ("null", "frame"),
        ("Fetching available models...", "frame"),
    ],
)
def test_an_unknown_thing_is_kept(line: str, where: str) -> None:
    assert where in [event["where"] for event in of_kind("unknown", events(init(), line))]


@pytest.mark.parametrize(
    ("body", "identity"),
    [
        (init(), Identity("agy", True, True)),
        (f"noise\n{SAID}", Identity("agy", True, True)),
        (f"glued{result().replace(': ', ':')}", Identity("agy", True, True)),
        (json.dumps(json.loads(result())["result"]), Identity("agy", True)),
        (
            '{"conversation_id": "", "status": "ERROR", "response": "", "error": {"message": "no"}}',
            Identity("agy", True),
        ),
        ('{"event": "result"}', Identity(None, False)),
        ('{"conversation_id": "c", "status": "SUCCESS"}', Identity(None, False)),
    ],
)
def test_the_output_is_detected_by_its_content(body: str, identity: Identity) -> None:
    assert detect_provider("", "", b"", body.encode()) == identity


def test_unknown_output_belongs_to_the_named_program() -> None:
    headers = {"x-exit-code": ["2"], "x-program": ["agy"]}
    assert with_provider(Exchange(None, 200, headers, ())).provider == "agy"
    assert with_provider(Exchange(None, 200, {"x-exit-code": ["2"]}, ())).provider == "gemini-cli"


def test_oracle_and_provider_agree_on_every_line_of_stderr() -> None:
    headers = {"x-exit-code": ["3"], "x-stderr": list(STDERR)}
    exchange = Exchange(None, 200, headers, (), "complete")
    facts = PROVIDERS["agy"].facts(exchange)
    assert facts.errors == [Error(429, "quota")]
    assert not PROVIDERS["agy"].facts(Exchange(None, 200, headers, (), "aborted")).errors


def test_a_line_in_its_own_read_gives_the_same_events() -> None:
    """A strict decoder reads a line that is one piece of text."""
    pieces = [step(1, "agent_response", "ACTIVE", text_delta=f"piece {n} é\n") for n in range(4)]
    other = pieces[0].replace(ID, "other")
    lines = [init(), pieces[0], *pieces, other, SAID, pieces[0], result()]
    provider = PROVIDERS["agy"]
    framer = provider.framer(1 << 20)
    frames = [frame for line in lines for frame in framer.feed(f"{line}\n".encode())]
    whole = provider.framer(1 << 20).feed("".join(f"{line}\n" for line in lines).encode())
    assert [type(frame.message) for frame in frames].count(bytes) == 7
    assert frames == whole
    apart = read_with(provider.normalizer(Answer()), frames + framer.close())
    assert apart == events(*lines)


@pytest.mark.parametrize(
    "read",
    [
        b'{"event":"step_update"\n',
        b'{"event":"step_update","step_update":{"conversation_id":"c"}} \n',
        b"noise\n",
        b"noise" + step(1, "agent_response", "ACTIVE", text_delta="a").encode() + b"\n",
        step(1, "agent_response", "ACTIVE", text_delta="a", mood=1).encode() + b"\n",
        b'{"event":"step_update","step_update":{"step_index":1}} }}\n',
        b'{"event":"step_update","step_update":{}}',
    ],
)
def test_any_other_read_is_decoded_by_the_framer(read: bytes) -> None:
    assert not any(
        type(frame.message) is bytes for frame in PROVIDERS["agy"].framer(1 << 20).feed(read)
    )


def test_the_usual_line_is_limited_as_well() -> None:
    line = step(1, "agent_response", "ACTIVE", text_delta="a" * 200).encode() + b"\n"
    with pytest.raises(FramingError, match="longer than 100 bytes"):
        PROVIDERS["agy"].framer(100).feed(line)


# The independent reader of the same output

RUN = [
    "noise",
    init(model="m"),
    step(0, "user_input"),
    step(1, "agent_response", "ACTIVE", thinking_delta="t"),
    step(1, "agent_response", text_delta="Hi\n", usage=USAGE),
    step(2, "tool", "ERROR", tool_name="ls", tool_info={"parameters": {"a": 1}}),
    step(3, "error_message"),
    result(response="Hé\n", usage=USAGE, num_turns=1, denied_actions=[{"action": "command"}]),
]


@pytest.mark.parametrize(
    "kind",
    [
        "start",
        "metadata",
        "text",
        "reasoning",
        "call_start",
        "tool_result",
        "usage",
        "finish",
        "unknown",
        "notice",
    ],
)
def test_an_event_that_is_left_out_is_a_loss(kind: str) -> None:
    wire, all_events = facts_of("\n".join(RUN).encode()), events(*RUN)
    kept = [event for event in all_events if event["kind"] != kind]
    assert losses(wire, all_events) == []
    assert losses(wire, kept) != []


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        "",
        "DONE",
        "ERROR",
        "tool",
        "agent_response",
        "subagent",
        0,
        1,
        True,
        [],
        {},
        {"name": "n"},
        USAGE,
        ZERO,
    ]
)
NAMES = [
    *("conversation_id", "step_index", "state", "step_type", "tool_name", "text_delta", "usage"),
    *("tool_info", "subagent_info", "status", "response", "error", "num_turns", "command"),
    *("structured_output", "denied_actions", "thinking_delta", "duration_seconds"),
]
PAYLOADS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8)
STEPS = PAYLOADS.map(
    lambda fields: {"step_index": 1, "step_type": "tool", "state": "DONE"} | fields
)
MESSAGES = st.one_of(
    st.tuples(st.just("step_update"), STEPS),
    st.tuples(st.sampled_from(["init", "step_update", "result", "command", "x"]), PAYLOADS),
).map(lambda pair: json.dumps({"event": pair[0], pair[0]: pair[1]}))


@pytest.mark.slow
@given(st.lists(MESSAGES, max_size=5))
def test_both_readers_agree_on_any_message(lines: list[str]) -> None:
    body = "\n".join(lines).encode()
    assert losses(facts_of(body), events(*lines)) == []


def test_the_output_of_a_tool_that_the_program_ran_is_looked_for() -> None:
    step = {"step_index": 1, "state": "DONE", "step_type": "tool", "tool_name": "run"}
    done = {**step, "tool_info": {"parameters": {}, "output": "three files"}}
    result = {"conversation_id": "c", "status": "SUCCESS", "response": "a"}
    lines = (
        {"event": "init", "conversation_id": "c", "init": {"model": "m"}},
        {"event": "step_update", "step_update": done},
        {"event": "result", "conversation_id": "c", "result": result},
    )
    facts = facts_of("\n".join(map(json.dumps, lines)).encode())
    assert facts.opaque == {"server_tools": ["three files"]}


def usual(lines: list[str]) -> tuple[list[Event], int]:
    """The events of the lines, and the number of pieces that the strict decoder took."""
    framer, reader = PROVIDERS["agy"].framer(1 << 20), PROVIDERS["agy"].normalizer(Answer())
    frames = [*framer.feed("".join(f"{line}\n" for line in lines).encode()), *framer.close()]
    given = [event for frame in frames for event in reader.feed(frame)]
    return given, sum(type(frame.message) is bytes for frame in frames)


PIECE = step(1, "agent_response", "ACTIVE", text_delta="Hi")


def test_only_a_piece_of_the_open_step_is_usual() -> None:
    given, taken = usual([PIECE, PIECE, "noise", PIECE])
    assert (taken, sum(isinstance(event, Text) for event in given)) == (2, 3)
    for other in (PIECE.replace(ID, "d"), PIECE.replace('"step_index": 1', '"step_index": 2')):
        given, _ = usual([PIECE, other])
        assert len(given) == 5  # the start, a boundary, two texts, and the new fact
