"""Replay files of google-genai's own test client: parsed bodies, prefixes of URLs blanked, an error
without its outer ``error``.

https://github.com/googleapis/python-genai, ``_replay_api_client.py``
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from .. import Cassette, Exchange
from .build import (
    StatusCode,
    build_cassette,
    build_exchange,
    build_request,
    decode_base64,
    join_responses,
)
from .content import Content, as_shape
from .format import Format

_PREFIXES: Final = {
    "{MLDEV_URL_PREFIX}": "https://generativelanguage.googleapis.com/v1beta",
    "{VERTEX_URL_PREFIX}": "https://aiplatform.googleapis.com/v1beta1/projects/REDACTED/locations/REDACTED",
}
"""What the recorder blanks in URLs, as a prefix of the same service; version, project and place are
not recorded.
"""


class _Request(Struct):
    method: str
    url: str
    headers: Any = None
    body_segments: list[Any] | None = None


class _Response(Struct):
    status_code: StatusCode = 200
    headers: Any = None
    body_segments: list[Any] | None = None
    byte_segments: list[Any] | None = None


class _Interaction(Struct):
    request: _Request
    response: _Response


class _Recording(Struct):
    interactions: list[Any]


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"replay_id": _, "interactions": list()}:
            return True
        case {"interactions": [{"request": {"body_segments": _}}, *_]}:
            return True
    return False


def _read(content: Content) -> Cassette:
    return build_cassette(
        _exchanges(content.shaped(_Recording).interactions),
        note="google-genai replay file, bodies rebuilt",
    )


def _exchanges(interactions: list[Any]) -> Iterator[Exchange]:
    for number, recorded in enumerate(interactions, 1):
        where = f"interaction {number}"
        interaction = as_shape(recorded, _Interaction, where)
        asked, given = interaction.request, interaction.response
        asked_body = join_responses(
            [part for part in asked.body_segments or [] if part is not None], sse=False
        )
        request = build_request(asked.method, _whole_url(asked.url), asked.headers, asked_body)
        yield build_exchange(
            request,
            given.status_code,
            given.headers,
            _body(given, request.url, where),
            rebuilt=True,
        )


def _whole_url(url: str) -> str:
    for blank, prefix in _PREFIXES.items():
        if url.startswith(blank):
            return prefix + url.removeprefix(blank)
    return url


def _body(given: _Response, url: str, where: str) -> bytes:
    segments = given.body_segments or []
    if not segments:
        return b"".join(
            decode_base64(part, f"{where}: byte_segments") for part in given.byte_segments or []
        )
    if given.status_code >= 400:
        return join_responses([_wrapped(segment) for segment in segments], sse=False)
    return join_responses(segments, sse="alt=sse" in url)


def _wrapped(segment: Any) -> Any:
    """The recorder keeps what is inside ``error``; on the wire it stands inside."""
    return {"error": segment} if isinstance(segment, dict) and "error" not in segment else segment


GENAI_REPLAY: Final = Format("genai-replay", "google-genai replay file", _recognises, _read)
