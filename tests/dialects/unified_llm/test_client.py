"""The client of unified-llm, against servers on loopback: what it sends, what it gives, when it
tries again, which errors it raises.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
from harness import Cassette, Exchange, Origin, Request, Session, TranslationError
from harness.dialects.unified_llm.client import (
    AsyncClient,
    AuthenticationError,
    Client,
    ConfigurationError,
    ContextLengthError,
    InvalidRequestError,
    NetworkError,
    NoObjectGeneratedError,
    NotFoundError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    Response,
    RetryPolicy,
    SDKError,
    ServerError,
    StreamAccumulator,
    StreamError,
    Timeouts,
    errors,
)
from harness.dialects.unified_llm.client.errors import error_of
from harness.dialects.unified_llm.request import tool_result
from harness.server import serve

CASSETTES = Path(__file__).parents[3] / "cassettes"
KEY = "the-key"
MODEL = "gemini-3-pro-preview"
HELLO = {
    "model": f"gemini:{MODEL}",
    "messages": [{"role": "user", "content": [{"kind": "text", "text": "Hello"}]}],
}
ONCE = RetryPolicy(max_retries=0)

API = "https://generativelanguage.googleapis.com/v1beta"


def reply(*texts: str, finish: str = "STOP") -> list[dict[str, Any]]:
    last = len(texts) - 1
    return [
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": text}], "role": "model"},
                    **({"finishReason": finish} if at == last else {}),
                    "index": 0,
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 3,
                "candidatesTokenCount": at + 1,
                "totalTokenCount": at + 4,
            },
            "modelVersion": MODEL,
            "responseId": "r1",
        }
        for at, text in enumerate(texts)
    ]


def answer(
    messages: Any,
    *,
    stream: bool,
    status: int = 200,
    headers: dict[str, str] | None = None,
    end: Any = "complete",
) -> Exchange:
    """One exchange: of a stream, a read a message; ``messages`` may also be the body itself."""
    if isinstance(messages, bytes):
        reads = [messages]
    elif stream and status == 200:
        reads = [b"data: " + json.dumps(message).encode() + b"\r\n\r\n" for message in messages]
    else:
        reads = [json.dumps(messages).encode()]
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    kind = "text/event-stream" if stream and status == 200 else "application/json"
    request = Request(
        "POST", f"{API}/models/{MODEL}:{method}", {"content-type": ["application/json"]}, b"{}"
    )
    given = {"Content-Type": [kind], **{name: [value] for name, value in (headers or {}).items()}}
    return Exchange(request, status, given, tuple((None, read) for read in reads), end, "")


def error(code: int, status: str, message: str = "no", *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


RETRY_IN_12_S = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"}


class Loopback:
    """A server of these exchanges, in their order, and a client of it whose waits are noted and not
    waited.
    """

    def __init__(
        self, *exchanges: Exchange, retry: RetryPolicy | None = None, **options: Any
    ) -> None:
        self.server = serve(Cassette(exchanges, Origin("written")), pace="instant", match="path")
        self.retry = retry or RetryPolicy(chance=lambda: 0.5)
        self.options = options
        self.waits: list[float] = []

    def __enter__(self) -> Client:
        self.server.__enter__()
        plain = httpx2.HTTPTransport(
            verify=False
        )  # loopback has no certificates, and reading those of the system takes long
        self.client = Client(
            KEY,
            self.server.base_url,
            retry=self.retry,
            sleep=self.waits.append,
            transport=plain,
            **self.options,
        )
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.server.__exit__(None, None, None)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


# -------------------------------------------------------------------- what is sent


def sent(
    client_options: dict[str, Any], request: dict[str, Any] = HELLO, *, stream: bool = False
) -> httpx2.Request:
    asked: list[httpx2.Request] = []

    def handle(one: httpx2.Request) -> httpx2.Response:
        asked.append(one)
        return httpx2.Response(200, json=reply("Hi")[0])

    with Client(
        **{"api_key": KEY, **client_options}, transport=httpx2.MockTransport(handle)
    ) as client:
        list(client.stream(request)) if stream else client.complete(request)
    return asked[0]


ADDRESSES: dict[str, tuple[dict[str, Any], bool, str, str]] = {
    "unary": ({}, False, f"{API}/models/{MODEL}:generateContent", "x-goog-api-key: the-key"),
    "stream": (
        {},
        True,
        f"{API}/models/{MODEL}:streamGenerateContent?alt=sse",
        "x-goog-api-key: the-key",
    ),
    "base URL": (
        {"base_url": "http://h:1/"},
        False,
        f"http://h:1/v1beta/models/{MODEL}:generateContent",
        "x-goog-api-key: the-key",
    ),
    "base URL with a version": (
        {"base_url": "http://h:1/proxy/v1"},
        False,
        f"http://h:1/proxy/v1/models/{MODEL}:generateContent",
        "x-goog-api-key: the-key",
    ),
    "vertex": (
        {"provider": "vertex-ai"},
        True,
        f"https://aiplatform.googleapis.com/v1/publishers/google/models/{MODEL}:streamGenerateContent?alt=sse",
        "x-goog-api-key: the-key",
    ),
    "vertex project": (
        {
            "provider": "vertex-ai",
            "base_url": "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4",
        },
        False,
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google/models/"
        f"{MODEL}:generateContent",
        "x-goog-api-key: the-key",
    ),
    "code assist": (
        {"provider": "code-assist"},
        True,
        "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse",
        "authorization: Bearer the-key",
    ),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_call_goes_to_its_address_with_the_key_in_a_header(name: str) -> None:
    options, stream, url, header = ADDRESSES[name]
    asked = sent(options, stream=stream)
    key, _, value = header.partition(": ")
    assert (str(asked.url), asked.headers[key]) == (url, value)
    assert KEY not in str(asked.url)
    body = json.loads(asked.content)
    assert body.get("request", body)["contents"] == [{"role": "user", "parts": [{"text": "Hello"}]}]


def test_a_model_name_cannot_change_the_address() -> None:
    asked = sent({}, {**HELLO, "model": "tunedModels/mine?key=x#y"})
    assert str(asked.url) == f"{API}/tunedModels/mine%3Fkey%3Dx%23y:generateContent"


@pytest.mark.parametrize(
    ("provider", "model", "path"),
    [
        ("gemini-api", "gemini:models/m", "/v1beta/models/m:generateContent"),
        ("gemini-api", "tunedModels/m", "/v1beta/tunedModels/m:generateContent"),
        ("vertex-ai", "models/m", "/v1/publishers/google/models/m:generateContent"),
        (
            "vertex-ai",
            "publishers/google/models/m",
            "/v1/publishers/google/models/m:generateContent",
        ),
        (
            "vertex-ai",
            "gemini:projects/p/locations/l/endpoints/7",
            "/v1/projects/p/locations/l/endpoints/7:generateContent",
        ),
    ],
)
def test_a_model_may_be_named_with_its_place(provider: str, model: str, path: str) -> None:
    assert sent({"provider": provider}, {**HELLO, "model": model}).url.path == path


def test_key_and_address_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    assert sent({"api_key": None}).headers["x-goog-api-key"] == "second"
    monkeypatch.setenv("GEMINI_API_KEY", "first")
    monkeypatch.setenv("GEMINI_BASE_URL", "http://other:9")
    asked = sent({"api_key": None})
    assert (asked.headers["x-goog-api-key"], asked.url.host) == ("first", "other")


def test_without_a_key_there_is_no_client() -> None:
    with pytest.raises(
        ConfigurationError,
        match="no API key; pass api_key, or set GEMINI_API_KEY or GOOGLE_API_KEY",
    ):
        Client()


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        ConfigurationError,
        match="unknown provider 'openai'; known are gemini-api, vertex-ai, code-assist",
    ):
        Client(KEY, provider="openai")


def test_a_wrong_prompt_is_refused_before_anything_is_sent() -> None:
    with Client(KEY, "http://127.0.0.1:9") as client:
        with pytest.raises(TranslationError, match=r"messages\[0\].role"):
            client.stream({**HELLO, "messages": [{"role": "robot", "content": ""}]})
        with pytest.raises(ConfigurationError, match="names no model"):
            client.complete({"messages": HELLO["messages"]})


def test_local_files_are_read_here(tmp_path: Path) -> None:
    (tmp_path / "cat.gif").write_bytes(b"GIF89a")
    picture = {"kind": "image", "image": {"url": str(tmp_path / "cat.gif"), "detail": "low"}}
    request = {**HELLO, "messages": [{"role": "user", "content": [picture]}]}
    (part,) = json.loads(sent({}, request).content)["contents"][0]["parts"]
    assert part == {
        "inlineData": {"mimeType": "image/gif", "data": base64.b64encode(b"GIF89a").decode()},
        "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
    }
    # the request itself is not touched
    assert picture["image"]["url"] == str(tmp_path / "cat.gif")  # type: ignore[index]
    missing = {"kind": "image", "image": {"url": str(tmp_path / "dog.gif")}}
    with pytest.raises(
        TranslationError,
        match=r"messages\[0\].content\[0\].image.url: .* cannot be read: .*No such file",
    ):
        sent({}, {**HELLO, "messages": [{"role": "user", "content": [missing]}]})


# -------------------------------------------------------------------- what is given


def test_complete_gives_the_response() -> None:
    with Loopback(answer(reply("Hi there")[0], stream=False)) as client:
        response = client.complete(HELLO)
    assert response == {
        "id": "r1",
        "model": MODEL,
        "provider": "gemini",
        "message": {"role": "assistant", "content": [{"kind": "text", "text": "Hi there"}]},
        "finish_reason": {"reason": "stop", "raw": "STOP"},
        "usage": {
            "input_tokens": 3,
            "output_tokens": 1,
            "total_tokens": 4,
            "raw": {"promptTokenCount": 3, "candidatesTokenCount": 1, "totalTokenCount": 4},
        },
        "warnings": [],
    }
    assert (response.text, response.reasoning, response.tool_calls) == ("Hi there", "", [])


def test_stream_gives_the_events_as_they_come() -> None:
    with Loopback(answer(reply("Hi ", "there"), stream=True)) as client:
        events = list(client.stream(HELLO))
    assert [event["type"] for event in events] == [
        "STREAM_START",
        "TEXT_START",
        "TEXT_DELTA",
        "TEXT_DELTA",
        "TEXT_END",
        "FINISH",
    ]
    assert StreamAccumulator(events).response == events[-1]["response"]


def test_what_was_left_out_of_the_request_is_told_in_the_response() -> None:
    """A Response has the specification's warnings; the errors of a call have no place for them."""
    told = [{"message": "metadata: is left out; Gemini has no place for it"}]
    request = {**HELLO, "metadata": {"user": "me"}}
    with Loopback(answer(reply("Hi")[0], stream=False), answer(reply("Hi"), stream=True)) as client:
        assert client.complete(request)["warnings"] == told
        events = list(client.stream(request))
    assert events[-1]["response"]["warnings"] == told
    assert StreamAccumulator(events).response["warnings"] == told


def test_the_accessors_of_a_response() -> None:
    call = {"id": "c", "name": "f", "arguments": {}, "type": "function"}
    content = [
        {"kind": "thinking", "thinking": {"text": "Hm.", "redacted": False}},
        {"kind": "text", "text": '{"a":'},
        {"kind": "tool_call", "tool_call": call},
        {"kind": "text", "text": " 1}"},
    ]
    response = Response({"message": {"role": "assistant", "content": content}})
    assert (response.text, response.reasoning, response.tool_calls, response.object) == (
        '{"a": 1}',
        "Hm.",
        [call],
        {"a": 1},
    )
    with pytest.raises(NoObjectGeneratedError, match="the answer is not JSON"):
        _ = Response({"message": {"role": "assistant", "content": content[:1]}}).object


RECORDED = [
    (f"{path.parent.name}-{path.stem}-{number}", exchange)
    for path in sorted(CASSETTES.glob("*/*.yaml"))
    for number, exchange in enumerate(harness.load(path).exchanges, 1)
    if exchange.generates
]


STREAM = r"streamGenerateContent\?alt=sse"
UNARY = "generateContent"


def asked_by(method: str) -> list[Any]:
    """The answers to this method over HTTP, of all three wires; where the client left, nobody can
    leave again.
    """
    return [
        pytest.param(exchange, id=name)
        for name, exchange in RECORDED
        if exchange.provider != "gemini-cli" and exchange.end != "aborted" and exchange.request
        if re.search(rf":{method}$", exchange.request.url)
    ]


def test_there_are_answers_of_both_methods_from_every_wire() -> None:
    assert len(asked_by(STREAM)) > 300
    assert len(asked_by(UNARY)) >= 3
    for method in (STREAM, UNARY):
        assert {parameter.values[0].provider for parameter in asked_by(method)} == {
            "gemini-api",
            "vertex-ai",
            "code-assist",
        }


def asked_again(exchange: Exchange) -> dict[str, Any]:
    """A Request for the recorded model, with the recorded tools: they name what a model wrote as
    text.
    """
    assert exchange.request
    body = json.loads(exchange.request.body or b"{}")
    model = body.get("model") or exchange.request.url.rpartition("/models/")[2].partition(":")[0]
    tools = body.get("request", body).get("tools", [])
    return {**HELLO, "model": model, "provider_options": {"gemini": {"tools": tools}}}


@pytest.mark.parametrize("exchange", asked_by(STREAM))
def test_every_recorded_stream_comes_as_its_replay(exchange: Exchange) -> None:
    expected = harness.replay(exchange)
    request = asked_again(exchange)
    with Loopback(exchange, retry=ONCE, provider=exchange.provider) as client:
        if expected[0]["type"] == "ERROR":
            with pytest.raises(SDKError) as raised:
                list(client.stream(request))
            assert vars(raised.value) == vars(error_of(expected[0]))
        else:
            assert list(client.stream(request)) == expected


@pytest.mark.parametrize("exchange", asked_by(UNARY))
def test_every_recorded_answer_is_complete_as_its_replay_ends(exchange: Exchange) -> None:
    expected = harness.replay(exchange)[-1]
    with Loopback(exchange, retry=ONCE, provider=exchange.provider) as client:
        if expected["type"] == "ERROR":
            with pytest.raises(SDKError) as raised:
                client.complete(asked_again(exchange))
            assert type(raised.value) is type(error_of(expected))
        else:
            assert client.complete(asked_again(exchange)) == expected["response"]


@pytest.mark.parametrize(
    "exchange", [pytest.param(exchange, id=name) for name, exchange in RECORDED]
)
def test_the_accumulator_rebuilds_every_response_from_its_pieces(exchange: Exchange) -> None:
    events = harness.replay(exchange)
    accumulator = StreamAccumulator(events)
    if events[-1]["type"] == "ERROR":
        with pytest.raises(SDKError, match=re.escape(events[-1]["error"]["message"])):
            _ = accumulator.response
        return
    assert accumulator.response == events[-1]["response"]
    told = events[-1]["response"]["message"]["content"]
    said = [part for part in told if part["kind"] != "provider"]
    empty = {
        **events[-1],
        "response": {**events[-1]["response"], "message": {"role": "assistant", "content": []}},
    }
    assert StreamAccumulator([*events[:-1], empty]).response.content == said, (
        "what has a kind is rebuilt without FINISH"
    )


def test_the_accumulator_tells_an_unknown_part_from_an_unknown_fact_that_looks_like_it() -> None:
    parts = [{"text": "a", "newThing": 1}, {"newThing": 1}, {"text": "b"}]
    exchange = answer(
        [{"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}],
        stream=True,
    )
    events = harness.replay(exchange, provider="gemini-api")
    assert [event["type"] for event in events].count("PROVIDER_EVENT") == 2
    rebuilt = StreamAccumulator(events).response
    assert [part["kind"] for part in rebuilt.content] == ["text", "provider", "text"]
    assert rebuilt == events[-1]["response"]
    without = [event for event in events if event["type"] != "PROVIDER_EVENT"]
    assert [part["kind"] for part in StreamAccumulator(without).response.content] == [
        "text",
        "text",
    ], "only what came is rebuilt"


PARTS = st.sampled_from(
    [
        *(
            {"text": "a"},
            {"text": ""},
            {"text": "b", "thoughtSignature": "U0lH"},
            {"text": "", "thoughtSignature": "U0lI"},
        ),
        *(
            {"text": "t", "thought": True},
            {"text": "", "thought": True, "thoughtSignature": "U0lJ"},
        ),
        *(
            {"functionCall": {"name": "f", "args": {"x": 1}}},
            {"functionCall": {"id": "c", "name": "g"}, "thoughtSignature": "U0lK"},
        ),
        *(
            {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
            {"fileData": {"fileUri": "gs://b/f"}, "thoughtSignature": "U0lL"},
        ),
        *(
            {"inline_data": {"mime_type": "audio/wav", "data": "aGk="}},
            {"executableCode": {"code": "1", "language": "PYTHON"}},
        ),
        *(
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {}}},
        ),
        *(
            {"functionResponse": {"name": "f", "response": {"a": 1}}},
            {"newThing": 1},
            {"text": "c", "newThing": 1},
            {},
            {"newThing": {}},
        ),
    ]
)


@given(
    st.lists(st.lists(PARTS, max_size=4), max_size=5), st.sampled_from([None, "STOP", "MAX_TOKENS"])
)
@settings(max_examples=200, deadline=None)
def test_whatever_the_parts_the_accumulator_rebuilds_the_response(
    frames: list[list[Any]], finish: str | None
) -> None:
    messages: list[Any] = [
        {"candidates": [{"content": {"role": "model", "parts": parts}}]} for parts in frames
    ]
    if finish:
        messages.append(
            {
                "candidates": [{"finishReason": finish}],
                "usageMetadata": {"promptTokenCount": 1},
                "newThing": 1,
            }
        )
    events = harness.replay(answer(messages, stream=True), provider="gemini-api")
    assert StreamAccumulator(events).response == events[-1]["response"]


def test_the_accumulator_of_an_unfinished_stream() -> None:
    accumulator = StreamAccumulator(
        [
            {"type": "STREAM_START"},
            {"type": "TEXT_START"},
            {"type": "TEXT_DELTA", "delta": "Hi"},
            {"type": "TEXT_END"},
        ]
    )
    assert accumulator.text == "Hi"
    with pytest.raises(StreamError, match="has not ended"):
        _ = accumulator.response


def test_a_conversation_is_sent_as_it_was_recorded() -> None:
    """Use case 3: two rounds of calls, and what the user says then; each request finds its exchange
    by what it asks.
    """
    tool = {
        "name": "search_file",
        "description": "Search the files of the project",
        "parameters": {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "a regular expression"},
                "limit": {"type": "integer"},
            },
            "required": ["pattern"],
        },
    }
    question = {"role": "user", "content": "Where is main, and who calls Run?"}
    results: list[list[tuple[Any, bool]]] = [
        [("cmd/main.go:9:func main() {", False), ("search_file: permission denied: vendor/", True)],
        [({"matches": [{"file": "cmd/main.go", "line": 14}], "truncated": False}, False)],
    ]
    with (
        serve(CASSETTES / "gemini-api" / "unified-llm-search-file.yaml", pace="instant") as server,
        Client(KEY, server.base_url) as client,
    ):
        messages: list[Any] = [question]
        for outcomes in [*results, None]:
            response = StreamAccumulator(
                client.stream({"model": MODEL, "messages": messages, "tools": [tool]})
            ).response
            messages.append(response["message"])
            if outcomes is not None:
                calls = response.tool_calls
                messages += [
                    tool_result(call["id"], *outcome)
                    for call, outcome in zip(calls, outcomes, strict=True)
                ]
        messages.append({"role": "user", "content": "Danke schön ✓"})
        last = StreamAccumulator(
            client.stream({"model": MODEL, "messages": messages, "tools": [tool]})
        ).response
        assert server.misses == []
    assert (response.text, last.text) == (
        "main is in cmd/main.go, and calls Run in line 14.",
        "Gern.",
    )


# -------------------------------------------------------------------- tools


def called(*calls: tuple[str, dict[str, Any]]) -> Exchange:
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": name, "args": args}} for name, args in calls
    ]
    parts[0]["thoughtSignature"] = "U0lH"  # the server asks for it back
    return answer(
        {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}]},
        stream=False,
    )


def tool(name: str, execute: Any) -> dict[str, Any]:
    return {"name": name, "execute": execute}


def test_generate_runs_the_tools_and_asks_again() -> None:
    ran: list[Any] = []

    def add(arguments: dict[str, Any]) -> int:
        ran.append(arguments)
        return 5

    tools = [tool("add", add), tool("fail", lambda _: 1 / 0)]
    first = called(("add", {"a": 2}), ("fail", {}), ("gone", {}))
    session = Session()
    with Loopback(first, answer(reply("5")[0], stream=False), session=session) as client:
        assert client.generate({**HELLO, "tools": tools}).text == "5"
    assert ran == [{"a": 2}]
    assert list(session.calls) == ["call_1", "call_2", "call_3"]


def test_generate_sends_results_and_failures_in_call_order() -> None:
    asked: list[Any] = []

    def handle(one: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(one.content))
        made = (
            called(("add", {}), ("fail", {}), ("gone", {}))
            if len(asked) == 1
            else answer(reply("5")[0], stream=False)
        )
        return httpx2.Response(200, content=made.body)

    with Client(KEY, transport=httpx2.MockTransport(handle)) as client:
        client.generate(
            {**HELLO, "tools": [tool("add", lambda _: 5), tool("fail", lambda _: 1 / 0)]}
        )
    assert [part["functionResponse"]["response"] for part in asked[1]["contents"][-1]["parts"]] == [
        {"result": 5},
        {"error": "ZeroDivisionError: division by zero"},
        {"error": "unknown tool 'gone'; known are add, fail"},
    ]


def test_generate_stops_after_its_rounds() -> None:
    again = [called(("f", {})) for _ in range(4)]
    with Loopback(*again) as client:
        request = {**HELLO, "tools": [tool("f", lambda _: 1)]}
        assert len(client.generate(request, max_tool_rounds=2).tool_calls) == 1
        assert client.generate(request, max_tool_rounds=0).tool_calls[0]["id"] == "call_4"


def test_generate_tells_its_steps_and_what_they_cost_together() -> None:
    first = answer(
        {
            **json.loads(called(("f", {})).body),
            "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": 2},
        },
        stream=False,
    )
    uncounted = called(("f", {}))
    with Loopback(first, uncounted, answer(reply("Hi")[0], stream=False)) as client:
        response = client.generate({**HELLO, "tools": [tool("f", lambda _: 1)]}, max_tool_rounds=2)
    assert [len(step.tool_calls) for step in response.steps] == [1, 1, 0]
    assert response.steps[-1] is response
    assert response.total_usage == {
        "input_tokens": 8,
        "output_tokens": 1,
        "reasoning_tokens": 2,
        "total_tokens": 4,
    }
    assert response.steps[1].total_usage == {}


def test_generate_leaves_tools_without_execute_to_the_caller() -> None:
    with Loopback(called(("f", {}))) as client:
        assert [
            call["name"] for call in client.generate({**HELLO, "tools": [{"name": "f"}]}).tool_calls
        ] == ["f"]


def of_tools() -> list[dict[str, Any]]:
    """Tools of every kind: a function, a coroutine function, one that gives something to await, and
    one of each that fails.
    """

    async def slow(arguments: dict[str, Any]) -> Any:
        await asyncio.sleep(0.02)
        return arguments["n"]

    async def slow_failure(_: dict[str, Any]) -> Any:
        raise LookupError("nothing there")

    return [
        tool("add", lambda arguments: arguments["n"] + 1),
        tool("slow", slow),
        tool("late", lambda arguments: slow(arguments)),
        tool("fail", lambda _: 1 / 0),
        tool("slow_failure", slow_failure),
    ]


def test_the_async_client_runs_tools_of_either_kind_and_sends_results_in_call_order() -> None:
    asked: list[Any] = []
    calls = [
        ("slow", {"n": 1}),
        ("add", {"n": 1}),
        ("fail", {}),
        ("late", {"n": 3}),
        ("slow_failure", {}),
        ("gone", {}),
    ]

    def handle(one: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(one.content))
        made = called(*calls) if len(asked) == 1 else answer(reply("done")[0], stream=False)
        return httpx2.Response(200, content=made.body)

    async def talk() -> Response:
        async with AsyncClient(KEY, transport=httpx2.MockTransport(handle)) as client:
            return await client.generate({**HELLO, "tools": of_tools()})

    assert asyncio.run(talk()).text == "done"
    assert [part["functionResponse"]["response"] for part in asked[1]["contents"][-1]["parts"]] == [
        {"result": 1},
        {"result": 2},
        {"error": "ZeroDivisionError: division by zero"},
        {"result": 3},
        {"error": "LookupError: nothing there"},
        {"error": "unknown tool 'gone'; known are add, slow, late, fail, slow_failure"},
    ]


def test_the_async_client_runs_the_calls_of_an_answer_at_once() -> None:
    """Each tool waits for the other: run one after the other, neither would end."""
    there: list[asyncio.Event] = []
    met: list[int] = []

    async def meet(arguments: dict[str, Any]) -> None:
        there[arguments["mine"]].set()
        await asyncio.wait_for(there[1 - arguments["mine"]].wait(), 1)
        met.append(arguments["mine"])

    async def talk(base_url: str) -> Response:
        there.extend((asyncio.Event(), asyncio.Event()))
        async with AsyncClient(KEY, base_url) as client:
            return await client.generate({**HELLO, "tools": [tool("meet", meet)]})

    both = called(("meet", {"mine": 0}), ("meet", {"mine": 1}))
    with serve(
        Cassette((both, answer(reply("Hi")[0], stream=False)), Origin("written")),
        pace="instant",
        match="path",
    ) as server:
        assert asyncio.run(talk(server.base_url)).text == "Hi"
    assert sorted(met) == [0, 1]


def test_the_async_client_stops_after_its_rounds_and_leaves_tools_without_execute_to_the_caller() -> (
    None
):
    async def talk(base_url: str) -> list[int]:
        async with AsyncClient(KEY, base_url) as client:
            looped = await client.generate(
                {**HELLO, "tools": [tool("f", lambda _: 1)]}, max_tool_rounds=2
            )
            unlooped = await client.generate(
                {**HELLO, "tools": [tool("f", lambda _: 1)]}, max_tool_rounds=0
            )
            left = await client.generate({**HELLO, "tools": [{"name": "f"}]})
            return [len(response.tool_calls) for response in (looped, unlooped, left)]

    with serve(
        Cassette((called(("f", {})),) * 5, Origin("written")), pace="instant", match="path"
    ) as server:
        assert asyncio.run(talk(server.base_url)) == [1, 1, 1]
        assert server.unused == []


def test_both_clients_offer_the_same() -> None:
    """Alike but for ``await``, and ``aclose``, which asyncio's objects are closed with."""
    offered = [
        {name for name in dir(kind) if not name.startswith("_")} for kind in (Client, AsyncClient)
    ]
    assert offered == [
        {"complete", "stream", "generate", "close"},
        {"complete", "stream", "generate", "aclose"},
    ]
    plain, other = (inspect.signature(kind).parameters for kind in (Client, AsyncClient))
    assert list(plain) == list(other)
    assert {
        name: str(inspect.signature(getattr(AsyncClient, name)).parameters)
        for name in ("complete", "stream", "generate")
    } == {
        name: str(inspect.signature(getattr(Client, name)).parameters)
        for name in ("complete", "stream", "generate")
    }


# -------------------------------------------------------------------- errors

STATUSES: dict[int, tuple[str, type[SDKError], bool]] = {
    400: ("INVALID_ARGUMENT", InvalidRequestError, False),
    401: ("UNAUTHENTICATED", AuthenticationError, False),
    403: ("PERMISSION_DENIED", errors.AccessDeniedError, False),
    404: ("NOT_FOUND", NotFoundError, False),
    408: ("", RequestTimeoutError, False),
    409: ("ABORTED", ProviderError, True),
    413: ("", ContextLengthError, False),
    429: ("RESOURCE_EXHAUSTED", RateLimitError, True),
    500: ("INTERNAL", ServerError, True),
    503: ("UNAVAILABLE", ServerError, True),
    504: ("DEADLINE_EXCEEDED", ServerError, True),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("code", STATUSES)
def test_a_status_is_a_typed_error(code: int, stream: bool) -> None:
    status, kind, retryable = STATUSES[code]
    body = error(code, status, "so it is")
    with (
        Loopback(answer(body, stream=stream, status=code), retry=ONCE) as client,
        pytest.raises(SDKError) as raised,
    ):
        list(client.stream(HELLO)) if stream else client.complete(HELLO)
    failure = raised.value
    assert isinstance(failure, ProviderError)
    assert type(failure) is kind
    assert (
        failure.message,
        failure.status_code,
        failure.error_code or "",
        failure.retryable,
        failure.raw,
    ) == (
        "so it is",
        code,
        status,
        retryable,
        body,
    )
    assert str(failure) == "so it is"


DETAILS: dict[str, tuple[dict[str, Any], type[SDKError]]] = {
    "bad key": (
        error(
            400,
            "INVALID_ARGUMENT",
            "API key not valid.",
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        ),
        AuthenticationError,
    ),
    "too long": (
        error(
            400,
            "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens allowed (5).",
        ),
        ContextLengthError,
    ),
    "a day's quota": (
        error(
            429,
            "RESOURCE_EXHAUSTED",
            "quota",
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}],
            },
        ),
        QuotaExceededError,
    ),
}


@pytest.mark.parametrize("name", DETAILS)
def test_details_decide_where_the_status_is_ambiguous(name: str) -> None:
    body, kind = DETAILS[name]
    exchange = answer(body, stream=False, status=body["error"]["code"])
    with Loopback(exchange, retry=ONCE) as client, pytest.raises(SDKError) as raised:
        client.complete(HELLO)
    assert type(raised.value) is kind
    assert not raised.value.retryable


OF_THE_PROVIDER: tuple[type[SDKError], ...] = (
    *(
        AuthenticationError,
        errors.AccessDeniedError,
        NotFoundError,
        InvalidRequestError,
        RateLimitError,
        ServerError,
    ),
    *(errors.ContentFilterError, ContextLengthError, QuotaExceededError, RequestTimeoutError),
)
OF_THE_CLIENT: tuple[type[SDKError], ...] = (
    *(
        ProviderError,
        errors.AbortError,
        NetworkError,
        StreamError,
        errors.InvalidToolCallError,
        errors.UnsupportedToolChoiceError,
    ),
    *(NoObjectGeneratedError, ConfigurationError),
)


def test_the_hierarchy_of_errors() -> None:
    assert set(SDKError.__subclasses__()) == set(OF_THE_CLIENT)
    assert set(ProviderError.__subclasses__()) == set(OF_THE_PROVIDER)
    assert ProviderError("x", status_code=418).provider == "gemini"


def test_no_connection_is_a_network_error() -> None:
    with (
        Client(KEY, "http://127.0.0.1:9", retry=ONCE) as client,
        pytest.raises(NetworkError) as raised,
    ):
        client.complete(HELLO)
    assert raised.value.retryable
    assert isinstance(raised.value.cause, httpx2.ConnectError)


def test_no_answer_in_time_is_a_timeout_and_not_tried_again() -> None:
    waits: list[float] = []
    with serve(
        Cassette((answer(reply("x"), stream=True),), Origin("written")),
        match="path",
        fault="stall:0",
    ) as server:
        quick = Timeouts(stream_read=0.3)
        with (
            Client(KEY, server.base_url, timeouts=quick, sleep=waits.append) as client,
            pytest.raises(RequestTimeoutError),
        ):
            list(client.stream(HELLO))
    assert waits == []


def test_a_stream_that_stalls_halfway_ends_in_an_error_event() -> None:
    stalled = serve(
        Cassette((answer(reply("Hi ", "there"), stream=True),), Origin("written")),
        match="path",
        fault="stall:1",
    )
    with (
        stalled as server,
        Client(KEY, server.base_url, timeouts=Timeouts(stream_read=0.3)) as client,
    ):
        events = list(client.stream(HELLO))
    assert [event["type"] for event in events] == [
        "STREAM_START",
        "TEXT_START",
        "TEXT_DELTA",
        "TEXT_END",
        "ERROR",
    ]
    assert events[-1]["error"]["message"] == "the stream ended before it was complete (aborted)"


def test_a_bad_address_is_a_configuration_error() -> None:
    with Client(KEY, "ftp://h", retry=ONCE) as client, pytest.raises(ConfigurationError):
        client.complete(HELLO)


# -------------------------------------------------------------------- once more

OVERLOADED = error(503, "UNAVAILABLE", "overloaded")


@pytest.mark.parametrize("stream", [False, True])
def test_a_failed_call_is_tried_again_after_waits_that_double(stream: bool) -> None:
    busy = answer(OVERLOADED, stream=stream, status=503)
    good = reply("Hi")
    loopback = Loopback(busy, busy, answer(good if stream else good[0], stream=stream))
    with loopback as client:
        response = (
            StreamAccumulator(client.stream(HELLO)).response if stream else client.complete(HELLO)
        )
    assert response.text == "Hi"
    assert loopback.waits == [1.0, 2.0]


def test_after_two_retries_the_error_is_raised() -> None:
    loopback = Loopback(*[answer(OVERLOADED, stream=False, status=503)] * 4)
    with loopback as client, pytest.raises(ServerError):
        client.complete(HELLO)
    assert loopback.waits == [1.0, 2.0]


@pytest.mark.parametrize(
    ("headers", "details", "waits"),
    [
        ({}, [RETRY_IN_12_S], [12.5]),
        ({"Retry-After": "7"}, [], [7]),
        ({"Retry-After": "60"}, [], [60]),
    ],
)
def test_what_the_provider_asks_for_replaces_the_wait(
    headers: dict[str, str], details: list[Any], waits: list[float]
) -> None:
    limited = answer(
        error(429, "RESOURCE_EXHAUSTED", "slow down", *details),
        stream=False,
        status=429,
        headers=headers,
    )
    loopback = Loopback(limited, answer(reply("Hi")[0], stream=False))
    with loopback as client:
        assert client.complete(HELLO).text == "Hi"
    assert loopback.waits == waits


def test_a_wait_over_a_minute_is_not_waited_and_told() -> None:
    limited = answer(
        error(429, "RESOURCE_EXHAUSTED", "slow down"),
        stream=False,
        status=429,
        headers={"Retry-After": "61"},
    )
    loopback = Loopback(limited, answer(reply("Hi")[0], stream=False))
    with loopback as client, pytest.raises(RateLimitError) as raised:
        client.complete(HELLO)
    assert (raised.value.retry_after, loopback.waits) == (61, [])


@pytest.mark.parametrize("code", [400, 401, 403, 404, 408, 413])
def test_what_another_try_will_not_mend_is_not_tried_again(code: int) -> None:
    loopback = Loopback(
        answer(error(code, ""), stream=False, status=code), answer(reply("Hi")[0], stream=False)
    )
    with loopback as client, pytest.raises(ProviderError):
        client.complete(HELLO)
    assert loopback.waits == []


def test_nothing_is_tried_again_after_the_first_event() -> None:
    broken = answer([*reply("Hi ", "x")[:1], OVERLOADED], stream=True)
    loopback = Loopback(broken, answer(reply("other"), stream=True))
    with loopback as client:
        events = list(client.stream(HELLO))
    assert [event["type"] for event in events] == [
        "STREAM_START",
        "TEXT_START",
        "TEXT_DELTA",
        "TEXT_END",
        "ERROR",
    ]
    assert events[-1]["error"]["type"] == "ServerError"
    assert loopback.waits == []
    with pytest.raises(ServerError, match="overloaded"):
        _ = StreamAccumulator(events).response


def test_an_error_before_the_first_event_is_tried_again_also_inside_a_stream() -> None:
    loopback = Loopback(answer([OVERLOADED], stream=True), answer(reply("Hi"), stream=True))
    with loopback as client:
        assert StreamAccumulator(client.stream(HELLO)).response.text == "Hi"
    assert loopback.waits == [1.0]


def test_an_answer_that_is_cut_is_tried_again_only_where_none_of_it_was_given() -> None:
    whole = reply("Hi")[0]
    cut = answer(json.dumps(whole).encode()[:40], stream=False, end="cut")
    loopback = Loopback(cut, answer(whole, stream=False))
    with loopback as client:
        assert client.complete(HELLO).text == "Hi"
    assert loopback.waits == [1.0]
    halfway = Loopback(
        answer(reply("Hi ", "there")[:1], stream=True, end="cut"),
        answer(reply("other"), stream=True),
    )
    with halfway as client:
        assert list(client.stream(HELLO))[-1]["error"]["type"] == "StreamError"
    assert halfway.waits == []


def test_waits_are_stretched_by_chance_and_bounded() -> None:
    failure = ServerError("x")
    for chance, seconds in ((0.0, [0.5, 1.0, 2.0, 60.0]), (1.0, [1.5, 3.0, 6.0, 60.0])):
        # a loop's own value
        policy = RetryPolicy(max_retries=99, chance=lambda chance=chance: chance)  # type: ignore[misc]
        assert [policy.wait(failure, retries) for retries in (0, 1, 2, 7)] == seconds


def test_each_retry_is_told_before_its_wait() -> None:
    told: list[Any] = []
    retry = RetryPolicy(
        chance=lambda: 0.5,
        on_retry=lambda failure, number, seconds: told.append((type(failure), number, seconds)),
    )
    with Loopback(
        answer(OVERLOADED, stream=False, status=503),
        answer(reply("Hi")[0], stream=False),
        retry=retry,
    ) as client:
        client.complete(HELLO)
    assert told == [(ServerError, 1, 1.0)]


# -------------------------------------------------------------------- async


def test_the_async_client_does_the_same() -> None:
    waits: list[float] = []

    async def nap(seconds: float) -> None:
        waits.append(seconds)

    busy = [answer(OVERLOADED, stream=stream, status=503) for stream in (False, True)]
    good = [answer(reply("Hi")[0], stream=False), answer(reply("Hi ", "there"), stream=True)]
    retry = RetryPolicy(chance=lambda: 0.5)

    async def talk(base_url: str) -> tuple[str, list[dict[str, Any]]]:
        async with AsyncClient(KEY, base_url, retry=retry, sleep=nap) as client:
            text = (await client.complete(HELLO)).text
            return text, [event async for event in client.stream(HELLO)]

    with serve(Cassette((*busy, *good), Origin("written")), pace="instant", match="path") as server:
        text, events = asyncio.run(talk(server.base_url))
    assert (text, waits) == ("Hi", [1.0, 1.0])
    assert events == harness.replay(good[1])


def test_the_async_client_raises_and_yields_errors_as_the_other_does() -> None:
    async def talk(base_url: str) -> list[dict[str, Any]]:
        async with AsyncClient(KEY, base_url, retry=ONCE) as client:
            with pytest.raises(AuthenticationError):
                await client.complete(HELLO)
            return [event async for event in client.stream(HELLO)]

    refused = answer(error(401, "UNAUTHENTICATED"), stream=False, status=401)
    cut = answer(reply("Hi ", "there")[:1], stream=True, end="cut")
    with serve(Cassette((refused, cut), Origin("written")), pace="instant", match="path") as server:
        assert asyncio.run(talk(server.base_url))[-1]["error"]["type"] == "StreamError"

    async def unheard() -> None:
        async with AsyncClient(KEY, "http://127.0.0.1:9", retry=ONCE) as client:
            await client.complete(HELLO)

    with pytest.raises(NetworkError):
        asyncio.run(unheard())
