"""Served answers: blocks, pace, cuts, headers, ends and faults."""

from __future__ import annotations

import gzip
import re
import socket
import time
from typing import Any

import pytest

from harness.cassettes import Exchange
from harness.pipeline.replay import ReplayError
from harness.server import connection as serving_connection
from harness.server import serve
from harness.server.options import Options
from harness.server.response import recorded_answer
from tests.server.socket_client import PATH, READS, WAIT_S, Seen, answered, asks, tape


@pytest.mark.parametrize("pace", ["recorded", "step", "instant", 50])
def test_each_read_is_one_block(pace: Any) -> None:
    with serve(tape(answered()), pace=pace) as server:
        seen = Seen(server)
    assert seen.blocks == [data for _, data in READS]
    assert (seen.status, seen.end) == ("HTTP/1.1 200 ", "complete")
    assert seen.headers == ["Content-Type: text/event-stream", "Transfer-Encoding: chunked"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pace", "last_ms", "least_s"),
    [
        ("recorded", 160, 0.155),
        (0.5, 160, 0.315),
        (2000, 1_000_000, 0.495),
        ("step", 1_000_000, 0),
        ("instant", 1_000_000, 0),
    ],
)
def test_no_read_comes_before_its_time(pace: Any, last_ms: float, least_s: float) -> None:
    """The client ends long before the latest recorded times."""
    with serve(tape(answered(((10.0, b"one"), (last_ms, b"two")))), pace=pace) as server:
        seen = Seen(server)
    assert seen.times[-1][0] >= least_s
    assert seen.end == "complete"


@pytest.mark.slow
def test_at_the_recorded_pace_every_read_comes_at_its_time() -> None:
    with serve(tape(answered(((100.0, b"one"), (200.0, b"two"), (300.0, b"three"))))) as server:
        seen = Seen(server)
    assert len(seen.times) >= 3  # the head may come with the first read
    first = next(at for at, size in seen.times if size != len(seen.head) + 4)
    assert first >= 0.095
    assert seen.times[-1][0] >= 0.295


@pytest.mark.slow
def test_at_step_a_client_gets_the_reads_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket itself receives them separately, not only a parser of blocks. There is more time
    between them, since a busy machine reads late.
    """
    monkeypatch.setattr(serving_connection, "GAP_S", 0.02)
    reads = tuple((None, b"x" * 100) for _ in range(20))
    with serve(tape(answered(reads)), pace="step") as server:
        seen = Seen(server)
    assert len(seen.times) >= 10
    assert seen.blocks == [data for _, data in reads]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "AF_NETLINK"), reason="asks the kernel of Linux")
@pytest.mark.parametrize("end", ["complete", "reset"])
def test_a_client_that_reads_late_gets_the_reads_one_by_one(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_connection, "PATIENCE_S", 30.0)
    reads = tuple((None, b"x" * 100) for _ in range(5))
    with serve(tape(answered(reads, end=end)), pace="step") as server:
        seen = Seen(server, late_s=0.02)
    assert len(seen.times) >= 5
    assert (seen.blocks, seen.end) == ([data for _, data in reads], end)


@pytest.mark.slow
@pytest.mark.parametrize(("end", "seen_end"), [("cut", "closed"), ("reset", "reset")])
def test_a_connection_breaks_after_the_client_has_read_and_a_pause(
    end: str, seen_end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unread = iter([1] * 5)
    monkeypatch.setattr(serving_connection, "unread_by_client", lambda _: next(unread, 0))
    monkeypatch.setattr(serving_connection, "GAP_S", 0.05)
    monkeypatch.setattr(serving_connection, "PATIENCE_S", 30.0)
    monkeypatch.setattr(serving_connection, "BREAK_S", 0.2)
    with serve(tape(answered(READS, end=end)), pace="instant") as server:
        seen = Seen(server)
    assert seen.end == seen_end
    assert seen.ended >= 0.44  # five gaps, and the pause


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
def test_a_read_with_other_cuts_has_the_time_of_its_last_byte(
    cuts: Any, reads: list[tuple[float | None, bytes]]
) -> None:
    exchange = answered(((100.0, b"ab"), (200.0, b""), (300.0, b"cd"), (None, b"e")))
    assert recorded_answer(exchange, Options(cuts=cuts)).reads == reads


@pytest.mark.slow
def test_a_whole_answer_comes_at_the_recorded_end() -> None:
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
    ("message", "end", "kept"),
    [
        ("3", "complete", True),
        ("4", "complete", False),
        ("soon", "complete", False),
        ("9", "cut", True),
        ("3", "cut", False),
        ("9", "reset", True),
    ],
)
def test_a_recorded_content_length_is_sent_if_it_is_correct(
    message: str, end: str, kept: bool
) -> None:
    with serve(
        tape(answered(((None, b"abc"),), end=end, headers={"Content-Length": [message]})),
        pace="step",
    ) as server:
        seen = Seen(server)
    assert (f"Content-Length: {message}" in seen.headers) is kept
    assert ("Transfer-Encoding: chunked" in seen.headers) is not kept
    assert seen.end == {"complete": "complete", "cut": "closed", "reset": "reset"}[end]
    assert b"abc" in seen.rest


def test_compressed_bytes_stay_and_a_wrong_encoding_is_dropped() -> None:
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


@pytest.mark.slow
def test_an_aborted_stream_waits_for_its_client_to_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving_connection, "GRACE_S", 0.3)
    with serve(tape(answered(end="aborted")), pace="step") as server:
        began = time.monotonic()
        seen = Seen(server)
    assert (seen.end, seen.blocks) == ("closed", [data for _, data in READS])
    assert time.monotonic() - began >= 0.3


def test_an_answer_with_status_204_has_no_body() -> None:
    request = (
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
        + asks("hi")
    )
    with serve(tape(answered(status=204)), pace="step") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(
                request
                + request.replace(b"Host: localhost", b"Host: localhost\r\nConnection: close")
            )
            came = b""
            while data := peer.recv(1000):
                came += data
    assert came.count(b"HTTP/1.1 204 ") == 2
    assert came.endswith(b"\r\n\r\n")
    assert b"data: {" not in came


def test_an_illegal_recorded_header_is_reported() -> None:
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


@pytest.mark.slow
def test_a_stalled_stream_sends_no_more_data_and_stays_open() -> None:
    end = b"\r\n\r\n7\r\ndata: {\r\n"
    with serve(tape(answered()), pace="step", fault="stall:1") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as peer:
            peer.sendall(
                f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
                + asks("hi")
            )
            came = b""
            while not came.endswith(end):
                data = peer.recv(1 << 16)
                assert data, f"the connection was closed after {came!r}"
                came += data
            peer.settimeout(0.4)
            with pytest.raises(TimeoutError):
                peer.recv(1)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (
            {"pace": "fast"},
            "unknown pace 'fast'; known ones are recorded, step, instant and a number",
        ),
        ({"pace": 0}, "unknown pace 0"),
        ({"pace": "nan"}, "unknown pace 'nan'"),
        ({"fault": "cut"}, "unknown fault 'cut'; known ones are cut:N"),
        ({"fault": "status:200"}, "is not an error; the code must be from 400 to 599"),
        ({"cuts": "none"}, "unknown cuts 'none'"),
        ({"match": "url"}, "unknown match 'url'; known ones are request, path"),
        ({"provider": "mistral"}, "unknown provider 'mistral'"),
        (
            {"provider": "gemini-cli"},
            "unknown provider 'gemini-cli' (did you mean gemini-api?); known ones are gemini-api, vertex-ai",
        ),
        ({"dialect": "art"}, "unknown dialect 'art'; known ones are unified-llm, anthropic"),
    ],
)
def test_unknown_options_are_refused_with_the_known_ones(words: dict[str, Any], part: str) -> None:
    with pytest.raises(ReplayError, match=re.escape(part)):
        serve(tape(answered()), **words)
