"""Answers that are not the complete answer of a model: in every way of recording, they leave the
good cassette byte by byte.
"""

from __future__ import annotations

import gzip
import json
import re
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Final

# before any test, since pytester makes a test's imports run twice, including that of httpx2
import google.genai  # noqa: F401  # imported before pytester, which would import it twice
import httpx2
import pytest
import vcr

from harness import load
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.cli.main import main
from harness.providers import with_provider
from harness.recording import register, transports, use_cassette
from harness.recording.policy import RecordingRefused, incompleteness, refusal_of, refuse_plain
from harness.recording.relay import relay
from harness.recording.tape import InFlightExchange, Tape
from tests.recording.clients import part_of
from tests.recording.providers import BODY, event
from tests.support.raw_server import HEAD, Connection, Script, plain, raw_server, streaming

PATH: Final = "/v1beta/models/m:streamGenerateContent?alt=sse"
TEXT: Final = event("half").replace(b',"finishReason": "STOP"', b"")
CUT: Final = TEXT + event("cut")[:40]
SSE: Final = "Content-Type: text/event-stream"
HTML: Final = b"<!DOCTYPE html><html><title>Sign in</title>" + b"<p>" * 80
CHAT: Final = (
    b'data: {"id":"c1","object":"chat.completion.chunk","model":"gpt","choices":'
    b'[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


def failed(code: int) -> bytes:
    return b'data: {"error": {"code": %d, "message": "it broke", "status": "X"}}\r\n\r\n' % code


def to_itself(connection: Connection) -> None:
    plain("307 Temporary Redirect", b"", f"Location: {PATH}")(connection)


def closed(connection: Connection) -> None:
    """A body whose end is the end of the connection."""
    connection.send(HEAD.replace(b"Transfer-Encoding: chunked", b"Connection: close") + CUT)
    connection.peer.close()


BAD: Final[dict[str, tuple[Script, str]]] = {
    "redirect to itself": (to_itself, "status 307, an empty body"),
    "login page": (plain("200 OK", HTML, "Content-Type: text/html"), "<!DOCTYPE html><html>"),
    "proxy text": (plain("200 OK", b"no healthy upstream"), "'no healthy upstream'"),
    "empty body": (plain("200 OK", b"", SSE), "status 200, an empty body"),
    "204": (lambda c: c.send(b"HTTP/1.1 204 No Content\r\n\r\n"), "status 204, an empty body"),
    "205": (plain("205 Reset Content", b""), "status 205, an empty body"),
    "304": (lambda c: c.send(b"HTTP/1.1 304 Not Modified\r\n\r\n"), "status 304, an empty body"),
    "300": (plain("300 Multiple Choices", b""), "status 300, an empty body"),
    "206": (plain("206 Partial Content", CUT, SSE), "status 206, "),
    "empty object": (plain("200 OK", b"{}"), "'{}'"),
    "null": (plain("200 OK", b"null"), "'null'"),
    "empty list": (plain("200 OK", b"[]"), "'[]'"),
    "comments": (streaming(b": keep-alive\r\n\r\n" * 3), ": keep-alive"),
    "binary": (plain("200 OK", bytes(range(128, 250)) * 3), "status 200, "),
    "no finish reason": (streaming(TEXT, TEXT), "has no finish reason: status 200, 'data: {"),
    "last frame cut, right length": (plain("200 OK", CUT, SSE), "can't be read: status 200, "),
    "last frame cut, in pieces": (streaming(CUT), "can't be read: status 200, "),
    "last frame cut, by close": (closed, "can't be read: status 200, "),
    "500 in the stream": (streaming(TEXT, failed(500)), "500: it broke"),
    "429 in the stream": (streaming(TEXT, failed(429)), "429: it broke"),
    "503 in the stream": (streaming(TEXT, failed(503)), "503: it broke"),
    "an error with status 200": (
        plain("200 OK", failed(400).removeprefix(b"data: ")),
        "400: it broke",
    ),
    "another provider": (streaming(CHAT), "chat.completion.chunk"),
}


def test_there_are_23_bad_answers() -> None:
    assert len(BAD) == 23


@pytest.fixture
def good(project: Path) -> Path:
    """A cassette with the complete answer of a model."""
    url = f"https://generativelanguage.googleapis.com{PATH}"
    body = b'{"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}'
    reads = ((1.0, event("hello")),)
    exchange = Exchange(Request("POST", url, {}, body), 200, {}, reads, "complete")
    path = project / "cassettes" / "gemini-api" / "x.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(dumps(Cassette((exchange,), Origin("recorded"))), encoding="utf-8")
    return path


def by_transport(url: str, path: Path) -> None:
    with use_cassette(path, mode="rewrite") as tape:
        client = httpx2.Client(transport=transports("httpx2").sync(tape), follow_redirects=True)
        with client, suppress(httpx2.HTTPError):
            client.post(url + PATH, json=BODY)


def by_relay(url: str, path: Path) -> None:
    with (
        use_cassette(path, mode="rewrite") as tape,
        relay(tape, url) as base,
        httpx2.Client(follow_redirects=True) as client,
        suppress(httpx2.HTTPError),
    ):
        client.post(base + PATH, json=BODY)


def by_vcrpy(url: str, path: Path) -> None:
    recorder = vcr.VCR(record_mode="all")
    register(recorder)
    with (
        recorder.use_cassette(str(path)),
        httpx2.Client(follow_redirects=True) as client,
        suppress(httpx2.HTTPError),
    ):
        client.post(url + PATH, json=BODY)


def by_vcrpys_stub(url: str, path: Path) -> None:
    recorder = vcr.VCR(record_mode="all")
    register(recorder)
    with recorder.use_cassette(str(path)), suppress(OSError):
        urllib.request.urlopen(urllib.request.Request(url + PATH, b"{}")).read()


WAYS: Final[list[Callable[[str, Path], None]]] = [by_transport, by_relay, by_vcrpy, by_vcrpys_stub]


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_the_command_keeps_the_good_cassette(
    good: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before, (script, came) = good.read_bytes(), BAD[name]
    with raw_server(script) as url:
        words = ["record", "gemini-api/x", "--attempts", "1", "--base-url", url]
        assert main(words) == 1
        error = capsys.readouterr().err
        assert good.read_bytes() == before
        assert came in error
        part = part_of(good)
        assert part.exists()
        assert f"are kept in {part}; `harness import {part} -o " in error
        way_out = {"5": "500", "429": "429", "503": "503", "400": "400"}.get(came.split(":")[0])
        flag = "--allow-incomplete" if way_out is None and ": it broke" not in came else "allow the"
        assert flag in error
        if flag == "--allow-incomplete":
            assert main([*words, flag]) == 0
            assert good.read_bytes() != before


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_recording_keeps_the_good_cassette(
    good: Path, way: Callable[[str, Path], None], name: str
) -> None:
    before, (script, came) = good.read_bytes(), BAD[name]
    with raw_server(script) as url, pytest.raises(CassetteError) as caught:
        way(url, good)
    assert good.read_bytes() == before
    assert came in str(caught.value)
    assert "allow_incomplete=True" in str(caught.value) or "allow_status=[" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in BAD if "is no" in name or "page" in name])
def test_drift_compares_no_answer_that_is_not_of_a_model(
    good: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = good.read_bytes()
    with raw_server(BAD[name][0]) as url:
        assert main(["drift", "gemini-api/x", "--attempts", "1", "--base-url", url]) == 4
    output = capsys.readouterr()
    assert "is no answer of a model; the cassette is not written" in output.err
    assert "<!DOCTYPE" not in output.err + output.out
    assert "0 of 1 cassettes compared" in output.out
    assert good.read_bytes() == before


def test_the_first_characters_of_an_answer_are_masked(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "AIzaSy" + "B" * 33
    with raw_server(plain("200 OK", f"hello {secret}".encode())) as url:
        assert main(["record", "gemini-api/x", "--attempts", "1", "--base-url", url]) == 1
    error = capsys.readouterr().err
    assert "is no answer of a model: status 200, 'hello REDACTED'" in error
    assert "BBBB" not in error


def test_an_old_answer_with_the_same_fault_is_replaced(good: Path) -> None:
    with raw_server(streaming(TEXT)) as url:
        words = ["record", "gemini-api/x", "--base-url", url]
        assert main([*words, "--allow-incomplete"]) == 0
        assert main(words) == 0
    assert load(good).exchanges[0].body == TEXT


def _sse(*messages: Mapping[str, object]) -> bytes:
    lines = (b"event: %s\ndata: %s\n\n" % (str(m["type"]).encode(), encode(m)) for m in messages)
    return b"".join(lines)


def encode(message: object) -> bytes:
    return json.dumps(message).encode()


def _response(status: str, **members: object) -> dict[str, object]:
    whole = {"id": "resp_1", "object": "response", "model": "m", "output": [], "status": status}
    return {"type": f"response.{status}", "sequence_number": 1, "response": whole | members}


_CREATED: Final = {**_response("in_progress"), "type": "response.created"}
_STARTED: Final = {
    "type": "message_start",
    "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []},
}
_CALL: Final = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
_BLOCK: Final[list[dict[str, object]]] = [
    {"type": "content_block_start", "index": 0, "content_block": _CALL},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": '{"a'},
    },
    {"type": "content_block_stop", "index": 0},
]
_STOP: Final = {"type": "message_stop"}


def _ended(reason: str) -> dict[str, object]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


RESPONSES: Final = "https://api.openai.com/v1/responses"
MESSAGES: Final = "https://api.anthropic.com/v1/messages"
CHATS: Final = "https://api.openai.com/v1/chat/completions"
COMPATIBLE: Final = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
GEMINI: Final = "https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent?alt=sse"


def _gemini(*response_ids: str) -> bytes:
    candidate = {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
    messages = ({"candidates": [candidate], "responseId": given} for given in response_ids)
    return b"".join(b"data: %s\n\n" % encode(message) for message in messages)


_MAX: Final = {"incomplete_details": {"reason": "max_output_tokens"}}


@pytest.mark.parametrize(
    ("url", "body", "fault"),
    [
        (RESPONSES, _sse(_CREATED, _response("failed")), "ended as failed"),
        (RESPONSES, encode(_response("failed")["response"]), "ended as failed"),
        (RESPONSES, _sse(_CREATED, _response("cancelled")), "ended as cancelled"),
        (RESPONSES, _sse(_CREATED, _response("incomplete")), "has no output and no reason"),
        (RESPONSES, _sse(_CREATED, _response("incomplete", **_MAX)), ""),
        (RESPONSES, _sse(_CREATED, _response("completed")), ""),
        (RESPONSES, _sse(_CREATED, _response("completed")) * 2, "has two answers"),
        (RESPONSES, CHAT, "is an answer of Chat Completions"),
        (CHATS, CHAT, ""),
        (CHATS, CHAT * 2, "has two answers"),
        (COMPATIBLE, CHAT * 2, "has two answers"),
        (GEMINI, _gemini("a"), ""),
        (GEMINI, _gemini("a", "a"), ""),
        (GEMINI, _gemini("a", "b"), "has two answers"),
        (
            RESPONSES.replace("responses", "chat/completions"),
            _sse(_CREATED, _response("completed")),
            "is an answer of the Responses API",
        ),
        (MESSAGES, _sse(_STARTED, _ended("end_turn"), _STOP), ""),
        (MESSAGES, _sse(_STARTED, _ended("end_turn")), "has no message_stop"),
        (MESSAGES, _sse(_STARTED, _ended("end_turn"), _STOP) * 2, "has two answers"),
        (MESSAGES, _sse(_STARTED, *_BLOCK, _ended("tool_use"), _STOP), "arguments are cut"),
        (MESSAGES, _sse(_STARTED, *_BLOCK, _ended("max_tokens"), _STOP), ""),
    ],
)
def test_an_answer_that_no_model_finished_is_refused(url: str, body: bytes, fault: str) -> None:
    asked = Request("POST", url, {}, b'{"model": "m", "stream": true, "input": "Hi"}')
    exchange = with_provider(Exchange(asked, 200, {}, ((None, body),), "complete"))
    said = incompleteness(exchange)
    assert fault in said if fault else said == ""


ANTHROPIC_ERROR: Final = (
    b'event: error\ndata: {"type": "error", "error": {"type": "%s", "message": "no"}}\n\n'
)
OPENAI_ERROR: Final = (
    b'event: error\ndata: {"type": "error", "sequence_number": 2, "error": {"type": "%s",'
    b' "code": "%s", "message": "no", "param": null}}\n\n'
)


@pytest.mark.parametrize(
    ("provider", "body", "code"),
    [
        ("anthropic", ANTHROPIC_ERROR % b"overloaded_error", 529),
        ("anthropic", ANTHROPIC_ERROR % b"rate_limit_error", 429),
        ("anthropic", ANTHROPIC_ERROR % b"invalid_request_error", None),
        ("openai", OPENAI_ERROR % (b"insufficient_quota", b"insufficient_quota"), 429),
        ("openai", OPENAI_ERROR % (b"tokens", b"rate_limit_exceeded"), 429),
    ],
)
def test_the_words_of_an_error_inside_a_stream_are_those_of_its_wire(
    provider: str, body: bytes, code: int | None
) -> None:
    exchange = Exchange(None, 200, {}, ((None, body),), provider=provider, generates=True)
    refusal = refusal_of(exchange)
    assert (refusal and refusal.code) == code


@pytest.mark.parametrize(
    ("coding", "body", "is_refused"),
    [
        ("gzip", CHAT, True),
        ("br", CHAT, True),
        ("gzip", gzip.compress(CHAT), False),
        ("identity", CHAT, False),
        ("gzip", b"", False),
    ],
)
def test_a_plain_body_that_is_said_to_be_packed_is_refused(
    coding: str, body: bytes, is_refused: bool
) -> None:
    pending = InFlightExchange(0, Request("POST", CHATS), Tape())
    pending.status, pending.headers, pending.end = 200, {"content-encoding": [coding]}, "complete"
    pending.reads = [(0.0, body)]

    fact = f"the answer of exchange 1 has `content-encoding: {coding}`, but its body is not packed"
    with pytest.raises(RecordingRefused, match=re.escape(fact)) if is_refused else nullcontext():
        refuse_plain([pending])


@pytest.mark.parametrize("way", [by_transport, by_relay, by_vcrpy])
def test_a_plain_body_that_is_said_to_be_packed_keeps_the_good_cassette(
    good: Path, way: Callable[[str, Path], None]
) -> None:
    before = good.read_bytes()
    with (
        raw_server(plain("200 OK", event("new"), SSE, "Content-Encoding: gzip")) as url,
        pytest.raises(RecordingRefused, match="its body is not packed"),
    ):
        way(url, good)

    assert good.read_bytes() == before
