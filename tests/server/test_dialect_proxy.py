"""``harness serve --dialect anthropic`` as seen by Anthropic's own client for Python."""

from __future__ import annotations

import http.client
import json
import time
import urllib.request
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from harness.cassettes import Cassette, Exchange, Origin, Request
from harness.server import Server, serve

if TYPE_CHECKING:
    # the import takes seconds, and each test run collects this module
    import anthropic
    from anthropic.types import Message, MessageParam, ToolParam

MODEL = "gemini-3-flash-preview"
GEMINI = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
CODE_ASSIST = "/v1internal:streamGenerateContent?alt=sse"
TOOL: ToolParam = {
    "name": "weather",
    "description": "The weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
DECLARED = {
    "functionDeclarations": [
        {
            "name": "weather",
            "description": "The weather",
            "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}},
        }
    ]
}
ASKED = {"role": "user", "parts": [{"text": "Oslo and Rome?"}]}
CALLED = {
    "role": "model",
    "parts": [
        {"text": "**Plan**", "thought": True},
        {"text": "Let me look."},
        {
            "functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}},
            "thoughtSignature": "U0lHTkVE",
        },
        {"functionCall": {"id": "c2", "name": "weather", "args": {"city": "Rome"}}},
    ],
}
RESULTS = {
    "role": "user",
    "parts": [
        {"functionResponse": {"id": "c1", "name": "weather", "response": {"content": "4"}}},
        {"functionResponse": {"id": "c2", "name": "weather", "response": {"content": "19"}}},
    ],
}
FIRST = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "**Plan**","thought": true}],"role": "model"}}],"responseId": "r1"}\r\n\r\n',
    b'data: {"candidates": [{"content": {"parts": [{"text": "Let me look."}],"role": "model"}}],"responseId": "r1"}\r\n\r\n',
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"id": "c1","name": "weather","args": {"city": "Oslo"}},'
    b'"thoughtSignature": "U0lHTkVE"},{"functionCall": {"id": "c2","name": "weather","args": {"city": "Rome"}}}],"role": "model"},'
    b'"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 20,"candidatesTokenCount": 8,"thoughtsTokenCount": 4,'
    b'"cachedContentTokenCount": 5,"totalTokenCount": 32},"responseId": "r1"}\r\n\r\n',
)
SECOND = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Oslo 4, "}],"role": "model"}}],"responseId": "r2"}\r\n\r\n',
    b'data: {"candidates": [{"content": {"parts": [{"text": "R\xc3\xb6m 19."}],"role": "model"},"finishReason": "STOP"}]}\r\n\r\n',
)
OVERLOADED = b'{\n  "error": {\n    "code": 503,\n    "message": "The model is overloaded.",\n    "status": "UNAVAILABLE"\n  }\n}\n'
QUOTA = b'{"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}'


def recorded(
    contents: list[Any],
    reads: tuple[bytes, ...],
    path: str = GEMINI,
    status: int = 200,
    end: Any = "complete",
) -> Exchange:
    body: dict[str, Any] = {
        "contents": contents,
        "tools": [DECLARED],
        "generationConfig": {"maxOutputTokens": 100},
    }
    if path == CODE_ASSIST:
        body["toolConfig"] = {"functionCallingConfig": {"mode": "VALIDATED"}}
        body = {"model": MODEL, "project": "p", "request": body}
        reads = tuple(
            data.replace(b"data: {", b'data: {"response": {').replace(b"}\r\n\r\n", b"}}\r\n\r\n")
            for data in reads
        )
    request = Request(
        "POST", f"https://generativelanguage.googleapis.com{path}", {}, json.dumps(body).encode()
    )
    headers = {"Content-Type": ["text/event-stream" if status == 200 else "application/json"]}
    return Exchange(
        request,
        status,
        headers,
        tuple((40.0 * number, data) for number, data in enumerate(reads, 1)),
        end,
    )


def says(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


def conversation(path: str) -> Cassette:
    turns = (recorded([ASKED], FIRST, path), recorded([ASKED, CALLED, RESULTS], SECOND, path))
    failures = (
        recorded([says("broken")], (SECOND[0], OVERLOADED), path),
        recorded([says("cut")], SECOND[:1], path, end="cut"),
        recorded([says("quota")], (QUOTA,), path, status=429),
    )
    return Cassette((*turns, *failures), Origin("written"))


@pytest.fixture(params=[GEMINI, CODE_ASSIST], ids=["gemini-api", "code-assist"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with serve(conversation(request.param), pace="step", dialect="anthropic") as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[anthropic.Anthropic]:
    import anthropic

    with anthropic.Anthropic(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def ask(
    client: anthropic.Anthropic, messages: list[MessageParam], *, streamed: bool = True
) -> Message:
    if not streamed:
        return client.messages.create(model=MODEL, max_tokens=100, messages=messages, tools=[TOOL])
    with client.messages.stream(
        model=MODEL, max_tokens=100, messages=messages, tools=[TOOL]
    ) as stream:
        return stream.get_final_message()


def go_on(message: Message) -> list[MessageParam]:
    """The conversation with the answer and the results of its two calls."""
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": block.id, "content": text}
        for block, text in zip(
            (block for block in message.content if block.type == "tool_use"),
            ("4", "19"),
            strict=True,
        )
    ]
    return [
        QUESTION,
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": results},
    ]


QUESTION: MessageParam = {"role": "user", "content": "Oslo and Rome?"}


@pytest.mark.parametrize("streamed", [True, False])
def test_a_conversation_with_tools_finds_its_recorded_turns(
    streamed: bool, server: Server, client: anthropic.Anthropic
) -> None:
    """The second request is found only if every call, id, result and signature is at the place from
    which Gemini sent it.
    """
    first = ask(client, [QUESTION], streamed=streamed)
    assert [block.to_dict() for block in first.content] == [
        {"type": "thinking", "thinking": "**Plan**", "signature": ""},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
        {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": "Rome"}},
    ]
    assert (first.stop_reason, first.role) == ("tool_use", "assistant")
    assert (
        first.usage.input_tokens,
        first.usage.cache_read_input_tokens,
        first.usage.output_tokens,
    ) == (15, 5, 12)
    second = ask(client, go_on(first), streamed=streamed)
    assert [
        "".join(block.text for block in second.content if block.type == "text"),
        second.stop_reason,
    ] == ["Oslo 4, Röm 19.", "end_turn"]
    assert (server.misses, first.id == second.id) == ([], False)


def test_a_repeated_turn_gets_the_same_message(client: anthropic.Anthropic) -> None:
    first = ask(client, [QUESTION])
    assert ask(client, [QUESTION]) == first
    second = ask(client, go_on(first))
    assert ask(client, go_on(first)) == second


def test_a_cache_mark_of_the_client_does_not_change_the_match(
    client: anthropic.Anthropic,
) -> None:
    marked: MessageParam = {
        "role": "user",
        "content": [
            {"type": "text", "text": "Oslo and Rome?", "cache_control": {"type": "ephemeral"}}
        ],
    }
    first = ask(client, [marked])
    assert ask(client, go_on(first)).stop_reason == "end_turn"


def test_an_unknown_history_without_signatures_is_refused(
    client: anthropic.Anthropic,
) -> None:
    from anthropic import BadRequestError
    from anthropic.types import Message

    foreign = Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [
                {"type": "tool_use", "id": name, "name": "weather", "input": {}}
                for name in ("x1", "x2")
            ],
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    with pytest.raises(
        BadRequestError,
        match="Function call is missing a thought_signature in functionCall parts",
    ):
        ask(client, go_on(foreign))


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("text", "streamed_error", "error", "part"),
    [
        (
            "quota",
            "RateLimitError",
            "RateLimitError",
            "rate_limit_error.*Slow down",
        ),
        (
            "broken",
            "APIStatusError",
            "InternalServerError",
            "overloaded_error.*The model is overloaded",
        ),
        ("cut", "APIStatusError", "InternalServerError", "api_error"),
        (
            "nobody recorded this",
            "NotFoundError",
            "NotFoundError",
            "not_found_error.*No recorded exchange answers POST",
        ),
    ],
)
def test_errors_are_those_of_the_client(
    text: str,
    streamed_error: str,
    error: str,
    part: str,
    streamed: bool,
    server: Server,
    client: anthropic.Anthropic,
) -> None:
    import anthropic

    kind = getattr(anthropic, streamed_error if streamed else error)
    with pytest.raises(kind, match=part):
        ask(client, [{"role": "user", "content": text}], streamed=streamed)
    assert len(server.misses) == (text == "nobody recorded this")


def test_an_invalid_prompt_is_refused_with_its_place(client: anthropic.Anthropic) -> None:
    from anthropic import BadRequestError

    hologram: Any = {"role": "user", "content": [{"type": "hologram"}]}
    with pytest.raises(BadRequestError, match=r"messages\[0\]"):
        ask(client, [hologram])


def test_a_body_that_is_not_json_is_refused(server: Server) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(f"{server.base_url}/v1/messages", b"{")


def test_a_status_fault_is_an_error_of_the_api(server: Server, client: anthropic.Anthropic) -> None:
    from anthropic import InternalServerError

    server.behave(pace="step", dialect="anthropic", fault="status:503")
    with pytest.raises(InternalServerError, match="overloaded_error"):
        ask(client, [QUESTION])


def test_tokens_are_counted(client: anthropic.Anthropic) -> None:
    assert (
        client.messages.count_tokens(
            model=MODEL,
            messages=[{"role": "user", "content": [{"type": "text", "text": "x" * 40}]}],
        ).input_tokens
        == 10
    )


def raw(server: Server) -> tuple[Any, bytes]:
    prompt = {
        "model": MODEL,
        "max_tokens": 100,
        "stream": True,
        "messages": [QUESTION],
        "tools": [TOOL],
    }
    with urllib.request.urlopen(
        f"{server.base_url}/v1/messages", json.dumps(prompt).encode()
    ) as answer:
        return answer.headers, answer.read()


def test_the_stream_is_one_event_a_payload(server: Server) -> None:
    headers, body = raw(server)
    assert headers["Content-Type"] == "text/event-stream; charset=utf-8"
    events = [event.split(b"\n") for event in body.removesuffix(b"\n\n").split(b"\n\n")]
    assert [(event[0], len(event)) for event in (events[0], events[-1])] == [
        (b"event: message_start", 2),
        (b"event: message_stop", 2),
    ]
    assert all(
        event[0] == b"event: " + json.loads(event[1].removeprefix(b"data: "))["type"].encode()
        for event in events
    )


def test_pace_and_faults_apply_to_the_stream_of_messages(server: Server) -> None:
    server.behave(pace="recorded", dialect="anthropic")
    began = time.monotonic()
    raw(server)
    assert time.monotonic() - began >= 0.115
    server.behave(pace="step", dialect="anthropic", fault="cut:1")
    with pytest.raises(http.client.IncompleteRead) as broken:
        raw(server)
    assert broken.value.partial.startswith(b"event: message_start")
    assert b"tool_use" not in broken.value.partial


def test_without_the_dialect_there_are_no_messages() -> None:
    with (
        serve(conversation(GEMINI), pace="step") as server,
        pytest.raises(urllib.error.HTTPError, match="404"),
    ):
        raw(server)
