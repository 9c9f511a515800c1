"""The requests that a server got, and its reaction to each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from harness.stream.exchange import Exchange

from .connection import HttpRequest
from .response import ServedAnswer

MAX_REQUESTS: Final = 1000
"""The maximum number of requests that a server or an offer keeps; the oldest is removed first."""


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request and its answer."""

    method: str
    path: str
    """For an offer, below its base URL."""
    query: str
    headers: dict[str, str] = field(repr=False)
    """Names in lower case."""
    body: bytes = field(repr=False)
    at_s: float = field(repr=False)
    """When the request was complete, on the clock of `time.monotonic`."""
    generates: bool
    """Whether it asks a model for an answer."""
    status: int
    """The HTTP status of the answer."""
    exchange: Exchange | None = field(repr=False)
    """The recorded exchange that answered, None for an answer without a recording."""
    notes: tuple[str, ...]
    """The accepted differences from the recorded request, or the reason of a refusal."""


def served_request(
    request: HttpRequest, answer: ServedAnswer, path: str, at_s: float, generates: bool
) -> ServedRequest:
    """Return the entry of a request. ``path``: below the base URL."""
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
