"""A gateway as an adapter: the harness serves its upstream and reads its answers."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import AdapterError
from harness.adapters.gateway import upstream_address
from harness.adapters.named import make_adapter, read_line
from harness.adapters.offers import Offers
from harness.facts import Call, Error, Finish, Raw, Text, Thought, Transcript, Usage
from harness.providers import with_provider
from harness.stream.exchange import Exchange, Request
from tests.adapters.gateways import HI, Answer, ask, gateway
from tests.adapters.shims import EXCHANGE, second_request, transcript

UNARY = "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent"


def run(wire: str, url: str, folder: Path) -> Transcript:
    line = read_line(f"proxy: facts = gateway {wire}: {url}")
    return transcript(make_adapter(line, folder, timeout=20.0))


def test_a_gateway_of_geminis_wire_is_read_by_the_oracle(upstream: str, tmp_path: Path) -> None:
    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        handler.send_response(200)
        handler.end_headers()
        lines = [f"data: {json.dumps(message)}\r\n\r\n" for message in ask(upstream)]
        return "".join(lines).encode()

    with gateway(answer) as (url, asked):
        result = run("gemini", f"{url}/gemini?model=mine", tmp_path)
    messages = [json.loads(data.removeprefix(b"data: ")) for _, data in EXCHANGE.reads]
    assert list(result.facts()) == [Raw(message) for message in messages]
    assert result.notes == ()
    ((path, headers, body),) = asked
    assert path == "/gemini/v1beta/models/mine:streamGenerateContent?alt=sse"
    assert headers["x-goog-api-key"] == "no-key-in-a-replay"
    assert body["contents"] == [{"role": "user", "parts": [{"text": "Hi?"}]}]
    assert [tool["name"] for tool in body["tools"][0]["functionDeclarations"]] == ["add"]


EVENTS = [
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 7}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "add", "input": {}}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
]  # fmt: skip


def sends(events: list[Any], upstream: str, status: int = 200) -> Answer:
    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        ask(upstream)
        handler.send_response(status)
        handler.end_headers()
        return "".join(
            f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n" for event in events
        ).encode()

    return answer


def test_a_gateway_of_anthropics_wire_is_read_as_its_client_does(
    upstream: str, tmp_path: Path
) -> None:
    with gateway(sends(EVENTS, upstream)) as (url, asked):
        result = run("anthropic", url, tmp_path)
    assert [entry.native for entry in result.entries] == EVENTS
    assert list(result.facts()) == [
        Text("Hi"),
        Call("t", "add", {"a": 1}),
        Finish("tool_use"),
        Usage(input=7, output=3),
    ]
    ((path, headers, body),) = asked
    assert (path, headers["anthropic-version"]) == ("/v1/messages", "2023-06-01")
    assert body["messages"] == [{"role": "user", "content": "Hi?"}]
    assert body["tools"][0]["input_schema"]["type"] == "object"


CALL = {"index": 0, "id": "t", "function": {"name": "add", "arguments": '{"a": 1}'}}
USED = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
CHUNK = {"object": "chat.completion.chunk"}
CHAT = [
    {**CHUNK, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}}]},
    {**CHUNK, "choices": [{"index": 0, "delta": {"tool_calls": [CALL]}}]},
    {**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {**CHUNK, "choices": [], "usage": USED},
]
STEPS = [
    {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
    {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hi"}},
    {"event_type": "step.stop", "index": 0},
    {"event_type": "step.start", "index": 1, "step": {"type": "function_call", "id": "t", "name": "add", "arguments": {}}},
    {"event_type": "step.delta", "index": 1, "delta": {"type": "arguments_delta", "arguments": '{"a": 1}'}},
    {"event_type": "step.stop", "index": 1},
    {
        "event_type": "interaction.completed",
        "interaction": {
            "id": "i",
            "status": "requires_action",
            "usage": {"total_input_tokens": 7, "total_output_tokens": 3, "total_tokens": 10},
        },
    },
]  # fmt: skip


@pytest.mark.parametrize(
    ("wire", "events", "path", "reason"),
    [
        ("openai-chat", CHAT, "/v1/chat/completions", "tool_calls"),
        ("interactions", STEPS, "/v1beta/interactions", "requires_action"),
    ],
)
def test_a_gateway_of_the_other_wires_is_read_as_their_clients_do(
    wire: str, events: list[Any], path: str, reason: str, upstream: str, tmp_path: Path
) -> None:
    with gateway(sends(events, upstream)) as (url, asked):
        result = run(wire, url, tmp_path)
    assert [entry.native for entry in result.entries] == events
    assert list(result.facts()) == [
        Text("Hi"),
        Call("t", "add", {"a": 1}),
        Finish(reason),
        Usage(input=7, output=3, total=10),
    ]
    ((at, _, body),) = asked
    assert (at, body["stream"]) == (path, True)
    assert "Hi?" in json.dumps(body.get("messages", body.get("input")))
    (tool,) = body["tools"]
    assert tool.get("function", tool)["name"] == "add"


@pytest.mark.parametrize(
    ("indexes", "calls"),
    [
        ((0, 1), [Call("t", "add", {"a": 1}), Call("u", "add", {"a": 1})]),
        ((0, 0), [Call("tu", "addadd", '{"a": 1}{"a": 1}')]),
    ],
)
def test_calls_of_a_gateway_are_joined_by_their_index(
    indexes: tuple[int, int], calls: list[Call], upstream: str, tmp_path: Path
) -> None:
    pieces = [{**CALL, "index": indexes[0]}, {**CALL, "index": indexes[1], "id": "u"}]
    delta = {"tool_calls": pieces}
    events = [{**CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}]
    with gateway(sends(events, upstream)) as (url, _):
        result = run("openai-chat", url, tmp_path)
    assert [fact for fact in result.facts() if isinstance(fact, Call)] == calls


def test_a_gateway_of_the_other_wires_answers_in_one_piece(upstream: str, tmp_path: Path) -> None:
    choice = {"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}
    whole = {"object": "chat.completion", "choices": [choice]}

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        assert "stream" not in body
        url = f"{upstream}/v1beta/models/gemini-x:generateContent"
        with urllib.request.urlopen(url, HI) as answered:
            answered.read()
        handler.send_response(200)
        handler.end_headers()
        return json.dumps(whole).encode()

    request = Request("POST", UNARY, {}, HI)
    unary = Exchange(request, 200, {}, ((1.0, b'{"candidates": []}'),), "complete")
    with gateway(answer) as (url, _):
        line = read_line(f"proxy: facts = gateway openai-chat: {url}")
        result = transcript(make_adapter(line, tmp_path, timeout=20.0), with_provider(unary))
    assert list(result.facts()) == [Text("Hi"), Finish("stop")]


def test_the_reasoning_of_a_gateway_is_a_thought(upstream: str, tmp_path: Path) -> None:
    deltas: list[Any] = [{"reasoning_content": "Hm"}, {"reasoning": "m"}, {"content": "Hi"}]
    events = [{**CHUNK, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    with gateway(sends(events, upstream)) as (url, _):
        result = run("openai-chat", url, tmp_path)
    assert list(result.facts()) == [Thought("Hm"), Thought("m"), Text("Hi")]


def test_events_of_another_shape_and_http_errors_are_errors(upstream: str, tmp_path: Path) -> None:
    with gateway(sends([{"delta": 1}], upstream)) as (url, _):
        raised = run("anthropic", url, tmp_path).raised
    assert raised is not None
    assert raised.type == "UnreadableAnswer"
    assert raised.message.startswith(
        "message 1 is not anthropic-messages: the official client ignores"
    )

    def fails(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        ask(upstream)
        handler.send_response(502)
        handler.end_headers()
        return b"upstream is gone"

    with gateway(fails) as (url, _):
        assert list(run("gemini", url, tmp_path).facts()) == [Error(502, "upstream is gone")]


@pytest.mark.parametrize(("code", "stated"), [(None, 502), ("rate_limit", "rate_limit")])
def test_an_error_without_a_code_has_the_status_of_the_answer(
    code: str | None, stated: int | str, upstream: str, tmp_path: Path
) -> None:
    def fails(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        ask(upstream)
        handler.send_response(502)
        handler.end_headers()
        return json.dumps({"error": {"message": "gone", "type": None, "code": code}}).encode()

    with gateway(fails) as (url, _):
        assert list(run("openai-chat", url, tmp_path).facts()) == [Error(stated, "gone")]


def test_a_gateway_that_is_not_there_or_never_asks_is_an_error(
    upstream: str, tmp_path: Path
) -> None:
    with pytest.raises(AdapterError, match=r"can't be reached: .* refused; start the gateway"):
        run("gemini", "http://127.0.0.1:9", tmp_path)

    def refuses(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        handler.send_response(401)
        handler.end_headers()
        return b'{\n"error": "no key"\n}'

    answer = (
        r'sent no request for an answer .* answered HTTP 401 "error": "no key"; configure it with'
        rf" the base URL {upstream}, and set HARNESS_GATEWAY_KEY"
    )
    with gateway(refuses) as (url, _), pytest.raises(AdapterError, match=answer):
        run("gemini", url, tmp_path)


def test_a_gateway_is_asked_once_per_model_of_an_unsupported_wire(
    upstream: str, tmp_path: Path
) -> None:
    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        with suppress(urllib.error.HTTPError):
            ask(upstream)
        handler.send_response(404)
        handler.end_headers()
        return b"{}"

    def recorded(model: str) -> Exchange:
        content = json.dumps({"model": model, "request": json.loads(HI)}).encode()
        url = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"
        return with_provider(
            Exchange(Request("POST", url, {}, content), 200, {}, EXCHANGE.reads, "complete")
        )

    with gateway(answer) as (url, asked):
        line = read_line(f"proxy: facts = gateway gemini: {url}")
        adapter = make_adapter(line, tmp_path, timeout=20.0)
        reasons = [transcript(adapter, recorded(model)).skipped for model in "aabb"]
        again = second_request(adapter, recorded("a"))
    assert len(asked) == 2
    (reason,) = {*reasons}
    assert again == reason
    assert reason == "another wire"


def test_a_gateway_declares_its_options_in_the_query(upstream: str, tmp_path: Path) -> None:
    options = "model=mine&thoughts=false&language=javascript&header=x-team:a&version=2&turns=1"
    with gateway(sends(EVENTS, upstream)) as (url, asked):
        line = read_line(f"proxy: facts = gateway anthropic: {url}?{options}")
        adapter = make_adapter(line, tmp_path, timeout=20.0)
        result = transcript(adapter)
    assert (result.asks_thoughts, result.doubles) == (False, True)
    assert (adapter.version(), adapter.second_request) == ("2", None)
    ((_, headers, body),) = asked
    assert (headers["x-team"], body["model"]) == ("a", "mine")
    with pytest.raises(AdapterError, match="unknown option thought; expected some of model, tho"):
        make_adapter(read_line(f"p: facts = gateway gemini: {url}?thought=false"), tmp_path)


def test_a_handler_that_dies_is_a_crash_of_the_gateway(upstream: str, tmp_path: Path) -> None:
    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bytes:
        ask(upstream)
        handler.connection.close()
        return b""

    with gateway(answer) as (url, _):
        result = run("anthropic", url, tmp_path)
    assert result.raised is not None
    assert (result.raised.type, result.raised.crash) == ("RemoteDisconnected", True)


def test_the_address_for_gateways_may_be_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("127.0.0.1:8801", "http://127.0.0.1:8801", "http://127.0.0.1:8801/"):
        monkeypatch.setenv("HARNESS_GATEWAY_ADDRESS", text)
        assert upstream_address() == ("127.0.0.1", 8801)


def test_the_address_for_gateways_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_GATEWAY_ADDRESS", "localhost")
    line = read_line("proxy: facts = gateway gemini: http://127.0.0.1:9")
    with pytest.raises(AdapterError, match="HARNESS_GATEWAY_ADDRESS is 'localhost'; expected HOST"):
        make_adapter(line, tmp_path)


def test_an_address_that_is_in_use_is_an_error_with_the_way_out() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as used,
        pytest.raises(AdapterError, match="in use; HARNESS_GATEWAY_ADDRESS=HOST:PORT names"),
        Offers("127.0.0.1", used.getsockname()[1]).serve(lambda server: server.offer(EXCHANGE)),
    ):
        pass
