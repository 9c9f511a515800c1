"""Finds the recorded exchange that answers a request: an exchange that was recorded for the same
request, else an exchange without a request.

With ``match="path"`` the body is ignored: the exchanges of a method, path and model answer in
recorded order, and then the last one answers every further request. This is for clients that send
changing data (the date, a list of files). In the same way, an exchange without a request (a bare
body) answers every request of its provider and its mode, streamed or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from harness.pipeline.request_index import RequestIndex
from harness.providers import GENERATE_CONTENT, PROVIDERS, Identity, detect_provider
from harness.specs.matching import Mismatch, sides
from harness.stream.exchange import Exchange
from harness.stream.printable import excerpt
from harness.stream.websocket import SWITCHED

from .connection import HttpRequest
from .options import Match
from .whole_answers import asks_model

MAX_DIFFERENCES: Final = 5
"""The maximum number of differences from the nearest request that a message lists."""

MAX_SHOWN: Final = 300
"""The maximum number of characters of a value in a message. System prompts can be very long."""

_Key = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class PlacedExchange:
    """An exchange, the name of its cassette, and its number there, from 1."""

    exchange: Exchange
    cassette: str
    number: int

    def __str__(self) -> str:
        return f"exchange {self.number} of {self.cassette}"


class ExchangeFinder:
    """Finds the exchange of one server that answers a request."""

    def __init__(
        self, placed: Sequence[PlacedExchange], match: Match, provider: str | None
    ) -> None:
        self._placed = placed
        self._index = RequestIndex([item.exchange for item in placed], again=True)
        self._by_request = match == "request"
        self._queues: dict[_Key, list[int]] = {}
        for place in reversed(range(len(placed))):
            exchange = placed[place].exchange
            key, recorded = None, exchange.request
            if recorded is None:
                key = _bare_key(exchange, provider)
            elif not self._by_request:
                identity = detect_provider(recorded.method, recorded.url, recorded.body, b"")
                key = _path_key(recorded.method, recorded.url, identity)
            if key is not None:
                self._queues.setdefault(key, []).append(place)
        self._unused = set(range(len(placed)))

    def find_recorded(self, request: HttpRequest) -> Exchange | None:
        """Return the exchange that was recorded for the same request, or None."""
        return (
            self._use(self._index.find(request.method, request.url, request.body))
            if self._by_request
            else None
        )

    def find_other(self, request: HttpRequest, identity: Identity) -> Exchange | None:
        """Return the next exchange that answers a request independently of its body, or None."""
        keys = [_path_key(request.method, request.url, identity)]
        if asks_model(identity, request.url):
            mode = str(identity.streamed)
            keys.append(("bare", identity.provider, mode))
            known = PROVIDERS.get(identity.provider or "")
            if known and known.wire == GENERATE_CONTENT:
                keys.append(("bare", None, mode))
        for key in keys:
            if queue := self._queues.get(key):
                return self._use(queue.pop() if len(queue) > 1 else queue[0])
        return None

    def next_session(self) -> PlacedExchange | None:
        """Return the first session that no client has had, which then counts as used."""
        for place in sorted(self._unused):
            if self._placed[place].exchange.status == SWITCHED:
                self._unused.discard(place)
                return self._placed[place]
        return None

    def _use(self, place: int | None) -> Exchange | None:
        if place is None or self._placed[place].exchange.status == SWITCHED:
            return None  # `next_session` gives a session
        self._unused.discard(place)
        return self._placed[place].exchange

    def unused(self) -> list[PlacedExchange]:
        """Return the exchanges that no request has used, in order."""
        return [self._placed[place] for place in sorted(self._unused)]

    def explain(self, request: HttpRequest) -> tuple[str, list[str]]:
        """Return the reason why no exchange answers: a sentence, and a list of the differences from
        the most similar recorded request.
        """
        nearest = self._index.nearest(request.method, request.url, request.body)
        if nearest is None:
            return (
                f"{miss_of(request)} No served exchange has a request to compare it with.",
                [],
            )
        place, mismatches = nearest
        if not self._by_request:
            mismatches = [mismatch for mismatch in mismatches if _is_address(mismatch)]
        mismatches = sorted(mismatches, key=_is_address, reverse=True)
        differences = [_difference(mismatch) for mismatch in mismatches[:MAX_DIFFERENCES]]
        if len(mismatches) > MAX_DIFFERENCES:
            differences.append("and more")
        if mode := _other_mode(request, self._placed[place].exchange):
            differences.insert(0, mode)
        return (
            f"{miss_of(request)} The nearest is {self._placed[place]}; it differs in: ",
            differences,
        )


def miss_of(request: HttpRequest) -> str:
    """Return the sentence that no recorded exchange answers a request."""
    return f"No recorded exchange answers {request.method} {urlsplit(request.url).path}."


def _is_address(mismatch: Mismatch) -> bool:
    """Return whether the mismatch is in the method, path or query, not in the body."""
    return mismatch.path.startswith(("method", "path", "query"))


def _other_mode(request: HttpRequest, recorded: Exchange) -> str | None:
    """Return the difference in mode of two requests that generate, if there is one."""
    asked = detect_provider(request.method, request.url, request.body, b"")
    if not asked.generates or asked.streamed == recorded.streamed:
        return None
    names = {True: "streamed", False: "unary"}
    return f"mode: recorded {names[not asked.streamed]}, here {names[asked.streamed]}"


def _difference(mismatch: Mismatch) -> str:
    recorded, here = sides(mismatch)
    parts = [
        text
        for text in (
            recorded and f"recorded {excerpt(recorded, MAX_SHOWN)}",
            here and f"here {excerpt(here, MAX_SHOWN)}",
            mismatch.note,
        )
        if text
    ]
    return f"{mismatch.path}: {', '.join(parts)}"


def _bare_key(exchange: Exchange, provider: str | None) -> _Key:
    """Return the key of an answer without a request. Bare messages do not show which server of
    generateContent sent them: they answer the requests of each.
    """
    shown = None if exchange.provider == "gemini-api" else exchange.provider
    return (
        "bare",
        provider or shown,
        str(detect_provider("", "", b"", exchange.body).streamed),
    )


def _path_key(method: str, url: str, identity: Identity) -> _Key:
    """Return the key of a request without its body. It contains ``alt``, which selects the stream's
    format.
    """
    split = urlsplit(url)
    alt = dict(parse_qsl(split.query)).get("alt")
    if asks_model(identity, url):
        return (
            "generate",
            identity.provider,
            identity.model,
            str(identity.streamed),
            alt,
        )
    return ("other", method.upper(), split.path, alt)
