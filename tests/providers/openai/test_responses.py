"""Reads the messages of the Responses API that a stream of OpenAI's own service rarely has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import to_builtins

from harness.providers import PROVIDERS, Answer
from harness.providers.openai.messages import detect
from harness.providers.openai.normalizer import OpenAiNormalizer
from harness.providers.provider import FirstMessages
from harness.stream.events import End
from harness.stream.framing import frame_by_content

PROVIDER = PROVIDERS["openai"]
CREATED = {"type": "response.created", "response": {"id": "r", "model": "m", "object": "response"}}
START = {"kind": "start", "model": "m", "id": "r"}
DONE = {"type": "response.completed", "response": {"status": "completed"}}
FINISH = {"kind": "finish", "reason": "stop", "raw": "completed"}


def body_of(*messages: Any) -> bytes:
    texts = (message if isinstance(message, str) else json.dumps(message) for message in messages)
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def read(*messages: Any, end: End = "complete", **answer: Any) -> list[dict[str, Any]]:
    """The events of a stream, without the boundaries of items."""
    framer, normalizer = frame_by_content(), PROVIDER.normalizer(Answer(**answer))
    frames = [*framer.feed(body_of(*messages)), *framer.close()]
    events = [event for frame in frames for event in normalizer.feed(frame)]
    shown = map(to_builtins, [*events, *normalizer.close(end)])
    return [event for event in shown if not event["kind"].startswith("block")]


def added(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    item = {"type": kind, **fields}
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {**added(index, kind, **fields), "type": "response.output_item.done"}


def piece(name: str, text: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{name}.delta", "output_index": index, "delta": text, **fields}


def message(text: str) -> dict[str, Any]:
    return {"content": [{"type": "output_text", "text": text, "annotations": []}]}


def incomplete(reason: str) -> dict[str, Any]:
    return {"status": "incomplete", "incomplete_details": {"reason": reason}}


TEXT = {"kind": "text", "text": "Hi"}


def test_the_ends_of_an_item_repeat_its_pieces() -> None:
    ended = {
        "type": "response.output_text.done",
        "output_index": 0,
        "content_index": 0,
        "text": "Hi",
    }
    items = [{"type": "message", "id": "other", **message("Hi")}]
    last = {"type": "response.completed", "response": {"status": "completed", "output": items}}
    stream = [CREATED, added(0, "message"), piece("output_text", "Hi", content_index=0), ended]
    assert read(*stream, done(0, "message", **message("Hi")), last) == [START, TEXT, FINISH]


@pytest.mark.parametrize(
    "stream",
    [
        [added(0, "message"), done(0, "message", **message("Hi"))],
        [done(0, "message", **message("Hi"))],
        [piece("output_text", "Hi", content_index=0)],
        [added(0, "message", **message("Hi"))],
    ],
    ids=["only the end", "no beginning", "a piece alone", "only the beginning"],
)
def test_text_is_read_from_the_first_event_that_has_it(stream: list[dict[str, Any]]) -> None:
    output = [{"type": "message", **message("Hi")}]
    last = {"type": "response.completed", "response": {"status": "completed", "output": output}}
    assert read(CREATED, *stream, last) == [START, TEXT, FINISH]


def test_a_repetition_that_differs_is_a_snapshot() -> None:
    stream = [added(0, "message"), piece("output_text", "Hi", content_index=0)]
    snapshot = {"kind": "metadata", "name": "snapshot", "raw": {"output_text": "Ho"}}
    assert read(CREATED, *stream, done(0, "message", **message("Ho")), DONE) == [
        *(START, TEXT, snapshot, FINISH)
    ]


def test_another_id_of_an_item_is_a_mark() -> None:
    ended = done(0, "message", id="m", **message("Hi"))
    output = [{"type": "message", "id": "other", **message("Hi")}]
    last = {"type": "response.completed", "response": {"status": "completed", "output": output}}
    raw = {"output_index": 0, "item": {"type": "message", "id": "other"}}
    mark = {"kind": "mark", "name": "id", "raw": raw}
    assert read(CREATED, ended, last) == [START, TEXT, mark, FINISH]
    again = done(0, "message", id="other", **message("Hi"))
    assert read(CREATED, ended, again, DONE) == [START, TEXT, mark, FINISH]


def test_items_that_overlap_are_given_one_after_the_other() -> None:
    call = {"call_id": "c", "name": "f"}
    events = read(
        CREATED,
        added(0, "function_call", **call),
        piece("function_call_arguments", '{"a"'),
        added(1, "message"),
        piece("output_text", "Hi", 1, content_index=0),
        piece("function_call_arguments", ":1}"),
        done(0, "function_call", arguments='{"a":1}', **call),
        done(1, "message", **message("Hi")),
        DONE,
    )
    assert events == [
        START,
        {"kind": "call_start", "call": 1, "name": "f", "id": "c"},
        {"kind": "call_text", "call": 1, "text": '{"a"'},
        {"kind": "call_text", "call": 1, "text": ":1}"},
        {"kind": "call_end", "call": 1, "arguments": {"a": 1}},
        *(TEXT, FINISH),
    ]


def test_what_waits_for_an_open_call_is_the_rest_of_an_interrupted_stream() -> None:
    stream = [CREATED, added(0, "function_call", call_id="c", name="f"), added(1, "message")]
    events = read(*stream, piece("output_text", "Hi", 1, content_index=0), end="cut")
    assert events[1:] == [
        {"kind": "call_start", "call": 1, "name": "f", "id": "c"},
        {"kind": "incomplete", "end": "cut", "rest": '{"type": "message", "output_text": "Hi"}'},
    ]


def test_pieces_of_a_call_that_never_began_are_unknown() -> None:
    events = read(CREATED, piece("function_call_arguments", "{}"), DONE)
    assert [event["kind"] for event in events] == ["start", "unknown", "finish"]


def test_a_call_that_is_not_done_ends_with_the_response() -> None:
    stream = [
        added(0, "function_call", call_id="c", name="f"),
        piece("function_call_arguments", "[1"),
    ]
    assert {"kind": "call_invalid", "call": 1, "text": "[1"} in read(CREATED, *stream, DONE)


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        ({"error": {"code": "insufficient_quota", "message": "No."}}, None, "insufficient_quota"),
        ({"error": {"type": "server_error", "message": "No."}}, None, "server_error"),
        (
            {"code": "rate_limit_exceeded", "message": "No.", "param": None},
            None,
            "rate_limit_exceeded",
        ),
    ],
    ids=["nested", "without a code", "flat"],
)
def test_an_error_that_the_response_repeats_is_one_error(
    error: dict[str, Any], code: int | None, status: str
) -> None:
    own = error.get("error", error)
    failed = {"status": "failed", "error": {"code": own.get("code"), "message": "No."}}
    events = read(
        CREATED, {"type": "error", **error}, {"type": "response.failed", "response": failed}
    )
    errors = [event for event in events if event["kind"] == "error"]
    assert [(event.get("code"), event.get("status")) for event in errors] == [(code, status)]
    assert events[-1] == {"kind": "finish", "reason": "failed", "raw": "failed"}


def test_an_http_error_is_read_by_the_api_that_was_asked() -> None:
    for asked in (b'{"input": "Hi"}', b'{"messages": []}', b""):
        (error,) = read({"error": {"message": "No key.", "code": "k"}}, status=401, asked=asked)
        assert (error["message"], error["code"], error["status"]) == ("No key.", 401, "k")


@pytest.mark.parametrize(
    ("fields", "word", "reason"),
    [
        (incomplete("max_output_tokens"), "max_output_tokens", "length"),
        (incomplete("content_filter"), "content_filter", "content_filter"),
        (incomplete("steered"), "steered", "other"),
        ({"status": "incomplete"}, "incomplete", "length"),
        ({"status": "cancelled"}, "cancelled", "other"),
        ({"status": "new_word"}, "new_word", "other"),
    ],
)
def test_the_status_is_the_finish_reason(fields: dict[str, Any], word: str, reason: str) -> None:
    events = read(CREATED, {"type": "response.incomplete", "response": fields})
    assert events[1:] == [{"kind": "finish", "reason": reason, "raw": word}]


def test_many_messages_before_the_decision_are_not_kept() -> None:
    normalizer = OpenAiNormalizer(Answer())
    frames = frame_by_content().feed(body_of(*[{"beat": number} for number in range(20)]))
    given = [len(normalizer.feed(frame)) for frame in frames]
    assert given == [0] * 15 + [17, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("body", "generates"),
    [
        ({"type": "response.output_text.delta", "delta": "Hi"}, True),
        ({"object": "response", "output": []}, True),
        ({"object": "chat.completion", "choices": []}, True),
        ({"object": "list", "data": []}, False),
        ({"type": "message", "role": "assistant"}, False),
        ({"response": {"text": "Hi"}}, False),
    ],
)
def test_a_body_shows_the_wire(body: dict[str, Any], generates: bool) -> None:
    identity = detect(FirstMessages(b"", [body], streamed=False, has_request=False))
    assert (identity is not None and identity.generates) == generates
