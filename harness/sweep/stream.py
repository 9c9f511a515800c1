"""A captured stream as a row of a table: the columns of the input, and the exchange of a row."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Final, get_args

from harness.providers import PROVIDERS, with_provider
from harness.stream.events import End
from harness.stream.exchange import Exchange, Request
from harness.stream.json_codec import decode_json
from harness.stream.printable import shorten


class SweepError(ValueError):
    """An input, output or engine of a sweep can't be used. The message has the reason."""


class RowError(ValueError):
    """A row is not an exchange. The message has the reason, and ``group`` the reason without its
    values.
    """

    def __init__(self, message: str, group: str = "") -> None:
        super().__init__(message)
        self.group = group or message

    @classmethod
    def of(cls, name: str, value: object, expected: str) -> RowError:
        """Return the error of a column with this value."""
        return cls(
            f"{name} is {_shown(value)}; expected {expected}", f"{name}; expected {expected}"
        )


@dataclass(frozen=True, slots=True)
class CapturedStream:
    """One captured stream."""

    id: str
    source: str
    """The place from which `harness replay` can read the stream."""
    exchange: Exchange | None
    fault: str = ""
    """The reason why there is no exchange, or ""."""
    skipped: bool = False
    """Whether the reason is not an error."""
    group: str = ""
    """The fault without its values."""


COLUMNS: Final = {
    "id": "The name of the stream, a string; required.",
    "body": "The bytes of the answer as they were received, or text as UTF-8; required.",
    "body_base64": "The bytes in base64, instead of ``body``, for JSON lines.",
    "provider": f"One of {', '.join(PROVIDERS)}. Without it, the provider is detected from the"
    " request or the body.",
    "status": "The HTTP status; 200 without it.",
    "headers": "The response headers: an object, a map, or JSON text of an object.",
    "reads": "The network reads: a list of sizes in bytes, or of objects with ``bytes`` and"
    " ``at_ms``. Without it, the body is one read.",
    "end": f"The end of the answer: {', '.join(get_args(End))}. ``unknown`` without it.",
    "request": "The request: an object with ``url``, ``method``, ``headers`` and ``body``, or JSON"
    " text of that object.",
}
"""The columns of an input row. Other columns are not read."""


def stream_of_row(row: Mapping[str, Any], source: str) -> CapturedStream:
    """Return the stream of a row; for a faulty row, a stream without an exchange."""
    name = row.get("id")
    known = str(name) if isinstance(name, str | int) else source
    try:
        if name is None:
            raise RowError("the row has no id")
        if not isinstance(name, str | int):
            raise RowError.of("id", name, "a string")
        return CapturedStream(known, source, _exchange(row))
    except RowError as error:
        return CapturedStream(known, source, None, str(error), group=error.group)
    except Exception as error:  # noqa: BLE001  # one row must not end a sweep of millions
        kind = type(error).__name__
        fault = f"the row can't be read: {kind}: {shorten(str(error), 200)}"
        return CapturedStream(known, source, None, fault, group=f"the row can't be read: {kind}")


def _exchange(row: Mapping[str, Any]) -> Exchange:
    body = _body(row)
    status, end = row.get("status"), row.get("end")
    if status is not None and (isinstance(status, bool) or not isinstance(status, int)):
        raise RowError.of("status", status, "a whole number")
    ends = get_args(End)
    if end is not None and end not in ends:
        raise RowError.of("end", end, f"one of {', '.join(ends)}")
    exchange = Exchange(
        _request(row.get("request")),
        200 if status is None else status,
        _headers(row.get("headers")),
        _reads(row.get("reads"), body),
        end or "unknown",
    )
    provider = row.get("provider")
    if provider is None:
        return with_provider(exchange)
    if not isinstance(provider, str) or provider not in PROVIDERS:
        raise RowError.of("provider", provider, f"{', '.join(PROVIDERS)}")
    if exchange.request is None:  # without a request, the row is an answer of a model
        return replace(exchange, provider=provider, generates=True, streamed=True)
    return replace(with_provider(exchange), provider=provider)


def _body(row: Mapping[str, Any]) -> bytes:
    body, encoded = row.get("body"), row.get("body_base64")
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if isinstance(body, bytes):
        return body
    if body is not None:
        raise RowError.of("body", body, "bytes or text")
    if not isinstance(encoded, str):
        raise RowError("the row has no body")
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise RowError(f"body_base64 is not base64: {error}", "body_base64 is not base64") from None


def _reads(reads: Any, body: bytes) -> tuple[tuple[float | None, bytes], ...]:
    if reads is None:
        return ((None, body),) if body else ()
    if not isinstance(reads, list):
        raise RowError.of("reads", reads, "a list")
    times: list[float | None] = [None] * len(reads)
    sizes = reads
    if not {*map(type, reads)} <= {int} or min(reads, default=0) < 0:
        times = [read.get("at_ms") if isinstance(read, dict) else None for read in reads]
        sizes = [read.get("bytes") if isinstance(read, dict) else read for read in reads]
        for read, at, size in zip(reads, times, sizes, strict=True):
            if type(size) is not int or size < 0 or not isinstance(at, float | int | None):
                raise RowError.of("a read", read, "its size in bytes")
    if sum(sizes) != len(body):
        raise RowError(
            f"the reads have {sum(sizes)} bytes, the body has {len(body)}",
            "the reads and the body have different numbers of bytes",
        )
    places = pairwise(accumulate(sizes, initial=0))
    return tuple((at, body[a:b]) for at, (a, b) in zip(times, places, strict=True))


def _headers(headers: Any) -> dict[str, list[str]]:
    headers = _object("headers", headers)
    if not isinstance(headers, dict | list | tuple | None):
        raise RowError.of("headers", headers, "an object or a list")
    items: Iterable[Any] = headers.items() if isinstance(headers, dict) else headers or ()
    named: dict[str, list[str]] = {}
    for item in items:
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise RowError.of("a header", item, "a name and a value")
        name, value = item
        if value is not None:
            values = value if isinstance(value, list) else [value]
            named.setdefault(str(name), []).extend(map(str, values))
    return named


def _request(request: Any) -> Request | None:
    request = _object("request", request)
    if request is None:
        return None
    if not isinstance(request, dict) or not isinstance(request.get("url"), str):
        raise RowError.of("request", request, "an object with a url")
    body = request.get("body")
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if body is not None and not isinstance(body, bytes):
        raise RowError.of("the body of the request", body, "bytes or text")
    method, headers = request.get("method") or "POST", _headers(request.get("headers"))
    return Request(str(method), request["url"], headers, body or b"")


def _object(name: str, value: Any) -> Any:
    """Return the value; for a text, the JSON value in it."""
    if not isinstance(value, str | bytes):
        return value
    try:
        return decode_json(value.encode() if isinstance(value, str) else value)
    except ValueError as error:
        raise RowError(f"{name} is not JSON: {error}", f"{name} is not JSON") from None


def _shown(value: object) -> str:
    try:
        return shorten(repr(value), 80)
    except RecursionError:
        return "a deeply nested value"
