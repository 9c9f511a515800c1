"""The requests that a server got, and its reaction to each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from harness.stream.exchange import Exchange

from .connection import HttpRequest
from .response import Answer

MAX_REQUESTS: Final = 1000
"""The maximum number of requests that a server or an offer keeps; the oldest is removed first."""


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request and its answer.

    ``path``: for an offer, below its base URL. ``headers``: names in lower case. ``at_s``: when the
    request was complete, on the clock of `time.monotonic`. ``generates``: whether it asks a model
    for an answer. ``status``: the HTTP status of the answer. ``exchange``: the recorded exchange
    that answered, None for an answer without a recording. ``notes``: the accepted differences from
    the recorded request, or the reason of a refusal.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    at_s: float = field(repr=False)
    generates: bool
    status: int
    exchange: Exchange | None = field(repr=False)
    notes: tuple[str, ...]


def served_request(
    request: HttpRequest, answer: Answer, path: str, at_s: float, generates: bool
) -> ServedRequest:
    """The entry of a request. ``path``: below the base URL."""
    return ServedRequest(
        request.method,
        path,
        urlsplit(request.url).query,
        {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in request.headers
        },
        request.body,
        at_s,
        generates,
        answer.status,
        answer.exchange,
        answer.notes,
    )
