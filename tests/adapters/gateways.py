"""Gateways of the tests: HTTP servers in this process that ask the served API of Gemini."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HI = b'{"contents": [{"role": "user", "parts": [{"text": "Hi?"}]}]}'
Answer = Callable[[BaseHTTPRequestHandler, dict[str, Any]], bytes]


@contextmanager
def gateway(answer: Answer) -> Iterator[tuple[str, list[Any]]]:
    """A gateway that answers with these bytes; gives the path, headers and body of each of its
    requests.
    """
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append((self.path, dict(self.headers), body))
            self.wfile.write(answer(self, body))

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def ask(upstream: str, body: bytes = HI, *, streamed: bool = True) -> list[Any]:
    """The messages of the upstream, asked as Gemini's API."""
    method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    with urllib.request.urlopen(f"{upstream}/v1beta/models/gemini-x:{method}", body) as answer:
        if not streamed:
            return [json.load(answer)]
        return [json.loads(line[6:]) for line in answer if line.startswith(b"data: ")]
