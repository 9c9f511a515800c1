"""Keeps secrets out of files: redacts a cassette, and searches the bytes of every file before it is
written, or later.

Every reading of a text is asked for known values, for the shapes of credentials and for named
values; so is each part of each exchange of a cassette, joined from its reads and decompressed.
Content that can't be decompressed is also a finding. A finding has the place and the kind of the
secret, never the secret itself.
"""

from __future__ import annotations

import re
import sys
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from harness.stream.decompression import CODINGS, FIRST_BYTES, LIBRARIES, unpack
from harness.stream.exchange import Cassette, CassetteError, Exchange
from harness.stream.printable import listed

from ..reader import is_cassette, loads
from ..vcrpy import export
from ..writer import CassetteText
from .credentials import (
    BEGINNINGS,
    KINDS,
    KnownValues,
    find_cut_shapes,
    find_shapes,
    may_match,
    rest,
)
from .names import SECRET_HEADERS
from .placeholders import is_placeholder_header
from .readings import WINDOW, Reading, Span, merged, readings
from .redactor import Redactor

MAX_LISTED: Final = 5
_WAY_OUT: Final = (
    "a file must not contain secrets: remove it at its source, or add a rule to `redact` of"
    " [tool.harness] in pyproject.toml"
)
_FILE_NAME: Final = "the file's name"
UNREDACTED: Final = "a value that must be redacted"
"""The kind of a named value."""

Purpose = Literal["file", "part", "mask"]
"""What is searched: the text of a file, a part of an exchange, or a text that gets a mask."""
_NAMED: Final[Mapping[Purpose, Callable[[Reading], bool]]] = {
    "file": lambda _: False,
    "part": lambda reading: not reading.is_plain,
    "mask": lambda reading: reading.in_pieces,
}
"""Purpose → the readings that are asked for named values. The redactor itself reads the plain text
of a part, and of a text that gets a mask. Named values may also be in base64, and in escapes that
no JSON writer produces.
"""
Found = tuple[int, int, str]
"""The start and the end of a secret in a reading, and its kind."""


class SecretFound(CassetteError):
    """A text contains a secret or content that can't be searched, so it is not written."""


class FoundSecret(NamedTuple):
    """A secret in a file."""

    place: str
    """A line, or an exchange, its part and its read."""
    kind: str
    """``the value of GEMINI_API_KEY``, ``a Google API key``."""

    def __str__(self) -> str:
        return f"{self.place} shows {self.kind}"


class Guard:
    """Redacts cassettes by ``redactor``, and finds the known ``secrets`` (name → value), the shapes
    of credentials, and the named values that the redactor would replace. If a value has several
    lines, like a private key, each line is searched for. A credential that a rule of the redactor
    allows is no secret.

    `harness.cassettes.redaction.secrets.guard` creates one with the user's rules and this machine's
    secrets. By default a guard knows only the built-in names and the shapes of credentials.
    """

    def __init__(
        self, secrets: Mapping[str, str] | None = None, redactor: Redactor | None = None
    ) -> None:
        self.redactor: Final = redactor or Redactor()
        self._plain: Final = self.redactor.without_placeholders()
        self._known: Final = KnownValues(secrets or {})
        self._words: Final = tuple(map(re.escape, (*BEGINNINGS, *self._known.words)))

    def encode(self, cassette: Cassette, name: str) -> bytes:
        """Return the redacted text of a cassette in UTF-8; raises the errors of `pieces`."""
        return b"".join(self.pieces(cassette, name))

    def pieces(self, cassette: Cassette, name: str) -> Iterator[bytes]:
        """Return the redacted text of a cassette in UTF-8, piece by piece, so that a long text is
        never in memory as a whole. Raises `CassetteError` before the first piece if the text
        contains a secret or can't be written; ``name`` is the file's name.
        """
        kept = self.redactor.cassette(cassette)
        text = CassetteText(kept)
        self._refuse_written(text, name, kept)
        return text.pieces()

    def export(self, cassette: Cassette, name: str) -> str:
        """Return the redacted cassette as plain vcrpy YAML; raises the errors of `encode`."""
        kept = self.redactor.cassette(cassette)
        try:
            text = export(kept)
        except CassetteError as error:
            raise CassetteError(f"{name}: {error}") from None
        return self.refuse(text, name, kept)

    def refuse(self, text: str, name: str, cassette: Cassette | None = None) -> str:
        """Return ``text``; raises `SecretFound` with the places if the text contains a secret.

        ``name`` is the file's name, which is also searched. ``cassette`` is the content of the text
        if its format is not ours.
        """
        data = text.encode("utf-8", "surrogatepass")
        if cassette is None and is_cassette(data):
            cassette = loads(data, name)
        findings = self.scan(data, name)
        if cassette is not None:
            findings += self.scan_cassette(cassette, redacted=True)
        _refuse(findings, name)
        return text

    def _refuse_written(self, text: CassetteText, name: str, cassette: Cassette) -> None:
        """Refuse, as `refuse` does, the text that our writer produces from ``cassette``. Its bodies
        are searched only in the exchanges.
        """
        findings = self.scan(text.outside, name)
        inside = self.scan_cassette(cassette, redacted=True)
        if findings or inside:  # find the lines in the whole text
            findings = self.scan(b"".join(text.pieces()), name) or findings
        _refuse([*findings, *inside], name)

    def scan(self, data: bytes, name: str = "") -> list[FoundSecret]:
        """Return the secrets in the bytes of a file, each with its first line, and in the file's
        name.
        """
        places = {kind: _FILE_NAME for _, kind in self._offsets(_bytes(name), "file")}
        for offset, kind in self._offsets(data, "file"):
            places.setdefault(kind, f"line {data.count(10, 0, offset) + 1}")
        return [FoundSecret(place, kind) for kind, place in places.items()]

    def scan_cassette(self, cassette: Cassette, *, redacted: bool = False) -> list[FoundSecret]:
        """Return the secrets in the exchanges, each once in each part.

        Values that should have been redacted are also findings, except placeholders. In a
        ``redacted`` cassette only compressed bodies are searched for them, because a redactor does
        not change these bodies.
        """
        findings: list[FoundSecret] = []
        if not redacted and self._plain.origin(cassette.origin) != cassette.origin:
            findings.append(FoundSecret("metadata", UNREDACTED))
        for number, exchange in enumerate(cassette.exchanges, 1):
            for part, reads, coding in _parts(exchange):
                place = f"exchange {number}, {part}"
                if any(self._offsets(_bytes(part), "file")):
                    # the name of a header contains a secret
                    place = place.rpartition(" ")[0]
                findings += self._scan_part(reads, coding, place, redacted=redacted)
            if not redacted:
                findings += self._unredacted(exchange, f"exchange {number}")
        return findings

    def _scan_part(
        self, reads: Sequence[bytes], coding: str | None, place: str, *, redacted: bool
    ) -> list[FoundSecret]:
        body = b"".join(reads)
        ends = list(accumulate(map(len, reads)))
        places: dict[str, str] = {}
        is_body = place.endswith(" body")
        for offset, kind in self._offsets(body, "part"):
            read = f", read {bisect_right(ends, offset) + 1}" if len(reads) > 1 else ""
            places.setdefault(kind, place + read)
        plain = _unpacked(body, coding)
        if plain is None:
            of_coding = f" of coding {coding.strip().lower()}" if coding in LIBRARIES else ""
            places[f"content{of_coding} that can't be unpacked"] = place
        else:
            if plain is not body:
                for _, kind in self._offsets(plain, "part"):
                    places.setdefault(kind, f"{place}, unpacked")
            unredacted = plain is not body or (is_body and not redacted)
            if unredacted and self._plain.body(plain) != plain:
                places[UNREDACTED] = place
        return [FoundSecret(where, kind) for kind, where in places.items()]

    def _unredacted(self, exchange: Exchange, place: str) -> Iterator[FoundSecret]:
        """Yield the parts of the URL and the headers that contain credentials without redaction."""
        request = exchange.request
        if request is not None and self._plain.url(request.url) != request.url:
            yield FoundSecret(f"{place}, URL", "a parameter that must be redacted")
        sent = request.headers if request else {}
        for kind, headers in (("request", sent), ("response", exchange.headers)):
            for name, values in headers.items():
                if name.lower() in SECRET_HEADERS and not all(
                    is_placeholder_header(name, value) for value in values
                ):
                    yield FoundSecret(f"{place}, {kind} header {name}", UNREDACTED)

    def _offsets(self, data: bytes, purpose: Purpose) -> Iterator[tuple[int, str]]:
        """Yield the offset and the kind of each secret; the first of each kind in each reading."""
        for reading, found in self._asked(data, purpose):
            seen: set[str] = set()
            for start, stop, kind in found:
                if kind not in seen and (places := reading.places([(start, stop)])):
                    seen.add(kind)
                    yield places[0][0], kind

    def spans(self, data: bytes) -> list[Span]:
        """Return the spans of a text that gets a mask, in order: all parts of a divided secret, and
        the rest of a cut secret.
        """
        spans: list[Span] = []
        for reading, found in self._asked(data, "mask"):
            hits: list[Span] = []
            for start, stop, kind in found:
                if kind not in KINDS:
                    hits.append((start, stop))
                elif not reading.joined:
                    hits.append((start, rest(reading.text, start, stop)))
                else:  # the next word may be unrelated
                    parts = reading.places([(start, stop)])
                    spans += [(at, rest(data, at, end)) for at, end in parts]
            spans += reading.places(hits)
        return merged(spans)

    def _asked(self, data: bytes, purpose: Purpose) -> Iterator[tuple[Reading, Iterator[Found]]]:
        """Yield every reading with the secrets in it. A text that gets a mask is replaced as a
        whole, so it is not read in windows. A known value with escapes fits in the overlap of two
        windows.
        """
        window = sys.maxsize if purpose == "mask" else max(WINDOW, 64 * self._known.longest)
        for reading in readings(data, window):
            yield reading, self._ask(reading, purpose)

    def _ask(self, reading: Reading, purpose: Purpose) -> Iterator[Found]:
        text = reading.text
        if may_match(text, self._words):
            yield from self._known.find(text)
            for start, stop, kind in find_shapes(text):
                if not self._is_allowed(text, start, stop):
                    yield start, stop, kind
            if purpose == "mask" and not reading.joined and not reading.in_pieces:
                yield from self._known.find_cut(text)
                yield from find_cut_shapes(text)
        if _NAMED[purpose](reading):
            for start, stop in self._plain.shown(text):
                yield start, stop, UNREDACTED

    def _is_allowed(self, text: bytes, start: int, stop: int) -> bool:
        """Return whether a rule allows a credential with this beginning. A known value is not
        allowed.
        """
        if not self._plain.allowed:
            return False
        end = start + len(text[start : rest(text, start, stop)].rstrip(b".="))
        return self._plain.is_allowed(text, start, end)


def _refuse(findings: Sequence[FoundSecret], name: str) -> None:
    if not findings:
        return
    shown = "the file" if any(place == _FILE_NAME for place, _ in findings) else name
    found = listed(list(map(str, findings)), MAX_LISTED, "; ")
    raise SecretFound(f"{shown}: {found}; {_WAY_OUT}")


def _parts(exchange: Exchange) -> Iterator[tuple[str, Sequence[bytes], str | None]]:
    """Yield the parts of an exchange: the name, the bytes of each read, and the content coding."""
    request = exchange.request
    if request is not None:
        yield "method", [_bytes(request.method)], None
        yield "URL", [_bytes(request.url)], None
        yield from _header_parts("request", request.headers)
        yield "request body", [request.body], request.header("content-encoding")
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
    """Return a body without its content coding. For a cut body, the part that can be decoded; for a
    body without a coding, the same object; None if the body can't be decoded.

    Some recorders keep the header and store the decoded body, so text is returned unchanged.
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
        known = coding in LIBRARIES or (coding in CODINGS and body[0] in FIRST_BYTES)
        return unpack(body, coding) if known else None
    except zlib.error:
        return None
