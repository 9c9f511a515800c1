"""Compares the media of a question with those of a request."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Final

from harness.facts import Finding
from harness.stream.prompt import Media, Text
from harness.stream.sample_media import type_at

from .comparison import Comparison, all_parts, found, red

_DETAILS: Final = {"detail": "detail", "start_s": "start", "end_s": "end", "fps": "rate"}
"""Field of a medium → its name in a sentence."""


def compare_media(both: Comparison) -> Iterator[Finding]:
    """Each medium is sent with equal bytes or its URL, once, with its type. A medium by URL may be
    fetched, and a text file may be sent as a text. The wire of a gateway may have no place for the
    type of a medium by URL: it is that of the served medium.
    """
    sent = [part for part in all_parts(both.sent.prompt) if isinstance(part, Media)]
    for part in all_parts(both.asked):
        if isinstance(part, Media):
            yield from _compare(both, part, sent)


def _compare(both: Comparison, asked: Media, free: list[Media]) -> Iterator[Finding]:
    media_type = asked.media_type or type_at(asked.url or "")
    name = f"{asked.kind} {media_type or asked.url}"
    data = _bytes(asked, both.web)
    same = [
        medium
        for medium in free
        if (medium.url is not None and medium.url == asked.url)
        or (data is not None and medium.data is not None and _decoded(medium.data) == data)
    ]
    if not same:
        words = text_of_medium(asked, both.web)
        texts = (part.text for part in all_parts(both.sent.prompt) if isinstance(part, Text))
        if words and any(words in text for text in texts):
            return
        places = both.places_of(asked.url) if asked.url else []
        fact = "sent, but its URL is only a text" if places else "not sent"
        at = (asked.place, places[0] if places else "")
        yield found("media", red(places), f"{name} is {fact}", asked.url or name, at=at)
        return
    free.remove(same[0])
    at = (asked.place, same[0].place)
    if media_type and same[0].media_type not in (None, *_spellings(media_type)):
        sentence = f"{name} is sent as {same[0].media_type}"
        yield found("media", "wrong", sentence, media_type, same[0].media_type, at=at)
    for field, word in _DETAILS.items():
        value, here = getattr(asked, field), getattr(same[0], field)
        if value is not None and here != value:
            fact = "not sent" if here is None else f"sent as {here}"
            sentence = f"{word} {value} of {name} is {fact}"
            yield found(
                "media", red(here is not None), sentence, value, here, word="details", at=at
            )


def _spellings(media_type: str) -> tuple[str, ...]:
    return (media_type, "image/jpg") if media_type == "image/jpeg" else (media_type,)


def _bytes(medium: Media, web: Mapping[str, bytes]) -> bytes | None:
    return _decoded(medium.data) if medium.data else web.get(str(medium.url))


def text_of_medium(medium: Media, web: Mapping[str, bytes]) -> str:
    """Return the content of a text file; "" for any other medium."""
    if not (medium.media_type or "").startswith("text/"):
        return ""
    return (_bytes(medium, web) or b"").decode("utf-8", "replace").strip()


def _decoded(data: str) -> bytes:
    """Return the bytes of base64 in either alphabet, with or without padding."""
    bare = data.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return data.encode()
