"""Changes of the bytes that keep the messages: reads, line ends, text around events, errors and
lost bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from harness.stream.exchange import Exchange

from .messages import Change, Messages, answer_messages, as_events, parts, rewritten
from .reads import seeded, with_cuts

RANDOM_PLACES: Final = 20
ERROR: Final = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}


def uncut(exchange: Exchange) -> Exchange | None:
    """Put the whole body into one read."""
    return with_cuts(exchange, ()) if len(exchange.reads) > 1 else None


def cut_at(places: Callable[[bytes], list[int]]) -> Change:
    """Cut the body into reads at these byte offsets."""

    def change(exchange: Exchange) -> Exchange | None:
        body = exchange.body
        cuts = sorted({place for place in places(body) if 0 < place < len(body)})
        return with_cuts(exchange, cuts) if cuts else None

    return change


def between_bytes(body: bytes) -> list[int]:
    return list(range(1, len(body)))


def inside_characters(body: bytes) -> list[int]:
    return [place for place in range(1, len(body)) if body[place] & 0xC0 == 0x80]


def inside_line_ends(body: bytes) -> list[int]:
    return [match.end() - 1 for match in re.finditer(b"\r\n", body)]


def inside_tags(body: bytes) -> list[int]:
    return [match.start() + 4 for match in re.finditer(b"tool_code", body)]


def random_places(body: bytes) -> list[int]:
    """Return random offsets that are the same for the same body."""
    chance = seeded(body)
    return [chance.randrange(1, len(body)) for _ in range(RANDOM_PLACES)] if len(body) > 1 else []


def around_events(before: bytes, after: bytes) -> Change:
    """Write these bytes before and after each event."""
    return rewritten(
        answer_messages,
        lambda messages: b"".join(
            before + as_events([message], "\n") + after for message in messages
        ),
    )


def followed_by(text: bytes) -> Change:
    """Write these bytes after the last event."""
    return rewritten(answer_messages, lambda messages: as_events(messages) + text)


def messages_to_cut(exchange: Exchange) -> Messages | None:
    """Return the messages of a whole answer. None if a cut could turn an incomplete block into
    text.
    """
    messages = answer_messages(exchange) or []
    text = "".join(str(items[index].get("text") or "") for items, index in parts(messages))
    return None if not messages or "<tool_code>" in text else messages


def after_first_event(body: bytes) -> int | None:
    """Return the offset of the end of the first event; None if no event follows it."""
    match = re.search(rb"\r\n\r\n|\n\n|\r\r", body)
    return match.end() if match and match.end() < len(body) else None


def first_inside_character(body: bytes) -> int | None:
    return next(iter(inside_characters(body)), None)
