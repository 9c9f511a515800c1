"""The law about spelling (6): the same answer in other framings and other key names has the same
content.

The messages of a body are read once by the plain framer, spelled anew in each way, and replayed;
only facts are compared, since where a message begins may well move.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from harness.cassettes import Exchange
from harness.providers.oracle import Facts, gather_events
from harness.stream.framing import frame_by_content
from harness.stream.json_codec import Json

from .replayer import Replayer, plain, with_reads

_CAPITAL = re.compile(r"[A-Z]")
_USER_KEYED = {"args", "properties", "partMetadata", "error", "metadata"}
_RESPONDERS = {"functionResponse", "toolResponse"}
_NOT_CONTENT = {"others", "unreadable", "at_error", "at_block", "marks", "blocks", "contradictions"}


def spelling_doesnt_matter(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 6: line ends, snake_case, the Code Assist envelope, key order and framing change no
    fact.
    """
    original = plain(exchange)
    expected = gather_events(how.events(original))
    found = []
    for name, respelled in respellings(exchange, how):
        actual = gather_events(how.events(respelled))
        found += [
            f"{name}: {field} is {one!r} instead of {other!r}"[:300]
            for field, one, other in _differing(actual, expected)
        ]
    return found


def respellings(exchange: Exchange, how: Replayer) -> Iterator[tuple[str, Exchange]]:
    """The exchange in every other spelling that its wire knows; none where a part of the body is no
    message.
    """
    original = plain(exchange)
    messages = _messages(original.body)
    if messages is not None:
        for name in (
            _OF_LINES
            if how.reads_lines(exchange)
            else SPELLINGS
            if exchange.status < 300
            else _OF_DOCUMENTS
        ):
            yield name, with_reads(original, SPELLINGS[name](original.body, messages))


def no_other_spelling(exchange: Exchange, how: Replayer) -> str:
    """Why law 6 has nothing to look at; "" where it has."""
    return (
        ""
        if any(True for _ in respellings(exchange, how))
        else "no part of the answer can be spelled otherwise"
    )


def breaking_spelling(exchange: Exchange, how: Replayer) -> tuple[str, Exchange] | None:
    """The first spelling with another content, and the exchange in it; None where law 6 holds."""
    expected = gather_events(how.events(plain(exchange)))
    return next(
        (
            one
            for one in respellings(exchange, how)
            if _differing(gather_events(how.events(one[1])), expected)
        ),
        None,
    )


def _differing(actual: Facts, expected: Facts) -> list[tuple[str, object, object]]:
    pairs = [
        (name, value, getattr(expected, name))
        for name, value in vars(actual).items()
        if name not in _NOT_CONTENT
    ]
    return [(name, one, other) for name, one, other in pairs if one != other]


def _messages(body: bytes) -> list[Json] | None:
    """The JSON messages of a body; None where something in it is none."""
    framer = frame_by_content()
    frames = framer.feed(body) + framer.close()
    messages = [frame.json for frame in frames if frame.raw is None]
    return (
        messages
        if messages
        and len(messages) == len(frames)
        and all(isinstance(message, dict) for message in messages)
        else None
    )


def _sse(messages: list[Json], end: str = "\r\n") -> bytes:
    return "".join(f"data: {json.dumps(message)}{end}{end}" for message in messages).encode()


def _array(messages: list[Json]) -> bytes:
    return (
        "[" + "\r\n,\r\n".join(json.dumps(message, indent=2) for message in messages) + "]"
    ).encode()


def snake_case(value: Json, opaque: bool = False, above: str = "") -> Json:
    """Keys in the other spelling of the wire; not inside maps whose keys belong to the user."""
    if isinstance(value, list):
        return [snake_case(item, opaque, above) for item in value]
    if not isinstance(value, dict):
        return value
    respelled = {}
    for name, item in value.items():
        deeper = opaque or name in _USER_KEYED or (name == "response" and above in _RESPONDERS)
        spelled = name if opaque else _CAPITAL.sub(lambda found: "_" + found[0].lower(), name)
        respelled[spelled] = snake_case(item, deeper, name)
    return respelled


def reversed_keys(value: Json) -> Json:
    """Every object with its keys the other way round."""
    if isinstance(value, dict):
        return {name: reversed_keys(item) for name, item in reversed(value.items())}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


def _enveloped(message: Json) -> Json:
    return (
        message
        if "response" in message or "error" in message
        else {"response": message, "traceId": "0"}
    )


def _line_ends(body: bytes, end: bytes) -> bytes:
    return re.sub(rb"\r\n|\r|\n", end.replace(b"\\", b"\\\\"), body)


SPELLINGS: dict[str, Callable[[bytes, list[Json]], bytes]] = {
    "LF": lambda body, messages: _line_ends(body, b"\n"),
    "CRLF": lambda body, messages: _line_ends(body, b"\r\n"),
    "CR": lambda body, messages: _sse(messages, "\r"),
    "SSE": lambda body, messages: _sse(messages),
    "JSON array": lambda body, messages: _array(messages),
    "snake_case": lambda body, messages: _sse([snake_case(message) for message in messages]),
    "Code Assist envelope": lambda body, messages: _sse(
        [_enveloped(message) for message in messages]
    ),
    "key order": lambda body, messages: _sse([reversed_keys(message) for message in messages]),
}

FEATURES = {
    "LF": "framing.line-ends",
    "CRLF": "framing.line-ends",
    "CR": "framing.line-ends",
    "JSON array": "framing.json-array",
}
"""Spelling → the line of the checklist that it belongs to, where that is not the law's own."""

_OF_LINES = ("LF", "CRLF")
"""What the output of a program may look like."""

_OF_DOCUMENTS = ("LF", "CRLF", "JSON array")
"""What an answer that failed may look like: it is never a stream of events."""
