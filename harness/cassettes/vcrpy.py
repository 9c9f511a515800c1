"""Converts exchanges to and from vcrpy's interactions, and cassettes to YAML for stock vcrpy."""

from __future__ import annotations

import json
from typing import Any, Final

import yaml

from harness.stream.exchange import Cassette, CassetteError, Exchange, Request

NO_REQUEST: Final = "harness:no-request"
"""The URL in vcrpy for an exchange without a request."""


def interaction_of(exchange: Exchange) -> dict[str, Any]:
    """Return an exchange as an interaction of vcrpy; its bodies are bytes.

    ``reads`` (milliseconds and bytes of each read) and ``end`` are keys that vcrpy keeps but does
    not use.
    """
    response = {
        **_response_dict(exchange),
        "reads": [[at, len(data)] for at, data in exchange.reads],
        "end": exchange.end,
    }
    return {"request": _request_dict(exchange), "response": response}


def export(cassette: Cassette) -> str:
    """Return plain YAML for stock vcrpy; the reads are joined, and the origin is in a comment.
    Raises `CassetteError` for an exchange without a request.
    """
    for number, exchange in enumerate(cassette.exchanges, 1):
        if exchange.request is None:
            raise CassetteError(
                f"exchange {number} has no request, and vcrpy finds a response by its request; add"
                " one by hand"
            )
    items = [
        {"request": _request_dict(exchange), "response": _response_dict(exchange)}
        for exchange in cassette.exchanges
    ]
    for item in items:
        item["request"]["body"] = _text(item["request"]["body"]) or None
        item["response"]["body"]["string"] = _text(item["response"]["body"]["string"])
    plain = {"interactions": items, "version": 1}
    made = f"{cassette.origin.kind} {cassette.origin.date or ''}".strip()
    return f"# Exported by gemini-conformance; origin: {made}\n" + yaml.dump(
        plain, Dumper=yaml.CSafeDumper, allow_unicode=True
    )


def _request_dict(exchange: Exchange) -> dict[str, Any]:
    request = exchange.request or Request("POST", NO_REQUEST)
    return {
        "method": request.method,
        "uri": request.url,
        "body": request.body,
        "headers": request.headers,
    }


def _response_dict(exchange: Exchange) -> dict[str, Any]:
    return {
        "status": {"code": exchange.status, "message": exchange.reason_phrase},
        "headers": exchange.headers,
        "body": {"string": exchange.body},
    }


def request_of(sent: Any) -> Request:
    """Return the request of vcrpy in our form."""
    return Request(
        sent.method.upper(), sent.uri, _headers(dict(sent.headers)), body_bytes(sent.body)
    )


def exchange_of(request: Request, response: dict[str, Any]) -> Exchange:
    """Return the exchange of a request and a response of vcrpy. A response that vcrpy itself
    recorded is one read, and its end is unknown. Raises `CassetteError` if the reads do not add up
    to the body.
    """
    body = body_bytes(response["body"]["string"])
    lengths = response.get("reads") or [[None, len(body)]]
    reads: list[tuple[float | None, bytes]] = []
    offset = 0
    for at, length in lengths:
        reads.append((at, body[offset : offset + length]))
        offset += length
    if offset != len(body):
        raise CassetteError(
            f"the reads add up to {offset} bytes, the body has {len(body)}; the body"
            " was changed after it was recorded"
        )
    return Exchange(
        None if request.url == NO_REQUEST else request,
        response["status"]["code"],
        _headers(response["headers"]),
        tuple(read for read in reads if read[1]),
        response.get("end", "unknown"),
        response["status"].get("message") or "",
    )


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


def body_bytes(body: Any) -> bytes:
    """Return the bytes of a body in vcrpy. The body may be a file, an iterator, or the values that
    aiohttp writes as JSON.
    """
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return body.encode()
        case dict() | list():
            return json.dumps(body).encode()
    if hasattr(body, "read"):
        return body_bytes(body.read())
    return b"".join(map(body_bytes, body))
