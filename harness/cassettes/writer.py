"""Writes the text of a cassette, line by line, then reads it back and compares.

Exchanges are read back in groups. A long body that is one read is written in windows, each of
which is read back at once; its exchange is then read back with only the last window. The reason:
a text of 100 MB and what was read from it take several times that much memory.
"""

from __future__ import annotations

import base64
import json
import operator
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import chain
from typing import Final

from harness.stream.exchange import Cassette, CassetteError, Exchange

from .body_block import WINDOW, body_to_text, escape_unprintable, plain_line_end, windows
from .reader import FORMAT, ORIGIN_FIELDS, loads
from .yaml.plain import resolve

_PLAIN: Final = re.compile(
    r"[A-Za-z0-9/_][A-Za-z0-9/_.+@=?&%~;()*:-]*(?: [A-Za-z0-9/_.+@=?&%~;()*-]+)*"
)
_PREVIEW: Final = 400
_INDENT: Final = b"        "
_LINE: Final = re.compile(rb"\n(?=[^\n])")
_END_OF_BLOCK: Final = re.compile(rb"\n(?! {8}|\n|\Z)")
_TOGETHER: Final = 1 << 22
"""Bytes of bodies after which a group of exchanges ends."""
_OTHER: Final = "this cassette can't be written: its text reads as another cassette"


def dumps(cassette: Cassette) -> str:
    """The text of a cassette. Raises `CassetteError` if reading the text gives another cassette."""
    return encode(cassette).decode()


def encode(cassette: Cassette) -> bytes:
    """The text of a cassette in UTF-8; raises as `dumps`."""
    rounded = _rounded(cassette)
    written = BytesIO()
    _write(written, _head_lines(rounded))
    head = written.getvalue()
    for group in _groups(rounded.exchanges):
        start = written.tell()
        _write(written, chain.from_iterable(map(_exchange_lines, group)))
        short = [_shortened(exchange) for exchange in group]
        back = BytesIO(head)
        back.seek(len(head))
        if all(map(operator.is_, short, group)):
            back.write(written.getbuffer()[start:])
        else:
            _write(back, chain.from_iterable(map(_exchange_lines, short)))
        _check(back.getvalue(), replace(rounded, exchanges=tuple(short)))
    return written.getvalue()


def _check(text: bytes, cassette: Cassette) -> None:
    """Raises `CassetteError` if a text does not read as this cassette."""
    try:
        back = loads(text)
    except CassetteError as error:
        raise CassetteError(f"this cassette can't be written: {error}") from None
    bare = [replace(exchange, provider=None, generates=False) for exchange in cassette.exchanges]
    if back != replace(cassette, exchanges=tuple(bare)):
        raise CassetteError(_OTHER)


def _write(file: BytesIO, lines: Iterable[str | bytes]) -> None:
    try:
        for line in lines:
            file.write(f"{line}\n".encode() if isinstance(line, str) else line)
    except UnicodeEncodeError as error:
        raise CassetteError(
            f"this cassette can't be written: {error.object[error.start]!a} is half of a"
            " surrogate pair, not a character"
        ) from None


def _groups(exchanges: Sequence[Exchange]) -> Iterator[list[Exchange]]:
    """Exchanges that are read back together: at least one group, which may be empty."""
    group: list[Exchange] = []
    size = 0
    for exchange in exchanges:
        group.append(exchange)
        size += sum(len(data) for _, data in exchange.reads)
        size += len(exchange.request.body) if exchange.request else 0
        if size > _TOGETHER:
            yield group
            group, size = [], 0
    if group or not exchanges:
        yield group


def _shortened(exchange: Exchange) -> Exchange:
    """The exchange with the end of its long bodies, as far as they are read back in windows."""
    request = exchange.request
    if request is not None and _is_read_in_windows(request.body):
        exchange = replace(exchange, request=replace(request, body=_end(request.body)))
    if len(exchange.reads) == 1 and _is_read_in_windows(exchange.reads[0][1]):
        ((at, body),) = exchange.reads
        exchange = replace(exchange, reads=((at, _end(body)),))
    return exchange


def _is_read_in_windows(body: bytes) -> bool:
    return len(body) > 2 * WINDOW and plain_line_end(body) is not None


def _end(body: bytes) -> bytes:
    """The last window, with a line end of the body."""
    last = deque(windows(body), maxlen=1).pop()
    return b"\r\n" + last if b"\r\n" in body else last


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


def _head_lines(cassette: Cassette) -> Iterator[str]:
    """The lines before the exchanges, without their ends."""
    yield "version: 1"
    yield "metadata:"
    yield f"  harness: {FORMAT}"
    yield f"  origin: {cassette.origin.kind}"
    for name in ORIGIN_FIELDS:
        value = getattr(cassette.origin, name)
        if value is not None:
            yield f"  {name}: {_scalar(value)}"
    yield "interactions:" if cassette.exchanges else "interactions: []"


def _exchange_lines(exchange: Exchange) -> Iterator[str | bytes]:
    """Lines without their ends, and the bytes of many lines."""
    request = exchange.request
    if request is None:
        yield "- request: null"
    else:
        yield "- request:"
        yield f"    method: {_scalar(request.method)}"
        yield f"    uri: {_scalar(request.url)}"
        yield from _header_lines(request.headers)
        yield from _write_body(request.body)
    yield "  response:"
    phrase = f", message: {_quoted(exchange.reason_phrase)}" if exchange.reason_phrase else ""
    yield f"    status: {{code: {exchange.status}{phrase}}}"
    yield from _header_lines(exchange.headers)
    yield from _write_body(exchange.body)
    if exchange.reads and (len(exchange.reads) > 1 or exchange.reads[0][0] is not None):
        yield "    reads: |"
        for at, data in exchange.reads:
            yield (
                f"      {'-' if at is None else format(at, '.3f').rstrip('0').rstrip('.')}"
                f" {len(data)}"
            )
    yield f"    end: {exchange.end}"


def _header_lines(headers: dict[str, list[str]]) -> Iterator[str]:
    if headers:
        yield "    headers:"
    for name, values in headers.items():
        if len(values) == 1:
            yield f"      {_scalar(name)}: {_scalar(values[0])}"
        else:
            yield f"      {_scalar(name)}: [{', '.join(map(_quoted, values))}]"


def _write_body(body: bytes) -> Iterator[str | bytes]:
    if not body:
        return
    yield "    body:"
    if eol := plain_line_end(body):
        if eol != "lf":
            yield f"      eol: {eol}"
        yield _block_header(body)
        yield from _write_plain(body, eol)
        return
    try:
        text = body_to_text(body)
    except UnicodeDecodeError:
        yield from _write_base64(body)
        return
    if text.eol != "lf":
        yield f"      eol: {text.eol}"
    if text.escaped:
        yield f"      escaped: {text.escaped}"
    yield _block_header(text.string.encode())
    for line in text.string.removesuffix("\n").split("\n"):
        yield f"        {line}" if line else ""


def _block_header(text: bytes) -> str:
    mark = "+" if text.endswith(b"\n") else "-"
    return f"      string: |2{mark}"


def _write_plain(body: bytes, eol: str) -> Iterator[bytes]:
    """The lines of a body, in windows that are read back at once."""
    before = b"\n"
    for part in windows(body):
        lines = before + (part.replace(b"\r\n", b"\n") if eol == "crlf" else part)
        written = _LINE.sub(b"\n" + _INDENT, lines)
        back = written.replace(b"\n" + _INDENT, b"\n")[len(before) :]
        back = back.replace(b"\n", b"\r\n") if eol == "crlf" else back
        if back != part or _END_OF_BLOCK.search(written):
            raise CassetteError(_OTHER)
        yield written[len(before) :]
        before = b""
    if not body.endswith(b"\n"):
        yield b"\n"


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
