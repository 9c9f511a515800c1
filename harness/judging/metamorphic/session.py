"""Changes of a session over a WebSocket: its messages in another spelling, and worse ends of turns.

A recording has the messages, not the network reads below them. So the cuts of its bytes are those
of the recording, and only a changed message is another answer of the service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from harness.stream.exchange import CassetteError, Exchange
from harness.stream.json_codec import decode_object
from harness.stream.websocket import SWITCHED, Message, read_messages, write_message

from .event_stream import json_text
from .messages import Change, reversed_keys, rewritten

_CONTENT: Final = "serverContent"
Objects = Callable[[dict[str, Any]], list[Any]]
"""Returns the messages in place of a message of the server."""


def session_messages(exchange: Exchange) -> list[Message] | None:
    """Return the messages of a session; None for one that is cut in a message, and for any other
    exchange.
    """
    try:
        return read_messages(exchange.body) if exchange.status == SWITCHED else None
    except CassetteError:
        return None


def _written(messages: Iterator[Message]) -> bytes:
    return b"".join(map(write_message, messages))


def respelled(change: Callable[[Message], Message]) -> Change:
    """Change each message of both sides; closes stay."""

    def changed(message: Message) -> Message:
        return message if message.kind == "close" else change(message)

    return rewritten(session_messages, lambda messages: _written(map(changed, messages)))


def in_json(write: Callable[[Any], str]) -> Change:
    """Write the JSON of each message again."""

    def change(message: Message) -> Message:
        value = decode_object(message.data)
        return message if value is None else replace(message, data=write(value).encode())

    return respelled(change)


def received(edit: Objects) -> Change:
    """Replace each message of the server that is an object. None if this changes nothing."""

    def given(messages: list[Message]) -> Iterator[Message]:
        for message in messages:
            value = decode_object(message.data) if message.side == "server" else None
            if value is None or message.kind == "close":
                yield message
                continue
            for other in edit(value):
                if other == value:
                    yield message
                else:
                    text = json_text(other, ascii_=False)
                    yield replace(message, data=text.encode())

    change = rewritten(session_messages, lambda messages: _written(given(messages)))

    def changed(exchange: Exchange) -> Exchange | None:
        other = change(exchange)
        return None if other is None or other.body == exchange.body else other

    return changed


def _other_kind(message: Message) -> Message:
    """Return a message in frames of the other kind; a text must be UTF-8."""
    try:
        message.data.decode()
    except UnicodeDecodeError:
        return message
    return replace(message, kind="text" if message.kind == "binary" else "binary")


def _apart(message: dict[str, Any]) -> list[Any]:
    """Return the answer and everything beside it in two messages."""
    content = message.get(_CONTENT)
    if not isinstance(content, dict) or "modelTurn" not in content or len(content) == 1:
        return [message]
    beside = {name: value for name, value in content.items() if name != "modelTurn"}
    return [{_CONTENT: {"modelTurn": content["modelTurn"]}}, {**message, _CONTENT: beside}]


SPELLINGS: Final[dict[str, Change]] = {
    "frames": respelled(_other_kind),
    "compact": in_json(lambda value: json_text(value, ascii_=False)),
    "escaped": in_json(lambda value: json_text(value, ascii_=True)),
    "key-order": in_json(lambda value: json_text(reversed_keys(value), ascii_=False)),
    "keep-alive": received(lambda message: [message, {}]),
    "apart": received(_apart),
}
SAME_EVENTS: Final = ("frames", "compact", "escaped", "key-order")
"""The spellings that change no message, so that the native events are the same."""


def _with_end(**fields: Any) -> Change:
    """Give each end of a turn these fields; None removes a field."""

    def edit(message: dict[str, Any]) -> list[Any]:
        content = message.get(_CONTENT)
        if not isinstance(content, dict) or "turnComplete" not in content:
            return [message]
        ended = {**message, _CONTENT: {**content, **fields}}
        ended.pop("interactionStatus", None)
        kept = {name: value for name, value in ended[_CONTENT].items() if value is not None}
        return [{**ended, _CONTENT: kept}]

    return received(edit)


ENDS: Final[dict[str, Change]] = {
    "the session without the ends of its turns": _with_end(turnComplete=None),
    "the session with malformed calls": _with_end(turnCompleteReason="MALFORMED_FUNCTION_CALL"),
    "the session that goes on": _with_end(turnCompleteReason=None, interactionStatus="IN_PROGRESS"),
}
"""Changes of a session that remove the good ends of its turns."""
