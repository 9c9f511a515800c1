"""google-genai's `client.interactions` as the client of a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import types

from harness.server import Server, serve
from tests.server.socket_client import tape
from tests.server.wires import (
    CALL_STEP,
    INTERACTIONS,
    MODEL,
    SIGNATURE,
    THOUGHT_STEP,
    exchange,
    interaction_event,
    interaction_stream,
    text_step,
)

TEXT = interaction_stream(text_step(0, "Grü", "ße"), name="v1_text")
CALLING = interaction_stream(THOUGHT_STEP, CALL_STEP, status="requires_action", name="v1_call")
LONG = interaction_stream(
    text_step(0, "one ", "two ", ids=True), text_step(1, "three", ids=True), name="v1_long"
)
BROKEN = (*TEXT[:2], b'{"error":{"code":"prohibited_content","message":"Blocked."}}')
RESULT = {"type": "function_result", "call_id": "61nzpsv4", "name": "get_weather", "result": "8"}
QUOTA = b'{"error":{"code":"rate_limit_exceeded","message":"Slow down."}}'
RUNNING = {"id": "v1_slow", "object": "interaction", "status": "in_progress", "model": MODEL}
FINISHED = {
    **RUNNING,
    "status": "completed",
    "steps": [{"type": "model_output", "content": [{"type": "text", "text": "At last."}]}],
}


def dumped(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def asked(text: Any, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "input": text, **more}


CASSETTE = tape(
    exchange(INTERACTIONS, asked("text", stream=True), *TEXT),
    exchange(INTERACTIONS, asked("call", stream=True), *CALLING),
    exchange(
        INTERACTIONS,
        asked([RESULT], stream=True, previous_interaction_id="v1_call"),
        *interaction_stream(text_step(0, "8 degrees."), name="v1_second"),
    ),
    exchange(INTERACTIONS, asked("long", stream=True), *LONG),
    exchange(INTERACTIONS, asked("cut", stream=True), *TEXT[:2], end="cut"),
    exchange(INTERACTIONS, asked("broken", stream=True), *BROKEN),
    exchange(INTERACTIONS, asked("quota"), QUOTA, status=400),
    exchange(INTERACTIONS, asked("slow", background=True), dumped(RUNNING)),
    exchange(f"{INTERACTIONS}/v1_slow", None, dumped(RUNNING), method="GET"),
    exchange(f"{INTERACTIONS}/v1_slow", None, dumped(FINISHED), method="GET"),
    exchange(
        INTERACTIONS, asked("endless", background=True), dumped({**RUNNING, "id": "v1_endless"})
    ),
    exchange(INTERACTIONS, asked("kept secret", store=False), dumped({**FINISHED, "id": "v1_no"})),
)


@pytest.fixture(name="server")
def _server() -> Iterator[Server]:
    with serve(CASSETTE, pace="step") as server:
        yield server


@contextmanager
def client_of(base_url: str, **place: Any) -> Iterator[genai.Client]:
    options = types.HttpOptions(
        base_url=base_url,
        # else aiohttp, if it is installed
        async_client_args={"transport": httpx2.AsyncHTTPTransport()},
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    with genai.Client(http_options=options, **(place or {"api_key": "none"})) as client:
        yield client


@asynccontextmanager
async def async_client_of(base_url: str) -> AsyncIterator[Any]:
    with client_of(base_url) as client:
        async with client.aio as talking:
            yield talking


Interact = Callable[[str, dict[str, Any]], list[Any]]


def stream_sync(base_url: str, request: dict[str, Any]) -> list[Any]:
    with client_of(base_url) as client:
        return list(client.interactions.create(**request, stream=True))


def stream_async(base_url: str, request: dict[str, Any]) -> list[Any]:
    async def run() -> list[Any]:
        async with async_client_of(base_url) as client:
            return [
                event async for event in await client.interactions.create(**request, stream=True)
            ]

    return asyncio.run(run())


def text_of(events: list[Any]) -> str:
    deltas = [event.delta for event in events if event.event_type == "step.delta"]
    return "".join(delta.text for delta in deltas if delta.type == "text")


@pytest.mark.slow
@pytest.mark.parametrize("stream", [stream_sync, stream_async])
def test_google_genai_streams_an_interaction(stream: Interact, server: Server) -> None:
    events = stream(server.base_url, asked("text"))
    assert text_of(events) == "Grüße"
    assert events[-1].interaction.status == "completed"
    assert events[-1].interaction.usage.total_tokens == 9
    assert server.misses == []


@pytest.mark.slow
@pytest.mark.parametrize("stream", [stream_sync, stream_async])
def test_google_genai_calls_and_sends_the_result(stream: Interact, server: Server) -> None:
    events = stream(server.base_url, asked("call"))
    arguments = [
        event.delta.arguments
        for event in events
        if event.event_type == "step.delta" and event.delta.type == "arguments_delta"
    ]
    assert "".join(arguments) == '{"city":"Oslo"}'
    assert events[-1].interaction.status == "requires_action"
    second = {"model": MODEL, "input": [RESULT], "previous_interaction_id": "v1_call"}
    assert text_of(stream(server.base_url, second)) == "8 degrees."
    assert server.misses == []


@pytest.mark.slow
@pytest.mark.parametrize("stream", [stream_sync, stream_async])
def test_google_genai_meets_errors(stream: Interact, server: Server) -> None:
    with pytest.raises(Exception, match="peer closed connection"):
        stream(server.base_url, asked("cut"))
    # The library ignores a document without `data:`; the stream just ends.
    assert text_of(stream(server.base_url, asked("broken"))) == "Grüße"
    with client_of(server.base_url) as client:
        with pytest.raises(Exception, match="rate_limit_exceeded") as caught:
            client.interactions.create(**asked("quota"))
        assert type(caught.value).__name__ == "BadRequestError"
        with pytest.raises(Exception, match="'code': 'not_found', 'message': 'No recorded"):
            client.interactions.create(**asked("what nobody recorded"))


@pytest.mark.slow
def test_an_answer_in_the_background_is_polled(server: Server) -> None:
    with client_of(server.base_url) as client:
        created = client.interactions.create(**asked("slow", background=True))
        statuses = [client.interactions.get(id=str(created.id)).status for _ in range(3)]
    assert statuses == ["in_progress", "completed", "completed"]


@pytest.mark.slow
def test_a_running_interaction_is_cancelled_and_then_deleted(server: Server) -> None:
    with client_of(server.base_url) as client:
        name = str(client.interactions.create(**asked("endless", background=True)).id)
        assert client.interactions.cancel(id=name).status == "cancelled"
        assert client.interactions.get(id=name).status == "cancelled"
        with pytest.raises(Exception, match="is not running; its status is cancelled"):
            client.interactions.cancel(id=name)
        client.interactions.delete(id=name)
        with pytest.raises(Exception, match="not_found"):
            client.interactions.get(id=name)


@pytest.mark.slow
def test_a_streamed_interaction_is_fetched_in_one_piece(server: Server) -> None:
    with client_of(server.base_url) as client:
        fetched = client.interactions.get(id="v1_call").model_dump(mode="json", exclude_none=True)
    assert fetched["status"] == "requires_action"
    assert fetched["steps"] == [
        {"type": "user_input", "content": [{"type": "text", "text": "call"}]},
        {"type": "thought", "signature": SIGNATURE},
        {
            "type": "function_call",
            "id": "61nzpsv4",
            "name": "get_weather",
            "arguments": {"city": "Oslo"},
        },
    ]


@pytest.mark.slow
def test_an_interaction_that_was_not_stored_is_not_found(server: Server) -> None:
    with client_of(server.base_url) as client:
        client.interactions.create(**asked("kept secret", store=False))
        with pytest.raises(Exception, match="not_found"):
            client.interactions.get(id="v1_no")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "text"), [(None, "one two three"), ("e0.1", "two three"), ("e0.3", "three")]
)
def test_a_stream_is_resumed_after_an_event(last: str | None, text: str, server: Server) -> None:
    with client_of(server.base_url) as client:
        events = client.interactions.get(id="v1_long", stream=True, last_event_id=last)
        assert text_of(list(events)) == text


@pytest.mark.slow
def test_only_known_events_of_a_stream_can_be_resumed(server: Server) -> None:
    with client_of(server.base_url) as client:
        with pytest.raises(Exception, match="last_event_id 'e9' is not an event of interaction"):
            client.interactions.get(id="v1_long", stream=True, last_event_id="e9")
        with pytest.raises(Exception, match="not_found"):
            client.interactions.get(id="v1_endless", stream=True)


@pytest.mark.slow
def test_google_genai_asks_vertex_ai(server: Server) -> None:
    from google.auth.credentials import AnonymousCredentials

    credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]  # google-auth has no types
    credentials.token = "a-token"
    place: dict[str, Any] = {"vertexai": True, "project": "p", "location": "europe-west4"}
    place["credentials"] = credentials
    with client_of(server.base_url, **place) as client:
        assert text_of(list(client.interactions.create(**asked("text"), stream=True))) == "Grüße"
    (request,) = server.requests
    assert request.path == "/v1beta1/projects/p/locations/europe-west4/interactions"


def test_the_pieces_of_every_step_make_up_the_fetched_one() -> None:
    annotation = {"type": "url_citation", "url": "https://example.com", "start_index": 0}
    search = {"call_id": "s", "result": [{"search_suggestions": "<div>"}]}
    events: list[tuple[str, dict[str, Any]]] = [
        ("step.start", {"index": 0, "step": {"type": "thought"}}),
        (
            "step.delta",
            {"index": 0, "delta": {"type": "thought_summary", "content": {"text": "A"}}},
        ),
        ("step.delta", {"index": 0, "delta": {"type": "thought_signature", "signature": ""}}),
        ("step.delta", {"index": 0, "delta": {"type": "thought_signature", "signature": "UQ=="}}),
        ("step.start", {"index": 1, "step": {"type": "google_search_result"}}),
        ("step.delta", {"index": 1, "delta": {"type": "google_search_result", **search}}),
        ("step.start", {"index": 2, "step": {"type": "model_output"}}),
        ("step.delta", {"index": 2, "delta": {"type": "text", "text": "Hi"}}),
        (
            "step.delta",
            {"index": 2, "delta": {"type": "text_annotation_delta", "annotations": [annotation]}},
        ),
        ("step.delta", {"index": 2, "delta": {"type": "image", "data": "AAAA"}}),
        ("step.start", {"index": 3, "step": {"type": "function_call", "arguments": {}}}),
        ("step.delta", {"index": 3, "delta": {"type": "arguments_delta", "arguments": "{not"}}),
        ("interaction.status_update", {"interaction_id": "v1_a", "status": "incomplete"}),
    ]
    stream = interaction_stream(*(interaction_event(kind, **fields) for kind, fields in events))
    # Without its end, the stream has only the status of the update.
    cut = exchange(INTERACTIONS, asked("all", stream=True), *stream[:-2], end="cut")
    with serve(tape(cut)) as server:
        fetched = httpx2.get(f"{server.base_url}{INTERACTIONS}/v1_a").json()
    assert (fetched["status"], fetched["steps"][1:]) == (
        "incomplete",
        [
            {"type": "thought", "summary": [{"text": "A"}], "signature": "UQ=="},
            {"type": "google_search_result", **search},
            {
                "type": "model_output",
                "content": [
                    {"type": "text", "text": "Hi", "annotations": [annotation]},
                    {"type": "image", "data": "AAAA"},
                ],
            },
            {"type": "function_call", "arguments": "{not"},
        ],
    )


def test_steps_that_only_the_end_of_a_stream_has_are_fetched() -> None:
    step = {"type": "model_output", "content": [{"type": "text", "text": "Hi"}]}
    *start, last, done = interaction_stream()
    last = last.replace(b'"usage"', b'"steps":[%b],"usage"' % dumped(step))
    answer = exchange(INTERACTIONS, {"agent": "a", "stream": True}, *start, last, done)
    with serve(tape(answer)) as server:
        fetched = httpx2.get(f"{server.base_url}{INTERACTIONS}/v1_a").json()
    assert fetched["steps"] == [step]
