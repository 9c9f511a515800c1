"""Connections: several requests, bad clients, many clients, changes while a server runs."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from harness import load
from harness.providers import PROVIDERS
from harness.server import connection as serving_connection
from harness.server import serve
from tests.server.socket_client import PATH, READS, WAIT_S, Seen, answered, asks, tape


def test_one_connection_carries_request_after_request() -> None:
    request = (
        f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
        + asks("hi")
    )
    with serve(tape(answered(((None, b"abc"),))), pace="instant") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(
                request * 2
                + request.replace(b"Host: localhost", b"Host: localhost\r\nConnection: close")
            )
            came = b""
            while data := peer.recv(1 << 16):
                came += data
    assert came.count(b"3\r\nabc\r\n0\r\n\r\n") == 3


def test_a_proxy_request_with_a_whole_url_is_matched_by_its_path() -> None:
    with serve(tape(answered()), pace="step") as server:
        assert Seen(
            server, path=f"http://generativelanguage.googleapis.com{PATH}&key=a://b"
        ).blocks == [data for _, data in READS]


def test_a_url_inside_a_path_is_part_of_the_path() -> None:
    path = "/v1beta/files/gs://bucket/a"
    with serve(tape(answered(path=path)), pace="step") as server:
        assert Seen(server, path=path).blocks == [data for _, data in READS]


@pytest.mark.slow
def test_the_connection_of_a_silent_peer_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_connection.Connection, "idle_s", 0.2)
    with serve(tape(answered())) as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab")
            assert peer.recv(1) == b""


def test_a_client_that_expects_100_continue_gets_it() -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(server, more="Expect: 100-continue\r\n")
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(
                b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
            )
            assert peer.recv(100).startswith(b"HTTP/1.1 100 ")
    assert seen.end == "complete"


@pytest.mark.slow
def test_a_client_that_leaves_does_not_disturb_others() -> None:
    reads = tuple((None, b"x" * 10_000) for _ in range(300))
    with serve(tape(answered(reads)), pace="step") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        for _ in range(3):
            with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
                peer.sendall(
                    f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(asks('hi'))}\r\n\r\n".encode()
                    + asks("hi")
                )
                assert peer.recv(10)
        assert Seen(server).end == "complete"


@pytest.mark.slow
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
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {who: answer.blocks for who, answer in seen.items()} == {
        who: [b"%d-%d " % (who, index) for index in range(10)] for who in range(20)
    }


def test_the_exchanges_and_options_can_change_while_it_runs() -> None:
    with serve([], pace="step") as server:
        assert Seen(server).status == "HTTP/1.1 404 Not Found"
        server.add(tape(answered()))
        assert Seen(server).end == "complete"
        server.behave(fault="cut:1")
        assert Seen(server).blocks == [b"data: {"]
        server.clear(pace="step")
        assert (Seen(server).status, len(server.misses)) == ("HTTP/1.1 404 Not Found", 1)


def test_a_client_that_connects_at_the_end_is_dropped_silently(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(40):
        with serve(tape(answered())) as server:
            host, port = server.base_url.removeprefix("http://").split(":")
            peer = socket.create_connection((host, int(port)), timeout=WAIT_S)
        peer.close()
    assert caplog.records == []


def test_an_address_in_use_raises_an_os_error() -> None:
    with (
        serve([]) as server,
        pytest.raises(OSError, match="in use"),
        serve([], port=int(server.base_url.rpartition(":")[2])),
    ):
        pass


SHIPPED = [
    path
    for path in sorted((Path(__file__).parents[2] / "cassettes").rglob("*.yaml"))
    if path.parent.name != "live"  # sessions: see test_sessions.py
]


ENDS = {
    "complete": "complete",
    "unknown": "complete",
    "cut": "closed",
    "aborted": "closed",
    "reset": "reset",
}


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted({path.parent.name for path in SHIPPED}))
def test_every_shipped_exchange_is_served_as_recorded(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_connection, "GRACE_S", 0.1)
    for path in (path for path in SHIPPED if path.parent.name == folder):
        with serve(path, pace="step") as server:
            for number, exchange in enumerate(load(path).exchanges, 1):
                request = exchange.request
                if request is None:
                    assert PROVIDERS[exchange.provider or ""].program
                    continue
                _, _, place = request.url.partition("://")
                target = "/" + place.partition("/")[2]
                seen = Seen(server, request.body, target, request.method)
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
