"""Builds exchanges and cassettes from what foreign recordings say: headers in any of their shapes,
bodies as bytes, dates as days.

A recording that keeps a decoded body under the header of the encoded one would be decoded twice, so
such a header goes; so do the lengths of bodies that are written anew. Everything else is kept as
recorded.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final
from urllib.parse import unquote

import msgspec

from harness.stream.events import End

from .. import Cassette, CassetteError, Exchange, Origin, Request
from .content import MAX_BYTES, as_shape, compact_json

EVENT_END: Final = b"\r\n\r\n"

_MODEL: Final = re.compile(r"/models/([^/:?#]+):")
_DEFAULT_PORT: Final = re.compile(r"^(https://[^/:]+):443(?=/|$)|^(http://[^/:]+):80(?=/|$)")
_ISO_DAY: Final = re.compile(r"\d{4}-(?:0\d|1[0-2])-[0-3]\d")
_MONTHS: Final = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)
_HTTP_DAY: Final = re.compile(rf"\b(\d{{1,2}})[ -]({'|'.join(_MONTHS)})[a-z]*[ -](\d{{4}})\b")
_MAGIC: Final = {"gzip": b"\x1f\x8b", "x-gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_OVERHEAD: Final = 1024  # what an exchange takes beside its bytes
_LOOK: Final = 4096  # how much of a body tells text from a compression that has no magic number

Headers = dict[str, list[str]]
StatusCode = Annotated[int, msgspec.Meta(ge=0, le=999)]


def build_request(method: str, url: str, headers: Any = None, body: Any = None) -> Request:
    """A request; ``body`` is bytes, text, None, or a JSON value that the recorder parsed."""
    return Request(
        _word(method).upper(),
        _DEFAULT_PORT.sub(r"\1\2", _word(url)),
        read_headers(headers),
        body_bytes(body),
    )


def build_exchange(
    request: Request | None,
    status: int,
    headers: Any,
    body: bytes | Sequence[bytes],
    *,
    reason: str = "",
    rebuilt: bool = False,
    end: End = "complete",
) -> Exchange:
    """An exchange; ``body`` is one read or several. ``rebuilt``: the bytes are ours, only their
    meaning was recorded.
    """
    reads = [body] if isinstance(body, bytes) else body
    kept = _true_headers(read_headers(headers), b"".join(reads), rebuilt)
    return Exchange(
        request, status, kept, tuple((None, data) for data in reads if data), end, _word(reason)
    )


def build_cassette(
    exchanges: Iterable[Exchange],
    *,
    date: str | None = None,
    model: str | None = None,
    client: str | None = None,
    note: str | None = None,
) -> Cassette:
    """A cassette of origin ``imported``; what the recording does not say about itself is taken from
    its requests and ``Date`` headers.

    Raises `CassetteError` as soon as the exchanges come to more than `MAX_BYTES`: aliases let a
    short file repeat a long body.
    """
    taken: list[Exchange] = []
    left = MAX_BYTES
    for exchange in exchanges:
        left -= _size(exchange)
        if left < 0:
            raise CassetteError(
                f"exchange {len(taken) + 1}: the recording comes to more than {MAX_BYTES} bytes"
            )
        taken.append(exchange)
    origin = Origin(
        "imported",
        date=_day(date)
        or next(filter(None, (_day(exchange.header("date")) for exchange in taken)), None),
        client=client or next(filter(None, map(_client, taken)), None),
        model=_word(model or ", ".join(dict.fromkeys(filter(None, map(_model, taken))))) or None,
        note=note,
    )
    return Cassette(tuple(taken), origin)


def read_headers(value: Any) -> Headers:
    """Headers as name → values, from a mapping, a list of ``{name, value}``, of pairs, or a flat
    list of names and values in turn.

    The first spelling of a name is kept; HTTP/2 pseudo headers and empty ones are not headers.
    """
    match value:
        case None:
            pairs: list[tuple[Any, Any]] = []
        case dict():
            pairs = list(value.items())
        case [dict(), *_]:
            pairs = [
                (item.get("name"), item.get("value")) for item in value if isinstance(item, dict)
            ]
        case [list(), *_]:
            pairs = [
                (item[0], item[1]) for item in value if isinstance(item, list) and len(item) > 1
            ]
        case list():
            pairs = list(zip(value[::2], value[1::2], strict=False))
        case _:
            raise CassetteError(
                "headers must be a mapping or a list, not"
                f" {compact_json(value)[:60].decode('utf-8', 'replace')}"
            )
    headers: Headers = {}
    spelled: dict[str, str] = {}
    for name, values in pairs:
        name = _word(name)
        if name and not name.startswith(":"):
            given = [
                _word(one)
                for one in (values if isinstance(values, list) else [values])
                if one is not None
            ]
            headers.setdefault(spelled.setdefault(name.lower(), name), []).extend(given)
    return {name: given for name, given in headers.items() if given}


def body_bytes(value: Any) -> bytes:
    """A body as recorded: bytes, text (a lone surrogate keeps its code), nothing, or a parsed
    value, which is written compactly.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return b"" if value is None else compact_json(value)


def decode_base64(text: Any, where: str) -> bytes:
    """The bytes of base64, line breaks allowed; raises `CassetteError` naming ``where``."""
    word = as_shape(text, str, where)
    try:
        return base64.b64decode(re.sub(r"\s+", "", word), validate=True)
    except ValueError as error:
        raise CassetteError(f"{where}: not base64: {error}") from None


def tagged_bytes(body: Any, where: str) -> bytes:
    """The bytes of a body that may stand as ``{"b64": …}``; errors as in `decode_base64`."""
    match body:
        case {"b64": text}:
            return decode_base64(text, where)
    return body_bytes(body)


def join_responses(responses: Sequence[Any], *, sse: bool) -> bytes:
    """Parsed responses as a body again: one SSE event each, or one JSON value, or a JSON array of
    several.
    """
    written = [compact_json(response) for response in responses]
    if sse:
        return b"".join(b"data: " + line + EVENT_END for line in written)
    return (
        written[0]
        if len(written) == 1
        else b"[" + b",\r\n".join(written) + b"]"
        if written
        else b""
    )


def _size(exchange: Exchange) -> int:
    size = sum(len(data) for _, data in exchange.reads) + _OVERHEAD
    for headers in (exchange.headers, exchange.request.headers if exchange.request else {}):
        size += sum(len(name) + sum(map(len, values)) for name, values in headers.items())
    return (
        size + len(exchange.request.body) + len(exchange.request.url) if exchange.request else size
    )


def _word(value: Any) -> str:
    """What should be text as text that can be encoded: recordings hold numbers, booleans, bytes and
    lone surrogates there too.
    """
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
        )
    if isinstance(value, dict | list):
        raise CassetteError(
            "headers: a word should stand where"
            f" {compact_json(value)[:60].decode('utf-8', 'replace')} stands"
        )
    return (
        value.decode("latin-1")
        if isinstance(value, bytes)
        else body_bytes(value).decode("utf-8", "replace")
    )


def _true_headers(headers: Headers, body: bytes, rebuilt: bool) -> Headers:
    """Headers without those that the body gives the lie to."""
    coding = next(
        (values[-1] for name, values in headers.items() if name.lower() == "content-encoding"), ""
    )
    decoded = bool(coding) and not _is_encoded(body, coding.rpartition(",")[2].strip().lower())
    false = {"content-encoding", "content-length"} if decoded or rebuilt else set()
    return {name: values for name, values in headers.items() if name.lower() not in false}


def _is_encoded(body: bytes, coding: str) -> bool:
    """Whether the body is in this coding: by its magic number, or, where there is none, by not
    being text.
    """
    if coding in _MAGIC:
        return body.startswith(_MAGIC[coding])
    if coding == "identity":
        return True
    head = body[:_LOOK]
    if _CONTROL.search(head):
        return True
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(head) - 3  # a character cut by the end of the look is no sign
    return False


def _day(text: str | None) -> str | None:
    """The day of an ISO or an HTTP date, ``YYYY-MM-DD``; None where there is none."""
    if iso := _ISO_DAY.search(text or ""):
        return iso.group()
    if http := _HTTP_DAY.search(text or ""):
        return f"{http[3]}-{_MONTHS.index(http[2]) + 1:02d}-{int(http[1]):02d}"
    return None


def _model(exchange: Exchange) -> str | None:
    found = _MODEL.search(exchange.request.url) if exchange.request else None
    return unquote(found[1]) if found else None


def _client(exchange: Exchange) -> str | None:
    headers = exchange.request.headers if exchange.request else {}
    return next(
        (values[0] for name, values in headers.items() if name.lower() == "user-agent"), None
    )
