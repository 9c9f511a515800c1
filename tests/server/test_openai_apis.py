"""OpenAI's two APIs in front of recordings of Gemini: `harness serve --dialect unified-llm`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from harness import load
from harness.adapters.reply import Reply
from harness.adapters.wires import read_reply, text_of_bytes
from harness.cassettes import Exchange
from harness.dialects import DIALECTS
from harness.dialects.dialect import HttpApi
from harness.facts import Entry, Transcript, read_losses
from harness.judging.aspects import conditions_of, judge_transcript
from harness.judging.reading import Reading
from harness.pipeline.replay import Normalized
from harness.server import Server, serve
from harness.stream.session import Session
from tests.server.socket_client import tape
from tests.server.test_dialect_proxy import GEMINI, MODEL
from tests.server.test_dialect_proxy import conversation as recorded_conversation
from tests.server.wires import exchange

CASSETTES: Final = Path(__file__).parents[2] / "cassettes" / "gemini-api"
UNIFIED: Final = DIALECTS["unified-llm"]
APIS: Final = dict(zip(("openai-responses", "openai-chat"), UNIFIED.apis, strict=True))
LOSSES: Final = read_losses(
    "finish[call], usage[failed], usage[other], unfinished[call], finish_message, signatures,"
    " billing, media, code, server_tools, grounding, citations, urls, logprobs"
)
"""The facts that the two APIs have no place for. ``unfinished``: a whole call ends an answer."""
SAME_ID: Final = ("call-ids", 4)
"""Its second call has the id that the first one, without an id, gets."""


def findings(
    api: HttpApi, wire: str, recorded: Exchange, streamed: bool
) -> Iterator[tuple[str, str]]:
    """The facts that the answer of an API has not, or has wrong, without those of `LOSSES`."""
    payloads = Normalized(recorded, "gemini-api", None).translate(UNIFIED, Session()).payloads
    if not streamed and api.failure(payloads):
        return
    body = {"model": MODEL, "stream_options": {"include_usage": True}}
    writer = api.writer(body, "x")
    reply = Reply()
    native: Any = writer.whole(payloads) if not streamed else None
    reply.add(Entry(native or text_of_bytes(b"".join(map(writer.event, payloads)))))
    read_reply(reply, wire, streamed=streamed)
    transcript = Transcript(tuple(reply.entries), raised=reply.raised)
    reading = Reading(recorded)
    answer = reading.facts, conditions_of(reading, transcript)
    for aspect, finding in judge_transcript(*answer, transcript).items():
        if finding.red and not any(loss.covers(aspect, *answer, finding) for loss in LOSSES):
            yield aspect, finding.sentence


def judged(cassette: str) -> dict[tuple[str, int, str, bool], list[tuple[str, str]]]:
    """The findings of each generating exchange of a cassette, for both APIs and modes."""
    return {
        (cassette, number, wire, streamed): given
        for number, recorded in enumerate(load(CASSETTES / f"{cassette}.yaml").exchanges, 1)
        if recorded.generates and (cassette, number) != SAME_ID
        for wire, api in APIS.items()
        for streamed in (True, False)
        if (given := [*findings(api, wire, recorded, streamed)])
    }


@pytest.mark.parametrize("cassette", ["parallel-calls", "finish-reasons", "thoughts"])
def test_a_translated_answer_has_the_facts_of_the_recording(cassette: str) -> None:
    assert judged(cassette) == {}


@pytest.mark.slow
def test_every_translated_answer_has_the_facts_of_its_recording() -> None:
    names = sorted(path.stem for path in CASSETTES.glob("*.yaml"))
    found = {place: given for name in names for place, given in judged(name).items()}
    assert found == {}
    assert len(names) > 80


# -------------------------------------------------------------------- a conversation over HTTP

DECLARED: Final = {
    "name": "weather",
    "description": "The weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
CALLS: Final = [("c1", '{"city":"Oslo"}'), ("c2", '{"city":"Rome"}')]


@pytest.fixture(name="server")
def _server() -> Iterator[Server]:
    with serve(recorded_conversation(GEMINI), pace="instant", dialect="unified-llm") as server:
        yield server


def post(server: Server, path: str, body: dict[str, Any]) -> httpx2.Response:
    return httpx2.post(server.base_url + path, json={"model": MODEL, **body})


def respond(server: Server, given: Any, **more: Any) -> dict[str, Any]:
    """The response to an input."""
    tools = [{"type": "function", **DECLARED}]
    body = {"input": given, "tools": tools, "max_output_tokens": 100, **more}
    response: dict[str, Any] = post(server, "/v1/responses", body).json()
    return response


def complete(server: Server, messages: list[Any], **more: Any) -> dict[str, Any]:
    """The completion for messages."""
    tools = [{"type": "function", "function": DECLARED}]
    body = {"messages": messages, "tools": tools, "max_completion_tokens": 100, **more}
    completion: dict[str, Any] = post(server, "/v1/chat/completions", body).json()
    return completion


def outputs() -> list[dict[str, Any]]:
    texts = ('{"content": "4"}', '{"content": "19"}')
    return [
        {"type": "function_call_output", "call_id": call_id, "output": text}
        for (call_id, _), text in zip(CALLS, texts, strict=True)
    ]


def test_a_response_is_sent_back_and_its_signatures_are_restored(server: Server) -> None:
    """The second request is found only if every signature is at the place where Gemini sent it."""
    first = respond(server, "Oslo and Rome?")
    kinds = [item["type"] for item in first["output"]]
    assert kinds == ["reasoning", "message", "function_call", "function_call"]
    assert first["output"][0]["summary"] == [{"type": "summary_text", "text": "**Plan**"}]
    assert first["output"][1]["content"][0]["text"] == "Let me look."
    calls = [(item["call_id"], item["arguments"]) for item in first["output"][2:]]
    assert (calls, first["status"], first["incomplete_details"]) == (CALLS, "completed", None)
    assert first["usage"] == {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 0},
        "output_tokens": 12,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 32,
    }
    asked = {"role": "user", "content": "Oslo and Rome?"}
    second = respond(server, [asked, *first["output"], *outputs()])
    assert [item["content"][0]["text"] for item in second["output"]] == ["Oslo 4, Röm 19."]
    assert server.misses == []


def test_a_response_is_continued_by_its_id(server: Server) -> None:
    first = respond(server, "Oslo and Rome?")
    second = respond(server, outputs(), previous_response_id=first["id"])
    assert second["output"][0]["content"][0]["text"] == "Oslo 4, Röm 19."
    assert second["previous_response_id"] == first["id"] != second["id"]
    missing = respond(server, outputs(), previous_response_id="resp_none")
    assert missing["error"] == {
        "message": "Previous response with id 'resp_none' not found.",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }


def test_a_response_that_is_not_stored_is_not_continued(server: Server) -> None:
    first = respond(server, "Oslo and Rome?", store=False)
    second = respond(server, outputs(), previous_response_id=first["id"])
    assert second["error"]["message"] == f"Previous response with id {first['id']!r} not found."


def test_a_completion_is_sent_back_and_its_signatures_are_restored(server: Server) -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "Oslo and Rome?"}]}
    first = complete(server, [asked])
    (choice,) = first["choices"]
    message = choice["message"]
    assert (message["content"], message["reasoning_content"]) == ("Let me look.", "**Plan**")
    calls = [(call["id"], call["function"]["arguments"]) for call in message["tool_calls"]]
    assert (calls, choice["finish_reason"]) == (CALLS, "tool_calls")
    assert first["usage"]["completion_tokens"] == 12
    results = [
        {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
        for item in outputs()
    ]
    # Clients send back only the fields of their own types.
    kept = {name: message[name] for name in ("role", "content", "tool_calls")}
    second = complete(server, [{**asked, "content": "Oslo and Rome?"}, kept, *results])
    assert second["choices"][0]["message"]["content"] == "Oslo 4, Röm 19."
    assert server.misses == []


def test_a_changed_history_is_not_repaired(server: Server) -> None:
    """Only an answer of this server gets its signatures back, and only if it is unchanged."""
    first = respond(server, "Oslo and Rome?")
    *before, call = first["output"]
    changed = [*before, {**call, "arguments": '{"city": "Bergen"}'}]
    asked = {"role": "user", "content": "Oslo and Rome?"}
    refused = respond(server, [asked, *changed, *outputs()])
    assert "No recorded exchange answers" in refused["error"]["message"]


def test_events_of_a_stream(server: Server) -> None:
    text = post(
        server,
        "/v1/responses",
        {"input": "cut", "tools": [{"type": "function", **DECLARED}], "max_output_tokens": 100}
        | {"stream": True},
    ).text
    blocks = [block.split("\n") for block in text.removesuffix("\n\n").split("\n\n")]
    events = [json.loads(block[1].removeprefix("data: ")) for block in blocks]
    assert [event["type"] for event in events] == [
        *("response.created", "response.in_progress", "response.output_item.added"),
        *("response.content_part.added", "response.output_text.delta"),
        *("response.output_text.done", "response.content_part.done"),
        *("response.output_item.done", "error", "response.failed"),
    ]
    assert [block[0] for block in blocks] == [f"event: {event['type']}" for event in events]
    assert [event["sequence_number"] for event in events] == [*range(len(events))]
    assert events[-2]["error"]["type"] == "server_error"
    assert events[-1]["response"]["error"] == {
        "code": "server_error",
        "message": "the stream ended before it was complete (cut)",
    }


def test_pieces_of_a_completion(server: Server) -> None:
    tools = [{"type": "function", "function": DECLARED}]
    asked = [{"role": "user", "content": "Oslo and Rome?"}]
    body = {"messages": asked, "tools": tools, "max_tokens": 100, "stream": True}
    counted = post(
        server, "/v1/chat/completions", {**body, "stream_options": {"include_usage": True}}
    )
    *lines, done = counted.text.removesuffix("\n\n").split("\n\n")
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert done == "data: [DONE]"
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:-1]] == [
        {"role": "assistant", "reasoning_content": "**Plan**"},
        {"content": "Let me look."},
        *(
            {"tool_calls": [{"index": index, **piece}]}
            for index, (call_id, arguments) in enumerate(CALLS)
            for piece in (
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": "weather", "arguments": ""},
                },
                {"function": {"arguments": arguments}},
            )
        ),
        {},
    ]
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * 7
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["total_tokens"]) == ([], 32)
    plain = post(server, "/v1/chat/completions", body).text
    assert "usage" not in plain


@pytest.mark.parametrize(
    ("path", "body", "status", "error"),
    [
        ("responses", {"input": "quota"}, 429, ("requests", "Slow down.")),
        ("responses", {"input": "broken"}, 503, ("server_error", "The model is overloaded.")),
        (
            "chat/completions",
            {"messages": [{"role": "user", "content": "cut"}]},
            500,
            ("server_error", "the stream ended before it was complete (cut)"),
        ),
        (
            "chat/completions",
            {"messages": [{"role": "user", "content": "nobody recorded this"}]},
            404,
            (
                "invalid_request_error",
                "No recorded exchange answers POST /v1beta/models/",
            ),
        ),
        (
            "responses",
            {"input": [{"type": "hologram"}]},
            400,
            ("invalid_request_error", "input[0].type: 'hologram' can't be translated"),
        ),
        (
            "chat/completions",
            {"messages": [{"role": "user", "content": [{"type": "hologram"}]}]},
            400,
            (
                "invalid_request_error",
                "messages[0].content[0].type: 'hologram' can't be translated",
            ),
        ),
        (
            "chat/completions",
            {"messages": [], "n": 2},
            400,
            ("invalid_request_error", "n: can't be"),
        ),
    ],
)
def test_errors_have_the_status_and_the_body_of_the_wire(
    server: Server, path: str, body: dict[str, Any], status: int, error: tuple[str, str]
) -> None:
    function = DECLARED if path == "responses" else {"function": DECLARED}
    limit = "max_output_tokens" if path == "responses" else "max_completion_tokens"
    tools = [{"type": "function", **function}]
    response = post(server, f"/v1/{path}", {"tools": tools, limit: 100, **body})
    given = response.json()["error"]
    assert (response.status_code, given["type"]) == (status, error[0])
    assert given["message"].startswith(error[1])


def test_recordings_of_the_wire_itself_need_no_translation() -> None:
    own = load(CASSETTES.parent / "openai" / "responses-whole.yaml").exchanges[0]
    assert own.request is not None
    with serve(tape(own), pace="instant", dialect="unified-llm") as server:
        sent = httpx2.post(f"{server.base_url}/v1/responses", content=own.request.body)
    assert sent.content == own.body


def test_recordings_of_chat_completions_are_translated_too() -> None:
    """The other way: Anthropic's client is answered from a recording of OpenAI."""
    said = {"role": "assistant", "content": "Hi."}
    choice = {"index": 0, "message": said, "finish_reason": "stop"}
    whole = {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    recorded = exchange("/v1/chat/completions", asked, json.dumps(whole).encode())
    with serve(tape(recorded), dialect="anthropic", match="path", pace="instant") as server:
        body = {**asked, "max_tokens": 9}
        answer = post(server, "/v1/messages", body).json()
    assert answer["content"] == [{"type": "text", "text": "Hi."}]


def test_without_a_known_provider_the_option_is_named() -> None:
    odd = Exchange(None, 200, {}, ((None, b'data: {"foo": 1}\n\n'),), "complete")
    with serve(tape(odd), dialect="unified-llm", pace="instant") as server:
        answer = post(server, "/v1/responses", {"input": "Hello"})
    message = "No served exchange shows its provider; name it with --provider."
    assert (answer.status_code, answer.json()["error"]["message"]) == (404, message)


ODD: Final[list[Any]] = [
    None,
    5,
    [],
    {},
    {"model": 5, "input": 5, "messages": 5},
    {"input": [5], "messages": [5]},
    {"input": [], "messages": []},
    {"input": [{"type": []}], "messages": [{"role": []}]},
    {"input": [{"role": "assistant", "content": 5}], "messages": [{"role": "assistant"}]},
    {"input": [{"type": "function_call"}], "messages": [{"role": "assistant", "tool_calls": [5]}]},
    {"input": [{"type": "function_call_output", "call_id": "x", "output": "y"}]},
    {"messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]},
    {"input": "x", "previous_response_id": {}},
    {"input": "x", "messages": [{"role": "user", "content": "x"}], "tools": [{"type": "custom"}]},
    {"input": "x", "messages": [{"role": "user", "content": "x"}], "tool_choice": {"type": "mcp"}},
    {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
]


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions"])
def test_an_odd_request_is_refused_with_an_error(server: Server, path: str) -> None:
    for sent in ODD:
        body = {"model": MODEL, **sent} if isinstance(sent, dict) else sent
        response = httpx2.post(server.base_url + path, json=body)
        error = response.json()["error"]
        assert (response.status_code, error["type"]) == (400, "invalid_request_error"), sent
