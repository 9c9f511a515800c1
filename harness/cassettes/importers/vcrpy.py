"""Reads vcrpy cassettes, also those of pytest-recording and of projects with their own serializer.

A body is text, ``!!binary`` bytes or null. A ``parsed_body`` is JSON that a serializer has parsed.
Cassettes of vcrpy's first httpx support have ``content`` and ``status_code`` instead of ``body``
and ``status``. https://vcrpy.readthedocs.io
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.stream.exchange import Exchange

from .build import (
    Interaction,
    Received,
    SentRequest,
    Status,
    StatusCode,
    body_bytes,
    build_exchange,
    build_request,
    read_with,
    stored_bytes,
)
from .content import Content, Format, as_shape, each


class _Request(SentRequest, kw_only=True):
    uri: str
    parsed_body: Any = None


class _Response(Received):
    status: Status | None = None
    status_code: StatusCode | None = None
    content: Any = None
    parsed_body: Any = None


_Interaction = Interaction[_Request, _Response]


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"interactions": [{"request": {"uri": _}}, *_]}:
            return True
        case {"interactions": [] | None, "version": 1}:
            return True
    return False


def _exchanges(content: Content) -> Iterator[Exchange]:
    for place, item in each(content.mapping["interactions"], _Interaction, "interaction"):
        yield _exchange(item, place)


def read_interaction(item: Any, place: str) -> Exchange:
    """Return the exchange of one interaction; ``place`` is its place in errors. Raises
    `CassetteError`.
    """
    return _exchange(as_shape(item, _Interaction, place), place)


def _exchange(interaction: _Interaction, place: str) -> Exchange:
    sent, answer = interaction.request, interaction.response
    request = build_request(
        sent.method, sent.uri, sent.headers, _sent_body(sent.body, sent.parsed_body, place)
    )
    status = answer.status or as_shape(
        {"code": answer.status_code}, Status, f"{place}: response.status"
    )
    body = _body(
        answer.body if answer.content is None else answer.content, answer.parsed_body, place
    )
    return build_exchange(
        request,
        status.code,
        answer.headers,
        body,
        reason=status.message or "",
        rebuilt=answer.parsed_body is not None,
    )


def _sent_body(body: Any, parsed: Any, place: str) -> bytes:
    """Return the bytes of a request's body. Any other mapping is the argument ``json`` of
    aiohttp.
    """
    if isinstance(body, dict) and not body.keys() & {"string", "base64_string"}:
        return body_bytes(body)
    return _body(body, parsed, place)


def _body(body: Any, parsed: Any, place: str) -> bytes:
    """Return the bytes of ``parsed_body`` if it exists, else of the body."""
    return stored_bytes(body, place) if parsed is None else body_bytes(parsed)


VCRPY: Final = Format(
    "vcrpy",
    "vcrpy or pytest-recording cassette",
    _recognises,
    read_with(_exchanges, "vcrpy cassette"),
)
