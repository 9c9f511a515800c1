"""The strict readers of the public wires that an adapter writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.adapters.reply import Reply
from harness.adapters.wires import read_reply, text_of_bytes
from harness.facts import Call, Entry, Error, Fact, Finish, Raised, Raw, Text, Thought, Usage

CHUNK = {"object": "chat.completion.chunk"}


def read(wire: str, *items: Any, streamed: bool | None = None) -> Reply:
    reply = Reply()
    for item in items:
        reply.add(Entry(item), 1.0)
    read_reply(reply, wire, streamed=streamed)
    return reply


def facts(wire: str, *items: Any) -> list[Fact]:
    """The facts of an answer that the client of the wire can read."""
    reply = read(wire, *items)
    assert reply.raised is None
    return [fact for entry in reply.entries for fact in entry.facts]


def refused(wire: str, *items: Any, streamed: bool | None = None) -> str:
    """Why the client of the wire can't read an answer."""
    raised = read(wire, *items, streamed=streamed).raised
    assert raised is not None
    assert raised.type == "UnreadableAnswer"
    return raised.message


def chunk(delta: Any, reason: str | None = None, index: int = 0) -> dict[str, Any]:
    return {**CHUNK, "choices": [{"index": index, "delta": delta, "finish_reason": reason}]}


def call_piece(index: Any, arguments: str, name: Any = None, call_id: Any = None) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": index, "id": call_id, "function": function}]})


def sse(*events: Any, named: bool = False) -> str:
    return "".join(
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    )


def test_calls_with_one_index_are_one_call() -> None:
    same = [call_piece(0, "{}", "set_lamp", f"c{number}") for number in (1, 2, 3)]
    assert facts("openai-chat", *same, chunk({}, "tool_calls")) == [
        Call("c1c2c3", "set_lampset_lampset_lamp", "{}{}{}"),
        Finish("tool_calls"),
    ]
    each = [call_piece(number, "{}", "set_lamp", f"c{number}") for number in (0, 1, 2)]
    assert facts("openai-chat", *each, chunk({}, "tool_calls")) == [
        *(Call(f"c{number}", "set_lamp", {}) for number in (0, 1, 2)),
        Finish("tool_calls"),
    ]


def test_pieces_are_joined_by_their_index_and_stay_in_its_order() -> None:
    chunks = [
        call_piece(0, '{"a":', "f", "c0"),
        call_piece(1, "{}", "g", "c1"),
        call_piece(0, "1}"),
        chunk({"content": "Hi"}),
        chunk({}, "tool_calls"),
    ]
    reply = read("openai-chat", *chunks)
    assert [entry.facts for entry in reply.entries] == [
        (),
        (),
        (Call("c0", "f", {"a": 1}), Call("c1", "g", {})),
        (Text("Hi"),),
        (Finish("tool_calls"),),
    ]
    assert reply.times == [1.0] * 5


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (call_piece(None, "{}", "f"), "tool_calls[].index is null; expected the number"),
        (call_piece(1, "{}", "f"), "tool_calls[].index is 1; expected the number of an item"),
        (chunk({"tool_calls": [{"index": 0, "id": "c"}]}), "function is null; expected an object"),
        (chunk({"content": ["Hi"]}), 'content is ["Hi"]; expected a string'),
        (chunk({"content": "Hi"}, index=1), "choices[].index is 1"),
        ({**CHUNK, "choices": [{"index": 0}]}, "choice.delta is null; expected an object"),
        ({**CHUNK, "usage": {}}, "choices is null; expected a list of objects"),
        ({**CHUNK, "choices": ["Hi"]}, 'choice is "Hi"; expected an object'),
        ({**chunk({}), "usage": {"total_tokens": "7"}}, 'count is "7"; expected a number'),
        ({**chunk({}), "usage": {"x_details": 7}}, "details is 7; expected an object"),
        (chunk({"content": [{"type": "text", "text": "Hi"}]}), "delta.content is [{"),
        (chunk({"refusal": 1}), "delta field refusal is 1; expected a string"),
        (chunk({"function_call": "f"}), 'delta field function_call is "f"; expected an object'),
        (call_piece(0, {}, "f"), "call.arguments is {}; expected a string"),  # type: ignore[arg-type]  # a wrong type is the fault
        (chunk({"tool_calls": [{"index": 0, "type": "custom"}]}), 'call.type is "custom"'),
        ({"choices": []}, 'object is null; expected "chat.completion.chunk"'),
        ({"type": "text", "text": "Hi"}, "object is null"),
        (["Hi"], '["Hi"]; expected an object of the wire'),
    ],
)
def test_a_chunk_that_the_client_does_not_read_is_said(message: Any, why: str) -> None:
    assert why in refused("openai-chat", message)


def test_facts_before_an_unreadable_chunk_stay() -> None:
    reply = read("openai-chat", chunk({"content": "Hi"}), {"x": 1}, chunk({"content": "!"}))
    assert [entry.facts for entry in reply.entries] == [(Text("Hi"),), (), ()]
    assert [entry.native for entry in reply.entries][2] == chunk({"content": "!"})
    assert reply.raised is not None
    assert reply.raised.message.startswith("message 2 is not openai-chat: object is null")


def test_an_exception_of_the_adapter_stands_for_what_is_missing() -> None:
    reply = Reply([Entry('data: {"obj')], [1.0], Raised("OSError", "gone"))
    read_reply(reply, "openai-chat")
    assert reply.raised == Raised("OSError", "gone")
    assert [entry.native for entry in reply.entries] == ['data: {"obj']


def test_the_usage_of_the_last_chunk_counts() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    middle = chunk({"content": "Hi"}, "stop") | {"usage": usage}
    last = {**CHUNK, "choices": [], "usage": usage}
    hi = [Text("Hi"), Finish("stop")]
    assert facts("openai-chat", middle) == [*hi, Usage(input=7, output=3, total=10)]
    assert facts("openai-chat", middle, last) == [*hi, Usage(input=7, output=3, total=10)]
    assert facts("openai-chat", middle, chunk({})) == hi


def test_reasoning_refusals_old_calls_and_errors_of_chats() -> None:
    both = {"reasoning_content": "Hm", "reasoning": "Hm"}
    old = chunk({"function_call": {"name": "f", "arguments": "{}"}})
    assert facts("openai-chat", chunk(both), chunk({"refusal": "No."}), old) == [
        Thought("Hm"),
        Text("No."),
        Call(None, "f", {}),
    ]
    error = {"error": {"code": "rate_limit", "message": "Slow down."}}
    assert facts("openai-chat", chunk({"content": "a"}), error, chunk({"content": "b"})) == [
        Text("a"),
        Error("rate_limit", "Slow down."),
    ]


def test_only_the_first_choice_of_chats_is_read() -> None:
    pieces = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}], "content": 1}
    both = chunk({"content": "Hi"}, "stop")
    both["choices"].append({"index": 1, "delta": pieces, "finish_reason": "length"})
    assert facts("openai-chat", both) == [Text("Hi"), Finish("stop")]
    both["choices"][1]["index"] = 0
    assert "choices[].index is 0; expected the number" in refused("openai-chat", both)
    choices = [{"message": {"content": text}} for text in ("Hi", "Ho")]
    whole = {"object": "chat.completion", "choices": choices}
    assert facts("openai-chat", whole) == [Text("Hi")]
    del choices[0]["message"]
    assert "choice.message is null; expected an object" in refused("openai-chat", whole)


def test_half_arguments_are_no_call_without_a_reason() -> None:
    half = call_piece(0, '{"a": ', "f", "c")
    assert facts("openai-chat", half) == []
    assert facts("openai-chat", half, chunk({}, "length")) == [
        Call("c", "f", '{"a": '),
        Finish("length"),
    ]


def test_a_whole_completion_is_a_document() -> None:
    function = {"name": "f", "arguments": "{}"}
    message = {"content": "Hi", "tool_calls": [{"id": "c", "function": function}]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    whole = {"object": "chat.completion", "choices": [choice]}
    expected = [Text("Hi"), Call("c", "f", {}), Finish("tool_calls")]
    assert facts("openai-chat", whole) == expected
    text = json.dumps(whole)
    assert facts("openai-chat", text[:30], text[30:]) == expected
    assert "expected a stream" in refused("openai-chat", whole, streamed=True)
    assert 'expected "chat.completion.chunk"' in refused("openai-chat", sse(whole))
    assert "it is a server-sent event" in refused("openai-chat", sse(chunk({})), streamed=False)


def test_server_sent_events_may_be_cut_anywhere() -> None:
    body = (sse(chunk({"content": "Grüße"})) + ": ping\r\n\r\ndata: [DONE]\n\n").encode()
    body = body.replace(b"\\u00fc", "ü".encode())
    for size in (1, 2, 7, len(body)):
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        assert facts("openai-chat", *map(text_of_bytes, pieces)) == [Text("Grüße")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (sse(chunk({}))[:-1], "its last event has no blank line at the end"),
        (sse(chunk({})) + '{"error": 1}\n\n', "is not a field of a server-sent event"),
        ("data: {\n\n", "is not JSON"),
        ("data: [DONE]\n\n" + sse(chunk({})), "no client reads what follows [DONE]"),
        (text_of_bytes(b'data: {"object": "\xff"}\n\n'), "is not JSON"),
    ],
)
def test_text_that_a_client_ignores_is_said(text: str, why: str) -> None:
    assert why in refused("openai-chat", text)


START = {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 7}}}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}
ENDED = [Finish("end_turn"), Usage(input=7, output=3)]


def block(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: Any, kind: str, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **content}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


TOOL = block(0, type="tool_use", id="t", name="f", input={})


def test_events_of_messages_are_read_by_the_place_of_their_block() -> None:
    events = [
        START,
        block(0, type="thinking", thinking=""),
        delta(0, "thinking_delta", thinking="Hm"),
        stop(0),
        block(1, type="tool_use", id="t", name="f", input={}),
        block(2, type="tool_use", id="u", name="g", input={}),
        delta(2, "input_json_delta", partial_json='{"b":2}'),
        delta(1, "input_json_delta", partial_json='{"a"'),
        stop(2),
        delta(1, "input_json_delta", partial_json=":1}"),
        stop(1),
        END,
    ]
    expected = [Thought("Hm"), Call("t", "f", {"a": 1}), Call("u", "g", {"b": 2}), *ENDED]
    assert facts("anthropic-messages", *events) == expected
    assert facts("anthropic-messages", sse(*events, named=True)) == expected


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([block(0, type="text", text="")], "comes before message_start"),
        ([START, START], "ignores a second message_start"),
        ([START, delta(0, "text_delta", text="Hi")], "that of no open block"),
        (
            [START, block(1, type="text", text=""), stop(1)],
            "index is 1; expected the number of the block",
        ),
        ([START, TOOL, delta(0, "text_delta", text="Hi")], "ignores "),
        ([START, TOOL, END], "message_delta comes before content_block_stop of a call"),
        ([START, TOOL, stop(0), stop(0)], "that of no open block"),
        (
            [START, block(0, type="text")],
            "text of a block of the type text is null; expected a string",
        ),
        ([START, {"type": "message_delta", "delta": {}}], "usage is null; expected an object"),
        ([START, {"type": "unknown"}], 'ignores {"type": "unknown"}'),
        ([{"type": "message_start", "message": {"usage": {}}}], "message.content is null"),
    ],
)
def test_an_event_that_the_client_does_not_read_is_said(events: list[Any], why: str) -> None:
    assert why in refused("anthropic-messages", *events)


def test_arguments_that_are_no_object_are_a_fact() -> None:
    pieces = [delta(0, "input_json_delta", partial_json='{"a": "Os')]
    assert Call("t", "f", '{"a": "Os') in facts("anthropic-messages", START, TOOL, *pieces, stop(0))
    pieces = [CALL_STEP, arguments(0, '["Oslo"]'), step("stop", 0)]
    calls = [fact for fact in facts("interactions", *pieces) if isinstance(fact, Call)]
    assert [call.arguments for call in calls] == ['["Oslo"]']


def test_the_client_of_messages_needs_event_lines() -> None:
    assert "has no event: line" in refused("anthropic-messages", sse(START))


def test_errors_and_whole_messages_of_anthropic() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}
    expected = [Usage(input=7), Error("overloaded_error", "Busy.")]
    assert facts("anthropic-messages", START, error, END) == expected
    content = [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    ]
    usage = {"input_tokens": 7, "output_tokens": 3}
    whole = {"type": "message", "content": content, "stop_reason": "end_turn", "usage": usage}
    assert facts("anthropic-messages", whole) == [Text("Hi"), Call("t", "f", {}), *ENDED]


def candidate(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, **fields}]}


def test_messages_of_gemini_are_left_to_the_judge() -> None:
    message = candidate({"functionCall": {"name": "f", "args": {"snake_case": 1}}})
    assert facts("gemini", message) == [Raw(message)]
    assert facts("gemini", f"data: {json.dumps(message)}") == [Raw(message)]


def test_a_bare_error_document_in_a_stream_of_gemini_is_read_as_google_genai_does() -> None:
    error = {"error": {"code": 503, "message": "Busy {", "status": "UNAVAILABLE"}}
    event, document = f"data: {json.dumps(candidate())}\r\n\r\n", json.dumps(error, indent=2)
    expected = [Raw(candidate()), Raw(error)]
    assert facts("gemini", f"{event}{document}\n") == expected
    assert facts("gemini", event, document[:9], document[9:]) == expected
    assert facts("gemini", f"{event}{json.dumps(error)}\n\n") == expected


def test_an_error_document_in_an_array_may_be_passed_on_as_google_sends_it() -> None:
    error = {"error": {"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}}
    event, array = f"data: {json.dumps(candidate())}\r\n\r\n", json.dumps([error], indent=2)
    expected = [Raw(candidate()), Raw(error)]
    assert facts("gemini", f"{event}{array}\n") == expected
    assert facts("gemini", event, array[:9], array[9:]) == expected
    assert "is not data: " in refused("gemini", f"{event}{json.dumps([error, error])}\n")


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ({"candidates": [{"finish_reason": "STOP"}]}, '"finish_reason" is in snake_case'),
        (candidate(citationMetadata={"citation_sources": []}), '"citation_sources" is in snake'),
        ({"usageMetadata": {"prompt_token_count": 1}}, '"prompt_token_count" is in snake_case'),
        ({"usageMetadata": {"promptTokenCount": "7"}}, 'count is "7"; expected a number'),
        ({"promptFeedback": {"blockReason": 1}}, "blockReason is 1; expected a string"),
        ({"error": "Busy."}, 'error is "Busy."; expected an object'),
        (candidate(finishReason=1), "finishReason is 1; expected a string"),
        (candidate("Hi"), 'part is "Hi"; expected an object'),
        (candidate({"text": 1}), "part field text is 1; expected a string"),
        (candidate({"functionCall": {"name": 1}}), "functionCall is {"),
        (
            candidate({"functionCall": {"name": "f", "args": "{}"}}),
            'functionCall.args as text is "{}"; expected an obj',
        ),
        ({"candidates": {"content": {}}}, "candidates is {"),
        ({"response": candidate()}, "it has none of the fields candidates"),
        ({"text": "Hi"}, "it has none of the fields candidates"),
        ('event: message\ndata: {"candidates": []}\n\n', "the line 'event: message' is not data: "),
        ('data:{"candidates": []}\n\n', "is not data: "),
        ('data: {"candidates": []}\n\ndata: [DONE]\n\n', "is not JSON"),
        ('data: {"candidates": []}\n\n{"candidates": []}\n', "is not data: "),
        ('data: {"candidates": []}\n\n{\n  "error": {\n', "the line '{' is not data: "),
        ('data: {"candidates": []}\n\n{\n' + '"a": 1,\n' * 9_000, "the line '{' is not data: "),
    ],
)
def test_a_message_that_is_not_geminis_documented_wire_is_said(item: Any, why: str) -> None:
    assert why in refused("gemini", item)


def step(kind: str, index: Any, **fields: Any) -> dict[str, Any]:
    return {"event_type": f"step.{kind}", "index": index, **fields}


CALL_STEP = step("start", 0, step={"type": "function_call", "id": "i", "name": "f"})


def arguments(index: int, text: str) -> dict[str, Any]:
    return step("delta", index, delta={"type": "arguments_delta", "arguments": text})


def test_steps_are_read_one_after_the_other() -> None:
    ended = {
        "event_type": "interaction.completed",
        "interaction": {"status": "requires_action", "usage": {"total_input_tokens": 7}},
    }
    thought = {"type": "thought_summary", "content": {"type": "text", "text": "Hm"}}
    events = [
        CALL_STEP,
        arguments(0, '{"a"'),
        arguments(0, ":1}"),
        step("stop", 0),
        step("start", 1, step={"type": "thought"}),
        step("delta", 1, delta=thought),
        step("stop", 1),
        step("start", 2, step={"type": "model_output"}),
        step("delta", 2, delta={"type": "text", "text": "Hi"}),
        step("stop", 2),
        ended,
    ]
    expected = [Call("i", "f", {"a": 1}), Thought("Hm"), Text("Hi")]
    end = [Finish("requires_action"), Usage(input=7)]
    assert facts("interactions", *events) == [*expected, *end]
    assert facts("interactions", sse(*events) + "data: [DONE]\n\n") == [*expected, *end]
    steps = [
        {"type": "function_call", "id": "i", "name": "f", "arguments": {"a": 1}},
        {"type": "thought", "summary": [{"type": "text", "text": "Hm"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Hi"}]},
    ]
    assert facts("interactions", {"status": "completed", "steps": steps}) == [
        *expected,
        Finish("completed"),
    ]
    failed = {"status": "failed", "errors": [{"code": 500, "message": "Broken."}]}
    assert facts("interactions", failed) == [Error(500, "Broken."), Finish("failed")]


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([arguments(0, "{}")], "step.delta is for step 0, which is not open"),
        ([CALL_STEP, arguments(1, "{}")], "step.delta is for step 1, which is not open"),
        ([CALL_STEP, CALL_STEP], "step 0 starts before the step before it stops"),
        ([CALL_STEP, step("stop", 0), CALL_STEP], "step 0 starts again"),
        ([{**CALL_STEP, "index": None}], "index is null"),
        (
            [CALL_STEP, step("delta", 0, delta={"type": "text", "text": "Hi"})],
            "is in a step of another type",
        ),
        ([{"event_type": "content.delta"}], "it has the removed schema"),
        ([{"outputs": []}], "it has the removed schema"),
    ],
)
def test_a_step_that_can_not_be_joined_is_said(events: list[Any], why: str) -> None:
    assert why in refused("interactions", *events)


def test_arguments_that_nest_too_deeply_become_a_text() -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}
    whole = [START, block(0, type="tool_use", id="t", name="f", input=deep), stop(0)]
    assert facts("anthropic-messages", *whole)[-1] == Call(
        "t", "f", "… (nests deeper than 200 levels)"
    )


RUN = {"threadId": "t", "runId": "r"}
RUN_STARTED = {"type": "RUN_STARTED", **RUN}
RUN_FINISHED = {"type": "RUN_FINISHED", **RUN}


def said(text: str, message: str = "m", **more: Any) -> list[dict[str, Any]]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message, **more},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": text},
        {"type": "TEXT_MESSAGE_END", "messageId": message},
    ]


WHOLE_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def called(*deltas: str) -> list[dict[str, Any]]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        *({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta} for delta in deltas),
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ]


def test_the_events_of_a_run_are_facts() -> None:
    thought = {"type": "REASONING_MESSAGE_CHUNK", "messageId": "h", "delta": "Hm."}
    usage = [{"inputTokens": 3, "outputTokens": 5, "reasoningTokens": 2}, {"inputTokens": 4}]
    finished = {**RUN_FINISHED, "usage": usage}
    assert facts(
        "ag-ui", RUN_STARTED, thought, *said("Hello"), *called('{"a"', ": 1}"), finished
    ) == [
        Thought("Hm."),
        Text("Hello"),
        Call("c", "f", '{"a": 1}'),
        Finish("tool_calls"),
        Usage(input=7, output=5, thoughts=2),
    ]


def test_a_call_without_arguments_has_no_text() -> None:
    assert Call("c", "f", "") in facts("ag-ui", RUN_STARTED, *called(), RUN_FINISHED)


@pytest.mark.parametrize(
    ("more", "finish"),
    [
        ({}, Finish("success")),
        ({"outcome": None}, Finish("success")),
        ({"outcome": {"type": "cancelled"}}, Finish("cancelled", "length")),
        ({"outcome": {"type": "interrupt", "interrupts": [{}]}}, Finish("interrupt", "other")),
        ({"outcome": {"type": "brand-new"}}, Finish("success")),
        ({"metadata": {"finishReason": "MAX_TOKENS"}}, Finish("MAX_TOKENS")),
        ({"metadata": {"shop": {"finish_reason": "SPII"}}}, Finish("SPII")),
    ],
)
def test_the_end_of_a_run(more: dict[str, Any], finish: Finish) -> None:
    assert facts("ag-ui", RUN_STARTED, {**RUN_FINISHED, **more}) == [finish]


def test_the_text_of_other_roles_is_not_the_answer() -> None:
    assert facts(
        "ag-ui", RUN_STARTED, *said("Hi", role="user"), *said("Ho", "n"), RUN_FINISHED
    ) == [
        Text("Ho"),
        Finish("success"),
    ]


def test_a_snapshot_gives_only_messages_that_were_not_streamed() -> None:
    messages = [
        {"id": "0", "role": "assistant", "content": "earlier"},
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "m", "role": "assistant", "content": "Hello"},
        {"id": "n", "role": "assistant", "content": "Bye"},
        {"id": "o", "role": "assistant", "toolCalls": [{**WHOLE_CALL, "id": "d"}]},
    ]
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    assert facts("ag-ui", RUN_STARTED, *said("Hello"), snapshot, RUN_FINISHED) == [
        Text("Hello"),
        Text("Bye"),
        Call("d", "f", "{}"),
        Finish("tool_calls"),
    ]


def test_thoughts_before_version_1_have_no_ids() -> None:
    thinking = [
        {"type": "THINKING_START"},
        {"type": "THINKING_TEXT_MESSAGE_START"},
        {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm."},
        {"type": "THINKING_TEXT_MESSAGE_END"},
        {"type": "THINKING_END"},
    ]
    assert (
        facts("ag-ui", RUN_STARTED, *thinking, *thinking, RUN_FINISHED)[:2] == [Thought("Hm.")] * 2
    )


OPEN, PIECE, _ = said("Hello")
ERROR = {"type": "RUN_ERROR", "message": "no"}


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([OPEN], "TEXT_MESSAGE_START comes first; expected RUN_STARTED"),
        ([RUN_STARTED, PIECE], 'CONTENT of "m" has no TEXT_MESSAGE_START before it'),
        ([RUN_STARTED, OPEN, OPEN], 'START of "m" comes before its TEXT_MESSAGE_END'),
        ([RUN_STARTED, OPEN, RUN_FINISHED], 'FINISHED comes before TEXT_MESSAGE_END of "m"'),
        ([RUN_STARTED, ERROR, RUN_FINISHED], "RUN_FINISHED comes after RUN_ERROR"),
        ([RUN_STARTED, RUN_FINISHED, OPEN], "TEXT_MESSAGE_START comes after RUN_FINISHED"),
        ([RUN_STARTED, RUN_STARTED], "RUN_STARTED comes before the end of the last run"),
        ([{"type": "TEXT"}], 'the official client drops the type "TEXT"'),
        ([RUN_STARTED, {**PIECE, "delta": None}], "delta of TEXT_MESSAGE_CONTENT is null"),
        ([{"type": "RUN_STARTED"}], "RUN_STARTED has no threadId"),
        ([RUN_STARTED, {"type": "TEXT_MESSAGE_CHUNK", "delta": "a"}], "has no messageId"),
        ([f"data: {json.dumps(RUN_STARTED)}\r\n\r\n"], "the official client knows only LF"),
    ],
)
def test_an_event_that_the_client_of_ag_ui_refuses_ends_the_answer(
    items: list[Any], reason: str
) -> None:
    assert reason in refused("ag-ui", *items)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def message_chunk(delta: str, **more: str) -> dict[str, Any]:
    return event("TEXT_MESSAGE_CHUNK", delta=delta, **more)


def subagent(name: str, kind: str = "STARTED", **more: str) -> dict[str, Any]:
    return event(f"SUBAGENT_{kind}", subagentRunId=name, name="helper", **more)


TOOL_RESULT = event("TOOL_CALL_RESULT", messageId="r", toolCallId="c", content="4 °C")
PLAN = {"messageId": "p", "activityType": "plan"}
SIGNED = event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m", encryptedValue="S")
INTERRUPT = {"id": "i", "reason": "confirmation"}
HELPERS = [subagent("s"), subagent("t")]
OF_HELPER = {"subagentRunId": "s"}


@pytest.mark.parametrize(
    ("before", "wrong", "right", "reason"),
    [
        # a field of another type than the protocol says
        ([], {**OPEN, "role": "tool"}, {**OPEN, "role": "user"}, "expected developer or system"),
        ([], {**OPEN, "metadata": []}, {**OPEN, "metadata": {}}, "expected an object"),
        ([], {**OPEN, "timestamp": 1.5}, {**OPEN, "timestamp": 2}, "expected a whole number"),
        ([], {**TOOL_RESULT, "role": "user"}, TOOL_RESULT, "expected tool"),
        ([], {**TOOL_RESULT, "content": 4}, {**TOOL_RESULT, "content": []}, "or a list of parts"),
        ([], event("STATE_DELTA", delta={}), event("STATE_DELTA", delta=[]), "a list of objects"),
        (
            [],
            event("MESSAGES_SNAPSHOT", messages=[{"id": 1, "role": "user", "content": "Hi"}]),
            event("MESSAGES_SNAPSHOT", messages=[{"id": "1", "role": "user", "content": "Hi"}]),
            "expected a list of messages with an id and a role",
        ),
        (
            [],
            event("ACTIVITY_SNAPSHOT", **PLAN, content={}, replace="yes"),
            event("ACTIVITY_SNAPSHOT", **PLAN, content={}, replace=True),
            "expected true or false",
        ),
        ([], {**SIGNED, "subtype": "text"}, SIGNED, "expected message or tool-call"),
        (
            [],
            {**RUN_FINISHED, "usage": [{"inputTokens": -1}]},
            {**RUN_FINISHED, "usage": [{"inputTokens": 0}]},
            "expected a list of objects with counts",
        ),
        (
            [],
            {**RUN_FINISHED, "outcome": {"type": "success", "pendingToolCallIds": [1]}},
            {**RUN_FINISHED, "outcome": {"type": "success", "pendingToolCallIds": ["c"]}},
            "pendingToolCallIds of outcome success is [1]; expected a list of strings",
        ),
        (
            [],
            {**RUN_FINISHED, "outcome": {"type": "interrupt"}},
            {**RUN_FINISHED, "outcome": {"type": "interrupt", "interrupts": [INTERRUPT]}},
            "outcome interrupt has no interrupts",
        ),
        (
            [],
            event(
                "MESSAGES_SNAPSHOT",
                messages=[{"id": "m", "role": "assistant", "toolCalls": [{"id": "c"}]}],
            ),
            event("MESSAGES_SNAPSHOT", messages=[{"id": "m", "role": "assistant"}]),
            "a call in a message has no function",
        ),
        (
            [],
            event("MESSAGES_SNAPSHOT", messages=[{"id": "m", "role": "assistant", "toolCalls": 5}]),
            event(
                "MESSAGES_SNAPSHOT",
                messages=[{"id": "m", "role": "assistant", "toolCalls": [WHOLE_CALL]}],
            ),
            "toolCalls of a message is 5; expected a list of objects",
        ),
        # chunks
        (
            [],
            event("TOOL_CALL_CHUNK", toolCallId="c"),
            event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f"),
            "the first TOOL_CALL_CHUNK of an item has no toolCallName",
        ),
        (
            [event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f")],
            event("TOOL_CALL_CHUNK", toolCallName="g"),
            event("TOOL_CALL_CHUNK", toolCallName="f"),
            'toolCallName of a later TOOL_CALL_CHUNK is "g"; the first one has "f"',
        ),
        (
            [*HELPERS, message_chunk("a", messageId="m", **OF_HELPER)],
            message_chunk("b", messageId="m", subagentRunId="t"),
            message_chunk("b", messageId="m"),
            "has another subagentRunId than its item",
        ),
        (
            [
                *HELPERS,
                message_chunk("a", messageId="m", **OF_HELPER),
                message_chunk("b", messageId="n", subagentRunId="t"),
            ],
            message_chunk("c"),
            message_chunk("c", **OF_HELPER),
            "has no id, and 2 items are open",
        ),
        # the order of items, agents and steps
        (
            [*HELPERS, {**OPEN, **OF_HELPER}],
            {**PIECE, "subagentRunId": "t"},
            {**PIECE, **OF_HELPER},
            'subagentRunId of TEXT_MESSAGE_CONTENT is "t"; that of "m" is "s"',
        ),
        (
            [*HELPERS, {**OPEN, **OF_HELPER}, *called("{}")],
            event("TOOL_CALL_START", toolCallId="c", toolCallName="f", parentMessageId="m"),
            event("TOOL_CALL_START", toolCallId="c", toolCallName="f", parentMessageId="n"),
            'TOOL_CALL_START of "c" has a message of another agent',
        ),
        (
            [*HELPERS, {**OPEN, **OF_HELPER}],
            {**SIGNED, "subagentRunId": "t"},
            {**SIGNED, **OF_HELPER},
            'subagentRunId of REASONING_ENCRYPTED_VALUE is "t"',
        ),
        (
            [*HELPERS, event("ACTIVITY_SNAPSHOT", **PLAN, content={}, **OF_HELPER)],
            event("ACTIVITY_DELTA", **PLAN, patch=[], subagentRunId="t"),
            event("ACTIVITY_DELTA", **PLAN, patch=[]),
            'subagentRunId of ACTIVITY_DELTA is "t"; that of "p" is "s"',
        ),
        (
            [event("STEP_STARTED", stepName="a")],
            event("STEP_STARTED", stepName="a"),
            event("STEP_STARTED", stepName="b"),
            'STEP_STARTED of "a", which is started',
        ),
        (
            [event("STEP_STARTED", stepName="a")],
            event("STEP_FINISHED", stepName="b"),
            event("STEP_FINISHED", stepName="a"),
            'STEP_FINISHED of "b", which is not started',
        ),
        ([subagent("s")], subagent("s"), subagent("t"), 'SUBAGENT_STARTED of "s" comes twice'),
        (
            [subagent("s")],
            subagent("t", parentSubagentRunId="u"),
            subagent("t", parentSubagentRunId="s"),
            'SUBAGENT_STARTED has the parent "u", which never started',
        ),
        (
            [subagent("s")],
            subagent("t", "FINISHED"),
            subagent("s", "FINISHED"),
            'SUBAGENT_FINISHED of "t", which is not active',
        ),
        (
            [subagent("s")],
            RUN_FINISHED,
            ERROR,
            "RUN_FINISHED comes before the end of all steps and subagents",
        ),
    ],
)
def test_one_wrong_event_of_ag_ui_is_refused_and_the_right_one_is_read(
    before: list[Any], wrong: dict[str, Any], right: dict[str, Any], reason: str
) -> None:
    assert reason in refused("ag-ui", RUN_STARTED, *before, wrong)
    assert read("ag-ui", RUN_STARTED, *before, right).raised is None


def test_a_call_with_a_result_is_not_one_for_the_client() -> None:
    assert facts("ag-ui", RUN_STARTED, *called("{}"), TOOL_RESULT, RUN_FINISHED) == [
        Finish("success")
    ]
    messages = [
        {"id": "m", "role": "assistant", "toolCalls": [WHOLE_CALL]},
        {"id": "r", "role": "tool", "toolCallId": "c", "content": "4 °C"},
    ]
    snapshot = event("MESSAGES_SNAPSHOT", messages=messages)
    assert facts("ag-ui", RUN_STARTED, snapshot, RUN_FINISHED) == [Finish("success")]
    failed = facts("ag-ui", RUN_STARTED, *called("{}"), TOOL_RESULT, ERROR)
    assert failed == [Call("c", "f", "{}"), Error(None, "no")]


def test_a_broken_call_of_a_failed_run_is_no_fact() -> None:
    assert facts("ag-ui", RUN_STARTED, *called('{"a'), ERROR) == [Error(None, "no")]
    assert facts("ag-ui", RUN_STARTED, *called('{"a'), RUN_FINISHED)[0] == Call("c", "f", '{"a')


def test_a_late_error_follows_the_end_of_a_run() -> None:
    assert facts("ag-ui", RUN_STARTED, RUN_FINISHED, {**ERROR, "code": "500"}) == [
        Finish("success"),
        Error("500", "no"),
    ]


def test_events_of_ag_ui_may_be_text_without_a_last_blank_line() -> None:
    text = sse(RUN_STARTED, *said("Hello"), RUN_FINISHED).rstrip("\n")
    assert facts("ag-ui", text[:90], text[90:]) == [Text("Hello"), Finish("success")]
