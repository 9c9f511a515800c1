"""Builds exchanges and cassettes from the values in foreign recordings.

Headers have many shapes. Some recorders decode a body but keep its ``content-encoding``. That
header is dropped, because the body would otherwise be decoded twice. For a rebuilt body, the length
header is also dropped. Everything else is kept as recorded.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Final, Generic, TypeVar
from urllib.parse import unquote

import msgspec

from harness.stream.events import End
from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin, Request

from ..yaml import MAX_BYTES
from .content import Content, as_shape, compact_json, holds

_BASE64: Final = "base64:"
EVENT_END: Final = b"\r\n\r\n"

_MODEL: Final = re.compile(r"/models/([^/:?#]+):")
# RFC 9110, section 4.2.3: "If the port is equal to the default port for a scheme, the normal form
# is to omit the port subcomponent."
_DEFAULT_PORT: Final = re.compile(r"^(https://[^/:]+):443(?=/|$)|^(http://[^/:]+):80(?=/|$)")
_ISO_DAY: Final = re.compile(r"\d{4}-(?:0\d|1[0-2])-[0-3]\d")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun",
                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")  # fmt: skip
_HTTP_DAY: Final = re.compile(rf"\b(\d{{1,2}})[ -]({'|'.join(_MONTHS)})[a-z]*[ -](\d{{4}})\b")
_MAGIC: Final = {"gzip": b"\x1f\x8b", "x-gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_OVERHEAD: Final = 1024  # bytes of memory for an exchange, without its data
_WITHOUT_BODY: Final = (204, 304)  # RFC 9110, section 6.4.1: these have no content
_HEAD: Final = 4096  # the first bytes, which distinguish text from a coding without a magic number

Headers = dict[str, list[str]]
StatusCode = Annotated[int, msgspec.Meta(ge=0, le=999)]


class SentRequest(msgspec.Struct, kw_only=True):
    """The fields of a request in most recordings; a format adds its own fields."""

    method: str
    headers: Any = None
    body: Any = None


class Received(msgspec.Struct, kw_only=True):
    """The fields of a response in most recordings."""

    headers: Any = None
    body: Any = None


_Sent = TypeVar("_Sent", bound=SentRequest)
_Received = TypeVar("_Received", bound=Received)


class Interaction(msgspec.Struct, Generic[_Sent, _Received]):
    """A request and its response."""

    request: _Sent
    response: _Received


class Status(msgspec.Struct):
    """A status as ``{code, message}``."""

    code: StatusCode
    message: str | None = None


def build_request(method: str, url: str, headers: Any = None, body: Any = None) -> Request:
    """Return a request; ``body`` is bytes, text, None or a JSON value that the recorder has
    parsed.
    """
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
    """Return an exchange; ``body`` is one read or several reads. ``rebuilt``: the recording has
    only parsed values of the body.
    """
    reads = [body] if isinstance(body, bytes) else body
    kept = _true_headers(read_headers(headers), b"".join(reads), rebuilt)
    taken = tuple((None, data) for data in reads if data)
    if not taken and status not in _WITHOUT_BODY:
        end = "unknown"
    return Exchange(request, status, kept, taken, end, _word(reason))


def build_cassette(
    exchanges: Iterable[Exchange],
    *,
    date: str | None = None,
    model: str | None = None,
    client: str | None = None,
    note: str | None = None,
) -> Cassette:
    """Return a cassette of origin ``imported``. Date, model and client are taken from the exchanges
    if they are None.

    Raises `CassetteError` for exchanges of more than `MAX_BYTES` in total, because a short file
    with aliases can repeat a long body.
    """
    taken: list[Exchange] = []
    left = MAX_BYTES
    for exchange in exchanges:
        left -= _size(exchange)
        if left < 0:
            raise CassetteError(
                f"exchange {len(taken) + 1}: the recording has more than {MAX_BYTES} bytes"
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


def read_with(
    exchanges: Callable[[Content], Iterable[Exchange]], note: str
) -> Callable[[Content], Cassette]:
    """Return the ``read`` function of a format without metadata in its files; ``note`` describes
    the files.
    """
    return lambda content: build_cassette(exchanges(content), note=note)


def read_headers(value: Any) -> Headers:
    """Return the headers as name → values, from a mapping, a list of ``{name, value}``, a list of
    pairs, or a flat list with names and values alternating.

    The first spelling of a name is kept. HTTP/2 pseudo headers and empty names are dropped.
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
            raise CassetteError(f"headers must be a mapping or a list, not {_excerpt(value)}")
    headers: Headers = {}
    spelled: dict[str, str] = {}
    for name, values in pairs:
        name = _word(name)
        if name and not name.startswith(":"):
            texts = [_word(value) for value in _as_list(values) if value is not None]
            headers.setdefault(spelled.setdefault(name.lower(), name), []).extend(texts)
    return {name: texts for name, texts in headers.items() if texts}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def body_bytes(value: Any) -> bytes:
    """Return the bytes of a body that was recorded as bytes, text (also with lone surrogates),
    None, or a parsed value, which becomes compact JSON.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return b"" if value is None else compact_json(value)


def decode_base64(text: Any, where: str) -> bytes:
    """Return the decoded bytes of base64, which is a string or bytes and may have line breaks.
    Raises `CassetteError`; ``where`` is the place.
    """
    word = text if isinstance(text, bytes) else re.sub(r"\s+", "", as_shape(text, str, where))
    try:
        return base64.b64decode(
            word.translate(None, b" \t\n\r") if isinstance(word, bytes) else word, validate=True
        )
    except ValueError as error:
        raise CassetteError(f"{where}: not base64: {error}") from None


def stored_bytes(body: Any, where: str) -> bytes:
    """Return the bytes of a body that may be a mapping with ``string`` or ``base64_string``.
    Raises `CassetteError` for a mapping with other content, and as `decode_base64`.
    """
    match body:
        case {"base64_string": text}:
            return decode_base64(text, f"{where}: base64_string")
        case {"string": text}:
            return body_bytes(text)
        case dict():
            if unread := [f"`{name}`" for name, value in body.items() if holds({name: value})]:
                raise CassetteError(
                    f"{where}: a body with {', '.join(unread)}, which is not read; the known keys"
                    " are `string` and `base64_string`"
                )
            return b""
    return body_bytes(body)


def tagged_bytes(body: Any, where: str) -> bytes:
    """Return the bytes of a body that may be ``{"b64": …}`` or text with the prefix ``base64:``;
    raises as `decode_base64`.
    """
    match body:
        case {"b64": text}:
            return decode_base64(text, where)
        case str(text) if text.startswith(_BASE64):
            return decode_base64(text.removeprefix(_BASE64), where)
    return body_bytes(body)


def join_responses(responses: Sequence[Any], *, sse: bool) -> bytes:
    """Build a body from parsed responses: one SSE event for each, or one JSON value, or a JSON
    array of several.
    """
    written = [compact_json(response) for response in responses]
    if sse:
        return b"".join(b"data: " + line + EVENT_END for line in written)
    return b"[" + b",\r\n".join(written) + b"]" if len(written) > 1 else b"".join(written)


def _size(exchange: Exchange) -> int:
    size = sum(len(data) for _, data in exchange.reads) + _OVERHEAD
    for headers in (exchange.headers, exchange.request.headers if exchange.request else {}):
        size += sum(len(name) + sum(map(len, values)) for name, values in headers.items())
    return (
        size + len(exchange.request.body) + len(exchange.request.url) if exchange.request else size
    )


def _word(value: Any) -> str:
    """Return a value as text that can be encoded. Some recordings have numbers, booleans, bytes and
    lone surrogates in place of text.
    """
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
        )
    if isinstance(value, dict | list):
        raise CassetteError(f"a header must be text, not {_excerpt(value)}")
    return (
        value.decode("latin-1")
        if isinstance(value, bytes)
        else body_bytes(value).decode("utf-8", "replace")
    )


def _excerpt(value: Any) -> str:
    return compact_json(value)[:60].decode("utf-8", "replace")


def _true_headers(headers: Headers, body: bytes, rebuilt: bool) -> Headers:
    """Drop headers that contradict the body."""
    coding = next(
        (values[-1] for name, values in headers.items() if name.lower() == "content-encoding"), ""
    )
    decoded = bool(coding) and not _is_encoded(body, coding.rpartition(",")[2].strip().lower())
    false = {"content-encoding", "content-length"} if decoded or rebuilt else set()
    return {name: values for name, values in headers.items() if name.lower() not in false}


def _is_encoded(body: bytes, coding: str) -> bool:
    """Return whether a body has this coding: it has the magic number, or, for a coding without a
    magic number, the body is not text.
    """
    if coding in _MAGIC:
        return body.startswith(_MAGIC[coding])
    if coding == "identity":
        return True
    head = body[:_HEAD]
    if _CONTROL.search(head):
        return True
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(head) - 3  # these bytes may end inside a character
    return False


def _day(text: str | None) -> str | None:
    """Return the day of an ISO date or an HTTP date, as ``YYYY-MM-DD``; None if there is no day."""
    if iso := _ISO_DAY.search(text or ""):
        return iso.group()
    if http := _HTTP_DAY.search(text or ""):
        return f"{http[3]}-{_MONTHS.index(http[2]) + 1:02d}-{int(http[1]):02d}"
    return None


def _model(exchange: Exchange) -> str | None:
    match = _MODEL.search(exchange.request.url) if exchange.request else None
    return unquote(match[1]) if match else None


def _client(exchange: Exchange) -> str | None:
    return exchange.request.header("user-agent") if exchange.request else None
