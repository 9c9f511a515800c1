"""Writes the text of a cassette, line by line, then reads it back and compares."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from typing import Final

from harness.stream.exchange import Cassette, CassetteError, Exchange

from .body_block import body_to_text, escape_unprintable
from .reader import FORMAT, ORIGIN_FIELDS, loads
from .yaml.plain import resolve

_PLAIN: Final = re.compile(
    r"[A-Za-z0-9/_][A-Za-z0-9/_.+@=?&%~;()*:-]*(?: [A-Za-z0-9/_.+@=?&%~;()*-]+)*"
)
_PREVIEW: Final = 400


def dumps(cassette: Cassette) -> str:
    """The text of a cassette. Raises `CassetteError` if reading the text gives another cassette."""
    rounded = _rounded(cassette)
    written = StringIO()
    for line in _write_file(rounded):
        written.write(line)
        written.write("\n")
    text = written.getvalue()
    del written
    try:
        back = loads(text)
    except CassetteError as error:
        raise CassetteError(f"this cassette can't be written: {error}") from None
    bare = tuple(
        replace(exchange, provider=None, generates=False) for exchange in rounded.exchanges
    )
    if back != replace(rounded, exchanges=bare):
        raise CassetteError("this cassette can't be written: its text reads as another cassette")
    return text


def _rounded(cassette: Cassette) -> Cassette:
    """The cassette with times in microseconds and without empty reads, which a text can't have."""
    exchanges = tuple(
        replace(
            exchange,
            reads=tuple(
                (None if at is None else round(float(at), 3), data)
                for at, data in exchange.reads
                if data
            ),
        )
        for exchange in cassette.exchanges
    )
    return replace(cassette, exchanges=exchanges)


def _write_file(cassette: Cassette) -> Iterator[str]:
    yield "version: 1"
    yield "metadata:"
    yield f"  harness: {FORMAT}"
    yield f"  origin: {cassette.origin.kind}"
    for name in ORIGIN_FIELDS:
        value = getattr(cassette.origin, name)
        if value is not None:
            yield f"  {name}: {_scalar(value)}"
    yield "interactions:" if cassette.exchanges else "interactions: []"
    for exchange in cassette.exchanges:
        yield from _write_exchange(exchange)


def _write_exchange(exchange: Exchange) -> Iterator[str]:
    request = exchange.request
    if request is None:
        yield "- request: null"
    else:
        yield "- request:"
        yield f"    method: {_scalar(request.method)}"
        yield f"    uri: {_scalar(request.url)}"
        yield from _write_headers(request.headers)
        yield from _write_body(request.body)
    yield "  response:"
    phrase = f", message: {_quoted(exchange.reason_phrase)}" if exchange.reason_phrase else ""
    yield f"    status: {{code: {exchange.status}{phrase}}}"
    yield from _write_headers(exchange.headers)
    yield from _write_body(exchange.body)
    if exchange.reads and (len(exchange.reads) > 1 or exchange.reads[0][0] is not None):
        yield "    reads: |"
        for at, data in exchange.reads:
            yield (
                f"      {'-' if at is None else format(at, '.3f').rstrip('0').rstrip('.')}"
                f" {len(data)}"
            )
    yield f"    end: {exchange.end}"


def _write_headers(headers: dict[str, list[str]]) -> Iterator[str]:
    if headers:
        yield "    headers:"
    for name, values in headers.items():
        if len(values) == 1:
            yield f"      {_scalar(name)}: {_scalar(values[0])}"
        else:
            yield f"      {_scalar(name)}: [{', '.join(map(_quoted, values))}]"


def _write_body(body: bytes) -> Iterator[str]:
    if not body:
        return
    yield "    body:"
    try:
        text = body_to_text(body)
    except UnicodeDecodeError:
        yield from _write_base64(body)
        return
    if text.eol != "lf":
        yield f"      eol: {text.eol}"
    if text.escaped:
        yield f"      escaped: {text.escaped}"
    ends = text.string.endswith("\n")
    yield f"      string: |2{'+' if ends else '-'}"
    for line in _lines(text.string.removesuffix("\n")):
        yield f"        {line}" if line else ""


def _lines(text: str) -> Iterator[str]:
    """The lines of a text one by one: all at once take twice its memory."""
    start = 0
    while (stop := text.find("\n", start)) >= 0:
        yield text[start:stop]
        start = stop + 1
    yield text[start:]


def _write_base64(body: bytes) -> Iterator[str]:
    caption, preview = _preview(body)
    yield f"      # {caption}:"
    for line in preview.splitlines()[:12]:
        yield f"      #   {escape_unprintable(line)}"
    yield "      base64: |"
    encoded = base64.b64encode(body).decode()
    for start in range(0, len(encoded), 120):
        yield f"        {encoded[start : start + 120]}"


def _preview(body: bytes) -> tuple[str, str]:
    """The caption of the comment above a base64 body, and the beginning of the body as text."""
    if body[:2] == b"\x1f\x8b":
        try:
            plain = zlib.decompressobj(wbits=31).decompress(body, 64 * 1024)
            return "gzip, decoded", plain[:_PREVIEW].decode("utf-8", "backslashreplace")
        except zlib.error:
            pass
    return "not UTF-8, shown with escapes", body[:_PREVIEW].decode("utf-8", "backslashreplace")


def _scalar(value: str) -> str:
    """A string as YAML: plain if that is safe, else quoted."""
    ends_key = value.endswith(":") or ": " in value
    if _PLAIN.fullmatch(value) and not ends_key and isinstance(resolve(value), str):
        return value
    return _quoted(value)


def _quoted(value: str) -> str:
    """A double-quoted YAML scalar: JSON's quoting, with escapes for what YAML can't hold."""
    return escape_unprintable(json.dumps(value, ensure_ascii=False))
