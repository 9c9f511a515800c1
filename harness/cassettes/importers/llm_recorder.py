"""Reads recordings of mastra's ``_llm-recorder``: a streamed answer has the pieces that arrived and
the milliseconds between them, which become reads with their times. Other answers are parsed.

An older layout is the bare list of recordings. https://github.com/mastra-ai/mastra
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate, zip_longest
from typing import Any, Final

from msgspec import Raw, Struct, field

from harness.stream.exchange import Cassette, Exchange

from .build import StatusCode, body_bytes, build_cassette, build_exchange, build_request
from .content import Content, Format, as_shape, each

_LATEST: Final = 253_402_300_800_000
"""The first millisecond of the year 10000."""


class _Request(Struct):
    url: str
    method: str = "POST"
    body: Any = None
    timestamp: int | None = None


class _Response(Struct, rename="camel"):
    status: StatusCode
    status_text: str | None = None
    headers: Any = None
    body: Any = None
    pieces: list[str] | None = field(default=None, name="chunks")
    waits: list[Any] | None = field(default=None, name="chunkTimings")
    is_streaming: bool = False


class _Recording(Struct):
    request: _Request
    response: _Response


def _recognises(content: Content) -> bool:
    match content.first_elements(1) or content.mapping.get("recordings"):
        case [{"hash": _, "request": {"url": _}, "response": {"isStreaming": _}}, *_]:
            return not content.first_elements(1) or content.is_array
    return False


def _read(content: Content) -> Cassette:
    listed = content.mapping["recordings"] if content.mapping else content.document
    recordings = [(place, item) for place, item in each(listed, _Recording, "recording")]
    meta = content.mapping.get("meta")
    created = meta.get("createdAt") if isinstance(meta, dict) else None
    date = created if isinstance(created, str) else _day(recordings[0][1].request.timestamp)
    return build_cassette(
        _exchanges([item for _, item in recordings]), date=date, note="llm-recorder recording"
    )


def _exchanges(recordings: list[_Recording]) -> Iterator[Exchange]:
    for number, recording in enumerate(recordings, 1):
        sent, answer = recording.request, recording.response
        request = build_request(sent.method, sent.url, None, sent.body)
        pieces = [body_bytes(piece) for piece in answer.pieces or ()]
        exchange = build_exchange(
            request,
            answer.status,
            answer.headers,
            pieces if answer.is_streaming else body_bytes(answer.body),
            reason=answer.status_text or "",
            rebuilt=not answer.is_streaming,
        )
        waits = [_wait(wait, f"recording {number}") for wait in answer.waits or ()]
        yield replace(exchange, reads=_reads(pieces, waits)) if pieces else exchange


def _wait(value: Any, place: str) -> float:
    """Return a number of milliseconds; `parse_json` leaves the digits of a fraction unread."""
    number = json.loads(bytes(value)) if isinstance(value, Raw) else value
    wait = as_shape(number, float, f"{place}: chunkTimings")
    return wait if 0 <= wait < _LATEST else 0.0


def _reads(pieces: list[bytes], waits: list[float]) -> tuple[tuple[float | None, bytes], ...]:
    """Return each piece with the time from the response to its arrival; None if no time was
    recorded.
    """
    times = accumulate(waits[: len(pieces)])
    return tuple((at, data) for at, data in zip_longest(times, pieces) if data)


def _day(timestamp: int | None) -> str | None:
    """Return the day of milliseconds since 1970, in UTC."""
    if timestamp is None or not 0 <= timestamp < _LATEST:
        return None
    return datetime.fromtimestamp(timestamp / 1000, UTC).date().isoformat()


LLM_RECORDER: Final = Format("llm-recorder", "llm-recorder recording", _recognises, _read)
