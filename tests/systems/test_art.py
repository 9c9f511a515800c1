"""ART's adapter on the official SDK: its requests, its errors, and that it reads each cassette like
the wire path.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness import Exchange, Session, load, replay, request
from harness.dialects.art.request import DEFAULT_MODEL, REQUEST
from harness.providers import detect_provider
from harness.providers.gemini.spelling import in_one_spelling
from harness.server import serve
from harness.systems.art import GeminiAdapter
from tests.systems.art_sdk_losses import SDK_LOSSES, SDK_REFUSALS, TIMES, Answer

Payload = dict[str, Any]
CASSETTES = Path(__file__).parents[2] / "cassettes"
READ = ("gemini-api", "vertex-ai")
"""The surfaces that the SDK's client supports; Code Assist and the CLI are not among them."""

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning:google.genai", "ignore::UserWarning:pydantic"
)


class Wire(httpx2.AsyncBaseTransport):
    """Answers each request with the exchange, read by read, and simulates the clock of the
    recording.
    """

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.at = 0.0
        self.asked: list[tuple[str, Any]] = []

    async def handle_async_request(self, asked: httpx2.Request) -> httpx2.Response:
        self.asked.append((str(asked.url), json.loads(await asked.aread())))
        headers = [
            (name, value) for name, values in self.exchange.headers.items() for value in values
        ]
        return httpx2.Response(self.exchange.status, headers=headers, stream=Reads(self))


class Reads(httpx2.AsyncByteStream):
    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at_ms, data in self.wire.exchange.reads:
            self.wire.at = at_ms or 0.0
            yield data
        if self.wire.exchange.end == "cut":
            raise httpx2.RemoteProtocolError(
                "peer closed connection without sending complete message body"
            )
        if self.wire.exchange.end == "reset":
            raise httpx2.ReadError("connection reset")


def answer(body: str | bytes, status: int = 200, end: Any = "complete") -> Exchange:
    data = body.encode() if isinstance(body, str) else body
    return Exchange(None, status, {"content-type": ["text/event-stream"]}, ((None, data),), end)


def is_timed(exchange: Exchange) -> bool:
    return any(at_ms is not None for at_ms, _ in exchange.reads)


def adapter(wire: Wire, timed: bool = False, **how: Any) -> Listening:
    options = {"async_client_args": {"transport": wire}}
    return Listening("key", http_options=options, clock=(lambda: wire.at) if timed else None, **how)


class Listening(GeminiAdapter):
    """The adapter, which notes the names of all fields of the SDK's objects."""

    kept: set[str]

    async def _answers(self, *asked: Any) -> AsyncGenerator[Any]:
        self.kept = set()
        async for answer in super()._answers(*asked):
            if not isinstance(answer, Exception):
                fields = answer.model_dump(
                    mode="json",
                    by_alias=True,
                    exclude_none=True,
                    exclude={"sdk_http_response"},  # the headers, which the adapter does not read
                )
                self.kept |= names_in(fields)
            yield answer


def names_in(value: Any) -> set[str]:
    """The keys of an object and of all objects inside it."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(value if isinstance(value, dict) else (), *map(names_in, inside))


def call(
    exchange: Exchange, prompt: Any, options: Payload | None = None, **how: Any
) -> tuple[list[Payload], Wire]:
    """The adapter's StreamEvents for this answer, and the wire with the requests."""
    wire = Wire(exchange)
    client = adapter(wire, **how)

    async def collect() -> list[Payload]:
        try:
            return [payload async for payload in client.call(prompt, options)]
        finally:
            await client.aclose()

    return asyncio.run(collect()), wire


HI = [{"role": "user", "content": "Hi"}]
HELLO = answer(
    'data: {"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP", "index": 0}]}\r\n\r\n'
)


def shipped() -> list[Any]:
    exchanges = []
    for path in sorted(CASSETTES.rglob("*.yaml")):
        for number, exchange in enumerate(load(path).exchanges, 1):
            if (
                exchange.generates and exchange.provider in READ and exchange.end != "aborted"
            ):  # nothing was raised if the client left
                exchanges.append(
                    pytest.param(exchange, id=f"{path.parent.name}/{path.stem}-{number}")
                )
    return exchanges


SHIPPED = shipped()
Read = dict[str, tuple[Answer, list[Payload], list[Payload]]]
"""Id of an exchange → the answer, the StreamEvents of the wire path, and those of the SDK."""


@pytest.fixture(scope="module")
def both_ways() -> Read:
    """Each shipped exchange by its id, read in both ways. Each surface uses one client for all of
    them.
    """
    return asyncio.run(read_all())


async def read_all() -> Read:
    read: Read = {}
    wire = Wire(HELLO)
    adapters = {
        (vertexai, timed): adapter(wire, timed, vertexai=vertexai)
        for vertexai in (False, True)
        for timed in (False, True)
    }
    for parameters in SHIPPED:
        (exchange,) = parameters.values
        wire.exchange, wire.at = exchange, 0.0
        asked = detect_provider(
            exchange.request.method, exchange.request.url, exchange.request.body, b""
        )
        client = adapters[exchange.provider == "vertex-ai", is_timed(exchange)]
        sdk = [
            payload
            async for payload in client.call(HI, {"stream": asked.streamed, "model": asked.model})
        ]
        read[str(parameters.id)] = (
            Answer(exchange.body, frozenset(client.kept)),
            replay(exchange, dialect="art"),
            sdk,
        )
    for client in adapters.values():
        await client.aclose()
    return read


def differences(
    wire: list[Payload], sdk: list[Payload]
) -> list[tuple[Payload | None, Payload | None]]:
    """The StreamEvents that differ or that only one side has, each with its counterpart on the
    other side, if there is one.
    """
    expected, other = (
        [json.dumps(payload, sort_keys=True) for payload in plain(side)] for side in (wire, sdk)
    )
    ours, theirs = [], []
    for tag, i, j, k, m in SequenceMatcher(None, expected, other, autojunk=False).get_opcodes():
        if tag != "equal":
            ours += wire[i:j]
            theirs += sdk[k:m]
    pairs: list[tuple[Payload | None, Payload | None]] = []
    for payload in ours:
        twin = next((candidate for candidate in theirs if kind(candidate) == kind(payload)), None)
        if twin:
            theirs.remove(twin)
        pairs.append((payload, twin))
    return [*pairs, *((None, payload) for payload in theirs)]


def kind(payload: Payload) -> tuple[str, frozenset[str]]:
    """The kind of a StreamEvent: its type, and the keys of an unknown one."""
    named = payload["type"] == "UNKNOWN" and isinstance(payload["data"], dict)
    return payload["type"], frozenset(payload["data"] if named else ())


def plain(payloads: list[Payload]) -> list[Payload]:
    """The value with its numbers in one form."""
    loaded: list[Payload] = json.loads(json.dumps(payloads), parse_int=float)
    return loaded


def refusal(sdk: list[Payload]) -> str | None:
    """The message of the exception with which the SDK stopped reading."""
    message = sdk[-2]["data"]["message"] if sdk[-2]["type"] == "ERROR" else ""
    exceptions = r"(?:UnknownApiResponse|Validation|Attribute|Type|Key|Value)Error: "
    return message if re.match(exceptions, message) else None


def explanations(
    answer: Answer, wire: list[Payload], sdk: list[Payload]
) -> tuple[list[Any], set[str]]:
    """Differences that no entry of the tables explains, and the entries that explain the others."""
    shown = set()
    refused = refusal(sdk)
    if refused is not None:
        reasons = {pattern for pattern in SDK_REFUSALS if re.match(pattern, refused, re.DOTALL)}
        return ([] if reasons and wire[: len(sdk) - 2] == sdk[:-2] else [refused]), reasons
    unexplained = []
    for ours, theirs in differences(wire, sdk):
        names = {name for name, loss in SDK_LOSSES.items() if loss.explains(ours, theirs, answer)}
        shown |= names
        if not names:
            unexplained.append((ours, theirs))
    return unexplained, shown


@pytest.mark.slow
@pytest.mark.parametrize("name", [exchange.id for exchange in SHIPPED])
def test_the_sdk_gives_the_events_of_the_wire_less_its_losses(name: str, both_ways: Read) -> None:
    unexplained, _ = explanations(*both_ways[name])
    assert unexplained == []


@pytest.mark.slow
def test_every_entry_of_the_tables_is_shown_by_a_cassette(both_ways: Read) -> None:
    shown: set[str] = set()
    for both in both_ways.values():
        shown |= explanations(*both)[1]
    assert shown == {*SDK_LOSSES, *SDK_REFUSALS}


def test_a_difference_without_an_entry_is_detected() -> None:
    wire = replay(HELLO, provider="gemini-api", dialect="art")
    hello = Answer(HELLO.body, frozenset())
    assert explanations(hello, wire, wire) == ([], set())
    for changed in (
        wire[1:],
        wire[:-1],
        [*wire, wire[-1]],
        [{**wire[0], "data": "Hell"}, *wire[1:]],
        [{**wire[0], "tokenType": "LLM_THINKING"}, *wire[1:]],
        [wire[0], {**wire[1], "data": {"traceId": "trace"}}, wire[2]],
    ):
        assert explanations(hello, wire, changed)[0], changed
    error = {
        **wire[0],
        "type": "ERROR",
        "data": {
            "name": "ApiError",
            "message": "AttributeError: 'str' object has no attribute 'upper'",
        },
    }
    assert explanations(hello, wire, [error, wire[-1]])[0]


@pytest.mark.parametrize(
    ("unknown", "less", "kept", "explained"),
    [
        ({"watermark": {"scheme": "wave"}}, None, {"text"}, {"unknown"}),
        ({"modelStatus": {"modelStage": "PREVIEW"}}, None, {"text", "modelStatus"}, set()),
        (
            {"audioMetadata": {"seconds": 1.5}},
            {"audioMetadata": {}},
            {"audioMetadata"},
            {"unknown"},
        ),
        (
            {"audioMetadata": {"seconds": 1.5}},
            {"audioMetadata": {}},
            {"audioMetadata", "seconds"},
            set(),
        ),
        ({"createTime": "2026-11-22T08:00:00Z"}, None, {"text"}, {"create-time"}),
        ({"createTime": "2026-11-22T08:00:00Z"}, None, {"createTime"}, set()),
    ],
)
def test_a_field_that_the_sdk_kept_is_no_loss(
    unknown: Payload, less: Payload | None, kept: set[str], explained: set[str]
) -> None:
    wire = {"type": "UNKNOWN", "data": unknown}
    sdk = None if less is None else {**wire, "data": less}
    assert {
        name
        for name, loss in SDK_LOSSES.items()
        if loss.explains(wire, sdk, Answer(b"", frozenset(kept)))
    } == explained


PROMPTS: dict[str, tuple[Any, Payload]] = {
    "a question": (HI, {}),
    "everything": (
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {
                            "name": "weather",
                            "arguments": '{"days": 2, "city": "Malmö"}',
                        },
                    }
                ],
            },
            {"role": "tool_result", "tool_call_id": "c1", "name": "weather", "content": "rain"},
        ],
        {
            "temperature": 0,
            "max_tokens": 99,
            "top_p": 0.5,
            "top_k": 7,
            "stop": "END",
            "gemini": {"thinking": {"includeThoughts": True, "thinkingBudget": 0}},
            "tools": [
                {
                    "name": "weather",
                    "description": "Tells the weather",
                    "inputSchema": {
                        "type": "object",
                        "properties": {
                            "days": {"type": "integer", "minimum": 1},
                            "city": {"type": ["string", "null"], "maxLength": 40},
                        },
                        "required": ["city"],
                    },
                }
            ],
        },
    ),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("prompt", "options"), PROMPTS.values(), ids=PROMPTS)
def test_the_translated_request_is_sent(prompt: Any, options: Payload, stream: bool) -> None:
    ((url, body),) = call(HELLO, prompt, {**options, "stream": stream})[1].asked
    assert in_one_spelling(body) == in_one_spelling(request(prompt, dialect="art", options=options))
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    assert url.endswith(f"/models/{DEFAULT_MODEL}:{method}")


@pytest.mark.parametrize(("options", "model"), [({}, "mine"), ({"model": "theirs"}, "theirs")])
def test_the_model(options: Payload, model: str) -> None:
    assert f"/models/{model}:" in call(HELLO, HI, options, model="mine")[1].asked[0][0]


def test_every_event_has_the_ids_of_the_caller() -> None:
    options = {
        "threadId": "t",
        "traceId": "r",
        "sessionId": "s",
        "callContext": "AGENT_THOUGHT",
        "stream": True,
    }
    payloads, _ = call(HELLO, HI, options)
    assert {
        (payload["threadId"], payload["traceId"], payload["sessionId"]) for payload in payloads
    } == {("t", "r", "s")}
    assert payloads[0]["tokenType"] == "AGENT_THOUGHT_LLM_RESPONSE"


def test_a_unary_answer_is_one_token() -> None:
    body = '{"candidates": [{"content": {"parts": [{"text": " a"}, {"text": "b "}]}, "finishReason": "STOP", "index": 0}]}'
    payloads, _ = call(answer(body), HI)
    assert [(payload["type"], payload["data"]) for payload in payloads] == [
        ("TOKEN", " ab "),
        ("METADATA", {"stopReason": "STOP", "traceId": "trace"}),
        ("END", None),
    ]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (
            {"role": "tool_result", "content": "x", "name": "f"},
            "messages[1].tool_call_id: is missing; a tool_result message needs tool_call_id and name",
        ),
        (
            {"role": "tool", "content": "x", "tool_call_id": "1"},
            "messages[1].name: is missing; a tool message needs tool_call_id and name",
        ),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{"}}
                ],
            },
            "messages[1].tool_calls[0].function.arguments: is not JSON",
        ),
    ],
)
def test_a_prompt_that_cannot_be_translated_is_not_sent(
    message: Payload, reason: str, stream: bool
) -> None:
    payloads, wire = call(HELLO, [*HI, message], {"threadId": "t", "stream": stream})
    assert wire.asked == []
    assert [payload["type"] for payload in payloads] == ["ERROR", "END"]
    assert payloads[0]["data"] == {
        "name": "ARTError",
        "message": reason,
        "code": "PROMPT_TRANSLATION_FAILED",
    }


FAILED = '{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}'
FAILURES: dict[str, tuple[Exchange, list[str], Payload]] = {
    "before the stream": (
        answer(FAILED, 503),
        [],
        {"name": "ApiError", "message": "The model is overloaded.", "code": 503},
    ),
    "in the stream": (
        answer(HELLO.body.decode() + FAILED),
        ["Hello"],
        {"name": "ApiError", "message": "The model is overloaded.", "code": 503},
    ),
    "no JSON": (
        answer("upstream is gone", 502),
        [],
        {"name": "ApiError", "message": "upstream is gone", "code": 502},
    ),
    "a page": (
        answer("<html>gone</html>", 502),
        [],
        {"name": "ApiError", "message": "HTTP 502", "code": 502},
    ),
    "cut": (
        answer(HELLO.body, end="cut"),
        ["Hello"],
        {"name": "StreamError", "message": "the stream ended before it was complete (cut)"},
    ),
    "reset": (
        answer(HELLO.body, end="reset"),
        ["Hello"],
        {"name": "StreamError", "message": "the stream ended before it was complete (reset)"},
    ),
    "blocked": (
        answer('data: {"promptFeedback": {"blockReason": "SAFETY"}}\n\n'),
        [],
        {"name": "Error", "message": "Gemini API call blocked: SAFETY"},
    ),
    "nothing": (
        answer(""),
        [],
        {
            "name": "Error",
            "message": "Invalid response structure from Gemini SDK: the answer has no content"
            " and no finish reason",
        },
    ),
}


@pytest.mark.parametrize(("exchange", "tokens", "data"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_an_error_and_then_the_end(
    exchange: Exchange, tokens: list[str], data: Payload
) -> None:
    payloads, _ = call(exchange, HI, {"stream": True})
    assert [payload["data"] for payload in payloads] == [*tokens, data, None]
    assert [payload["type"] for payload in payloads[-2:]] == ["ERROR", "END"]


@pytest.mark.slow
def test_a_failed_connection_is_an_error() -> None:
    options = {  # without the last, the SDK waits for nine seconds
        "base_url": "http://127.0.0.1:9",
        "retry_options": {"attempts": 2, "initial_delay": 0.01, "jitter": 0.01},
    }

    async def collect() -> list[Payload]:
        adapter = GeminiAdapter("key", http_options=options)
        return [payload async for payload in adapter.call(HI, {"stream": True})]

    payloads = asyncio.run(collect())
    assert [payload["type"] for payload in payloads] == ["ERROR", "END"]
    assert payloads[0]["data"]["message"].startswith(("ConnectError: ", "ClientConnectorError: "))


def test_an_empty_prompt_is_refused_by_the_sdk() -> None:
    payloads, wire = call(HELLO, [])
    assert ([payload["type"] for payload in payloads], wire.asked) == (["ERROR", "END"], [])


def test_without_a_key_the_constructor_raises() -> None:
    with pytest.raises(ValueError, match="requires an api_key"):
        GeminiAdapter("")


def test_without_the_sdk_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(ImportError, match=r"pip install 'gemini-conformance\[genai\]'"):
        GeminiAdapter("key")


def test_the_default_model_is_that_of_the_document() -> None:
    assert GeminiAdapter("key").model == "gemini-1.5-flash-latest"


def test_losses_of_a_prompt_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    payloads, wire = call(HELLO, HI, {"stream": True, "temprature": 1})
    assert (payloads[0]["data"], len(wire.asked)) == ("Hello", 1)
    assert caplog.messages == ["options.temprature: is left out; Gemini has no such option"]


@pytest.mark.slow
def test_a_recorded_conversation_is_repeated() -> None:
    options = {
        "threadId": "t",
        "stream": True,
        "temperature": 0,
        "gemini": {"thinking": {"includeThoughts": True}},
    }
    prompt: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who wrote Momo?"},
    ]

    async def converse(base_url: str) -> list[Payload]:
        adapter = GeminiAdapter(
            "key", "gemini-3-flash-preview", http_options={"base_url": base_url}, clock=None
        )
        first = [payload async for payload in adapter.call(prompt, options)]
        second = [
            payload
            async for payload in adapter.call(
                REQUEST.follow_up(prompt, first, "And in which language?"), options
            )
        ]
        await adapter.aclose()
        return [*first, *second]

    cassette = load(CASSETTES / "gemini-api" / "art-talk.yaml")
    with serve([cassette], pace="instant") as server:
        payloads = asyncio.run(converse(server.base_url))
        assert (server.misses, server.unused) == ([], [])
    session = Session(context={"threadId": "t"})
    wire = [
        payload
        for exchange in cassette.exchanges
        for payload in replay(exchange, dialect="art", session=session)
    ]
    assert plain(payloads) == plain([untimed(payload) for payload in wire])


def untimed(payload: Payload) -> Payload:
    data = payload["data"]
    return (
        {**payload, "data": {key: value for key, value in data.items() if key not in TIMES}}
        if isinstance(data, dict)
        else payload
    )
