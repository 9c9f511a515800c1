"""The live endpoint, seen by what can see it: sockets that count blocks and ends, and Google's own
client.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import errors, types

from harness import load
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.pipeline.replay import ReplayError
from harness.server import Server, serve
from harness.server import connection as serving_connection
from harness.server.options import Options
from harness.server.response import recorded_answer

pytest_plugins = ["pytester"]

MODEL = "gemini-3-flash-preview"
PATH = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
UNARY = f"/v1beta/models/{MODEL}:generateContent"
VERTEX = f"/v1beta1/projects/p/locations/global/publishers/google/models/{MODEL}:streamGenerateContent?alt=sse"
CODE_ASSIST = "/v1internal:streamGenerateContent?alt=sse"
SSE = {"Content-Type": ["text/event-stream"]}
JSON = {"Content-Type": ["application/json; charset=UTF-8"]}
WAIT_S = 30
"""How long a test waits for what must come: a machine may be busy."""
READS = ((10.0, b"data: {"), (40.0, b'"responseId": "r"}\r\n'), (160.0, b"\r\n"))


def asks(text: str) -> bytes:
    return json.dumps({"contents": [{"parts": [{"text": text}], "role": "user"}]}).encode()


def answered(
    reads: Any = READS,
    *,
    path: str = PATH,
    body: bytes = asks("hi"),
    status: int = 200,
    end: Any = "complete",
    headers: Any = None,
) -> Exchange:
    request = Request("POST", f"https://generativelanguage.googleapis.com{path}", {}, body)
    return Exchange(request, status, SSE if headers is None else headers, tuple(reads), end)


def tape(*exchanges: Exchange) -> Cassette:
    return Cassette(exchanges, Origin("written"))


class Seen:
    """What came over a socket: status line, headers as sent, the transfer-coding blocks with their
    times, and how it ended.
    """

    def __init__(
        self,
        server: Server,
        body: bytes = asks("hi"),
        path: str = PATH,
        method: str = "POST",
        more: str = "",
    ) -> None:
        host, port = server.base_url.removeprefix("http://").split(":")
        self.end = "open"
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
            peer.sendall(head.encode() + body)
            began = time.monotonic()
            self.raw, self.times = b"", list[tuple[float, int]]()
            try:
                while not self._whole():
                    data = peer.recv(1 << 16)
                    if not data:
                        self.end = "closed"
                        break
                    self.raw += data
                    self.times.append((time.monotonic() - began, len(data)))
            except ConnectionResetError:
                self.end = "reset"
            except TimeoutError:
                self.end = "silent"
        self.head, _, self.rest = self.raw.partition(b"\r\n\r\n")
        self.status = self.head.split(b"\r\n")[0].decode()
        self.headers = [line.decode() for line in self.head.split(b"\r\n")[1:]]
        self.blocks = (
            list(_blocks(self.rest)) if "Transfer-Encoding: chunked" in self.headers else []
        )

    def _whole(self) -> bool:
        head, found, rest = self.raw.partition(b"\r\n\r\n")
        length = next(
            (
                int(line[15:])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ),
            None,
        )
        done = bool(found) and (
            len(rest) == length
            if length is not None
            else rest.endswith(b"\r\n0\r\n\r\n") or rest == b"0\r\n\r\n"
        )
        if done:
            self.end = "complete"
        return done


def _blocks(rest: bytes) -> Iterator[bytes]:
    while rest and not rest.startswith(b"0\r\n"):
        size, _, rest = rest.partition(b"\r\n")
        yield rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]


@pytest.mark.parametrize("pace", ["recorded", "step", "instant", 50])
def test_each_read_is_one_block(pace: Any) -> None:
    with serve(tape(answered()), pace=pace) as server:
        seen = Seen(server)
    assert seen.blocks == [data for _, data in READS]
    assert (seen.status, seen.end) == ("HTTP/1.1 200 ", "complete")
    assert seen.headers == ["Content-Type: text/event-stream", "Transfer-Encoding: chunked"]


@pytest.mark.parametrize(
    ("pace", "last_ms", "least", "most"),
    [
        ("recorded", 160, 0.155, 5),
        (0.5, 160, 0.315, 5),
        (20, 10_000, 0.495, 5),
        ("step", 10_000, 0, 5),
        ("instant", 10_000, 0, 5),
    ],
)
def test_pace_says_when_the_last_read_comes(
    pace: Any, last_ms: float, least: float, most: float
) -> None:
    with serve(tape(answered(((10.0, b"one"), (last_ms, b"two")))), pace=pace) as server:
        seen = Seen(server)
    assert least <= seen.times[-1][0] <= most


def test_at_the_recorded_pace_every_read_comes_at_its_time() -> None:
    with serve(tape(answered(((100.0, b"one"), (200.0, b"two"), (300.0, b"three"))))) as server:
        seen = Seen(server)
    assert len(seen.times) >= 3  # the head may come with the first read
    first = next(at for at, size in seen.times if size != len(seen.head) + 4)
    assert first >= 0.095
    assert seen.times[-1][0] >= 0.295


def test_at_step_a_client_gets_the_reads_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket itself sees them apart, not only who parses blocks; with more time between them,
    since a busy machine reads late.
    """
    monkeypatch.setattr(serving_connection, "GAP_S", 0.02)
    reads = tuple((None, b"x" * 100) for _ in range(20))
    with serve(tape(answered(reads)), pace="step") as server:
        seen = Seen(server)
    assert len(seen.times) >= 10
    assert seen.blocks == [data for _, data in reads]


def test_a_large_read_is_still_one_block() -> None:
    reads = ((None, b"a" * 32768), (None, b"b" * 200_000), (None, b"c"))
    with serve(tape(answered(reads)), pace="step") as server:
        assert Seen(server).blocks == [data for _, data in reads]


CUTS = [("whole", [b"abcd"]), ("bytes", [b"a", b"b", b"c", b"d"]), ([1, 3], [b"a", b"bc", b"d"])]


@pytest.mark.parametrize(("cuts", "blocks"), CUTS)
def test_cuts(cuts: Any, blocks: list[bytes]) -> None:
    with serve(
        tape(answered(((5000.0, b"ab"), (9000.0, b"cd")))), cuts=cuts, pace="step"
    ) as server:
        assert Seen(server).blocks == blocks


TIMED: list[tuple[Any, list[tuple[float | None, bytes]]]] = [
    ("recorded", [(100.0, b"ab"), (300.0, b"cd"), (None, b"e")]),
    ("whole", [(None, b"abcde")]),
    ("bytes", [(100.0, b"a"), (100.0, b"b"), (300.0, b"c"), (300.0, b"d"), (None, b"e")]),
    ([1, 3, 4], [(100.0, b"a"), (300.0, b"bc"), (300.0, b"d"), (None, b"e")]),
]


@pytest.mark.parametrize(("cuts", "reads"), TIMED)
def test_what_is_cut_otherwise_has_the_time_of_its_last_byte(
    cuts: Any, reads: list[tuple[float | None, bytes]]
) -> None:
    exchange = answered(((100.0, b"ab"), (200.0, b""), (300.0, b"cd"), (None, b"e")))
    assert recorded_answer(exchange, Options(cuts=cuts)).reads == reads


def test_a_whole_answer_comes_when_the_recorded_one_had_come_to_its_end() -> None:
    with serve(tape(answered(((10.0, b"ab"), (300.0, b"cd")))), cuts="whole") as server:
        seen = Seen(server)
    assert seen.blocks == [b"abcd"]
    assert seen.times[0][0] >= 0.295


def test_status_reason_and_headers_as_recorded() -> None:
    headers = {
        "Content-Type": ["application/json"],
        "Server-Timing": ["gfet4t7; dur=12", "more"],
        "Retry-After": ["7"],
        "Connection": ["keep-alive, X-Private"],
        "X-Private": ["1"],
        "Keep-Alive": ["timeout=5"],
        "Transfer-Encoding": ["chunked"],
    }
    exchange = Exchange(answered().request, 429, headers, ((None, b"{}"),), "complete", "Slow Down")
    with serve(tape(exchange), pace="step") as server:
        seen = Seen(server)
    assert seen.status == "HTTP/1.1 429 Slow Down"
    assert seen.headers == [
        "Content-Type: application/json",
        "Server-Timing: gfet4t7; dur=12",
        "Server-Timing: more",
        "Retry-After: 7",
        "Transfer-Encoding: chunked",
    ]


@pytest.mark.parametrize(
    ("said", "end", "kept"),
    [
        ("3", "complete", True),
        ("4", "complete", False),
        ("soon", "complete", False),
        ("9", "cut", True),
        ("3", "cut", False),
        ("9", "reset", True),
    ],
)
def test_a_recorded_length_is_said_again_where_it_is_true(said: str, end: str, kept: bool) -> None:
    with serve(
        tape(answered(((None, b"abc"),), end=end, headers={"Content-Length": [said]})), pace="step"
    ) as server:
        seen = Seen(server)
    assert (f"Content-Length: {said}" in seen.headers) is kept
    assert ("Transfer-Encoding: chunked" in seen.headers) is not kept
    assert seen.end == {"complete": "complete", "cut": "closed", "reset": "reset"}[end]
    assert b"abc" in seen.rest


def test_compressed_bytes_stay_compressed_and_a_header_that_is_not_true_goes() -> None:
    packed = gzip.compress(b"hello")
    headers = {"Content-Encoding": ["gzip"]}
    exchanges = (
        answered(((None, packed),), headers=headers),
        answered(((None, b"hello"),), body=asks("plain"), headers=headers),
    )
    with serve(tape(*exchanges), pace="step") as server:
        compressed, plain = Seen(server), Seen(server, asks("plain"))
    assert (compressed.blocks, "Content-Encoding: gzip" in compressed.headers) == ([packed], True)
    assert (plain.blocks, plain.headers) == ([b"hello"], ["Transfer-Encoding: chunked"])


@pytest.mark.parametrize(
    ("end", "seen_end", "terminated"),
    [
        ("complete", "complete", True),
        ("unknown", "complete", True),
        ("cut", "closed", False),
        ("reset", "reset", False),
    ],
)
def test_an_answer_ends_as_it_was_recorded(end: str, seen_end: str, terminated: bool) -> None:
    with serve(tape(answered(end=end)), pace="step") as server:
        seen = Seen(server)
    assert seen.blocks == [data for _, data in READS]
    assert (seen.end, seen.rest.endswith(b"\r\n0\r\n\r\n")) == (seen_end, terminated)


def test_a_stream_that_its_client_left_waits_for_the_client_to_leave_then_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving_connection, "GRACE_S", 0.3)
    with serve(tape(answered(end="aborted")), pace="step") as server:
        began = time.monotonic()
        seen = Seen(server)
    assert (seen.end, seen.blocks) == ("closed", [data for _, data in READS])
    assert time.monotonic() - began >= 0.3


def test_an_answer_that_may_have_no_body_has_none() -> None:
    one = (
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
        + asks("hi")
    )
    with serve(tape(answered(status=204)), pace="step") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(one + one.replace(b"Host: x", b"Host: x\r\nConnection: close"))
            came = b""
            while data := peer.recv(1000):
                came += data
    assert came.count(b"HTTP/1.1 204 ") == 2
    assert came.endswith(b"\r\n\r\n")
    assert b"data: {" not in came


def test_a_recorded_header_that_no_answer_may_have_is_told() -> None:
    with serve(tape(answered(headers={"X-Odd": ["one\ntwo"]})), pace="step") as server:
        seen = Seen(server)
    assert seen.status == "HTTP/1.1 500 Internal Server Error"
    assert seen.rest.startswith(b"the recorded answer can't be sent: Illegal header value")


@pytest.mark.parametrize("end", ["cut", "reset"])
def test_an_answer_without_a_read_can_be_interrupted_too(end: str) -> None:
    with serve(tape(answered((), end=end)), pace="step") as server:
        seen = Seen(server)
    assert (seen.status, seen.blocks, seen.end) == (
        "HTTP/1.1 200 ",
        [],
        "closed" if end == "cut" else "reset",
    )


@pytest.mark.parametrize(
    ("fault", "blocks", "end"),
    [
        ("cut:2", 2, "closed"),
        ("reset:1", 1, "reset"),
        ("cut:0", 0, "closed"),
        ("cut:99", 3, "closed"),
        ("slow", 3, "complete"),
    ],
)
def test_faults(fault: str, blocks: int, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_connection, "SLOW_S", 0.2)
    with serve(tape(answered()), pace="step", fault=fault) as server:
        seen = Seen(server)
    assert (seen.blocks, seen.end) == ([data for _, data in READS][:blocks], end)
    assert (seen.times[-1][0] > 0.55) is (fault == "slow")


def test_a_stalled_stream_says_nothing_more_and_stays_open() -> None:
    with serve(tape(answered()), pace="step", fault="stall:1") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=0.4) as peer:
            peer.sendall(
                f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
                + asks("hi")
            )
            came = b""
            with suppress(TimeoutError):
                while data := peer.recv(1 << 16):
                    came += data
                pytest.fail("the connection was closed")
    assert came.endswith(b"\r\n\r\n7\r\ndata: {\r\n")


def test_a_fault_of_status_answers_what_generates_and_nothing_else() -> None:
    with serve(tape(answered()), fault="status:429") as server:
        seen, models = Seen(server), Seen(server, b"", "/v1beta/models", "GET")
        unary = Seen(server, path=UNARY)
    assert (seen.status, models.status) == ("HTTP/1.1 429 Too Many Requests", "HTTP/1.1 200 OK")
    error = json.loads(seen.rest)["error"]
    assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert error["details"][-1] == {
        "@type": "type.googleapis.com/google.rpc.RetryInfo",
        "retryDelay": "1s",
    }
    assert unary.status == seen.status


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ({"pace": "fast"}, "unknown pace 'fast'; known are recorded, step, instant and a number"),
        ({"pace": 0}, "unknown pace 0"),
        ({"pace": "nan"}, "unknown pace 'nan'"),
        ({"fault": "cut"}, "unknown fault 'cut'; known are cut:N"),
        ({"fault": "status:200"}, "is not an error; status takes a code from 400 to 599"),
        ({"cuts": "none"}, "unknown cuts 'none'"),
        ({"match": "url"}, "unknown match 'url'; known are request, path"),
        ({"provider": "openai"}, "unknown provider 'openai'"),
        (
            {"provider": "gemini-cli"},
            "unknown provider 'gemini-cli'; known are gemini-api, vertex-ai, code-assist",
        ),
        ({"dialect": "art"}, "unknown dialect 'art'; known are anthropic"),
    ],
)
def test_words_that_mean_nothing_are_refused_with_those_that_do(
    words: dict[str, Any], part: str
) -> None:
    with pytest.raises(ReplayError, match=part.replace("(", r"\(")):
        serve(tape(answered()), **words)


def test_equal_requests_are_answered_in_recorded_order_and_the_last_again() -> None:
    exchanges = [answered(((None, text),)) for text in (b"one", b"two")]
    with serve(tape(*exchanges), pace="step") as server:
        assert [Seen(server).blocks for _ in range(3)] == [[b"one"], [b"two"], [b"two"]]
        assert server.unused == []


def test_the_spelling_of_a_request_and_its_host_do_not_count() -> None:
    recorded = b'{"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": {"topP": 1}}'
    asked = b'{"generation_config":{"top_p":1.0},"contents":[{"parts":[{"text":"hi"}]}]}'
    with serve(tape(answered(body=recorded)), pace="step") as server:
        assert Seen(server, asked, PATH.replace("v1beta", "v1") + "&key=secret").end == "complete"
        assert server.misses == []


def test_what_nobody_recorded_is_told_with_the_nearest() -> None:
    with serve(
        tape(answered(), answered(body=asks("other")), answered(path=UNARY, body=asks("hj"))),
        pace="step",
    ) as server:
        seen = Seen(server, asks("hj"), PATH + "&key=AIzaNever")
        array = Seen(server, asks("hj"), PATH.removesuffix("?alt=sse"))
        assert (seen.status, "X-Harness: not recorded" in seen.headers) == (
            "HTTP/1.1 404 Not Found",
            True,
        )
        error = json.loads(seen.rest)["error"]
        assert (error["code"], error["status"], list(json.loads(array.rest)[0])) == (
            404,
            "NOT_FOUND",
            ["error"],
        )
        assert (
            f"No recorded exchange answers POST {PATH.partition('?')[0]}. The nearest is exchange 1 of the cassette"
            in error["message"]
        )
        assert 'body.contents[0].parts[0].text: recorded "hi", here "hj"' in error["message"]
        assert server.misses[0] == error["message"]
        assert b"AIza" not in seen.raw
        assert server.unused == [
            "exchange 1 of the cassette",
            "exchange 2 of the cassette",
            "exchange 3 of the cassette",
        ]


def test_long_values_of_the_nearest_are_told_in_short() -> None:
    with serve(tape(answered()), pace="step") as server:
        Seen(server, asks("book " * 10_000))
        assert len(server.misses[0]) < 1000
        assert "book book" in server.misses[0]


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}, **more}


def result(name: str) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": 1}}}


def turn(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


USER = turn("user", {"text": "Paris and London?"})
SIGNED = {"thoughtSignature": "U0lH"}
STEP = [turn("model", call("f", **SIGNED)), turn("user", result("f"))]
UNSIGNED = [turn("model", call("f")), turn("user", result("f"))]
UNSIGNED_CALL = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing "
    "thought_signature may lead to degraded model performance. Additional data, function call `default_api:{}` , position {}. Please refer "
    "to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
)
COUNTS = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
ORDER = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
HISTORIES: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "signed": ([USER, *STEP], None),
    "unsigned": ([USER, *UNSIGNED], UNSIGNED_CALL.format("f", 2)),
    "second step unsigned": (
        [USER, *STEP, turn("model", call("g")), turn("user", result("g"))],
        UNSIGNED_CALL.format("g", 4),
    ),
    "unsigned in an earlier turn": ([USER, *UNSIGNED, turn("model", {"text": "4"}), USER], None),
    "unsigned before a turn that only has results": (
        [USER, *UNSIGNED, *STEP],
        UNSIGNED_CALL.format("f", 2),
    ),
    "signature on the second of two calls": (
        [
            USER,
            turn("model", call("f"), call("g", **SIGNED)),
            turn("user", result("f"), result("g")),
        ],
        None,
    ),
    "signature only on a text": (
        [USER, turn("model", {"text": "", **SIGNED}, call("f")), turn("user", result("f"))],
        UNSIGNED_CALL.format("f", 2),
    ),
    "two parallel calls interleaved": (
        [USER, *STEP, turn("model", call("g")), turn("user", result("g"))],
        UNSIGNED_CALL.format("g", 4),
    ),
    "dummy": (
        [
            USER,
            turn("model", call("f", thoughtSignature="skip_thought_signature_validator")),
            turn("user", result("f")),
        ],
        None,
    ),
    "dummy as the SDK sends it": (
        [
            USER,
            turn(
                "model", call("f", thoughtSignature="c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")
            ),
            turn("user", result("f")),
        ],
        None,
    ),
    "the other dummy": (
        [
            USER,
            turn("model", call("f", thoughtSignature="context_engineering_is_the_way_to_go")),
            turn("user", result("f")),
        ],
        None,
    ),
    "snake case, no padding": (
        [
            USER,
            turn("model", {"function_call": {"name": "f"}, "thought_signature": "U0lH"}),
            turn("user", result("f")),
        ],
        None,
    ),
    "altered": (
        [USER, turn("model", call("f", thoughtSignature="U0lI")), turn("user", result("f"))],
        "Invalid thought signature.",
    ),
    "a result too few": (
        [USER, turn("model", call("f", **SIGNED), call("g")), turn("user", result("f"))],
        COUNTS,
    ),
    "a result too many": (
        [USER, turn("model", call("f", **SIGNED)), turn("user", result("f"), result("g"))],
        COUNTS,
    ),
    "results of no call": ([USER, turn("user", result("f"))], COUNTS),
    "no result": ([USER, turn("model", call("f", **SIGNED)), USER], COUNTS),
    "a call after the model": (
        [
            USER,
            turn("model", {"text": "I"}),
            turn("model", call("f", **SIGNED)),
            turn("user", result("f")),
        ],
        ORDER,
    ),
    "a call first": ([turn("model", call("f", **SIGNED)), turn("user", result("f"))], ORDER),
    "results in the role of the model": ([USER, STEP[0], turn("model", result("f")), *STEP], None),
    "a role that is none": (
        [USER, turn("assistant", {"text": "4"}), USER],
        "Please use a valid role: user, model.",
    ),
}
ANSWER_WITH_SIGNATURE = b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "U0lH"}]}}]}\r\n\r\n'


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("path", [PATH, UNARY, VERTEX, CODE_ASSIST])
def test_a_history_is_judged_as_the_api_judges_it(name: str, path: str) -> None:
    contents, message = HISTORIES[name]
    body: dict[str, Any] = {"contents": contents}
    if path == CODE_ASSIST:
        body = {"model": MODEL, "project": "p", "request": body}
    with serve(tape(answered(((None, ANSWER_WITH_SIGNATURE),))), pace="step") as server:
        seen = Seen(server, json.dumps(body).encode(), path)
    error = json.loads(seen.rest)["error"]
    if message is None:
        assert (error["code"], error["status"]) == (404, "NOT_FOUND")
    else:
        assert (error["code"], error["status"], error["message"]) == (
            400,
            "INVALID_ARGUMENT",
            message,
        )


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ("gemini-2.5-flash", 404),
        ("gemini-2.0-flash", 404),
        ("gemini-3-pro-image", 404),
        ("gemini-3.8-flash", 400),
        ("gemini-4-argon", 400),
        ("gemini-pro-latest", 400),
    ],
)
def test_signatures_are_asked_for_from_gemini_3_on(model: str, code: int) -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(
            server, json.dumps({"contents": [USER, *UNSIGNED]}).encode(), PATH.replace(MODEL, model)
        )
    assert json.loads(seen.rest)["error"]["code"] == code


def test_what_was_recorded_is_served_even_where_the_history_looks_wrong() -> None:
    body = json.dumps({"contents": [USER, *UNSIGNED]}).encode()
    with serve(tape(answered(body=body)), pace="step") as server:
        assert Seen(server, body).status == "HTTP/1.1 200 "


def test_by_path_the_body_does_not_count_but_its_history_does() -> None:
    exchanges = [
        answered(((None, b"one"),)),
        answered(((None, b"other model"),), path=PATH.replace(MODEL, "gemini-3-pro")),
        answered(((None, b"two"),), body=asks("2")),
    ]
    exchanges.append(answered(((None, b"[array]"),), path=PATH.removesuffix("?alt=sse")))
    with serve(tape(*exchanges), pace="step", match="path") as server:
        assert [Seen(server, asks(text)).blocks for text in ("2", "0", "1")] == [
            [b"one"],
            [b"two"],
            [b"two"],
        ]
        assert Seen(server, asks("?"), PATH.replace(MODEL, "gemini-3-pro")).blocks == [
            b"other model"
        ]
        assert Seen(server, asks("?"), UNARY).status == "HTTP/1.1 404 Not Found"
        assert Seen(server, asks("?"), PATH.removesuffix("?alt=sse")).blocks == [b"[array]"]
        assert (
            Seen(server, json.dumps({"contents": [USER, *UNSIGNED]}).encode()).status
            == "HTTP/1.1 400 Bad Request"
        )


@pytest.mark.parametrize(
    ("provider", "path", "served"),
    [
        (None, PATH, True),
        (None, VERTEX, True),
        (None, UNARY, False),
        ("vertex-ai", VERTEX, True),
        ("vertex-ai", PATH, False),
    ],
)
def test_an_answer_without_a_request_answers_every_request_of_its_kind(
    provider: str | None, path: str, served: bool
) -> None:
    bare = Exchange(
        None,
        200,
        {},
        ((None, b'data: {"candidates": [{"content": {"parts": [{"text": "hi"}]}}]}\n\n'),),
        "unknown",
    )
    with serve(tape(bare), pace="step", provider=provider) as server:
        assert (Seen(server, asks("anything"), path).status == "HTTP/1.1 200 ") is served


def test_answers_without_a_request_answer_in_their_mode_and_order() -> None:
    unary = b'{"candidates": [{"content": {"parts": [{"text": "whole"}]}}]}'
    bodies = (
        b'data: {"candidates": [{"content": {}}], "responseId": "1"}\n\n',
        unary,
        b'data: {"candidates": [{"content": {}}]}\n\n',
    )
    with serve(
        tape(*(Exchange(None, 200, {}, ((None, body),), "unknown") for body in bodies)), pace="step"
    ) as server:
        assert [Seen(server, asks("x"), path).blocks[0] for path in (UNARY, PATH, PATH, UNARY)] == [
            unary,
            bodies[0],
            bodies[2],
            unary,
        ]


def test_the_output_of_a_program_is_not_served() -> None:
    line = b'{"type":"init","timestamp":"2026-01-01T00:00:00Z","session_id":"s","model":"m"}\n'
    with serve(
        tape(Exchange(None, 200, {}, ((None, line),), "complete"), answered()), pace="step"
    ) as server:
        assert server.unused == ["exchange 2 of the cassette"]


def described(prefix: str) -> dict[str, Any]:
    methods = ["generateContent", "countTokens"]
    return {
        "name": prefix + MODEL,
        "version": MODEL,
        "displayName": MODEL,
        "supportedGenerationMethods": methods,
    }


PROJECT = {"id": "harness-project", "name": "harness-project"}
DONE = {
    "name": "operations/harness",
    "done": True,
    "response": {"cloudaicompanionProject": PROJECT},
}


@pytest.mark.parametrize(
    ("method", "path", "body", "content"),
    [
        ("GET", "/v1/models?pageSize=5", b"", {"models": [described("models/")]}),
        (
            "GET",
            f"/v1beta1/publishers/google/models/{MODEL}",
            b"",
            described("publishers/google/models/"),
        ),
        ("POST", f"/v1/models/{MODEL}:countTokens", asks("sixteen letters."), {"totalTokens": 4}),
        (
            "POST",
            "/v1internal:countTokens",
            b'{"request": {"contents": [{"parts": [{"text": ""}]}]}}',
            {"totalTokens": 1},
        ),
        ("GET", "/v1internal/operations/x", b"", DONE),
    ],
)
def test_what_generates_nothing_is_made_up_and_says_so(
    method: str, path: str, body: bytes, content: Any
) -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(server, body, path, method)
    assert (json.loads(seen.rest), "X-Harness: not recorded" in seen.headers) == (content, True)


def test_code_assist_sets_up_a_user_who_has_a_project() -> None:
    with serve(tape(answered()), pace="step") as server:
        loaded, onboarded = (
            json.loads(Seen(server, b"{}", f"/v1internal:{name}").rest)
            for name in ("loadCodeAssist", "onboardUser")
        )
        quota = json.loads(Seen(server, b"{}", "/v1internal:retrieveUserQuota").rest)
        assert Seen(server, b"{}", "/v1internal:launchRockets").status == "HTTP/1.1 404 Not Found"
    assert (loaded["currentTier"]["id"], loaded["cloudaicompanionProject"]) == (
        "standard-tier",
        "harness-project",
    )
    assert [bucket["modelId"] for bucket in quota["buckets"]] == [MODEL]
    assert (onboarded["done"], onboarded["response"]["cloudaicompanionProject"]["id"]) == (
        True,
        "harness-project",
    )


def test_a_recorded_answer_comes_before_a_made_up_one() -> None:
    count = answered(
        ((None, b'{"totalTokens": 77}'),), path=f"/v1beta/models/{MODEL}:countTokens", headers=JSON
    )
    with serve(tape(count), pace="step") as server:
        assert Seen(server, path=f"/v1/models/{MODEL}:countTokens").blocks == [
            b'{"totalTokens": 77}'
        ]


def test_an_unknown_model_is_not_found_by_name() -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(server, b"", "/v1beta/models/gemini-9", "GET")
    assert (
        json.loads(seen.rest)["error"]["message"]
        == f"models/gemini-9 is not found; the served cassettes answer for {MODEL}."
    )


def test_one_connection_carries_request_after_request() -> None:
    one = (
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
        + asks("hi")
    )
    with serve(tape(answered(((None, b"abc"),))), pace="instant") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(one * 2 + one.replace(b"Host: x", b"Host: x\r\nConnection: close"))
            came = b""
            while data := peer.recv(1 << 16):
                came += data
    assert came.count(b"3\r\nabc\r\n0\r\n\r\n") == 3


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * (1 << 17) + b"\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n", b"413"),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n8000\r\n"
            + b"a" * 0x8000
            + b"\r\n",
            b"413",
        ),
        (b"nonsense\r\n\r\n", b"400"),
    ],
)
def test_a_peer_that_sends_too_much_or_nonsense_is_refused(
    raw: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_connection, "MAX_BODY", 20_000)
    with serve(tape(answered())) as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(raw)
            assert peer.recv(1 << 16).split(b" ")[1] == status


@pytest.mark.parametrize(
    ("target", "host", "body"),
    [
        ("/", "[", b""),
        ("*", "x", b""),
        ("http://[/a?b", "x", b""),
        ("//[", "x", b""),
        ("/%ff%00/models/[x]:generateContent", "x", b"{"),
        (PATH, "x", b'{"contents": 5}'),
        (
            PATH,
            "x",
            b'{"contents": [5, {"parts": 5}, {"parts": [5, {"functionCall": 5}], "role": 5}]}',
        ),
        (PATH, "x", b"[[[[["),
        (PATH, "x", b'{"contents": ' + b"[" * 5000),
        (PATH, "x", b'"\xff\xfe'),
        ("/v1/messages", "x", b'{"messages": 5, "model": 5}'),
        ("/v1/messages", "x", b"5"),
        ("/v1/messages/count_tokens", "x", b"]"),
    ],
)
def test_an_odd_request_is_answered_all_the_same(target: str, host: str, body: bytes) -> None:
    with serve(tape(answered()), pace="step", dialect="anthropic") as server:
        name, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((name, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(
                f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            assert peer.recv(1 << 16).split(b" ")[1] in (b"200", b"400", b"404")


def test_a_whole_address_as_a_proxy_gets_it_counts_by_its_path() -> None:
    with serve(tape(answered()), pace="step") as server:
        assert Seen(
            server, path=f"http://generativelanguage.googleapis.com{PATH}&key=a://b"
        ).blocks == [data for _, data in READS]


def test_a_peer_that_falls_silent_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_connection.Connection, "idle_s", 0.2)
    with serve(tape(answered())) as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
            assert peer.recv(1) == b""


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked() -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(server, more="Expect: 100-continue\r\n")
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
            )
            assert peer.recv(100).startswith(b"HTTP/1.1 100 ")
    assert seen.end == "complete"


def test_a_client_that_leaves_disturbs_nobody() -> None:
    reads = tuple((None, b"x" * 10_000) for _ in range(300))
    with serve(tape(answered(reads)), pace="step") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        for _ in range(3):
            with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
                peer.sendall(
                    f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
                    + asks("hi")
                )
                assert peer.recv(10)
        assert Seen(server).end == "complete"


def test_twenty_clients_at_once_each_get_their_own_stream() -> None:
    exchanges = [
        answered(
            tuple((50.0 * index, b"%d-%d " % (who, index)) for index in range(10)),
            body=asks(str(who)),
        )
        for who in range(20)
    ]
    with serve([tape(*exchanges[:10]), tape(*exchanges[10:])]) as server:
        seen: dict[int, Seen] = {}
        threads = [
            threading.Thread(
                target=lambda who=who: seen.update({who: Seen(server, asks(str(who)))})
            )
            for who in range(20)
        ]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
    assert {who: one.blocks for who, one in seen.items()} == {
        who: [b"%d-%d " % (who, index) for index in range(10)] for who in range(20)
    }
    assert took < 6  # one after another would be 9 s


def test_what_is_served_and_how_can_change_while_it_runs() -> None:
    with serve([], pace="step") as server:
        assert Seen(server).status == "HTTP/1.1 404 Not Found"
        server.add(tape(answered()))
        assert Seen(server).end == "complete"
        server.behave(fault="cut:1")
        assert Seen(server).blocks == [b"data: {"]
        server.clear(pace="step")
        assert (Seen(server).status, len(server.misses)) == ("HTTP/1.1 404 Not Found", 1)


def test_an_address_that_is_taken_is_an_error_of_the_caller() -> None:
    with (
        serve([]) as server,
        pytest.raises(OSError, match="in use"),
        serve([], port=int(server.base_url.rpartition(":")[2])),
    ):
        pass


SHIPPED = sorted((Path(__file__).parents[2] / "cassettes").rglob("*.yaml"))
ENDS = {
    "complete": "complete",
    "unknown": "complete",
    "cut": "closed",
    "aborted": "closed",
    "reset": "reset",
}


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in SHIPPED}))
def test_every_shipped_exchange_comes_over_a_socket_as_it_stands_in_its_cassette(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_connection, "GRACE_S", 0.1)
    for path in (path for path in SHIPPED if path.parent.name == folder):
        with serve(path, pace="step") as server:
            for number, exchange in enumerate(load(path).exchanges, 1):
                request = exchange.request
                if request is None:
                    assert exchange.provider == "gemini-cli"
                    continue
                seen = Seen(
                    server, request.body, request.url.partition("googleapis.com")[2], request.method
                )
                headers = [
                    f"{name}: {value}"
                    for name, values in exchange.headers.items()
                    for value in values
                ]
                assert seen.status == f"HTTP/1.1 {exchange.status} {exchange.reason_phrase}", (
                    path,
                    number,
                )
                assert [
                    header for header in seen.headers if header != "Transfer-Encoding: chunked"
                ] == headers, (path, number)
                assert seen.blocks == [data for _, data in exchange.reads if data], (path, number)
                assert seen.end == ENDS[exchange.end], (path, number)
            assert (server.misses, server.unused) == ([], [])


STREAM = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Plan","thought": true}],"role": "model"}}],"responseId": "r"}\r\n\r\n',
    b'data: {"candidates": [{"content": {"parts": [{"text": "Gr\xc3\xbc"}],"role": "model"}}],"responseId": "r"}\r\n\r\n',
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"id": "c1","name": "look","args": {"at": 1}},',
    b'"thoughtSignature": "U0lH"}],"role": "model"},"finishReason": "STOP"}],"usageMetadata": {"totalTokenCount": 9}}\r\n\r\n',
)
OVERLOADED = b'{\n  "error": {\n    "code": 503,\n    "message": "The model is overloaded.",\n    "status": "UNAVAILABLE"\n  }\n}\n'
QUOTA = b'{"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}'


def timed(*reads: bytes) -> tuple[tuple[float, bytes], ...]:
    return tuple((10.0 * number, data) for number, data in enumerate(reads, 1))


STREAMS = {
    "whole": answered(timed(*STREAM), body=asks("whole")),
    "cut": answered(timed(*STREAM[:2]), body=asks("cut"), end="cut"),
    "reset": answered(timed(*STREAM[:2]), body=asks("reset"), end="reset"),
    "broken": answered(timed(STREAM[0], OVERLOADED), body=asks("broken")),
    "quota": answered(timed(QUOTA), body=asks("quota"), status=429, headers=JSON),
}
Streams = Callable[[str, str], list[types.GenerateContentResponse]]


def client_of(base_url: str) -> genai.Client:
    async_args = {"transport": httpx2.AsyncHTTPTransport()}  # else aiohttp, where it is installed
    return genai.Client(
        api_key="none",
        http_options=types.HttpOptions(
            base_url=base_url, api_version="v1beta", async_client_args=async_args
        ),
    )


def stream_sync(base_url: str, prompt: str, got: list[types.GenerateContentResponse]) -> None:
    with client_of(base_url) as client:
        got.extend(client.models.generate_content_stream(model=MODEL, contents=prompt))


def stream_async(base_url: str, prompt: str, got: list[types.GenerateContentResponse]) -> None:
    async def run() -> None:
        with client_of(base_url) as client:
            async with client.aio as talking:
                async for one in await talking.models.generate_content_stream(
                    model=MODEL, contents=prompt
                ):
                    got.append(one)

    asyncio.run(run())


@pytest.fixture
def streams() -> Iterator[Server]:
    with serve(tape(*STREAMS.values()), pace="recorded") as server:
        yield server


@pytest.mark.parametrize("stream", [stream_sync, stream_async])
@pytest.mark.parametrize("cuts", ["recorded", "bytes"])
def test_google_genai_streams(
    stream: Callable[[str, str, list[Any]], None], cuts: str, streams: Server
) -> None:
    streams.behave(cuts=cuts, pace="recorded" if cuts == "recorded" else "instant")
    got: list[types.GenerateContentResponse] = []
    stream(streams.base_url, "whole", got)
    # each has content
    parts = [part for one in got for part in (one.candidates or [])[0].content.parts]  # type: ignore[union-attr]
    assert [(part.text, part.thought) for part in parts[:2]] == [("Plan", True), ("Grü", None)]
    called = parts[2].function_call
    assert called is not None
    assert (called.id, called.args, parts[2].thought_signature) == ("c1", {"at": 1}, b"SIG")
    # it has usage
    assert got[-1].usage_metadata.total_token_count == 9  # type: ignore[union-attr]
    assert streams.misses == []


@pytest.mark.parametrize("stream", [stream_sync, stream_async])
@pytest.mark.parametrize(
    ("prompt", "error", "part", "responses"),
    [
        (
            "cut",
            httpx2.RemoteProtocolError,
            "peer closed connection without sending complete message body",
            2,
        ),
        ("reset", httpx2.ReadError, None, 2),
        ("broken", errors.ServerError, "503 UNAVAILABLE", 1),
        ("quota", errors.ClientError, "429 RESOURCE_EXHAUSTED", 0),
        ("unheard of", errors.ClientError, "404 NOT_FOUND.*No recorded exchange answers POST", 0),
    ],
)
def test_google_genai_meets_every_end(
    stream: Callable[[str, str, list[Any]], None],
    prompt: str,
    error: type[Exception],
    part: str | None,
    responses: int,
    streams: Server,
) -> None:
    got: list[types.GenerateContentResponse] = []
    with pytest.raises(error, match=part):
        stream(streams.base_url, prompt, got)
    assert len(got) == responses


def test_google_genai_lists_models_and_counts_tokens(streams: Server) -> None:
    with client_of(streams.base_url) as client:
        assert [model.name for model in client.models.list()] == [f"models/{MODEL}"]
        assert client.models.get(model=MODEL).name == f"models/{MODEL}"
        assert (
            client.models.count_tokens(model=MODEL, contents="sixteen letters.").total_tokens == 4
        )


class Command:
    """``harness serve`` as a process; gives the line it prints when it listens."""

    def __init__(self, *arguments: str) -> None:
        command = [
            sys.executable,
            "-c",
            "import sys; from harness.cli.main import main; sys.exit(main())",
            "serve",
            *arguments,
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float, str]:
        """Exit status, seconds until it was there, and what stood on stderr."""
        began = time.monotonic()
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=10)
        return self.process.returncode, time.monotonic() - began, said


@contextmanager
def running(*arguments: str) -> Iterator[Command]:
    command = Command(*arguments)
    try:
        yield command
    finally:
        if command.process.poll() is None:
            command.process.kill()
        command.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_prints_its_address_and_ends_with_open_streams_within_a_second(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(dumps(tape(answered(((1.0, b"data: {"), (60_000.0, b"}"))))), encoding="utf-8")
    with running(str(tmp_path), "--port", "0") as command:
        address = command.line()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("\n")
        host, port = address.strip().removeprefix("http://").split(":")
        with (
            socket.create_connection((host, int(port)), timeout=WAIT_S) as peer,
            socket.create_connection((host, int(port)), timeout=WAIT_S) as idle,
        ):
            peer.sendall(
                f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
                + asks("hi")
            )
            came = b""
            while b"data: {" not in came:
                came += peer.recv(1000)
            status, took, said = command.end(number)
            assert idle.recv(10) == b""
    assert (status, said) == (0, "")
    assert took < 1


def test_the_command_tells_of_a_request_that_nobody_recorded(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(dumps(tape(answered())), encoding="utf-8")
    with running(str(path)) as command:
        url = command.line().strip()
        httpx2.post(url + PATH, content=asks("other"))
        status, _, said = command.end()
    assert status == 0
    assert said.startswith("harness: No recorded exchange answers POST /v1beta/models/")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["missing.yaml"], "missing.yaml: No such file"),
        (["."], "a folder without a YAML file"),
        (["junk.yaml"], "junk.yaml"),
        (["--port", "99999", "x"], "99999 is no port"),
        (["--pace", "fast", "one.yaml"], "unknown pace 'fast'"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(
    arguments: list[str], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    if arguments != ["."]:
        Path("one.yaml").write_text(dumps(tape(answered())), encoding="utf-8")
        Path("junk.yaml").write_text("junk: 1\n", encoding="utf-8")
    with running(*arguments) as command:
        out, said = command.process.communicate(timeout=20)
    assert (command.process.returncode, out) == (2, "")
    assert part in said


USES = """\
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ADDRESSES = set()


def ask(server, text="hi"):
    ADDRESSES.add(server.base_url)
    body = ('{"contents": [{"parts": [{"text": "%s"}], "role": "user"}]}' % text).encode()
    with urllib.request.urlopen(urllib.request.Request(server.base_url + "PATH", body)) as answer:
        return answer.read()


def test_by_name(harness_server):
    harness_server.add("gemini-api/hello")
    assert ask(harness_server) == b'data: {"responseId": "r"}\\r\\n\\r\\n'


def test_by_path_and_in_another_manner(harness_server):
    harness_server.add(Path("cassettes/gemini-api/hello.yaml"))
    harness_server.behave(match="path")
    assert ask(harness_server, "anything")


def test_nothing_of_the_tests_before_is_left(harness_server):
    with pytest.raises(urllib.error.HTTPError):
        ask(harness_server)
    assert harness_server.misses
    assert len(ADDRESSES) == 1
"""


def test_the_fixture_serves_a_test_its_cassettes_from_one_server_a_worker(
    pytester: pytest.Pytester,
) -> None:
    pytester.mkdir("cassettes").joinpath("gemini-api").mkdir()
    pytester.path.joinpath("cassettes/gemini-api/hello.yaml").write_text(
        dumps(tape(answered())), encoding="utf-8"
    )
    pytester.makepyfile(USES.replace("PATH", PATH))
    pytester.runpytest("-q", "-p", "no:cacheprovider").assert_outcomes(passed=3)
