"""The bridge to vcrpy: a cassette as the dict that vcrpy's serializers pass around, and as plain
YAML for stock vcrpy.

What vcrpy has no field for rides along in keys that it carries and does not read: ``reads`` and
``end`` of a response, the origin in the cassette's metadata. `export` leaves those out.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin, Request

from .reader import loads

NO_REQUEST: Final = "harness:no-request"
"""The URL that stands, inside vcrpy, for a recording that holds only an answer."""

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def deserialize(text: str) -> dict[str, Any]:
    """vcrpy's serializer interface: our text → its cassette dict. Raises `CassetteError` for a
    damaged text, never an empty cassette.

    The file's name is known to vcrpy's persister alone, which puts it before the message.
    """
    try:
        return to_vcr(loads(text, "line"))
    except CassetteError as error:
        raise CassetteError(
            re.sub(r"^line:(?=\d)", "line ", str(error).removeprefix("line: "))
        ) from None


def to_vcr(cassette: Cassette) -> dict[str, Any]:
    """The dict of vcrpy's serializers, with what it does not know riding along."""
    origin = {key: value for key, value in asdict(cassette.origin).items() if value is not None}
    return {
        "version": 1,
        "interactions": [
            {
                "request": _request_dict(exchange),
                "response": {
                    **_response_dict(exchange),
                    "reads": [[at, len(data)] for at, data in exchange.reads],
                    "end": exchange.end,
                },
            }
            for exchange in cassette.exchanges
        ],
        "metadata": {"harness": origin},
    }


def from_vcr(data: dict[str, Any]) -> Cassette:
    """The cassette in a dict of vcrpy's; one that vcrpy recorded itself is one read, end not known,
    origin told by its hosts.
    """
    exchanges = tuple(_exchange(item["request"], item["response"]) for item in data["interactions"])
    origin = (data.get("metadata") or {}).get("harness")
    return Cassette(exchanges, Origin(**origin) if origin else _told_origin(exchanges))


def export(cassette: Cassette) -> str:
    """Plain vcrpy YAML, for stock vcrpy: reads joined, origin in a comment. Raises `CassetteError`
    for an exchange without a request.
    """
    for number, exchange in enumerate(cassette.exchanges, 1):
        if exchange.request is None:
            raise CassetteError(
                f"exchange {number} has no request, by which vcrpy would find its answer; give it"
                " one by hand"
            )
    plain = {
        "interactions": [
            {"request": _request_dict(exchange), "response": _response_dict(exchange)}
            for exchange in cassette.exchanges
        ],
        "version": 1,
    }
    made = f"{cassette.origin.kind} {cassette.origin.date or ''}".strip()
    return f"# Exported by gemini-conformance; origin: {made}\n" + yaml.dump(
        plain, Dumper=yaml.CSafeDumper, allow_unicode=True
    )


def _request_dict(exchange: Exchange) -> dict[str, Any]:
    request = exchange.request or Request("POST", NO_REQUEST)
    return {
        "method": request.method,
        "uri": request.url,
        "body": _text(request.body) or None,
        "headers": request.headers,
    }


def _response_dict(exchange: Exchange) -> dict[str, Any]:
    return {
        "status": {"code": exchange.status, "message": exchange.reason_phrase},
        "headers": exchange.headers,
        "body": {"string": _text(exchange.body)},
    }


def _exchange(sent: dict[str, Any], got: dict[str, Any]) -> Exchange:
    request = Request(sent["method"], sent["uri"], _headers(sent["headers"]), _bytes(sent["body"]))
    body = _bytes(got["body"]["string"])
    lengths = got.get("reads") or [[None, len(body)]]
    reads: list[tuple[float | None, bytes]] = []
    offset = 0
    for at, length in lengths:
        reads.append((at, body[offset : offset + length]))
        offset += length
    if offset != len(body):
        raise CassetteError(
            f"the reads add up to {offset} bytes, the body has {len(body)}; something changed the"
            " body after it was recorded"
        )
    return Exchange(
        None if request.url == NO_REQUEST else request,
        got["status"]["code"],
        _headers(got["headers"]),
        tuple(read for read in reads if read[1]),
        got.get("end", "unknown"),
        got["status"].get("message") or "",
    )


def _told_origin(exchanges: tuple[Exchange, ...]) -> Origin:
    hosts = {urlsplit(exchange.request.url).hostname for exchange in exchanges if exchange.request}
    return Origin("loopback" if hosts and hosts <= _LOOPBACK else "recorded")


def _headers(headers: dict[str, Any]) -> dict[str, list[str]]:
    return {
        str(name): [values] if isinstance(values, str) else [str(value) for value in values]
        for name, values in headers.items()
    }


def _text(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _bytes(body: str | bytes | None) -> bytes:
    return body.encode() if isinstance(body, str) else body or b""
