"""Serves recorded answers to requests, for the reproductions of docs/findings.

usage: serve_answer.py [--cut BYTES] [--array] ANSWER… [PORT]

ANSWER is CASSETTE:EXCHANGE, such as openai-compat/calls:3, or a file of server-sent events, or a
file *.json. Each request gets the next answer; after the last one, it gets the last one again.
It prints the body of each request. The default port is 8080. It needs only Python.

A recording that was cut ends as a broken connection; ``--cut`` breaks it after so many bytes.
``--array`` sends the events as one JSON array, as Google does for a request without ``alt=sse``.
"""

from __future__ import annotations

import argparse
import base64
import re
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

CASSETTES = Path(__file__).resolve().parents[2] / "cassettes"


class Answer(BaseHTTPRequestHandler):
    """Answers each POST request with the next recorded answer, and at last with the same one."""

    answers: ClassVar[list[tuple[int, str, bytes, bool]]] = []
    """The answers that were not given, and the last one, as `read_answer` gives them."""

    def do_POST(self) -> None:
        """Answer, and close the connection; after a body that is cut, before its announced end."""
        size = int(self.headers.get("content-length", 0))
        print(self.rfile.read(size).decode(), flush=True)
        status, kind, body, is_cut = self.answers[0]
        if len(self.answers) > 1:
            del self.answers[0]
        self.send_response(status)
        if kind:
            self.send_header("content-type", kind)
        if is_cut:
            self.send_header("content-length", str(len(body) + 1))
        self.end_headers()
        self.wfile.write(body)


def read_answer(place: str) -> tuple[int, str, bytes, bool]:
    """The status, the content type and the body of ``CASSETTE:EXCHANGE`` or of a file, and whether
    the recording was cut.
    """
    path, _, number = place.rpartition(":")
    if not path:
        kind = "application/json" if place.endswith(".json") else "text/event-stream"
        return 200, kind, Path(place).read_bytes(), False
    text = (CASSETTES / f"{path}.yaml").read_text(encoding="utf-8")
    response = text.split("\n- request:")[int(number)].partition("\n  response:\n")[2]
    status = re.search(r"code: (\d+)", response)
    media = re.search(r"(?i)content-type: (.*)", response)
    binary = re.search(r"\n +base64: \|.*\n((?: {8}.*\n)*)", response)
    block = re.search(r"\n +string: \|.*\n((?: {8}.*\n|\n)*)", response)
    is_empty = "\n    body:" not in response.replace('\n    body: {string: ""}\n', "\n")
    if not status or not (block or binary or is_empty):
        raise SystemExit(f"{place}: expected a body as a block of text")
    body = re.sub(r"(?m)^ {8}", "", block[1]) if block else ""
    if escaped := re.search(r"\n +escaped: \[(.*)\]", response):
        lines = body.split("\n")
        for line in map(int, escaped[1].split(",")):
            lines[line - 1] = unescape(lines[line - 1])
        body = "\n".join(lines)
    eol = re.search(r"\n +eol: (.*)", response)
    body = with_ends(body, eol[1] if eol else "lf")
    content = base64.b64decode(binary[1]) if binary else body.encode()
    is_cut = bool(re.search(r"\n +end: (cut|reset|aborted)", response))
    return int(status[1]), media[1] if media else "", content, is_cut


def with_ends(body: str, eol: str) -> str:
    """The body with its line ends: ``crlf``, or ``lf; crlf 1-4, 7``, which excepts some lines."""
    usual, *others = eol.split("; ")
    ends = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
    lines = [f"{line}{ends[usual]}" for line in body.split("\n")]
    for other, _, numbers in (each.partition(" ") for each in others):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", numbers):
            for number in range(int(first) - 1, int(last or first)):
                lines[number] = lines[number].removesuffix(ends[usual]) + ends[other]
    lines[-1] = body.rpartition("\n")[2]
    return "".join(lines)


def unescape(line: str) -> str:
    """A line without its escapes, such as ``\\u2028``."""
    return re.sub(
        r"\\(\\|u[0-9a-f]{4})",
        lambda escape: "\\" if escape[1] == "\\" else chr(int(escape[1][1:], 16)),
        line,
    )


def array_of(events: bytes) -> bytes:
    """The data of server-sent events as one JSON array."""
    data = re.findall(rb"^data: ?(.*?)\r?$", events, re.MULTILINE)
    return b"[" + b",\r\n".join(data) + b"]"


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """``answers``, ``port``, ``cut`` and ``array`` of the command line."""
    parser = argparse.ArgumentParser(description="Serve recorded answers, one for each request.")
    parser.add_argument("answers", nargs="+", metavar="CASSETTE:EXCHANGE|FILE", help="and the port")
    parser.add_argument("--cut", type=int, metavar="BYTES", help="break off after so many bytes")
    parser.add_argument("--array", action="store_true", help="the events as one JSON array")
    options = parser.parse_args(arguments)
    options.port = int(options.answers.pop()) if options.answers[-1].isdecimal() else 8080
    if not options.answers:
        parser.error("expected an answer before the port")
    return options


def main() -> None:
    """Serve until the program is ended."""
    options = read_options()
    for place in options.answers:
        status, kind, body, is_cut = read_answer(place)
        if options.array and status < 300:
            kind, body = "application/json", array_of(body)
        if options.cut is not None:
            body, is_cut = body[: options.cut], True
        Answer.answers.append((status, kind, body, is_cut))
    HTTPServer(("127.0.0.1", options.port), Answer).serve_forever()


if __name__ == "__main__":
    main()
