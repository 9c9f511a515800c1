"""Scanning: the last look at the bytes of a file before it is written, or long after, for secrets
that no file may hold.

Known secrets (`needles`) and the shapes of Google's credentials (`shapes`) are searched for in the
text of a file, in every spelling of it (`spellings`), and in what it holds: every part of every
exchange, joined from its reads and unpacked. Doubt refuses the file: what can't be looked into is
told like a secret. A finding says where and what; it never holds the secret.

Who writes a file calls `Scanner.refuse` with the finished text; ``refuse_secrets`` is that of a
scanner which knows shapes only. `harness.cassettes.redaction.secrets` makes the scanner that knows
this machine's secrets.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from harness.stream.decompression import CODINGS, FIRST_BYTES, unpack

from .. import Cassette, CassetteError, Exchange, is_cassette, loads
from .encodings import spellings
from .known_values import Needles
from .patterns import search_shapes
from .redactor import REDACTED, Redactor

__all__ = ["Finding", "Scanner", "SecretFound", "refuse_secrets"]

MAX_TOLD: Final = 5
_WAY_OUT: Final = (
    "no file may hold one: take it out where it comes from, "
    "or name it in `redact` of [tool.harness] in pyproject.toml, whose rules take it out"
)
SECRET_HEADERS: Final = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "x-goog-api-key",
        "x-goog-iam-authorization-token",
        "api-key",
    }
)


class SecretFound(CassetteError):
    """A text that shows a secret, or what can't be looked into, and so may not be written."""


class Finding(NamedTuple):
    """``place``: a line, or the exchange and its part, and the read. ``what``: ``the value of
    GEMINI_API_KEY``, ``a Google API key``.
    """

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place} shows {self.what}"


class Scanner:
    """Looks for ``secrets`` (what each is called → its value; values under 8 characters are left
    out) and for shapes.

    ``redactor``: the one that files are redacted with, so that what it would have taken out is
    found where it could not reach.
    """

    def __init__(
        self, secrets: Mapping[str, str] | None = None, redactor: Redactor | None = None
    ) -> None:
        self._needles = Needles(
            {name: value for name, value in (secrets or {}).items() if value != REDACTED}
        )
        self._redactor = redactor or Redactor()

    def refuse(self, text: str, name: str, cassette: Cassette | None = None) -> str:
        """``text`` itself, if neither it nor what it holds shows a secret; else raises
        `SecretFound`, which says where.

        ``name`` is the file's, and is looked at as well. ``cassette``: what the text holds, if it
        is no cassette of ours.
        """
        data = text.encode("utf-8", "surrogatepass")
        if cassette is None and is_cassette(data):
            cassette = loads(data, name)
        found = self.scan(data, name) + (
            self.scan_cassette(cassette, redacted=True) if cassette is not None else []
        )
        if found:
            told = "; ".join(map(str, found[:MAX_TOLD])) + (
                f"; and {len(found) - MAX_TOLD} more" if len(found) > MAX_TOLD else ""
            )
            shown = "the file" if any(one.place == "the file's name" for one in found) else name
            raise SecretFound(f"{shown}: {told}; {_WAY_OUT}")
        return text

    def scan(self, data: bytes, name: str = "") -> list[Finding]:
        """What the bytes of a file show, by line, and what its name shows; each secret where it
        stands first.
        """
        found = {what: "the file's name" for _, what in self._search(_bytes(name))}
        for offset, what in self._search(data):
            found.setdefault(what, f"line {data.count(10, 0, offset) + 1}")
        return [Finding(place, what) for what, place in found.items()]

    def scan_cassette(self, cassette: Cassette, *, redacted: bool = False) -> list[Finding]:
        """What the exchanges show, by part; each secret once in each part.

        What redaction would take out is told as well; of a cassette that was ``redacted`` only
        where that can't reach, in packed bodies.
        """
        found: list[Finding] = []
        if not redacted and self._redactor.origin(cassette.origin) != cassette.origin:
            found.append(Finding("metadata", "a value that must be redacted"))
        for number, exchange in enumerate(cassette.exchanges, 1):
            for part, reads, coding in _parts(exchange):
                found += self._scan_part(
                    reads, coding, f"exchange {number}, {part}", redacted=redacted
                )
            if not redacted:
                found += self._left_in(exchange, f"exchange {number}")
        return found

    def _scan_part(
        self, reads: Sequence[bytes], coding: str | None, place: str, *, redacted: bool
    ) -> list[Finding]:
        """The bytes as they came, told by the read; if they are packed, what they unpack to as
        well.
        """
        body = b"".join(reads)
        ends = list(accumulate(map(len, reads)))
        found: dict[str, str] = {}
        for offset, what in self._search(body):
            read = (
                f", read {min(bisect_right(ends, offset) + 1, len(ends))}" if len(ends) > 1 else ""
            )
            found.setdefault(what, place + read)
        plain = _unpacked(body, coding)
        if plain is None:
            found["content that can't be looked into"] = place
        elif plain is not body:
            for _, what in self._search(plain):
                found.setdefault(what, f"{place}, unpacked")
        if (
            plain is not None
            and (plain is not body or not redacted)
            and self._redactor.body(plain) != plain
        ):
            found["a value that must be redacted"] = place
        if found and any(self._search(_bytes(place))):  # a header may be called by a secret
            return [Finding(place.rpartition(" ")[0], what) for what in found]
        return [Finding(where, what) for what, where in found.items()]

    def _left_in(self, exchange: Exchange, place: str) -> Iterator[Finding]:
        """What redaction would take out of URL and headers, where that is known to be a secret."""
        request = exchange.request
        if request is not None and self._redactor.url(request.url) != request.url:
            yield Finding(f"{place}, URL", "a parameter that must be redacted")
        for kind, headers in (
            ("request", request.headers if request else {}),
            ("response", exchange.headers),
        ):
            for name, values in headers.items():
                if name.lower() in SECRET_HEADERS and any(
                    value not in ("", REDACTED) for value in values
                ):
                    yield Finding(f"{place}, {kind} header {name}", "a value that must be redacted")

    def _search(self, data: bytes) -> Iterator[tuple[int, str]]:
        for text, back in spellings(data):
            for offset, what in (*self._needles.search(text), *search_shapes(text)):
                yield back(offset), what


_SHAPES_ONLY: Final = Scanner()


def refuse_secrets(text: str, name: str) -> str:
    """`Scanner.refuse` of one that knows no secret, only what they look like."""
    return _SHAPES_ONLY.refuse(text, name)


def _parts(exchange: Exchange) -> Iterator[tuple[str, Sequence[bytes], str | None]]:
    """What an exchange consists of: how it is called, its bytes by reads, and their content
    coding.
    """
    request = exchange.request
    if request is not None:
        yield "method", [_bytes(request.method)], None
        yield "URL", [_bytes(request.url)], None
        yield from _header_parts("request", request.headers)
        coding = next(
            (
                values[0]
                for name, values in request.headers.items()
                if name.lower() == "content-encoding" and values
            ),
            None,
        )
        yield "request body", [request.body], coding
    yield "reason phrase", [_bytes(exchange.reason_phrase)], None
    yield from _header_parts("response", exchange.headers)
    yield "response body", [data for _, data in exchange.reads], exchange.header("content-encoding")


def _header_parts(
    kind: str, headers: dict[str, list[str]]
) -> Iterator[tuple[str, Sequence[bytes], None]]:
    for name, values in headers.items():
        yield f"{kind} header {name}", [_bytes(f"{name}: {value}\n") for value in values], None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _unpacked(body: bytes, coding: str | None) -> bytes | None:
    """A body without its content coding, the same object if it has none; as far as it goes if it is
    cut; None if it can't be undone.

    Some recorders keep the header and store the body unpacked; so what is text is taken as it is.
    """
    coding = (coding or "").strip().lower() or ("gzip" if body[:2] == b"\x1f\x8b" else "identity")
    if coding == "identity" or not body:
        return body
    try:
        body.decode()
    except UnicodeDecodeError:
        pass
    else:
        return body
    try:
        return unpack(body, coding) if coding in CODINGS and body[0] in FIRST_BYTES else None
    except zlib.error:
        return None
