"""The documented wire has no variants, and each variant has a name."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from harness.adapters import RunOptions
from harness.judging.reading import Reading
from harness.stream.exchange import Exchange, Request


def variants(
    body: str, status: int = 200, end: str = "complete", wire: str = "gemini-api"
) -> list[str]:
    exchange = Exchange(None, status, {}, ((None, body.encode()),), end)  # type: ignore[arg-type]  # the rows name only ends
    return of(exchange, wire)


def of(exchange: Exchange, wire: str = "gemini-api") -> list[str]:
    return [*Reading(exchange, RunOptions(provider=wire)).variants]


def events(*messages: Any, end: str = "\r\n\r\n") -> str:
    return "".join(f"data: {json.dumps(message)}{end}" for message in messages)


def reply(*parts: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, **candidate}]}


TEXT = {"text": "a"}
ERROR = {"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize(
    "body",
    [
        events(reply(TEXT), reply(TEXT, finishReason="STOP")),
        events(reply(TEXT)) + json.dumps(ERROR),
        json.dumps(reply(TEXT, finishReason="STOP"), indent=2),
        events(reply({"functionCall": {"name": "f", "args": {"finish_reason": 1}}})),
        "",
    ],
)
def test_the_documented_wire_has_no_variants(body: str) -> None:
    assert variants(body) == []


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (events(reply(TEXT, finish_reason="STOP")), "snake_case"),
        (events(reply(TEXT, finishReason=1)), "enum numbers"),
        (events({"promptFeedback": {"blockReason": 1}}), "enum numbers"),
        (json.dumps([reply(TEXT)]), "an array"),
        (events(reply(TEXT)) + f"\n[{json.dumps(ERROR)}]", "an error inside an array"),
        (f"{json.dumps(reply(TEXT))}\n{json.dumps(reply(TEXT))}\n", "JSON lines"),
        (events({"functionCalls": []}), "old fields"),
        (f"event: message\n{events(reply(TEXT))}", "event:, id: or retry: lines"),
        (f": wait\n\n{events(reply(TEXT))}", "comments"),
        (events(reply(TEXT)) + "data: [DONE]\n\n", "[DONE]"),
        ("\ufeff" + events(reply(TEXT)), "a BOM"),
        (events(reply(TEXT)).replace("data: ", "data:"), "no space after data:"),
        ('data: {"candidates":\ndata: []}\n\n', "several data lines"),
        (events(reply(TEXT), end="\r\r"), "a lone CR"),
        (events(reply(TEXT), end="\n"), "a missing blank line at the end"),
        (events({"error": {"message": "m"}}), "an error without a code"),
        (events(reply(TEXT, index=1)), "candidates that were not requested"),
        (events(reply(TEXT | {"functionCall": {"name": "f"}})), "two kinds of data in one part"),
        (events({"responseId": "a"}, {"responseId": "b"}), "a response id that changes"),
        ("data: b'{}'\n\n", "a Python bytes literal"),
        (events(reply(TEXT)) + "data: data: {}\n\n", "data: twice"),
        (events(reply(TEXT)) + "data:\n\n", "an event without data"),
        (events([reply(TEXT)]), "an array in an event"),
        (events(reply({"functionCall": {"name": "f", "args": "{}"}})), "arguments as text"),
    ],
)
def test_each_variant_is_named(body: str, name: str) -> None:
    assert name in variants(body)


def test_a_refusal_as_an_array_is_a_variant() -> None:
    assert variants(json.dumps([ERROR]), status=503) == ["an error inside an array"]


def test_a_document_instead_of_events_is_a_variant() -> None:
    body = json.dumps(reply(TEXT, finishReason="STOP")).encode()
    asked = Exchange(None, 200, {}, ((None, body),), "complete", streamed=True)
    assert of(asked) == ["one document instead of events"]
    assert of(replace(asked, reads=((None, json.dumps(ERROR).encode()),))) == []


def test_blank_lines_may_differ_in_their_line_ends() -> None:
    assert variants(events(reply(TEXT), end="\n\r\n")) == []
    assert variants(": wait\n\n" + events(reply(TEXT), end="\n\r\n")) == ["comments"]


def test_a_name_that_is_spelled_with_escapes_is_snake_case_too() -> None:
    body = events(reply(TEXT, finishReason="STOP")).replace("finishReason", "finish\\u005freason")
    assert variants(body) == ["snake_case"]


SEVERAL = {
    "candidates": [{"content": {"parts": [TEXT]}}, {"content": {"parts": [TEXT]}, "index": 1}]
}


@pytest.mark.parametrize(
    ("request_body", "expected"),
    [
        (None, ["candidates that were not requested"]),
        ({"contents": []}, ["candidates that were not requested"]),
        ({"generationConfig": {"candidateCount": 1}}, ["candidates that were not requested"]),
        ({"generationConfig": {"candidateCount": 2}}, []),
        ({"generation_config": {"candidate_count": 2}}, []),
        ({"request": {"generationConfig": {"candidateCount": 2}}}, []),
        ({"generationConfig": {"candidateCount": "2"}}, ["candidates that were not requested"]),
    ],
)
def test_candidates_that_the_request_asked_for_are_no_variant(
    request_body: Any, expected: list[str]
) -> None:
    request = request_body and Request("POST", "/", {}, json.dumps(request_body).encode())
    body = events(SEVERAL).encode()
    exchange = Exchange(request, 200, {}, ((None, body),), "complete")
    assert of(exchange) == expected


def chat(delta: dict[str, Any], **choice: Any) -> dict[str, Any]:
    kind = {"object": "chat.completion.chunk", "id": "r"}
    return {**kind, "choices": [{"index": 0, "delta": delta, **choice}]}


def piece(arguments: str, name: str | None = None) -> dict[str, Any]:
    return chat({"tool_calls": [{"id": "c", "function": {"name": name, "arguments": arguments}}]})


HI = chat({"content": "a"})
END = chat({}, finish_reason="stop")
AT = {"output_index": 0, "content_index": 0, "item_id": "msg_0"}
ITEM = {"id": "msg_0", "type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
ADDED = {"type": "response.output_item.added", "output_index": 0, "item": ITEM}
PART = AT | {"type": "response.content_part.added", "part": {}}
DELTA = AT | {"type": "response.output_text.delta", "delta": "Hi"}
TEXT_DONE = AT | {"type": "response.output_text.done", "text": "Hi"}
RESPONSE = {"id": "resp_0", "object": "response"}
ENDED = {"type": "response.completed", "response": RESPONSE | {"output": [ITEM]}}
EMPTY = {"type": "response.completed", "response": RESPONSE | {"output": []}}


def response(*messages: Any) -> str:
    return events({"type": "response.created", "response": RESPONSE | {"output": []}}, *messages)


INTERACTION = "".join(
    f'event: {kind}\ndata: {{"event_type": "{kind}", "interaction": {{}}}}\n\n'
    for kind in ("interaction.created", "interaction.completed")
)
INTERACTION += "event: done\ndata: [DONE]\n\n"


@pytest.mark.parametrize(
    ("wire", "body", "names"),
    [
        ("openai-compat", events(HI, END) + "data: [DONE]\n\n", []),
        ("openai-compat", events(piece('{"a":', "f"), piece("1}"), END), []),
        ("openai-compat", events(piece("{}", "f"), piece("{}", "f"), END), []),
        ("openai-compat", f"event: message\n{events(HI)}", ["event:, id: or retry: lines"]),
        ("openai-compat", f"id: 1\n{events(HI)}", ["event:, id: or retry: lines"]),
        ("openai-compat", f": wait\n\n{events(HI)}", ["comments"]),
        ("openai-compat", events(HI) + f"[{json.dumps(ERROR)}]", ["an error inside an array"]),
        ("openai-compat", events(HI).replace("data: ", "data:"), ["no space after data:"]),
        ("openai-compat", events({"error": {"message": "m"}}), ["an error without a code"]),
        ("openai-compat", events(HI, {**HI, "id": "s"}), ["a response id that changes"]),
        (
            "openai-compat",
            events({**HI, "choices": [{"index": 1, "delta": {}}]}),
            ["candidates that were not requested"],
        ),
        (
            "openai-compat",
            events(chat({"function_call": {"name": "f", "arguments": "{}"}})),
            ["the old function_call"],
        ),
        ("openai-compat", events(chat({"refusal": "No."})), ["a refusal in a field of its own"]),
        ("openai-compat", events(END, END), ["two finish reasons"]),
        (
            "openai-compat",
            events(piece("{}", "f"), piece('"x"}')),
            ["arguments after the end of their call"],
        ),
        ("openai", response(ADDED, PART, DELTA, TEXT_DONE, ENDED), []),
        (
            "openai",
            response(DELTA, ENDED),
            ["events out of order", "text without content_part.added"],
        ),
        (
            "openai",
            response(ADDED, DELTA, ENDED),
            ["text without content_part.added"],
        ),
        ("openai", response(ADDED, PART, TEXT_DONE, ENDED), ["a text without its pieces"]),
        (
            "openai",
            response(ADDED, PART, DELTA | {"item_id": "msg_1"}, ENDED),
            ["an item whose id changes"],
        ),
        (
            "openai",
            response(ADDED, PART, DELTA, DELTA | {"item_id": "msg_1"}, ENDED),
            ["an item whose id changes"],
        ),
        (
            "openai",
            response(ADDED, PART, DELTA, EMPTY),
            ["a response that ends without its items"],
        ),
        ("openai", events(DELTA, TEXT_DONE, ENDED), []),  # a stream that is resumed
        ("interactions", INTERACTION, []),
        ("interactions", f": wait\n\n{INTERACTION}", ["comments"]),
        ("interactions", INTERACTION.replace("\n", "\r"), ["a lone CR"]),
        (
            "code-assist",
            events({"response": {"responseId": "a"}}, {"response": {"responseId": "b"}}),
            ["a response id that changes"],
        ),
        ("openai", events(piece("{}", "f")), ["a call without an index"]),
        ("openai", events({**HI, "object": "text_completion"}), ["an object of another API"]),
        ("gemini-cli", '{"type": "init"}\n{"type": "result"}\n', []),
    ],
)
def test_the_variants_hold_for_every_wire(wire: str, body: str, names: list[str]) -> None:
    assert variants(body, wire=wire) == names
