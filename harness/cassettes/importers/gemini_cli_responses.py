"""Reads the Gemini CLI's ``--record-responses`` file: each line has the method of a call and its
parsed response, or a list of responses for a stream.

The file has no requests. A stream is rebuilt as SSE and other responses as JSON, each with its
content type. https://github.com/google-gemini/gemini-cli, ``recordingContentGenerator.ts``
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from harness.stream.exchange import CassetteError, Exchange

from .build import build_exchange, join_responses, read_with
from .content import Content, Format, as_shape, parse_json

_METHODS: Final = frozenset(
    {"generateContent", "generateContentStream", "countTokens", "embedContent"}
)


class _Call(Struct):
    method: str
    response: Any


def _recognises(content: Content) -> bool:
    match content.first_line:
        case {"method": str(method), "response": _}:
            return method in _METHODS
    return False


def _exchanges(content: Content) -> Iterator[Exchange]:
    for number, line in content.lines:
        try:
            call = as_shape(parse_json(line), _Call)
        except CassetteError as error:
            raise CassetteError(f"line {number} of the recorded responses: {error}") from None
        sse = isinstance(call.response, list)
        body = join_responses(call.response if sse else [call.response], sse=sse)
        kind = "text/event-stream" if sse else "application/json; charset=UTF-8"
        yield build_exchange(None, 200, {"Content-Type": kind}, body, end="unknown")


CLI_RESPONSES: Final = Format(
    "gemini-cli-responses",
    "Gemini CLI --record-responses file",
    _recognises,
    read_with(_exchanges, "Gemini CLI recorded responses, bodies rebuilt"),
)
