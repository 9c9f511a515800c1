"""The strict reader of the Responses API, for answers that an adapter writes."""

from __future__ import annotations

from typing import Any

import pytest

from harness.facts import Call, Error, Finish, Text, Thought, Usage
from tests.adapters.test_wires import facts, refused

CREATED = {"type": "response.created", "response": {"id": "r", "output": []}}
MESSAGE = {"type": "message", "id": "m", "role": "assistant"}
CALLED = {"type": "function_call", "id": "f", "call_id": "c", "name": "lamp"}


def item(step: str, index: Any, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{step}", "output_index": index, "item": fields}


def delta(kind: str, text: Any, index: int = 0, part: int = 0) -> dict[str, Any]:
    at = {"output_index": index, "content_index": part}
    return {"type": f"response.{kind}.delta", **at, "delta": text}


def part_added(kind: str = "output_text", index: int = 0) -> dict[str, Any]:
    part = {"type": kind, "text": ""}
    return {"type": "response.content_part.added", "output_index": index, "part": part}


def ended(*output: Any, status: str = "completed", **fields: Any) -> dict[str, Any]:
    response = {"id": "r", "status": status, "output": list(output), **fields}
    return {"type": f"response.{status}", "response": response}


def said(text: str) -> dict[str, Any]:
    return {**MESSAGE, "content": [{"type": "output_text", "text": text}]}


TEXT = [item("added", 0, **MESSAGE, content=[]), part_added(), delta("output_text", "Hi")]
CALL = [item("added", 0, **CALLED, arguments=""), delta("function_call_arguments", "{}")]


def test_the_events_of_a_response_are_facts() -> None:
    usage = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
    call = {**CALLED, "arguments": '{"on":true}'}
    events = [
        *(CREATED, *TEXT, item("done", 0, **said("Hi"))),
        *(item("added", 1, **CALLED, arguments=""), delta("function_call_arguments", '{"on"', 1)),
        *(delta("function_call_arguments", ":true}", 1), item("done", 1, **call)),
        ended(said("Hi"), call, usage=usage),
    ]
    assert facts("openai-responses", *events) == [
        *(Text("Hi"), Call("c", "lamp", {"on": True})),
        *(Finish("completed"), Usage(input=3, output=5, total=8)),
    ]


def test_the_response_has_what_the_stream_had_no_pieces_of() -> None:
    reasoning = {
        "type": "reasoning",
        "id": "s",
        "summary": [{"type": "summary_text", "text": "Hm"}],
    }
    whole: dict[str, Any] = {
        "object": "response",
        "status": "incomplete",
        "output": [reasoning, said("Hi")],
    }
    whole |= {"incomplete_details": {"reason": "max_output_tokens"}}
    expected = [Thought("Hm"), Text("Hi"), Finish("max_output_tokens")]
    assert facts("openai-responses", whole) == expected
    begun = [item("added", 0, **reasoning), item("done", 0, **reasoning)]
    last = {"type": "response.incomplete", "response": {**whole, "id": "r"}}
    assert facts("openai-responses", CREATED, *begun, last) == expected


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "error": {"code": "server_error", "message": "no"}},
        {"type": "error", "code": "server_error", "message": "no"},
        ended(status="failed", error={"code": "server_error", "message": "no"}),
    ],
)
def test_an_error_of_responses_ends_the_answer(event: dict[str, Any]) -> None:
    assert facts("openai-responses", CREATED, *TEXT, event) == [
        *(Text("Hi"), Error("server_error", "no")),
    ]


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([TEXT[0]], "comes before response.created"),
        ([CREATED, delta("output_text", "Hi")], "delta of no open item: 0; the official client"),
        ([CREATED, *TEXT, TEXT[0]], "an item that begins twice: 0"),
        ([CREATED, item("added", None, **MESSAGE, content=[])], "added: null; the official client"),
        ([CREATED, item("added", 0, **CALLED)], "arguments at the beginning of an item: null"),
        ([CREATED, TEXT[0], delta("output_text", "Hi")], "content_index of response.output_text"),
        ([CREATED, *TEXT, delta("refusal", "no")], 'delta of another part: "output_text"'),
        ([CREATED, *TEXT, delta("function_call_arguments", "{}")], 'of another item: "message"'),
        ([CREATED, *TEXT, delta("output_text", None)], "text of response.output_text.delta: null"),
        ([CREATED, *TEXT, item("done", 0, **said("Hi") | {"id": "n"})], "that ends as another"),
        ([CREATED, *TEXT, item("done", 0, **MESSAGE)], "item.content: null"),
        ([CREATED, *CALL, item("done", 0, **CALLED, arguments="[]")], "arguments at the end"),
        ([CREATED, *TEXT, ended()], "an item that never ends: 0"),
        ([CREATED, *TEXT, item("done", 0, **said("Hi")), ended(said("Ho"))], "takes the response"),
        ([CREATED, *TEXT, item("done", 0, **said("Hi")), ended()], "takes the response"),
        ([CREATED, ended(usage=7)], "field response.usage"),
        ([CREATED, ended(), ended()], "follows the last event"),
        ([CREATED, ended() | {"response": {"id": "x"}}], "another id of the response"),
        ([{"object": "chat.completion"}], "neither an event nor a response"),
    ],
)
def test_an_event_that_the_client_of_responses_refuses_is_said(events: list[Any], why: str) -> None:
    assert why in refused("openai-responses", *events)


def test_items_that_overlap_are_facts_as_they_come() -> None:
    other = {**CALLED, "id": "g", "call_id": "d"}
    events = [
        *(CREATED, *CALL, item("added", 1, **other, arguments="")),
        *(delta("function_call_arguments", "{}", 1), item("done", 1, **other, arguments="{}")),
        item("done", 0, **CALLED, arguments="{}"),
    ]
    assert facts("openai-responses", *events) == [Call("d", "lamp", {}), Call("c", "lamp", {})]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.new", "output_index": 7},
        {"type": "response.output_text.annotation.added", "output_index": 7, "annotation": {}},
        CREATED,
    ],
)
def test_an_odd_event_that_the_client_does_not_read_is_no_fault(event: dict[str, Any]) -> None:
    assert facts("openai-responses", CREATED, *TEXT, event) == [Text("Hi")]


def test_a_text_without_pieces_is_a_fact_where_it_comes_first() -> None:
    done = {"type": "response.output_text.done", "output_index": 0, "content_index": 0}
    events = [CREATED, *TEXT[:2], {**done, "text": "Hi"}]
    assert facts("openai-responses", *events) == [Text("Hi")]
    assert "takes the response" in refused("openai-responses", *events, ended(said("Ho")))
