"""Keeping secrets out of files: what an exchange may keep, and a look at the text before it is written.

Headers go by an allow-list, since a name that nobody thought of is the one that leaks; keys in the query are replaced by a word. Bodies
are not rewritten: where the finished text still shows the shape of a Google key or token, writing it is refused.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from .exchanges import Cassette, CassetteError, Exchange, Request

KEPT_HEADERS: Final = frozenset(
    [
        "accept",
        "accept-encoding",
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "retry-after",
        "server",
        "server-timing",
        "transfer-encoding",
        "user-agent",
        "vary",
        "x-goog-api-client",
        "x-server-timeout",
    ]
)
SECRET_PARAMETERS: Final = frozenset({"key", "access_token", "token", "api_key", "apikey"})
SCRUBBED: Final = "SCRUBBED"

SHAPES: Final = {
    "a Google API key": re.compile(r"AIza[0-9A-Za-z_-]{30,}"),
    "a Google API key of the new form": re.compile(r"\bAQ\.[0-9A-Za-z_-]{20,}"),
    "an OAuth access token": re.compile(r"\bya29\.[0-9A-Za-z_-]{20,}"),
}


def scrub(cassette: Cassette) -> Cassette:
    """The same recording without headers that may hold a secret and without keys in its URLs."""
    return replace(cassette, exchanges=tuple(_scrub_exchange(exchange) for exchange in cassette.exchanges))


def refuse_secrets(text: str, name: str) -> str:
    """``text`` itself, if it shows no shape of a secret; else raises `CassetteError` with the line, never with the secret."""
    for what, shape in SHAPES.items():
        found = shape.search(text)
        if found:
            line = text.count("\n", 0, found.start()) + 1
            raise CassetteError(f"{name}: line {line} shows {what}; no file may hold one, take it out of the recording")
    return text


def scrub_request(request: Request) -> Request:
    """A request without headers that may hold a secret and without keys in its URL."""
    return replace(request, url=scrub_url(request.url), headers=_kept(request.headers))


def _scrub_exchange(exchange: Exchange) -> Exchange:
    request = None if exchange.request is None else scrub_request(exchange.request)
    return replace(exchange, request=request, headers=_kept(exchange.headers))


def _kept(headers: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: values for name, values in headers.items() if name.lower() in KEPT_HEADERS}


def scrub_url(url: str) -> str:
    """A URL without the keys in its query; parameter by parameter, so that whatever is not a secret stays as it was spelled."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if not parts.query:
        return url
    kept = []
    for parameter in parts.query.split("&"):
        name, equals, _ = parameter.partition("=")
        kept.append(f"{name}={SCRUBBED}" if equals and name.lower() in SECRET_PARAMETERS else parameter)
    return urlunsplit(parts._replace(query="&".join(kept)))
