"""`@google/genai`, openai's and Anthropic's libraries for Node stream the Interactions API, the
OpenAI-compatible endpoint and the Messages API from `harness serve`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any, Final

import pytest

from harness import load
from harness.server import Server, serve
from tests.clients.test_clients import HERE, WAIT_S, need_node
from tests.server.socket_client import tape
from tests.server.test_openai_compat import CASSETTE as CHATS
from tests.server.test_openai_compat import USER
from tests.server.test_openai_compat import asked as chatted
from tests.server.test_stored_interactions import CASSETTE as INTERACTIONS
from tests.server.test_stored_interactions import RESULT, asked
from tests.server.wires import chat_call

Seen = tuple[list[dict[str, Any]], dict[str, Any]]
"""The received messages, and the end."""


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[Server]:
    with serve(tape(*INTERACTIONS.exchanges, *CHATS.exchanges), pace="step") as server:
        yield server


def run(package: str, script: str, server: Server, request: dict[str, Any]) -> Seen:
    program = need_node(package)
    command = [program, str(HERE / script), server.base_url, json.dumps(request)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
    *messages, end = [json.loads(line) for line in done.stdout.splitlines()]
    return messages, end


def interact(server: Server, request: dict[str, Any]) -> Seen:
    return run("@google/genai", "interactions.mjs", server, request)


def chat(server: Server, request: dict[str, Any]) -> Seen:
    return run("openai", "openai.mjs", server, request)


def deltas_of(events: list[dict[str, Any]], kind: str, field: str) -> str:
    deltas = [event["delta"] for event in events if event["event_type"] == "step.delta"]
    return "".join(delta[field] for delta in deltas if delta["type"] == kind)


COMPLETE: Final = {"end": "complete"}


def test_node_streams_an_interaction_and_its_second_turn(server: Server) -> None:
    events, end = interact(server, asked("text"))
    assert (deltas_of(events, "text", "text"), end) == ("Grüße", COMPLETE)
    events, end = interact(server, asked("call"))
    assert deltas_of(events, "arguments_delta", "arguments") == '{"city":"Oslo"}'
    assert (events[-1]["interaction"]["status"], end) == ("requires_action", COMPLETE)
    events, end = interact(server, asked([RESULT], previous_interaction_id="v1_call"))
    assert (deltas_of(events, "text", "text"), end) == ("8 degrees.", COMPLETE)


CALL: Final = {"type": "function_call", "id": "61nzpsv4", "name": "get_weather", "arguments": {}}


@pytest.mark.parametrize(
    ("request_body", "text", "end"),
    [
        # The library ignores a document without `data:`.
        (asked("broken"), "Grüße", COMPLETE),
        (asked("cut"), "Grüße", {"name": "APIConnectionError", "status": None}),
        (asked("what nobody recorded"), "", {"name": "NotFoundError", "status": 404}),
        (
            asked([{"type": "user_input", "content": []}, CALL, RESULT], store=False),
            "",
            {"name": "BadRequestError", "status": 400},
        ),
    ],
)
def test_node_meets_the_errors_of_interactions(
    server: Server, request_body: dict[str, Any], text: str, end: dict[str, Any]
) -> None:
    events, ended = interact(server, request_body)
    assert deltas_of(events, "text", "text") == text
    assert ended.items() >= end.items()


def test_node_streams_chat_completions(server: Server) -> None:
    messages, end = chat(server, chatted(USER))
    deltas = [message["choices"][0]["delta"] for message in messages]
    assert ("".join(delta.get("content", "") for delta in deltas), end) == ("It is mild.", COMPLETE)
    messages, end = chat(server, chatted({**USER, "content": "call"}))
    (call,) = messages[0]["choices"][0]["delta"]["tool_calls"]
    assert (call, end) == (chat_call(), COMPLETE)


def test_node_is_refused_a_second_turn_without_the_signature(server: Server) -> None:
    result = {"role": "tool", "tool_call_id": "call_297140", "content": "8"}
    for signature, status in ((None, 400), ("U0lH", 404)):
        answer = {"role": "assistant", "tool_calls": [chat_call(signature)]}
        messages, end = chat(server, chatted(USER, answer, result))
        assert (messages, end["status"]) == ([], status)


@pytest.mark.parametrize(
    ("content", "count", "end"),
    [
        ("cut", 1, {"message": "terminated"}),
        # The library reads an error only at the top level, not in a list.
        ("quota", 0, {"status": 429, "message": "429 status code (no body)"}),
    ],
)
def test_node_meets_the_errors_of_chat_completions(
    server: Server, content: str, count: int, end: dict[str, Any]
) -> None:
    messages, ended = chat(server, chatted({**USER, "content": content}))
    assert len(messages) == count
    assert ended.items() >= end.items()


MESSAGES: Final = HERE.parents[1] / "cassettes" / "anthropic"


@pytest.mark.parametrize(
    ("name", "number", "end"),
    [
        ("calls", 2, COMPLETE),
        ("thinking", 4, COMPLETE),
        ("errors", 11, {"end": "error", "status": None}),
        ("errors", 4, {"end": "error", "status": 429}),
    ],
)
def test_node_streams_messages(name: str, number: int, end: dict[str, Any]) -> None:
    exchange = load(MESSAGES / f"{name}.yaml").exchanges[number - 1]
    assert exchange.request is not None
    with serve(tape(exchange), pace="step", match="path") as server:
        asked = json.loads(exchange.request.body)
        events, ended = run("@anthropic-ai/sdk", "anthropic.mjs", server, asked)
    lines = exchange.body.splitlines()
    recorded = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
    wanted = [event for event in recorded if event["type"] not in ("ping", "error")]
    assert events == wanted
    assert ended.items() >= end.items()
