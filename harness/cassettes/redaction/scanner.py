"""Scans the bytes of a file for secrets, before it is written or later.

Known secrets and the shapes of Google's credentials are searched for in every reading of the text
(`encodings`), and in each part of each exchange of the text, joined from its reads and
decompressed. Content that can't be decompressed is also a finding. A finding has the place and the
kind of the secret, never the secret itself.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Final, NamedTuple

from harness.stream.decompression import CODINGS, FIRST_BYTES, LIBRARIES, unpack
from harness.stream.exchange import Cassette, CassetteError, Exchange

from ..reader import is_cassette, loads
from ..writer import CassetteText
from .encodings import WINDOW, Span, merged, readings, unescape
from .names import SECRET_HEADERS
from .patterns import (
    BEGINNINGS,
    CUT,
    KINDS,
    LONG,
    find_shapes,
    finder,
    rest,
)
from .placeholders import is_placeholder_header
from .redactor import REDACTED, Redactor

MIN_LENGTH: Final = 8
"""The minimum length of a known secret; a shorter secret would be found everywhere."""

MAX_LISTED: Final = 5
_WAY_OUT: Final = (
    "a file must not contain secrets: remove it at its source, or add a rule to `redact` of"
    " [tool.harness] in pyproject.toml"
)
_FILE_NAME: Final = "the file's name"
_UNREDACTED: Final = "a value that must be redacted"


class SecretFound(CassetteError):
    """A text contains a secret or content that can't be searched, so it is not written."""


class Finding(NamedTuple):
    """A secret in a file."""

    place: str
    """A line, or an exchange, its part and its read."""
    kind: str
    """``the value of GEMINI_API_KEY``, ``a Google API key``."""

    def __str__(self) -> str:
        return f"{self.place} shows {self.kind}"


class Scanner:
    """Searches for known ``secrets`` (name → value) and for shapes of credentials.

    If a value has several lines, like a private key, each line is searched for. ``redactor`` is the
    redactor of the files: the scanner also finds values that the redactor would replace.
    """

    def __init__(
        self, secrets: Mapping[str, str] | None = None, redactor: Redactor | None = None
    ) -> None:
        self._forms = dict(_forms(secrets or {}))
        longest = max(map(len, self._forms), default=0)
        self._window = max(WINDOW, 64 * longest)  # a secret with escapes fits in the overlap
        self._redactor = redactor or Redactor()
        self._check = self._redactor.without_placeholders()
        ends = {end for form in self._forms for end in (form[:MIN_LENGTH], form[-MIN_LENGTH:])}
        self._anything = tuple(map(re.escape, (*BEGINNINGS, *sorted(ends))))

    def refuse(self, text: str, name: str, cassette: Cassette | None = None) -> str:
        """Returns ``text``; raises `SecretFound` with the places if the text contains a secret.

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

    def refuse_written(self, text: CassetteText, name: str, cassette: Cassette) -> None:
        """`refuse` for the text that our writer produces from ``cassette``. Its bodies are searched
        only in the exchanges.
        """
        findings = self.scan(text.outside, name)
        inside = self.scan_cassette(cassette, redacted=True)
        if findings or inside:  # find the lines in the whole text
            findings = self.scan(b"".join(text.pieces()), name) or findings
        _refuse([*findings, *inside], name)

    def scan(self, data: bytes, name: str = "") -> list[Finding]:
        """Return the secrets in the bytes of a file, each with its first line, and in the file's
        name.
        """
        places = {kind: _FILE_NAME for _, kind in self._search(_bytes(name))}
        for offset, kind in self._search(data):
            places.setdefault(kind, f"line {data.count(10, 0, offset) + 1}")
        return [Finding(place, kind) for kind, place in places.items()]

    def scan_cassette(self, cassette: Cassette, *, redacted: bool = False) -> list[Finding]:
        """Return the secrets in the exchanges, each once in each part.

        Values that should have been redacted are also findings, except placeholders. In a
        ``redacted`` cassette only compressed bodies are searched for them, because a redactor does
        not change these bodies.
        """
        findings: list[Finding] = []
        if not redacted and self._check.origin(cassette.origin) != cassette.origin:
            findings.append(Finding("metadata", _UNREDACTED))
        for number, exchange in enumerate(cassette.exchanges, 1):
            for part, reads, coding in _parts(exchange):
                place = f"exchange {number}, {part}"
                if any(self._search(_bytes(part))):  # the name of a header contains a secret
                    place = place.rpartition(" ")[0]
                findings += self._scan_part(reads, coding, place, redacted=redacted)
            if not redacted:
                findings += self._unredacted(exchange, f"exchange {number}")
        return findings

    def _scan_part(
        self, reads: Sequence[bytes], coding: str | None, place: str, *, redacted: bool
    ) -> list[Finding]:
        body = b"".join(reads)
        ends = list(accumulate(map(len, reads)))
        places: dict[str, str] = {}
        is_body = place.endswith(" body")
        for offset, kind in self._search(body, is_part=True):
            read = f", read {bisect_right(ends, offset) + 1}" if len(reads) > 1 else ""
            places.setdefault(kind, place + read)
        plain = _unpacked(body, coding)
        if plain is None:
            of_coding = f" of coding {coding.strip().lower()}" if coding in LIBRARIES else ""
            places[f"content{of_coding} that can't be unpacked"] = place
        else:
            if plain is not body:
                for _, kind in self._search(plain, is_part=True):
                    places.setdefault(kind, f"{place}, unpacked")
            unredacted = plain is not body or (is_body and not redacted)
            if unredacted and self._check.body(plain) != plain:
                places[_UNREDACTED] = place
        return [Finding(where, kind) for kind, where in places.items()]

    def _unredacted(self, exchange: Exchange, place: str) -> Iterator[Finding]:
        """Yield the parts of the URL and the headers that contain credentials without redaction."""
        request = exchange.request
        if request is not None and self._check.url(request.url) != request.url:
            yield Finding(f"{place}, URL", "a parameter that must be redacted")
        sent = request.headers if request else {}
        for kind, headers in (("request", sent), ("response", exchange.headers)):
            for name, values in headers.items():
                if name.lower() in SECRET_HEADERS and not all(
                    is_placeholder_header(name, value) for value in values
                ):
                    yield Finding(f"{place}, {kind} header {name}", _UNREDACTED)

    def spans(self, data: bytes) -> list[Span]:
        """Return the spans of secrets in ``data``, in order: all parts of a divided secret, and the
        rest of a cut secret.
        """
        spans: list[Span] = []
        for number, reading in enumerate(readings(data)):
            hits: list[Span] = []
            for start, stop, name in self._find(reading.text):
                if name not in KINDS:
                    hits.append((start, stop))
                elif not reading.joined:
                    hits.append((start, rest(reading.text, start, stop)))
                else:  # the next word may be unrelated
                    parts = reading.places([(start, stop)])
                    spans += [(at, rest(data, at, end)) for at, end in parts]
            if number < 2 and self._may_show(reading.text):  # the text with and without escapes
                for beginning, pattern in CUT.items():
                    if beginning in reading.text:
                        hits += [match.span() for match in pattern.finditer(reading.text)]
                for form in self._forms:
                    if form[:MIN_LENGTH] in reading.text or form[-MIN_LENGTH:] in reading.text:
                        hits += _cut(form, reading.text)
            if reading.in_pieces:
                hits += self._check.shown(reading.text)
            spans += reading.places(hits)
        return merged(spans)

    def _search(self, data: bytes, *, is_part: bool = False) -> Iterator[tuple[int, str]]:
        """Yield the offset and the name of each secret; only the first occurrence in each reading.

        In a part of an exchange, a member that must be redacted is a secret even at places that the
        redactor does not search: in base64, and in escapes that no JSON writer produces.
        """
        for reading in readings(data, self._window):
            seen: set[str] = set()
            secrets = self._find(reading.text)
            if is_part and not reading.is_plain:
                secrets = chain(
                    secrets, ((*span, _UNREDACTED) for span in self._check.shown(reading.text))
                )
            for start, stop, name in secrets:
                if name not in seen and (places := reading.places([(start, stop)])):
                    seen.add(name)
                    yield places[0][0], name

    def _may_show(self, text: bytes) -> bool:
        """Return whether a text may contain a secret or a part of one. True for a short text,
        without a search.
        """
        return len(text) <= LONG or bool(finder(self._anything).search(text))

    def _find(self, text: bytes) -> Iterator[tuple[int, int, str]]:
        """Start, end and name of each secret in one reading."""
        if not self._may_show(text):
            return
        for form, name in self._forms.items():
            start = text.find(form)
            while start >= 0:
                yield start, start + len(form), name
                start = text.find(form, start + len(form))
            yield from ((*span, name) for span in _rests(form, text))
        for start, stop, name in find_shapes(text):
            if not self._is_allowed(text, start, stop):
                yield start, stop, name

    def _is_allowed(self, text: bytes, start: int, stop: int) -> bool:
        """Return whether a rule allows a credential with this beginning. A known secret is not
        allowed.
        """
        if not self._redactor.allowed:
            return False
        end = start + len(text[start : rest(text, start, stop)].rstrip(b".="))
        return self._redactor.is_allowed(text, start, end)


def _refuse(findings: Sequence[Finding], name: str) -> None:
    if not findings:
        return
    shown = "the file" if any(place == _FILE_NAME for place, _ in findings) else name
    listed = "; ".join(map(str, findings[:MAX_LISTED]))
    more = len(findings) - MAX_LISTED
    rest = f"; and {more} more" if more > 0 else ""
    raise SecretFound(f"{shown}: {listed}{rest}; {_WAY_OUT}")


def _cut(form: bytes, text: bytes) -> Iterator[Span]:
    """Yield the beginnings and the ends of a secret at a gap in an excerpt."""
    start = text.find(form[:MIN_LENGTH])
    while start >= 0:
        stop = start + _common(form, text[start : start + len(form)])
        if stop < start + len(form) and _GAP_AFTER.match(text, stop):
            yield start, stop
        start = text.find(form[:MIN_LENGTH], stop)
    for start, stop in _ends(form, text):
        if stop - start < len(form) and _GAP_BEFORE.search(text[max(start - 5, 0) : start]):
            yield start, stop


def _rests(form: bytes, text: bytes) -> Iterator[Span]:
    """Yield the ends of a secret with a beginning that was redacted as the value of a name."""
    for start, stop in _ends(form, text):
        if text.endswith(REDACTED.encode(), 0, start):
            yield start, stop


def _ends(form: bytes, text: bytes) -> Iterator[Span]:
    """Yield the spans of ends of a secret, each as long as possible."""
    start = text.find(form[-MIN_LENGTH:])
    while start >= 0:
        stop = start + MIN_LENGTH
        before = text[max(stop - len(form), 0) : stop]
        yield stop - _common(form[::-1], before[::-1]), stop
        start = text.find(form[-MIN_LENGTH:], start + 1)


def _common(first: bytes, second: bytes) -> int:
    """Return the length of the common beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next(
        (place for place, (left, right) in pairs if left != right), min(len(first), len(second))
    )


_GAP_AFTER: Final = re.compile(rb" ?(?:\xe2\x80\xa6|\.\.\.)|\n?\0|\Z")
_GAP_BEFORE: Final = re.compile(rb"(?:\xe2\x80\xa6|\.\.\.) ?\Z|\0\n?\Z|\A\Z")


def _forms(secrets: Mapping[str, str]) -> Iterator[tuple[bytes, str]]:
    """Yield the bytes to search for, with the name of the secret: each value unchanged, and each
    value without escapes, because the readings have no escapes. A blank may be a ``+`` in a URL.
    """
    for name, secret in secrets.items():
        for line in map(str.strip, secret.splitlines()):
            if len(line) < MIN_LENGTH or line == REDACTED or line.startswith("-----"):
                continue
            value = _bytes(line)
            for form in (value, unescape(value), unescape(value.replace(b" ", b"+"))):
                if len(form) >= MIN_LENGTH:
                    yield form, name


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
