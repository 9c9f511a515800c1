"""Fixtures of Elixir's req_llm: one exchange a file, a streamed answer as the true network reads in
base64.

Three layouts: the answer's reads beside ``response``; the parsed answer (or its bytes as ``{"b64":
…}``) as ``response.body``; an older list of ``events``. https://github.com/agentjido/req_llm
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

from .. import Cassette, Exchange
from .build import (
    StatusCode,
    build_cassette,
    build_exchange,
    build_request,
    decode_base64,
    tagged_bytes,
)
from .content import Content
from .format import Format


class _Request(Struct):
    method: str
    url: str
    headers: Any = None
    body: Any = None
    canonical_json: Any = None


class _Response(Struct):
    status: StatusCode = 200
    headers: Any = None
    body: Any = None


class _Read(Struct):
    b64: str


class _Event(Struct):
    type: str
    value: Any = None
    b64: str = ""


class _Recording(Struct):
    request: _Request
    response: _Response
    reads: list[_Read] | None = field(default=None, name="chunks")
    events: list[_Event] | None = None
    captured_at: str | None = None
    model_spec: str | None = None


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"request": {"canonical_json": _}, "response": dict()}:
            return True
    return False


def _read(content: Content) -> Cassette:
    recording = content.shaped(_Recording)
    model = (recording.model_spec or "").partition(":")[2] or None
    return build_cassette(
        _exchanges(recording), date=recording.captured_at, model=model, note="req_llm fixture"
    )


def _exchanges(recording: _Recording) -> Iterator[Exchange]:
    asked, given = recording.request, recording.response
    body = asked.canonical_json if asked.body is None else tagged_bytes(asked.body, "request.body")
    request = build_request(asked.method, asked.url, asked.headers, body)
    reads = [
        decode_base64(read.b64, f"read {number}")
        for number, read in enumerate(recording.reads or [], 1)
    ]
    for number, event in enumerate(recording.events or [], 1):
        match event.type:
            case "data":
                reads.append(decode_base64(event.b64, f"event {number}"))
            case "status" if isinstance(event.value, int):
                given.status = event.value
            case "headers":
                given.headers = event.value
    rebuilt = not reads and given.body is not None
    yield build_exchange(
        request,
        given.status,
        given.headers,
        reads or tagged_bytes(given.body, "response.body"),
        rebuilt=rebuilt,
    )


REQ_LLM: Final = Format("req_llm", "req_llm fixture", _recognises, _read)
