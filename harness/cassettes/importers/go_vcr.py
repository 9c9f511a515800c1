"""Reads go-vcr cassettes, in the layouts of versions 1 to 4.

They have ``url`` in place of vcrpy's ``uri``, and ``code`` and ``status`` for the status line. A
body is a string or ``!!binary`` bytes. https://github.com/dnaeon/go-vcr
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.stream.exchange import Exchange

from .build import (
    Interaction,
    Received,
    SentRequest,
    StatusCode,
    body_bytes,
    build_exchange,
    build_request,
    read_with,
)
from .content import Content, Format, each


class _Request(SentRequest, kw_only=True):
    url: str
    host: str = ""


class _Response(Received, kw_only=True):
    code: StatusCode
    status: Any = ""


_Interaction = Interaction[_Request, _Response]


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"interactions": [{"request": {"url": _}, "response": {"code": _}}, *_]}:
            return True
        case {"interactions": [] | None, "version": 2}:
            return True
    return False


def _exchanges(content: Content) -> Iterator[Exchange]:
    for _, interaction in each(content.mapping["interactions"], _Interaction, "interaction"):
        sent, answer = interaction.request, interaction.response
        url = f"https://{sent.host}{sent.url}" if sent.url.startswith("/") else sent.url
        request = build_request(sent.method, url, sent.headers, sent.body)
        reason = str(answer.status or "").removeprefix(str(answer.code)).strip()
        yield build_exchange(
            request, answer.code, answer.headers, body_bytes(answer.body), reason=reason
        )


GO_VCR: Final = Format(
    "go-vcr", "go-vcr cassette", _recognises, read_with(_exchanges, "go-vcr cassette")
)
