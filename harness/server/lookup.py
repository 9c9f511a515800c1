"""Which recorded exchange answers a request: the one recorded for the same request, else one that
was recorded without a request.

With ``match="path"`` the body does not count: what was recorded for a method, path and model
answers in recorded order, and when all of it has been used, the last of it again. That is for
clients that put into a request what nobody can record (the date, the folder's files). An exchange
without a request (a bare body) answers in the same way every request of its provider that asks for
its mode, streamed or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from harness.pipeline.request_index import RequestIndex
from harness.providers import Identity, detect_provider
from harness.specs.matching import Mismatch, sides
from harness.stream.exchange import Exchange
from harness.stream.printable import excerpt

from .connection import HttpRequest
from .options import Match

MAX_DIFFERENCES: Final = 5
"""So many differences from the nearest request are told."""

MAX_SHOWN: Final = 300
"""So many characters of a value are told: a system prompt is as long as a book."""

_Key = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class PlacedExchange:
    """An exchange and where it stands: the name of its cassette, and its number there, from 1."""

    exchange: Exchange
    cassette: str
    number: int

    def __str__(self) -> str:
        return f"exchange {self.number} of {self.cassette}"


class Finder:
    """The exchanges of one server, each found by its request."""

    def __init__(
        self, placed: Sequence[PlacedExchange], match: Match, provider: str | None
    ) -> None:
        self._placed = placed
        self._index = RequestIndex([one.exchange for one in placed], again=True)
        self._by_request = match == "request"
        self._queues: dict[_Key, list[int]] = {}
        self._last: dict[_Key, int] = {}
        for place in reversed(range(len(placed))):
            exchange = placed[place].exchange
            key = _bare_key(exchange, provider) if exchange.request is None else None
            if not self._by_request and exchange.request is not None:
                key = _path_key(exchange.request.method, exchange.request.url, _identity(exchange))
            if key is not None:
                self._queues.setdefault(key, []).append(place)
        self._unused = set(range(len(placed)))

    def find_recorded(self, asked: HttpRequest) -> Exchange | None:
        """The exchange that was recorded for this very request."""
        return (
            self._use(self._index.find(asked.method, asked.url, asked.body))
            if self._by_request
            else None
        )

    def find_other(self, asked: HttpRequest, told: Identity) -> Exchange | None:
        """The next exchange that answers such a request whatever it says; None if there is none."""
        keys = [_path_key(asked.method, asked.url, told)]
        if told.generates:
            mode = str(told.streamed)
            keys += [("bare", told.provider, mode), ("bare", None, mode)]
        for key in keys:
            if queue := self._queues.get(key):
                self._last[key] = queue.pop()
            if key in self._last:
                return self._use(self._last[key])
        return None

    def _use(self, place: int | None) -> Exchange | None:
        if place is None:
            return None
        self._unused.discard(place)
        return self._placed[place].exchange

    def unused(self) -> list[PlacedExchange]:
        """What no request has asked for yet, in order."""
        return [self._placed[place] for place in sorted(self._unused)]

    def explain(self, asked: HttpRequest) -> tuple[str, list[str]]:
        """Why nothing answers: a sentence, and the differences from the nearest recorded request,
        one a line.
        """
        asked_for = f"{asked.method} {urlsplit(asked.url).path}"
        nearest = self._index.nearest(asked.method, asked.url, asked.body)
        if nearest is None:
            return (
                (
                    f"No recorded exchange answers {asked_for}, and none of the served has a"
                    " request to compare it with."
                ),
                [],
            )
        place, mismatches = nearest
        differences = [_difference(mismatch) for mismatch in mismatches[:MAX_DIFFERENCES]]
        if len(mismatches) > MAX_DIFFERENCES:
            differences.append("and more")
        return (
            (
                f"No recorded exchange answers {asked_for}. The nearest is {self._placed[place]};"
                " it differs in: "
            ),
            differences,
        )


def _difference(mismatch: Mismatch) -> str:
    recorded, here = sides(mismatch)
    said = [
        text
        for text in (
            recorded and f"recorded {excerpt(recorded, MAX_SHOWN)}",
            here and f"here {excerpt(here, MAX_SHOWN)}",
            mismatch.note,
        )
        if text
    ]
    return f"{mismatch.path}: {', '.join(said)}"


def _bare_key(exchange: Exchange, provider: str | None) -> _Key:
    return (
        "bare",
        provider or exchange.provider,
        str(detect_provider("", "", b"", exchange.body).streamed),
    )


def _path_key(method: str, url: str, told: Identity) -> _Key:
    """What a request asks for, but for its body; ``alt`` because the formats of a stream differ."""
    split = urlsplit(url)
    alt = dict(parse_qsl(split.query)).get("alt")
    if told.generates:
        return ("generate", told.provider, told.model, str(told.streamed), alt)
    return ("other", method.upper(), split.path, alt)


def _identity(exchange: Exchange) -> Identity:
    request = exchange.request
    assert request is not None  # its callers look
    return detect_provider(request.method, request.url, request.body, b"")
