"""Reads replay files of google-genai's test client.

Bodies are parsed, the first part of each URL is a placeholder, and an error has no outer ``error``
key.

https://github.com/googleapis/python-genai, ``_replay_api_client.py``
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
    build_exchange,
    build_request,
    decode_base64,
    join_responses,
    read_with,
)
from .content import Content, Format, each

_PREFIXES: Final = {
    "{MLDEV_URL_PREFIX}": "https://generativelanguage.googleapis.com/v1beta",
    "{VERTEX_URL_PREFIX}": "https://aiplatform.googleapis.com/v1beta1/projects/REDACTED/locations/REDACTED",
}
"""The placeholder in a URL → a prefix of the same service. The version, the project and the
location are not recorded.
"""


class _Request(SentRequest, kw_only=True):
    url: str
    body_segments: list[Any] | None = None


class _Response(Received):
    status_code: StatusCode = 200
    body_segments: list[Any] | None = None
    byte_segments: list[Any] | None = None


_Interaction = Interaction[_Request, _Response]


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"replay_id": _, "interactions": list()}:
            return True
        case {"interactions": [{"request": {"body_segments": _}}, *_]}:
            return True
    return False


def _exchanges(content: Content) -> Iterator[Exchange]:
    for where, interaction in each(content.mapping["interactions"], _Interaction, "interaction"):
        sent, answer = interaction.request, interaction.response
        segments = [part for part in sent.body_segments or [] if part is not None]
        sent_body = join_responses(segments, sse=False)
        request = build_request(sent.method, _whole_url(sent.url), sent.headers, sent_body)
        yield build_exchange(
            request,
            answer.status_code,
            answer.headers,
            _body(answer, request.url, where),
            rebuilt=True,
        )


def _whole_url(url: str) -> str:
    for placeholder, prefix in _PREFIXES.items():
        if url.startswith(placeholder):
            return prefix + url.removeprefix(placeholder)
    return url


def _body(answer: _Response, url: str, where: str) -> bytes:
    segments = answer.body_segments or []
    if not segments:
        return b"".join(
            decode_base64(part, f"{where}: byte_segments") for part in answer.byte_segments or []
        )
    if answer.status_code >= 400:
        return join_responses([_wrapped(segment) for segment in segments], sse=False)
    return join_responses(segments, sse="alt=sse" in url)


def _wrapped(segment: Any) -> Any:
    """Return the error in the form of the wire: the recorder drops the outer ``error`` key."""
    return {"error": segment} if isinstance(segment, dict) and "error" not in segment else segment


GENAI_REPLAY: Final = Format(
    "genai-replay",
    "google-genai replay file",
    _recognises,
    read_with(_exchanges, "google-genai replay file, bodies rebuilt"),
)
