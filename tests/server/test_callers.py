"""The allowed callers: programs of this machine, but no web page."""

from __future__ import annotations

import json

import pytest

from harness.server import serve
from harness.server.callers import Callers
from tests.server.socket_client import PATH, READS, SSE, Seen, answered, asks, tape

DATA = [data for _, data in READS]
LOCAL = [
    "localhost",
    "localhost:80",
    "LOCALHOST.:80",
    "a.localhost",
    "127.0.0.1:8080",
    "127.8.0.1",
    "[::1]:80",
    "host.docker.internal:99",
]
STRANGE = [
    "",
    "example.com",
    "localhost.example.com",
    "127.0.0.1.example.com:80",
    "10.0.0.7",
    "[::2]",
    "[",
    "localhost:80@example.com",
    "[::1]@example.com",
    "[::1].example.com",
    "localhost:80.example.com",
]


def find(callers: Callers, name: bytes, value: str) -> str | None:
    return callers.find_stranger("/v1beta", [(name, value.encode())])


@pytest.mark.parametrize("name", LOCAL)
def test_local_and_allowed_names_may_ask(name: str) -> None:
    callers = Callers("127.0.0.1", ["Host.docker.internal"])
    assert find(callers, b"Host", name) is None
    assert find(callers, b"origin", f"http://{name}") is None


@pytest.mark.parametrize("name", STRANGE)
def test_other_names_may_not_ask(name: str) -> None:
    callers = Callers("127.0.0.1", ["host.docker.internal"])
    assert find(callers, b"host", name) == f"Host: {name}"
    assert find(callers, b"Origin", f"https://{name}") == f"Origin: https://{name}"


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_a_page_without_an_origin_of_its_own_may_not_ask(host: str) -> None:
    assert find(Callers(host), b"origin", "null") == "Origin: null"


def test_a_listener_on_all_addresses_accepts_ips_but_no_domain() -> None:
    callers = Callers("0.0.0.0")  # no socket is opened
    assert find(callers, b"host", "10.0.0.7:80") is None
    assert find(callers, b"host", "example.com") == "Host: example.com"


def test_a_listener_on_a_name_is_asked_by_it() -> None:
    assert find(Callers("box.lan"), b"host", "BOX.lan:80") is None


@pytest.mark.parametrize("header", ["Origin: https://example.com\r\n", "Origin: null\r\n"])
def test_a_page_is_refused(header: str) -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(server, more=header)
        assert seen.status == "HTTP/1.1 403 Forbidden"
        assert b"is not a name of this machine" in seen.rest
        assert (server.requests, server.unused) == ([], ["exchange 1 of the cassette"])
        assert Seen(server, more="Origin: http://localhost:3000\r\n").blocks == DATA


def test_an_allowed_host_is_answered() -> None:
    header = "Origin: http://tool.test\r\n"
    with serve(tape(answered()), pace="step", allowed_hosts=["tool.test"]) as server:
        assert Seen(server, more=header).blocks == DATA


def test_a_length_beside_a_transfer_coding_is_refused() -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(server, more="Transfer-Encoding: chunked\r\n")
        assert seen.status == "HTTP/1.1 400 Bad Request"
        assert server.requests == []


def test_recorded_headers_for_pages_are_not_sent() -> None:
    headers = {**SSE, "Access-Control-Allow-Origin": ["*"], "access-control-expose-headers": ["x"]}
    with serve(tape(answered(headers=headers)), pace="step") as server:
        seen = Seen(server)
        assert seen.blocks == DATA
        assert not [line for line in seen.headers if line.lower().startswith("access-control")]


def test_only_a_tool_with_the_token_is_shown_the_nearest_request() -> None:
    secret = asks("what nobody else may read")
    with serve(tape(answered(body=secret)), pace="step") as server:
        plain = Seen(server)
        wrong = Seen(server, more="X-Harness-Token: x\r\n")
        right = Seen(server, more=f"x-harness-token: {server.token}\r\n")
        messages = [json.loads(seen.rest)["error"] for seen in (plain, wrong, right)]
        short = f"No recorded exchange answers POST {PATH.partition('?')[0]}."
        assert [error["message"] for error in messages[:2]] == [short, short]
        assert ["details" in error for error in messages] == [False, False, True]
        assert "what nobody else may read" in messages[2]["message"]
        assert server.misses == [messages[2]["message"]] * 3
