"""Writes the text of a cassette, piece by piece. Before that, the text is read back and compared.

Each exchange is read back separately. A long body that is one read is written in windows. Each
window is read back immediately, and its exchange is then read back with only the last window. The
reason is memory: a text of 100 MB and the values from it would need several times as much.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from harness.stream.exchange import Cassette, CassetteError, Exchange

from . import body_block
from .body_block import BodyTextError, Layout, escape_unprintable
from .reader import FORMAT, ORIGIN_FIELDS, loads
from .yaml.plain import resolve

_PLAIN: Final = re.compile(
    r"[A-Za-z0-9/_][A-Za-z0-9/_.+@=?&%~;()*:-]*(?: [A-Za-z0-9/_.+@=?&%~;()*-]+)*"
)
_PREVIEW: Final = 400
_INDENT: Final = b"        "
_LINE: Final = re.compile(rb"\n(?=[^\n])")
_LINE_ENDS: Final = (b"\n", b"\r")
_MAX_ESCAPED: Final = 100_000
"""The maximum number of escaped lines in a block; a body with more is not readable."""
_BASE64_BYTES: Final = 90
"""The number of encoded bytes in a line of base64."""
_END_OF_BLOCK: Final = re.compile(rb"\n(?! {8}|\n|\Z)")
_OTHER: Final = "this cassette can't be written: reading its text gives another cassette"


def dumps(cassette: Cassette) -> str:
    """Return the text of a cassette. Raises `CassetteError` if reading the text gives another
    cassette.
    """
    return b"".join(CassetteText(cassette).pieces()).decode()


class CassetteText:
    """The text of a cassette in UTF-8. The constructor reads the text back and raises
    `CassetteError` if this gives another cassette. Long bodies are in memory only once.
    """

    def __init__(self, cassette: Cassette) -> None:
        rounded = _rounded(cassette)
        head = b"".join(_encoded(_head_lines(rounded)))
        outside = [head]
        self._parts: list[bytes | Exchange] = [head]
        """Texts, and exchanges with long bodies, which become text on request."""
        if not rounded.exchanges:
            _check(head, rounded)
        for exchange in rounded.exchanges:
            short = _shortened(exchange)
            lines = list(_exchange_lines(short))
            text = b"".join(_encoded(lines))
            _check(head + text, replace(rounded, exchanges=(short,)))
            self._parts.append(text if short is exchange else exchange)
            outside += _encoded(line for line in lines if isinstance(line, str))
        self.outside: Final = b"".join(outside)
        """The lines that belong to no body. In it, line numbers and the sizes of long bodies are
        wrong.
        """

    def pieces(self) -> Iterator[bytes]:
        """Yield the text, in pieces that do not end inside a character."""
        for part in self._parts:
            if isinstance(part, bytes):
                yield part
            else:
                yield from _encoded(_exchange_lines(part))


def _shortened(exchange: Exchange) -> Exchange:
    """Return the exchange with only the end of each long body that is read back in windows."""
    request = exchange.request
    if request is not None and (body := _checked_end(request.body)):
        exchange = replace(exchange, request=replace(request, body=body))
    if len(exchange.reads) == 1:
        ((at, read),) = exchange.reads
        if body := _checked_end(read):
            exchange = replace(exchange, reads=((at, body),))
    return exchange


def _checked_end(body: bytes) -> bytes | None:
    """Return, for a long body that was read back in windows, the last window with a line end of the
    body; None for any other body.
    """
    layout = _layout(body) if len(body) > 2 * body_block.WINDOW else None
    if layout is None:
        return None
    _check_block(body, layout)
    return (b"\r\n" if b"\r\n" in body else b"\n") + body_block.last_window(body)


def _check(text: bytes, cassette: Cassette) -> None:
    """Raise `CassetteError` if reading the text does not give this cassette."""
    try:
        back = loads(text)
    except CassetteError as error:
        raise CassetteError(f"this cassette can't be written: {error}") from None
    if back != cassette:
        raise CassetteError(_OTHER)


def _encoded(lines: Iterable[str | bytes]) -> Iterator[bytes]:
    try:
        for line in lines:
            yield line if isinstance(line, bytes) else f"{line}\n".encode()
    except UnicodeEncodeError as error:
        raise CassetteError(
            f"this cassette can't be written: {error.object[error.start]!a} is half of a"
            " surrogate pair, not a character"
        ) from None


def _rounded(cassette: Cassette) -> Cassette:
    """Return the cassette in the form of its text: with times in whole microseconds, without empty
    reads, and without detected values.
    """
    exchanges = tuple(
        replace(
            exchange,
            reads=tuple(
                (None if at is None else round(float(at), 3), data)
                for at, data in exchange.reads
                if data
            ),
            provider=None,
            generates=False,
        )
        for exchange in cassette.exchanges
    )
    return replace(cassette, exchanges=exchanges)


def _head_lines(cassette: Cassette) -> Iterator[str]:
    """Yield the lines before the exchanges, without their ends."""
    yield "version: 1"
    yield "metadata:"
    yield f"  harness: {FORMAT}"
    yield f"  origin: {cassette.origin.kind}"
    for name in ORIGIN_FIELDS:
        value = getattr(cassette.origin, name)
        if value is not None:
            yield f"  {name}: {_scalar(value)}"
    for name, texts in ("redacted", cassette.origin.redacted), ("allowed", cassette.origin.allowed):
        if texts:
            yield f"  {name}: [{', '.join(map(_quoted, texts))}]"
    yield "interactions:" if cassette.exchanges else "interactions: []"


def _exchange_lines(exchange: Exchange) -> Iterator[str | bytes]:
    """Yield the lines without their ends; the lines of bodies are bytes."""
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
    layout = _layout(body)
    if layout is None:
        yield from _write_base64(body)
        return
    if layout.eol != "lf":
        yield f"      eol: {layout.eol}"
    if layout.escaped:
        yield f"      escaped: {layout.escaped}"
    yield f"      string: |2{'+' if body.endswith(_LINE_ENDS) else '-'}"
    yield from _write_block(body, layout)


def _layout(body: bytes) -> Layout | None:
    """Return the layout of the text of a body; None for a body that is written in base64."""
    try:
        layout = body_block.layout(body)
    except UnicodeDecodeError:
        return None
    return layout if len(layout.escaped) <= _MAX_ESCAPED else None


def _write_block(body: bytes, layout: Layout) -> Iterator[bytes]:
    """Yield the lines of a body, in windows."""
    yield from (lines for lines, _ in _indented(body, layout))
    if not body.endswith(_LINE_ENDS):
        yield b"\n"


def _indented(body: bytes, layout: Layout) -> Iterator[tuple[bytes, bool]]:
    """Yield the windows of a body in their written form, each with a flag: whether it is
    escaped.
    """
    before = b"\n"
    for text, is_escaped in body_block.texts(body, layout):
        yield _indent(before + text)[len(before) :], is_escaped
        before = b""


def _indent(text: bytes) -> bytes:
    """Return the text with an indent after each line feed that has another character after it."""
    if b"\n\n" in text or text.endswith(b"\n"):
        return _LINE.sub(b"\n" + _INDENT, text)
    return text.replace(b"\n", b"\n" + _INDENT)  # five times as fast


def _check_block(body: bytes, layout: Layout) -> None:
    """Raise `CassetteError` unless reading the windows of a body gives this body."""
    count = body_block.count_ends(body, 0, len(body))
    place = 0
    try:
        for part in body_block.with_ends(_read_back(body, layout), layout.eol, count):
            if not body.startswith(part, place):
                raise CassetteError(_OTHER)
            place += len(part)
    except BodyTextError as error:
        raise CassetteError(f"this cassette can't be written: {error}") from None
    if place != len(body):
        raise CassetteError(_OTHER)


def _read_back(body: bytes, layout: Layout) -> Iterator[bytes]:
    """Yield the texts of the windows of a body, read from their written form."""
    before = b"\n"
    for lines, is_escaped in _indented(body, layout):
        if _END_OF_BLOCK.search(before + lines):
            raise CassetteError(_OTHER)
        text = (before + lines).replace(b"\n" + _INDENT, b"\n")[len(before) :]
        yield body_block.unescape(text) if is_escaped else text
        before = b""


def _write_base64(body: bytes) -> Iterator[str | bytes]:
    caption, preview = _preview(body)
    yield f"      # {caption}:"
    for line in preview.splitlines()[:12]:
        yield f"      #   {escape_unprintable(line)}"
    yield "      base64: |"
    for start in range(0, len(body), _BASE64_BYTES):
        yield b"%b%b\n" % (_INDENT, base64.b64encode(body[start : start + _BASE64_BYTES]))


def _preview(body: bytes) -> tuple[str, str]:
    """Return the caption of the comment above a base64 body, and the beginning of the body as
    text.
    """
    if body[:2] == b"\x1f\x8b":
        try:
            plain = zlib.decompressobj(wbits=31).decompress(body, 64 * 1024)
            return "gzip, decoded", plain[:_PREVIEW].decode("utf-8", "backslashreplace")
        except zlib.error:
            pass
    return "not UTF-8, shown with escapes", body[:_PREVIEW].decode("utf-8", "backslashreplace")


def _scalar(value: str) -> str:
    """Return a string as YAML: plain if this is safe, else quoted."""
    ends_key = value.endswith(":") or ": " in value
    if _PLAIN.fullmatch(value) and not ends_key and isinstance(resolve(value), str):
        return value
    return _quoted(value)


def _quoted(value: str) -> str:
    """Return a double-quoted YAML scalar: JSON's quoting, with escapes for the characters that YAML
    can't contain.
    """
    return escape_unprintable(json.dumps(value, ensure_ascii=False))
