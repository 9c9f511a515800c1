"""Redacts exchanges: replaces the values at places for credentials.

Headers are kept by an allow-list, so an unknown name can't leak. In URLs, forms and JSON, the
values of credential names are replaced, and those that the user's rules match. A body is not parsed
and serialized again. The bytes of a value are replaced; all other bytes and the ends of the reads
stay. A live request is redacted in the same way before its recording is looked up, so that two
equal requests stay equal.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import accumulate
from typing import Final
from urllib.parse import quote_plus, unquote_plus, urlsplit, urlunsplit

import msgspec

from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin, Request
from harness.stream.printable import plural

from .named_values import JSON, NamedValues, Replacement
from .names import KEPT_HEADERS, URL_HEADERS
from .placeholders import REDACTED, is_placeholder
from .readings import merged, unquote

Reads = tuple[tuple[float | None, bytes], ...]

_RULE_KEY: Final = re.compile(r"[A-Za-z_$][\w.$-]*", re.ASCII)
_RULE_PATTERN: Final = "re:"
_RULE_KEPT: Final = "keep:"
_RULE_ALLOWED: Final = "allow:"
_STRING: Final = re.compile(
    rb'"((?:[^"\\]++|\\.)*+)(?:"|\\?\Z)', re.DOTALL
)  # a body may be cut inside a text
_WHOLE: Final = re.compile(rb"\A(.+)", re.DOTALL)
_ESCAPE: Final = re.compile(r'\\u([0-9a-fA-F]{4})|\\(["\\/bfnrt])')
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_FORM: Final = re.compile(
    rb"[^\s=&\"'{}<>:;,()\\]*+(?:=[^&\s]*+)?(?:&[^\s=&]*+(?:=[^&\s]*+)?)*+\s*+"
)
_SIGN_IN: Final = re.compile(
    r"(https?://[^\s?#\"'<>]{0,200}?(?:auth|log-?in|sign-?in)[^\s?#\"'<>]{0,200}[?#])[^\s\"'<>]+",
    re.IGNORECASE,
)
"""A URL at which a user signs in, such as the Antigravity CLI prints on stderr. The part after the
path may be a credential.
"""

_AFTER_SCHEME: Final = re.compile(r"://[^\s\"'<>\\]+")
"""A URL in a text; `re` finds its literal beginning fast."""


class Redactor:
    """Redacts exchanges by the built-in names and the user's ``rules``.

    A rule is a name, ``re:`` and a regular expression, ``keep:`` and the name of a header to keep,
    or ``allow:`` and a text of a body that is no secret, though it looks like one. A name
    (``customer_id``) replaces the value of that JSON member, form field or query parameter, in any
    letter case; a number becomes 0. A regular expression replaces its matches in JSON strings,
    plain bodies, paths, parameters, kept headers, reason phrases, and the texts of the origin.
    Raises `CassetteError` for another rule.

    ``before_record`` gets each exchange before it is redacted and returns the one to keep, or None
    to drop it. It is called for each recorded exchange, but not for the look-up of a request.
    """

    def __init__(
        self,
        rules: Iterable[str] = (),
        before_record: Callable[[Exchange], Exchange | None] | None = None,
    ) -> None:
        keys: list[str] = []
        kept: list[str] = []
        allowed: list[str] = []
        self._patterns: list[re.Pattern[str]] = []
        for rule in rules:
            if rule.startswith(_RULE_PATTERN):
                self._patterns.append(_compiled(rule))
            elif rule.startswith(_RULE_KEPT):
                kept.append(rule.removeprefix(_RULE_KEPT).strip().lower())
            elif rule.startswith(_RULE_ALLOWED) and rule.removeprefix(_RULE_ALLOWED).strip():
                allowed.append(rule.removeprefix(_RULE_ALLOWED).strip())
            elif _RULE_KEY.fullmatch(rule):
                keys.append(rule)
            else:
                raise CassetteError(
                    f"the redaction rule {rule!r} is not a name; a regular expression begins with"
                    " `re:`, the name of a header to keep with `keep:`, and an innocent text with"
                    " `allow:`"
                )
        self.kept_headers: Final = KEPT_HEADERS.union(kept)
        """The headers that a cassette keeps, in lower case."""
        self.allowed: Final = tuple(allowed)
        """The texts that are no secrets."""
        self._allowed: Final = {text: _written(text) for text in allowed}
        self._is_exempt: Callable[[bytes], bool] = lambda _: False
        self._before_record = before_record
        self.asks_whole: Final = before_record is not None
        """Whether exchanges can be redacted only when they are complete."""
        self._named: Final = NamedValues(keys)
        self._finders: Final = (*self._named.finders, *([self._matches] if self._patterns else []))

    def without_placeholders(self) -> Redactor:
        """Return the same redactor, which does not change the placeholders of other recorders. A
        scan uses it, because a placeholder is no finding; a file gets our own placeholder.
        """
        changed = copy(self)
        changed._is_exempt = is_placeholder
        return changed

    def cassette(self, cassette: Cassette) -> Cassette:
        """Return the redacted cassette, without the exchanges that ``before_record`` drops. Its
        origin names the bodies that were changed, and the allowed texts in them.
        """
        exchanges: list[Exchange] = []
        notes = dict.fromkeys(cassette.origin.redacted)
        for exchange in cassette.exchanges:
            if (found := self._before(exchange)) is None:
                continue
            exchanges.append(kept := self._redacted(found))
            notes |= dict.fromkeys(_changes(found, kept, len(exchanges)))
        bodies = [
            body for exchange in exchanges for body in (_sent(exchange), exchange.body) if body
        ]
        allowed = [
            text
            for text, forms in self._allowed.items()
            if any(form in body for form in forms for body in bodies)
        ]
        origin = msgspec.structs.replace(
            self.origin(cassette.origin), redacted=tuple(notes), allowed=tuple(allowed)
        )
        return Cassette(tuple(exchanges), origin)

    def origin(self, origin: Origin) -> Origin:
        """Return the redacted origin; its texts may be from headers and URLs."""
        return msgspec.structs.replace(
            origin,
            client=origin.client and self.prose(origin.client),
            model=origin.model and self.prose(origin.model),
            source=origin.source and self.prose(origin.source),
            licence=origin.licence and self.prose(origin.licence),
            note=origin.note and self.prose(origin.note),
        )

    def exchange(self, exchange: Exchange) -> Exchange | None:
        """Return the redacted exchange; None if ``before_record`` drops it."""
        found = self._before(exchange)
        return None if found is None else self._redacted(found)

    def _before(self, exchange: Exchange) -> Exchange | None:
        return exchange if self._before_record is None else self._before_record(exchange)

    def _redacted(self, exchange: Exchange) -> Exchange:
        request = None if exchange.request is None else self.request(exchange.request)
        redacted = replace(
            exchange,
            request=request,
            reads=self.reads(exchange.reads),
            reason_phrase=self.prose(exchange.reason_phrase),
        )
        headers = self._headers(exchange.headers, len(exchange.body), len(redacted.body))
        return replace(redacted, headers=headers)

    def request(self, request: Request) -> Request:
        """Return the redacted request, which is stored and looked up."""
        body = self.body(request.body)
        headers = self._headers(request.headers, len(request.body), len(body))
        return replace(request, url=self.url(request.url), headers=headers, body=body)

    def url(self, url: str) -> str:
        """Return a URL without credentials in authority, query and fragment. The spelling of the
        rest stays.
        """
        try:
            parts = urlsplit(url)
        except ValueError:
            return url
        user, at, host = parts.netloc.rpartition("@")
        cleaned = parts._replace(
            netloc=f"{REDACTED}@{host}"
            if at and not self._is_exempt(user.encode())
            else parts.netloc,
            path=self.text(parts.path),
            query=self._query(parts.query),
            fragment="?".join(map(self._query, parts.fragment.split("?"))),
        )
        return url if cleaned == parts else urlunsplit(cleaned)

    def body(self, body: bytes) -> bytes:
        """Return the redacted body; a compressed body is unchanged."""
        return b"".join(data for _, data in self.reads(((None, body),))) if body else body

    def reads(self, reads: Reads) -> Reads:
        """Return the redacted reads of a body. A value in several reads is replaced in the first of
        them.
        """
        body = b"".join(data for _, data in reads)
        if b"=" in body and _FORM.fullmatch(body):
            cleaned = self._query(body.decode("latin-1")).encode("latin-1")
            return _recut(reads, body, [(0, len(body), cleaned)]) if cleaned != body else reads
        for find in self._finders:
            if values := self._to_replace(body, find(body)):
                reads = _recut(reads, body, values)
                body = b"".join(data for _, data in reads)
        return reads

    def unfinished(self, body: bytes) -> int:
        """Return the start of the last secret value in an incomplete body if the value may continue
        in the next read; else the length of the body.
        """
        return self._named.open_at(body)

    def shown(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield the secret values of members in a text without escapes."""
        for start, stop, _ in self._to_replace(text, self._named.members(text)):
            yield start, stop

    def is_allowed(self, text: bytes, start: int, stop: int) -> bool:
        """Return whether these bytes are inside a text that a rule allows."""
        for forms in self._allowed.values():
            for form in forms:
                first = max(stop - len(form), 0)
                if text.find(form, first, start + len(form)) >= 0:
                    return True
        return False

    def _to_replace(self, body: bytes, values: Iterable[Replacement]) -> list[Replacement]:
        """Return the values that are not yet replaced, no placeholders and not allowed. A value of
        several pieces has several replacements.
        """
        return [
            (start, stop, word)
            for start, stop, word in values
            if (value := body[start:stop]).replace(word, b"")
            and not self._is_exempt(value)
            and not self.is_allowed(body, start, stop)
        ]

    def _matches(self, body: bytes) -> list[Replacement]:
        """Return the matches of the user's patterns. In JSON they are inside strings, so that it
        stays JSON; in other bodies anywhere.
        """
        try:
            body.decode()
        except UnicodeDecodeError:
            return []
        matches: list[Replacement] = []
        for string in _STRING.finditer(body) if JSON.match(body) else _WHOLE.finditer(body):
            text = string[1].decode()
            escaped = string.re is _STRING and "\\" in text
            read = _ESCAPE.sub(_unescape, text) if escaped else text
            hits = merged(
                hit.span() for pattern in self._patterns for hit in pattern.finditer(read)
            )
            places = _places(text, escaped=escaped) if hits else ()
            at = string.start(1)
            matches += [(at + places[a], at + places[b], REDACTED.encode()) for a, b in hits]
        return matches

    def left_out(self, cassette: Cassette) -> list[str]:
        """Return the names of the headers that the redacted cassette does not have, in lower case
        and in order.
        """
        names = {
            name.lower()
            for exchange in cassette.exchanges
            for message in (exchange, exchange.request)
            if message is not None
            for name in message.headers
        }
        return sorted(names - self.kept_headers)

    def _headers(
        self, headers: dict[str, list[str]], old_size: int, size: int
    ) -> dict[str, list[str]]:
        """Return the kept headers; a content length of ``old_size`` becomes ``size``."""
        kept = {
            name: [
                self.url(value) if name.lower() in URL_HEADERS else self.prose(value)
                for value in values
            ]
            for name, values in headers.items()
            if name.lower() in self.kept_headers
        }
        for name, values in kept.items():
            if name.lower() == "content-length" and values == [str(old_size)]:
                kept[name] = [str(size)]
        return kept

    def _query(self, query: str) -> str:
        return "&".join(map(self._parameter, query.split("&"))) if query else query

    def _parameter(self, parameter: str) -> str:
        name, equals, value = parameter.partition("=")
        if equals and unquote_plus(name).lower() in self._named.parameters:
            if self._is_exempt(value.encode("latin-1", "replace")):
                return parameter
            return f"{name}={REDACTED}{value[len(value.rstrip()) :]}"
        plain = unquote(value.replace("+", " ").encode("latin-1", "replace"))
        if "%" in value and (cleaned := self.body(plain)) != plain:
            return f"{name}={quote_plus(cleaned)}"
        return f"{name}{equals}{self.text(value)}"

    def prose(self, text: str) -> str:
        """Return a text that may quote a URL or a body, such as the stderr of a program, redacted.
        The query of a sign-in URL is replaced.
        """
        if "://" in text:
            text = _SIGN_IN.sub(rf"\1{REDACTED}", text)
            text = _AFTER_SCHEME.sub(lambda match: self.url(f"x{match[0]}")[1:], text)
        data = self.body(text.encode("utf-8", "surrogatepass"))
        data = _replaced(data, self._to_replace(data, self._named.in_prose(data)))
        return self.text(data.decode("utf-8", "surrogatepass"))

    def text(self, text: str) -> str:
        """Return a text with the matches of the user's patterns replaced."""
        for pattern in self._patterns:
            text = pattern.sub(lambda match: REDACTED if match[0] else "", text)
        return text


def _written(text: str) -> tuple[bytes, ...]:
    """Return the bytes of an allowed text, unchanged and as JSON writers spell it."""
    spellings = text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]
    return tuple(dict.fromkeys(spelling.encode("utf-8", "replace") for spelling in spellings))


def _sent(exchange: Exchange) -> bytes:
    return exchange.request.body if exchange.request else b""


def _changes(before: Exchange, after: Exchange, number: int) -> Iterator[str]:
    """Yield a note for each body of an exchange that the redaction changed."""
    for part, old, new in (
        ("request", _sent(before), _sent(after)),
        ("response", before.body, after.body),
    ):
        if old != new:
            count = max(new.count(REDACTED.encode()) - old.count(REDACTED.encode()), 1)
            yield f"exchange {number}, {part} body: {plural(count, 'value')}"


def _compiled(rule: str) -> re.Pattern[str]:
    try:
        return re.compile(rule.removeprefix(_RULE_PATTERN))
    except re.error as error:
        raise CassetteError(
            f"the redaction rule {rule!r} is not a regular expression: {error}"
        ) from None


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[2])


def _places(text: str, *, escaped: bool) -> Sequence[int]:
    """Return the byte offset of each character of a text, and of its end. An escape is one
    character.
    """
    if text.isascii() and not escaped:
        return range(len(text) + 1)
    pattern = _ESCAPE.pattern + "|." if escaped else "."
    characters = re.finditer(pattern, text, re.DOTALL)
    return list(accumulate((len(match[0].encode()) for match in characters), initial=0))


def _replaced(body: bytes, values: Sequence[Replacement]) -> bytes:
    """Return the body with the values replaced; the values must be in order."""
    pieces: list[bytes] = []
    done = 0
    for start, stop, word in values:
        pieces += [body[done:start], word]
        done = stop
    return b"".join([*pieces, body[done:]])


def _recut(reads: Reads, body: bytes, spans: Sequence[Replacement]) -> Reads:
    """Return the reads with the spans replaced. A read that ended inside a span ends after its
    replacement.
    """
    whole = _replaced(body, spans)
    starts = [start for start, _, _ in spans]
    grown = list(accumulate((len(word) - (stop - start) for start, stop, word in spans), initial=0))
    cut: list[tuple[float | None, bytes]] = []
    begin = 0
    for (at, _), place in zip(reads, accumulate(len(data) for _, data in reads), strict=True):
        count = bisect_right(starts, place - 1)  # the spans that begin before the end of this read
        inside = count and spans[count - 1][1] > place
        end = (spans[count - 1][1] if inside else place) + grown[count]
        cut.append((at, whole[begin:end]))
        begin = max(begin, end)
    return tuple(read for read in cut if read[1])


_BUILT_IN: Final = Redactor()


def redact_request(request: Request) -> Request:
    """Return the request, redacted with the built-in names."""
    return _BUILT_IN.request(request)
