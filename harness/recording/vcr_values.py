"""Converts between vcrpy's values and ours: requests, interactions, filters, origins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace
from vcr.request import Request as VcrRequest

from harness.cassettes import Exchange, Origin, Request
from harness.cassettes.vcrpy import NO_REQUEST, exchange_of, interaction_of, request_of
from harness.providers import detect_provider

from .endpoints import LOOPBACK


def to_vcr_request(request: Request) -> VcrRequest:
    """Return vcrpy's form of a request. It has the first value of each header, so a header without
    values is dropped.
    """
    headers = {name: values for name, values in request.headers.items() if values}
    return VcrRequest(request.method, request.url, request.body, headers)


def to_vcr(exchange: Exchange) -> tuple[VcrRequest, dict[str, Any]]:
    """Return the request and the response of an exchange in vcrpy's form."""
    request = exchange.request or Request("POST", NO_REQUEST)
    return to_vcr_request(request), interaction_of(exchange)["response"]


def from_vcr(pairs: Iterable[tuple[VcrRequest, dict[str, Any]]]) -> tuple[Exchange, ...]:
    """Return the exchanges of vcrpy's requests and responses. Raises `CassetteError` for a body
    that had another length when it was recorded.
    """
    return tuple(exchange_of(request_of(request), response) for request, response in pairs)


def append(
    exchanges: tuple[Exchange, ...], cassette: Any, known: Mapping[str, Any] | None = None
) -> None:
    """Add exchanges to vcrpy's cassette, through its filters; vcrpy saves them when its context
    ends. ``known``: fields of the origin that no request contains.
    """
    if not exchanges:
        return
    for exchange in exchanges:
        cassette.append(*to_vcr(exchange))
    origins = getattr(cassette._serializer, "origins", {})  # a suite may use another serializer
    origins.setdefault(
        str(cassette._path),
        origin_of([exchange.request for exchange in exchanges], known or {}),
    )


def filtered(cassette: Any, request: Request) -> Request | None:
    """Return a request after vcrpy's filters; None if they drop it."""
    kept = cassette.filter_request(to_vcr_request(request))
    return None if kept is None else request_of(kept)


def origin_of(requests: Iterable[Request | None], known: Mapping[str, Any]) -> Origin:
    """Return the origin of a recording from today: from its requests, and the ``known`` fields."""
    sent = [request for request in requests if request is not None]
    models = [
        detect_provider(request.method, request.url, request.body, b"").model for request in sent
    ]
    clients = (request.header("user-agent") for request in sent)
    origin = Origin(
        "loopback" if is_loopback(request.url for request in sent) else "recorded",
        date=date.today().isoformat(),
        client=next(filter(None, clients), None),
        model=", ".join(dict.fromkeys(filter(None, models))) or None,
    )
    return replace(origin, **known)


def is_loopback(urls: Iterable[str]) -> bool:
    """Return whether there are URLs and all of them are on this machine."""
    hosts = {urlsplit(url).hostname for url in urls}
    return bool(hosts) and hosts <= LOOPBACK
