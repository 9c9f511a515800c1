"""Malformed requests to `harness serve`: each gets its status, and the next client still gets its
answer.
"""

from __future__ import annotations

import gzip
import socket

import pytest

from harness.server import connection, serve
from tests.server.socket_client import PATH, WAIT_S, Seen, answered, asks, tape

BODY = asks("hi")
MAX_BODY = 20_000


def post(
    *headers: bytes, target: str = PATH, body: bytes = BODY, length: bytes | None = None
) -> bytes:
    """A request with these headers, and a Host and a Content-Length before them."""
    first = f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ".encode()
    return b"\r\n".join([first + (length or b"%d" % len(body)), *headers, b"", body])


def chunked(*blocks: bytes, coding: bytes = b"chunked") -> bytes:
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: ".encode()
    return head + coding + b"\r\n\r\n" + b"".join(blocks)


def line(text: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([text, b"Host: localhost", *headers, b"", b""])


REQUESTS = {
    # the request line
    "no HTTP": (b"nonsense\r\n\r\n", "400"),
    "a greeting of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400"),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
    "no version": (line(b"GET /"), "400"),
    "a version of two digits": (line(b"GET / HTTP/1.10"), "400"),
    "a method with a bracket": (line(b"GE(T / HTTP/1.1"), "400"),
    "no target": (line(b"GET  HTTP/1.1"), "400"),
    "a target with a blank": (line(b"GET /a b HTTP/1.1"), "400"),
    "a target with a NUL": (line(b"GET /a\0b HTTP/1.1"), "400"),
    "a target with a tab": (line(b"GET /a\tb HTTP/1.1"), "400"),
    "a target of 128 KB": (line(b"GET /" + b"a" * (1 << 17) + b" HTTP/1.1"), "431"),
    "a target that is no path": (line(b"OPTIONS * HTTP/1.1"), "404"),
    "a target for a tunnel": (line(b"CONNECT localhost:443 HTTP/1.1"), "404"),
    "a target with half an IPv6 address": (line(b"GET http://[/a?b HTTP/1.1"), "404"),
    "a path with half an IPv6 address": (line(b"GET //[ HTTP/1.1"), "404"),
    "a path of no text": (post(target="/%ff%00/models/[x]:generateContent"), "404"),
    "a path out of its folder": (post(target="/v1beta/../../models/x:generateContent"), "404"),
    # headers
    "no host": (post().replace(b"Host: localhost\r\n", b""), "400"),
    "two hosts": (post(b"Host: localhost"), "400"),
    "a host of a page": (post().replace(b"localhost", b"example.com", 1), "403"),
    "a host behind a user": (post().replace(b"localhost", b"localhost@example.com", 1), "403"),
    "a header without a colon": (post(b"A b"), "400"),
    "a blank before the colon": (post(b"Transfer-Encoding : chunked"), "400"),
    "a header without a name": (post(b": a"), "400"),
    "a header with a NUL": (post(b"A: b\0c"), "400"),
    "a header with a line feed": (post(b"A: b\r\x0bc"), "400"),
    "a name that is not ASCII": (post("Ä: b".encode()), "400"),
    "thirty thousand headers": (post(*[b"A: b"] * 30_000), "431"),
    "a header of 128 KB": (post(b"A: " + b"a" * (1 << 17)), "431"),
    # the length
    "two lengths": (post(b"Content-Length: 1"), "400"),
    "a length with a sign": (post(length=b"+2"), "400"),
    "a negative length": (post(length=b"-1"), "400"),
    "a length in hexadecimal": (post(length=b"0x2"), "400"),
    "a length that is too large": (post(length=b"999999999999"), "413"),
    "a length and blocks": (post(b"Transfer-Encoding: chunked"), "400"),
    "an unknown coding": (chunked(coding=b"gzip, chunked"), "501"),
    "blocks in blocks": (chunked(coding=b"chunked, chunked"), "501"),
    "a block whose size is no number": (chunked(b"zz\r\n"), "400"),
    "a block of negative size": (chunked(b"-1\r\n"), "400"),
    "a block that is longer than its size": (chunked(b"1\r\nabc\r\n0\r\n\r\n"), "400"),
    "a size without end": (chunked(b"0" * (1 << 17)), "431"),
    "trailers without end": (chunked(b"0\r\n", b"A: b\r\n" * 20_000), "431"),
    "blocks that are too many": (chunked(*[b"1000\r\n" + b"a" * 4096 + b"\r\n"] * 9), "413"),
    # the body
    "no body": (post(body=b""), "404"),
    "a body of no text": (post(body=b'"\xff\xfe'), "404"),
    "a body that is compressed": (post(b"Content-Encoding: gzip", body=gzip.compress(BODY)), "404"),
    "half a document": (post(body=b"[[[[["), "404"),
    "a number": (post(body=b"5"), "404"),
    "five thousand lists": (post(body=b'{"contents": ' + b"[" * 5000), "404"),
    "contents that are a number": (post(body=b'{"contents": 5}'), "400"),
    "parts that are numbers": (
        post(
            body=b'{"contents": [5, {"parts": 5}, {"parts": [5, {"functionCall": 5}], "role": 5}]}'
        ),
        "400",
    ),
    "messages that are a number": (
        post(target="/v1/messages", body=b'{"messages": 5, "model": 5}'),
        "400",
    ),
    "no messages": (post(target="/v1/messages", body=b"5"), "400"),
    "a count of nothing": (post(target="/v1/messages/count_tokens", body=b"]"), "200"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_malformed_request_disturbs_no_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_BODY", MAX_BODY)
    request, status = REQUESTS[name]
    with serve(tape(answered()), pace="step", dialect="anthropic") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(request)
            came = peer.recv(1 << 16)
        assert came.split(b" ")[1].decode() == status
        assert Seen(server).end == "complete"


@pytest.mark.parametrize("size", range(0, len(post()), 7))
def test_a_request_that_breaks_off_is_no_miss(size: int) -> None:
    with serve(tape(answered()), pace="step") as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as peer:
            peer.sendall(post()[:size])
            peer.shutdown(socket.SHUT_WR)
            assert peer.recv(1 << 16)[:12] in (b"", b"HTTP/1.1 400")
        assert (server.misses, Seen(server).end) == ([], "complete")
