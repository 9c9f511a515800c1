"""Reads fixtures of Elixir's req_llm: one exchange per file, a streamed response as its network
reads.

There are three layouts: the reads beside ``response``; the parsed response, or its bytes as
``{"b64": …}``, in ``response.body``; an older list of ``events``.
https://github.com/agentjido/req_llm
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

from harness.stream.exchange import Cassette, CassetteError, Exchange

from .build import (
    Interaction,
    Received,
    SentRequest,
    StatusCode,
    build_cassette,
    build_exchange,
    build_request,
    decode_base64,
    tagged_bytes,
)
from .content import Content, Format


class _Request(SentRequest, kw_only=True):
    url: str
    canonical_json: Any = None


class _Response(Received):
    status: StatusCode = 200


class _Read(Struct):
    b64: str


class _Event(Struct):
    type: str
    value: Any = None
    b64: str = ""


class _Recording(Interaction[_Request, _Response]):
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
    sent, answer = recording.request, recording.response
    body = sent.canonical_json if sent.body is None else tagged_bytes(sent.body, "request.body")
    request = build_request(sent.method, sent.url, sent.headers, body)
    reads = [
        decode_base64(read.b64, f"read {number}")
        for number, read in enumerate(recording.reads or [], 1)
    ]
    for number, event in enumerate(recording.events or [], 1):
        match event.type:
            case "data":
                reads.append(decode_base64(event.b64, f"event {number}"))
            case "status" if isinstance(event.value, int):
                answer.status = event.value
            case "headers":
                answer.headers = event.value
            case kind if event.b64:
                raise CassetteError(
                    f"event {number}: bytes in an event of type {kind!r}, which is not read; the"
                    " known type is 'data'"
                )
    rebuilt = not reads and answer.body is not None
    yield build_exchange(
        request,
        answer.status,
        answer.headers,
        reads or tagged_bytes(answer.body, "response.body"),
        rebuilt=rebuilt,
    )


REQ_LLM: Final = Format("req_llm", "req_llm fixture", _recognises, _read)
