"""A client that reads from a socket, and cassettes for it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

from harness.cassettes import Cassette, Exchange, Origin, Request
from harness.server import Server

MODEL = "gemini-3-flash-preview"


PATH = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"


UNARY = f"/v1beta/models/{MODEL}:generateContent"


VERTEX = f"/v1beta1/projects/p/locations/global/publishers/google/models/{MODEL}:streamGenerateContent?alt=sse"


SSE = {"Content-Type": ["text/event-stream"]}


JSON = {"Content-Type": ["application/json; charset=UTF-8"]}


WAIT_S = 30
"""The time that a test waits for data that must come, since a machine may be busy."""


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
    """The data that a socket received: status line, headers as sent, the transfer-coding blocks
    with their times, and how and when it ended. ``late_s``: the time that the client waits before
    each read.
    """

    def __init__(
        self,
        server: Server,
        body: bytes = asks("hi"),
        path: str = PATH,
        method: str = "POST",
        more: str = "",
        late_s: float = 0.0,
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
                    time.sleep(late_s)
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
            self.ended = time.monotonic() - began
        self.head, _, self.rest = self.raw.partition(b"\r\n\r\n")
        self.status = self.head.split(b"\r\n")[0].decode()
        self.headers = [line.decode() for line in self.head.split(b"\r\n")[1:]]
        self.blocks = (
            list(_blocks(self.rest)) if "Transfer-Encoding: chunked" in self.headers else []
        )

    def _whole(self) -> bool:
        head, separator, rest = self.raw.partition(b"\r\n\r\n")
        length = next(
            (
                int(line[15:])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ),
            None,
        )
        done = bool(separator) and (
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


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}, **more}


def result(name: str) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": 1}}}


def turn(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


USER = turn("user", {"text": "Paris and London?"})


UNSIGNED = [turn("model", call("f")), turn("user", result("f"))]
