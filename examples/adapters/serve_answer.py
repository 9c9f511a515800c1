"""Serves one recorded answer to every request, for the reproductions of docs/findings.md.

usage: serve_answer.py CASSETTE:EXCHANGE [PORT]     such as openai-compat/calls:3
       serve_answer.py FILE [PORT]                  a file of server-sent events, or *.json

It prints the body of each request. The default port is 8080. It needs only Python.
"""

import re
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

CASSETTES = Path(__file__).resolve().parents[2] / "cassettes"


class Answer(BaseHTTPRequestHandler):
    """Answers each POST request with the recorded answer."""

    status = 200
    kind = "text/event-stream"
    body = b""

    def do_POST(self) -> None:
        """Answer, and close the connection."""
        size = int(self.headers.get("content-length", 0))
        print(self.rfile.read(size).decode(), flush=True)
        self.send_response(self.status)
        self.send_header("content-type", self.kind)
        self.end_headers()
        self.wfile.write(self.body)


def read_answer(place: str) -> tuple[int, str, bytes]:
    """The status, the content type and the body of ``CASSETTE:EXCHANGE`` or of a file."""
    path, _, number = place.rpartition(":")
    if not path:
        kind = "application/json" if place.endswith(".json") else "text/event-stream"
        return 200, kind, Path(place).read_bytes()
    text = (CASSETTES / f"{path}.yaml").read_text(encoding="utf-8")
    response = text.split("\n- request:")[int(number)].partition("\n  response:\n")[2]
    status = re.search(r"code: (\d+)", response)
    media = re.search(r"(?i)content-type: (.*)", response)
    block = re.search(r"\n +string: \|.*\n((?: {8}.*\n|\n)*)", response)
    if not (status and media and block):
        raise SystemExit(f"{place}: expected a body as a block of text")
    body = re.sub(r"(?m)^ {8}", "", block[1])
    if re.search(r"\n +eol: crlf", response):
        body = body.replace("\n", "\r\n")
    return int(status[1]), media[1], body.encode()


if __name__ == "__main__":
    Answer.status, Answer.kind, Answer.body = read_answer(sys.argv[1])
    port = int(sys.argv[2]) if sys.argv[2:] else 8080
    HTTPServer(("127.0.0.1", port), Answer).serve_forever()
