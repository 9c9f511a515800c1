"""The second turn of a gateway: the harness sends its answer and the results back to it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import Adapter
from harness.adapters.named import make_adapter, read_line
from harness.adapters.results import media_result
from harness.judging.aspect_run import JudgedExchange, plan_second_turns
from harness.judging.rows import Row
from harness.judging.run import run_plan
from harness.providers import with_provider
from harness.stream.exchange import Exchange, Request
from tests.adapters.gateways import Answer, ask, gateway
from tests.adapters.shims import EXCHANGE, REQUEST, URL, second_request, transcript

SIGNATURE = "c2lnbmF0dXJlIG9mIHRoZSBmaXJzdCBjYWxs"
CALLS = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "I add."},
                    {
                        "functionCall": {"id": "c1", "name": "add", "args": {"a": 1}},
                        "thoughtSignature": SIGNATURE,
                    },
                    {"functionCall": {"id": "c2", "name": "add", "args": {"a": 2}}},
                ],
            },
            "finishReason": "STOP",
        }
    ]
}
RECORDED = replace(EXCHANGE, reads=((1.0, f"data: {json.dumps(CALLS)}\n\n".encode()),))
REQUESTED = Request("POST", URL, {}, REQUEST)
UNARY = with_provider(
    Exchange(
        replace(REQUESTED, url=URL.replace(":streamG", ":g")),
        200,
        {},
        ((1.0, json.dumps(CALLS).encode()),),
        "complete",
    )
)
IMAGE = base64.b64encode(media_result(2).data).decode()


def adapter_of(wire: str, url: str, folder: Path) -> Adapter:
    return make_adapter(read_line(f"proxy: facts = gateway {wire}: {url}"), folder, timeout=20.0)


def judged(adapter: Adapter) -> Row:
    [cell] = run_plan(plan_second_turns([JudgedExchange("calls", 1, RECORDED)]), [adapter])
    return cell


# A small gateway of two wires. It keeps the signature where Google's compatible endpoint does.


def to_gemini(wire: str, body: dict[str, Any]) -> list[Any]:
    """The contents of a request of the wire."""
    if wire == "gemini":
        return deepcopy(body["contents"])
    contents: list[Any] = []
    names = {}
    for message in body["messages"]:
        if message["role"] == "user":
            contents.append({"role": "user", "parts": [{"text": message["content"]}]})
        elif message["role"] == "assistant":
            parts = [{"text": message["content"]}] if message["content"] else []
            for call in message["tool_calls"]:
                function = call["function"]
                names[call["id"]] = function["name"]
                arguments = json.loads(function["arguments"])
                part = {
                    "functionCall": {"id": call["id"], "name": function["name"], "args": arguments}
                }
                if "extra_content" in call:
                    part["thoughtSignature"] = call["extra_content"]["google"]["thought_signature"]
                parts.append(part)
            contents.append({"role": "model", "parts": parts})
        else:
            if "functionResponse" not in contents[-1]["parts"][0]:
                contents.append({"role": "user", "parts": []})
            result = {"id": message["tool_call_id"], "name": names[message["tool_call_id"]]}
            result["response"] = {"result": message["content"]}
            contents[-1]["parts"].append({"functionResponse": result})
    return contents


def from_gemini(wire: str, messages: list[Any]) -> list[Any]:
    """The events of the wire."""
    if wire == "gemini":
        return messages
    events = []
    calls = 0
    for message in messages:
        for part in message["candidates"][0]["content"]["parts"]:
            delta: dict[str, Any] = {"content": part.get("text")}
            if "functionCall" in part:
                call = part["functionCall"]
                function = {"name": call["name"], "arguments": json.dumps(call["args"])}
                piece = {"index": calls, "id": call["id"], "type": "function", "function": function}
                if "thoughtSignature" in part:
                    piece["extra_content"] = {
                        "google": {"thought_signature": part["thoughtSignature"]}
                    }
                delta, calls = {"tool_calls": [piece]}, calls + 1
            events.append(chunk(delta))
        events.append(chunk({}, "tool_calls" if calls else "stop"))
    return events


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"object": "chat.completion.chunk", "choices": [choice]}


Fault = Callable[[list[Any], list[Any]], None]
"""Changes the calls and the results of the second request to the upstream."""


def translates(wire: str, upstream: str, fault: Fault) -> Answer:
    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        contents = to_gemini(wire, body)
        if len(contents) > 1:
            fault(contents[1]["parts"], contents[2]["parts"])
        messages = ask(upstream, json.dumps({"contents": contents}).encode())
        handler.send_response(200)
        handler.end_headers()
        return stream_of(from_gemini(wire, messages))

    return answer


def stream_of(events: list[Any]) -> bytes:
    def name(event: dict[str, Any]) -> str:  # only Anthropic's client needs an event line
        return f"event: {event['type']}\n" if "message_start" in json.dumps(events[0]) else ""

    return "".join(f"{name(event)}data: {json.dumps(event)}\n\n" for event in events).encode()


def faithful(parts: list[Any], results: list[Any]) -> None:
    pass


def drops_the_signature(parts: list[Any], results: list[Any]) -> None:
    del parts[1]["thoughtSignature"]


def moves_the_signature(parts: list[Any], results: list[Any]) -> None:
    parts[2]["thoughtSignature"] = parts[1].pop("thoughtSignature")


def doubles_the_signature(parts: list[Any], results: list[Any]) -> None:
    parts[2]["thoughtSignature"] = parts[1]["thoughtSignature"]


def remakes_an_id(parts: list[Any], results: list[Any]) -> None:
    parts[1]["functionCall"]["id"] = "call_1"
    results[0]["functionResponse"]["id"] = "call_1"


def remakes_the_id_of_a_result(parts: list[Any], results: list[Any]) -> None:
    results[0]["functionResponse"]["id"] = "call_1"


def drops_an_id(parts: list[Any], results: list[Any]) -> None:
    del parts[1]["functionCall"]["id"]


def drops_a_call(parts: list[Any], results: list[Any]) -> None:
    del parts[2]


def doubles_a_call(parts: list[Any], results: list[Any]) -> None:
    parts.append(parts[2])


def loses_a_result(parts: list[Any], results: list[Any]) -> None:
    del results[1]


def empties_a_result(parts: list[Any], results: list[Any]) -> None:
    results[0]["functionResponse"]["response"] = {}


def exchanges_the_results(parts: list[Any], results: list[Any]) -> None:
    first, second = (result["functionResponse"] for result in results)
    first["id"], second["id"] = second["id"], first["id"]


def drops_the_text(parts: list[Any], results: list[Any]) -> None:
    del parts[0]


def puts_the_text_behind_the_calls(parts: list[Any], results: list[Any]) -> None:
    parts.append(parts.pop(0))


def drops_the_image(parts: list[Any], results: list[Any]) -> None:
    del results[1]["functionResponse"]["parts"]


def moves_the_image(parts: list[Any], results: list[Any]) -> None:
    first, second = (result["functionResponse"] for result in results)
    first["parts"] = second.pop("parts")


ASPECTS = ("accepted", "calls", "ids", "results", "signatures", "text")


@pytest.mark.parametrize("wire", ["gemini", "openai-chat"])
def test_a_faithful_gateway_keeps_the_second_turn(wire: str, upstream: str, tmp_path: Path) -> None:
    with gateway(translates(wire, upstream, faithful)) as (url, asked):
        cell = judged(adapter_of(wire, url, tmp_path))
    assert cell.aspects == dict.fromkeys(ASPECTS, "kept"), cell.findings
    _, (_, _, second), _ = asked
    assert len(second.get("contents", second.get("messages"))) == (3 if wire == "gemini" else 4)


@pytest.mark.parametrize(
    ("wire", "fault", "finding"),
    [
        *(
            (wire, fault, finding)
            for wire in ("gemini", "openai-chat")
            for fault, finding in (
                (drops_the_signature, ("signatures", "lost", "signature-not-sent", 1)),
                (moves_the_signature, ("signatures", "wrong", "signature-moved", 1)),
                (doubles_the_signature, ("signatures", "wrong", "signature-twice", 1)),
                (remakes_an_id, ("ids", "wrong", "id-changed", 1)),
                (remakes_the_id_of_a_result, ("ids", "wrong", "result-id", 1)),
                (drops_an_id, ("ids", "lost", "id-not-sent", 1)),
                (drops_a_call, ("calls", "lost", "call-not-sent", None)),
                (doubles_a_call, ("calls", "wrong", "call-sent-twice", None)),
                (loses_a_result, ("results", "lost", "results", None)),
                (empties_a_result, ("results", "lost", "result-text-not-sent", 1)),
                (exchanges_the_results, ("results", "wrong", "result-text-of-another", 2)),
                (drops_the_text, ("text", "lost", "sent-text", None)),
            )
        ),
        ("gemini", puts_the_text_behind_the_calls, ("text", "wrong", "text-beyond-call", 1)),
        ("gemini", drops_the_image, ("results", "lost", "result-image-not-sent", 2)),
        ("gemini", moves_the_image, ("results", "wrong", "result-image-of-another", 2)),
    ],
)
def test_a_faulty_gateway_is_caught_by_name(
    wire: str, fault: Fault, finding: tuple[Any, ...], upstream: str, tmp_path: Path
) -> None:
    with gateway(translates(wire, upstream, fault)) as (url, _):
        cell = judged(adapter_of(wire, url, tmp_path))
    red = [
        (found.subject, found.verdict, found.reason, found.place.call)
        for found in cell.red_findings
    ]
    assert red[:1] == [finding]


def test_over_chat_completions_nobody_knows_the_order_of_text_and_calls(
    upstream: str, tmp_path: Path
) -> None:
    moved = translates("openai-chat", upstream, puts_the_text_behind_the_calls)
    with gateway(moved) as (url, _):
        cell = judged(adapter_of("openai-chat", url, tmp_path))
    assert not cell.red_findings


def test_a_gateway_that_refuses_the_results_is_an_error(upstream: str, tmp_path: Path) -> None:
    inner = translates("openai-chat", upstream, faithful)

    def refuses(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        if len(body["messages"]) == 1:
            return inner(handler, body)
        handler.send_response(400)
        handler.end_headers()
        return b'{"error": "messages.1: thought_signature is missing"}'

    with gateway(refuses) as (url, _):
        cell = judged(adapter_of("openai-chat", url, tmp_path))
    assert cell.verdict == "error"
    assert cell.reason == (
        f"adapter proxy: the adapter sent no second request; {url} answered HTTP 400"
        ' {"error": "messages.1: thought_signature is missing"}, to the request with the results'
    )


def test_a_call_without_an_id_can_not_be_answered(upstream: str, tmp_path: Path) -> None:
    call = {"index": 0, "function": {"name": "add", "arguments": "{}"}}
    events = [chunk({"tool_calls": [call]}, "tool_calls")]
    with gateway(canned(events, upstream)) as (url, asked):
        cell = judged(adapter_of("openai-chat", url, tmp_path))
    assert (cell.verdict, cell.aspects) == ("not-run", {"results": "not_asked"})
    (finding,) = cell.findings
    assert "gave the call of add no id, so it can't have a result" in str(finding.adapter)
    assert {len(body["messages"]) for _, _, body in asked} == {1}


def canned(events: list[Any], upstream: str, *, streamed: bool = True) -> Answer:
    """A gateway that asks its upstream, and answers with these events."""

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        turns = [{"role": "user", "parts": []}] * len(history_of(body))
        contents = json.dumps({"contents": turns}).encode()
        ask(upstream, contents, streamed=streamed)
        handler.send_response(200)
        handler.end_headers()
        return stream_of(events) if streamed else json.dumps(events[0]).encode()

    return answer


def history_of(body: dict[str, Any]) -> list[Any]:
    (history,) = (body[name] for name in ("messages", "input", "contents") if name in body)
    assert isinstance(history, list)
    return history


def sent_back(
    wire: str, events: list[Any], upstream: str, folder: Path, *, streamed: bool = True
) -> list[Any]:
    """What the harness adds to the history for the second request."""
    with gateway(canned(events, upstream, streamed=streamed)) as (url, asked):
        second_request(adapter_of(wire, url, folder), RECORDED if streamed else UNARY)
    first, second = (history_of(body) for *_, body in asked)
    assert second[: len(first)] == first
    return second[len(first) :]


def call_piece(**more: Any) -> dict[str, Any]:
    function = {"name": "add", "arguments": '{"a": 1}'}
    return {"index": 0, "id": "c1", "type": "function", "function": function, **more}


def kept_call(**more: Any) -> dict[str, Any]:
    return {name: value for name, value in call_piece(**more).items() if name != "index"}


STEP = {"type": "function_call", "id": "c1", "name": "add", "arguments": {"a": 1}, "x": 1}
FUNCTION_CALL = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}", "x": 1}
DETAIL = {"type": "reasoning.encrypted", "data": SIGNATURE, "index": 0, "id": "c1"}


@pytest.mark.parametrize(
    ("deltas", "message"),
    [
        (
            [{"tool_calls": [call_piece(thought_signature=SIGNATURE)]}],
            {"tool_calls": [kept_call(thought_signature=SIGNATURE)]},
        ),
        (
            [{"content": "Hi"}, {"thought_signature": SIGNATURE}, {"tool_calls": [call_piece()]}],
            {"content": "Hi", "thought_signature": SIGNATURE, "tool_calls": [kept_call()]},
        ),
        (
            [{"tool_calls": [call_piece(id=f"c1__thought__{SIGNATURE}")]}],
            {"tool_calls": [kept_call(id=f"c1__thought__{SIGNATURE}")]},
        ),
        (
            [
                {"tool_calls": [call_piece()]},
                {
                    "tool_calls": [
                        {"index": 0, "function": {}, "provider": {"signature": SIGNATURE}}
                    ]
                },
            ],
            {"tool_calls": [kept_call(provider={"signature": SIGNATURE})]},
        ),
        (
            [
                {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "I a"}]},
                {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "dd."}]},
                {"reasoning_details": [DETAIL], "tool_calls": [call_piece()]},
            ],
            {
                "reasoning_details": [
                    {"type": "reasoning.text", "index": 0, "text": "I add."},
                    DETAIL,
                ],
                "tool_calls": [kept_call()],
            },
        ),
    ],
    ids=["Venice", "Venice, text", "litellm", "a later piece", "OpenRouter"],
)
def test_a_message_goes_back_with_the_fields_of_its_gateway(
    deltas: list[Any], message: dict[str, Any], upstream: str, tmp_path: Path
) -> None:
    events = [*map(chunk, deltas), chunk({}, "tool_calls")]
    answer, result = sent_back("openai-chat", events, upstream, tmp_path)
    assert answer == {"role": "assistant", "content": None, **message}
    call_id = message["tool_calls"][0]["id"]
    assert result == {"role": "tool", "tool_call_id": call_id, "content": "result 1"}


def test_blocks_go_back_whole_and_results_may_have_an_image(upstream: str, tmp_path: Path) -> None:
    def begin(index: int, **block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def piece(index: int, kind: str, **delta: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}

    def stop(index: int) -> dict[str, Any]:
        return {"type": "content_block_stop", "index": index}

    events = [
        {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 7}}},
        begin(0, type="thinking", thinking="", signature=""),
        piece(0, "signature_delta", signature=SIGNATURE),
        stop(0),
        begin(1, type="text", text=""),
        piece(1, "text_delta", text="I "),
        piece(1, "text_delta", text="add."),
        stop(1),
        begin(2, type="tool_use", id="t1", name="add", input={}, caller={"type": "direct"}),
        piece(2, "input_json_delta", partial_json='{"a"'),
        piece(2, "input_json_delta", partial_json=": 1}"),
        stop(2),
        begin(3, type="tool_use", id="t2", name="add", input={"a": 2}),
        stop(3),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    ]
    source = {"type": "base64", "media_type": "image/png", "data": IMAGE}
    caller = {"type": "direct"}
    assert sent_back("anthropic", events, upstream, tmp_path) == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": SIGNATURE},
                {"type": "text", "text": "I add."},
                {
                    "type": "tool_use",
                    "id": "t1",
                    "name": "add",
                    "input": {"a": 1},
                    "caller": caller,
                },
                {"type": "tool_use", "id": "t2", "name": "add", "input": {"a": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "result 1"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": [
                        {"type": "text", "text": "result 2, see the image"},
                        {"type": "image", "source": source},
                    ],
                },
            ],
        },
    ]


def test_items_go_back_whole(upstream: str, tmp_path: Path) -> None:
    reasoning = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": SIGNATURE}
    calls = [
        {
            "type": "function_call",
            "id": f"i{number}",
            "call_id": f"c{number}",
            "name": "add",
            "arguments": f'{{"a": {number}}}',
            "status": "completed",
        }
        for number in (1, 2)
    ]
    items: list[dict[str, Any]] = [reasoning, *calls]
    response = {"id": "x", "object": "response", "status": "in_progress", "output": []}
    events: list[Any] = [{"type": "response.created", "response": response}]
    for index, item in enumerate(items):
        begun = {**item, "arguments": ""} if "arguments" in item else item
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": begun},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    whole = {**response, "status": "completed", "output": items}
    events.append({"type": "response.completed", "response": whole})
    image = {
        "type": "input_image",
        "image_url": f"data:image/png;base64,{IMAGE}",
        "detail": "auto",
    }
    text = {"type": "input_text", "text": "result 2, see the image"}
    expected = [
        *items,
        {"type": "function_call_output", "call_id": "c1", "output": "result 1"},
        {"type": "function_call_output", "call_id": "c2", "output": [text, image]},
    ]
    assert sent_back("openai-responses", events, upstream, tmp_path) == expected
    events[-1] = {"type": "response.completed", "response": {**whole, "output": None}}
    assert sent_back("openai-responses", events, upstream, tmp_path) == expected


def test_steps_go_back_whole(upstream: str, tmp_path: Path) -> None:
    def step(index: int, step: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"event_type": "step.start", "index": index, "step": step},
            *({"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas),
            {"event_type": "step.stop", "index": index},
        ]

    summary = {"type": "text", "text": "I must add."}
    events = [
        *step(
            0,
            {"type": "thought"},
            {"type": "thought_summary", "content": summary},
            {"type": "thought_signature", "signature": SIGNATURE},
            {"type": "thought_signature", "signature": ""},
        ),
        *step(
            1,
            {"type": "model_output"},
            {"type": "text", "text": "I "},
            {"type": "text", "text": "add."},
        ),
        *step(
            2,
            {"type": "function_call", "id": "c1", "name": "add", "arguments": {}},
            {"type": "arguments_delta", "arguments": '{"a":'},
            {"type": "arguments_delta", "arguments": " 1}"},
        ),
        {
            "event_type": "interaction.completed",
            "interaction": {"id": "i", "status": "requires_action"},
        },
    ]
    call = {"type": "function_call", "id": "c1", "name": "add", "arguments": {"a": 1}}
    assert sent_back("interactions", events, upstream, tmp_path) == [
        {"type": "thought", "summary": [summary], "signature": SIGNATURE},
        {"type": "model_output", "content": [{"type": "text", "text": "I add."}]},
        call,
        {"type": "function_result", "call_id": "c1", "name": "add", "result": "result 1"},
    ]


@pytest.mark.parametrize(
    ("wire", "whole", "answer"),
    [
        ("gemini", CALLS, CALLS["candidates"][0]["content"]),
        (
            "openai-chat",
            {
                "object": "chat.completion",
                "choices": [{"message": {"role": "assistant", "tool_calls": [kept_call(x=1)]}}],
            },
            {"role": "assistant", "tool_calls": [kept_call(x=1)]},
        ),
        (
            "openai-responses",
            {"object": "response", "status": "completed", "output": [FUNCTION_CALL]},
            FUNCTION_CALL,
        ),
        ("interactions", {"status": "requires_action", "steps": [STEP]}, STEP),
    ],
)
def test_a_whole_answer_goes_back_as_it_is(
    wire: str, whole: dict[str, Any], answer: dict[str, Any], upstream: str, tmp_path: Path
) -> None:
    sent, *results = sent_back(wire, [whole], upstream, tmp_path, streamed=False)
    assert sent == answer
    assert "result 1" in json.dumps(results)


def test_after_an_answer_without_calls_the_user_goes_on(upstream: str, tmp_path: Path) -> None:
    parts = [{"text": "Hi", "thoughtSignature": SIGNATURE}]
    content = {"role": "model", "parts": parts}
    events = [{"candidates": [{"content": content, "finishReason": "STOP"}]}]
    assert sent_back("gemini", events, upstream, tmp_path) == [
        content,
        {"role": "user", "parts": [{"text": "Go on."}]},
    ]


RESPONSE = {"object": "response", "output": []}
EMPTY_RESPONSE = [
    {"type": "response.created", "response": {**RESPONSE, "status": "in_progress"}},
    {"type": "response.completed", "response": {**RESPONSE, "status": "completed"}},
]


@pytest.mark.parametrize(
    ("wire", "events"),
    [
        ("gemini", [{"candidates": [{"finishReason": "STOP"}]}]),
        ("openai-chat", [chunk({"role": "assistant", "content": ""}, "stop")]),
        ("openai-responses", EMPTY_RESPONSE),
        ("interactions", [{"event_type": "interaction.completed", "interaction": {}}]),
    ],
)
def test_an_answer_without_content_is_not_sent_back(
    wire: str, events: list[Any], upstream: str, tmp_path: Path
) -> None:
    with gateway(canned(events, upstream)) as (url, asked):
        cell = judged(adapter_of(wire, url, tmp_path))
    assert (cell.verdict, cell.aspects) == ("not-run", {"results": "not_asked"})
    assert "has no content, so there is nothing to send back" in cell.reason
    assert len(asked) == 1


def test_a_tool_that_the_wire_can_not_have_is_not_asked(upstream: str, tmp_path: Path) -> None:
    request = replace(REQUESTED, body=REQUEST.replace(b'"add"', b'"add.v2"'))
    adapter = adapter_of("openai-responses", upstream, tmp_path)
    skipped = transcript(adapter, replace(RECORDED, request=request)).skipped
    assert skipped == (
        "the wire of the gateway has no such request: .name: 'add.v2' is refused by OpenAI:"
        " expected 1 to 64 of A-Z a-z 0-9 _ -"
    )
    assert second_request(adapter, replace(RECORDED, request=request)) == skipped
