"""A loopback Gemini for the mind program, the program, and its records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from tests.support import commands

Json = dict[str, Any]
CASSETTES = Path(__file__).parents[3] / "cassettes"


class Reply(NamedTuple):
    """``missing``: the number of promised bytes that are not sent."""

    body: str
    status: int = 200
    missing: int = 0


class Gemini:
    """Answers generate requests one after the other, and keeps them; refuses other requests, like a
    gateway.
    """

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, Json]] = []
        self.keys: set[str] = set()
        self.listed: list[str] = []
        self.models = Reply("no such thing", 404)
        self.base_url = ""


@contextmanager
def gemini(*replies: Reply | Json | list[Json]) -> Iterator[Gemini]:
    """A loopback endpoint with these replies: frames of a stream, a unary answer, or a `Reply`."""
    known = Gemini(
        [reply if isinstance(reply, Reply) else Reply(body_of(reply)) for reply in replies]
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.listed.append(self.path)
            self.answer(known.models)

        def do_POST(self) -> None:
            known.keys.add(self.headers["x-goog-api-key"])
            known.asked.append(
                (self.path, json.loads(self.rfile.read(int(self.headers["content-length"]))))
            )
            self.answer(known.replies.pop(0))

        def answer(self, reply: Reply) -> None:
            data = reply.body.encode()
            self.send_response(reply.status)
            self.send_header(
                "Content-Type",
                "text/event-stream" if data.startswith(b"data:") else "application/json",
            )
            self.send_header("Content-Length", str(len(data) + reply.missing))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known.base_url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def body_of(reply: Json | list[Json]) -> str:
    return (
        json.dumps(reply)
        if isinstance(reply, dict)
        else "".join(f"data: {json.dumps(frame)}\r\n\r\n" for frame in reply)
    )


def frame(*parts: Json | str, finish: str | None = "STOP") -> Json:
    contents = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {
        "candidates": [
            {"content": {"parts": contents, "role": "model"}, "index": 0}
            | ({"finishReason": finish} if finish else {})
        ]
    }


def called(name: str, **args: Any) -> Json:
    return {"functionCall": {"name": name, "args": args}}


class Finished(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def records(self) -> list[Json]:
        """The lines of stdout, without their times. Each is a JSON object with a type and a time of
        today.
        """
        records = [json.loads(line) for line in self.out.splitlines()]
        for record in records:
            assert datetime.fromisoformat(record.pop("timestamp")).year >= 2025
        return records


def run(base_url: str, folder: Path, *arguments: str, **environment: str) -> Finished:
    """Run the program in ``folder``, with a key unless ``GEMINI_API_KEY`` is given."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GEMINI", "GOOGLE"))
    }
    known = (
        clean
        | {"GEMINI_API_KEY": "from-the-environment", "GOOGLE_GEMINI_BASE_URL": base_url}
        | environment
    )
    command = ("python", "-m", "harness.systems.mind", *arguments)
    return Finished(*commands.run(*command, cwd=folder, environment=known))


def text(content: str) -> Json:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": content}]}}


def code(name: str, **args: Any) -> Json:
    return {"type": "tool_code", "name": name, "args": args}


def result_of(call: Json, result: Json) -> Json:
    return {**call, "type": "tool_result", "result": result}


def whole(text: str) -> Json:
    return {"type": "result", "result": text}
