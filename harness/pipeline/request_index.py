"""Finds the recorded exchange that answers a request, by a hash of the canonical request: the cost
does not grow with the cassette.

The hash ignores host, port, gateway prefix, API version, project, location, keys, and the numbers
of the call. The request is redacted like the recording, so that redacted values cannot make a
difference.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

import msgspec

from harness.cassettes.redaction.names import SECRET_PARAMETERS
from harness.cassettes.redaction.redactor import redact_request
from harness.providers import canonical_form
from harness.specs.matching import Mismatch, compare
from harness.stream.exchange import Exchange, Request
from harness.stream.json_codec import decode_json

_VERSION: Final = re.compile(r"(?:^|/)(?:v1|v1beta|v1alpha|v1beta1)/")
_INTERNAL: Final = re.compile(r"(?:^|/)(v1internal[:/].*)")
_PROJECT: Final = re.compile(r"projects/[^/]+/locations/[^/]+/")
_CALL_NUMBERS: Final = frozenset({"userPromptId", "requestId", "sessionId"})
"""Values that Code Assist's clients make for each prompt or call; the model never sees them."""
# System parameters of Google's APIs, which select the form of errors and JSON, and whose quota is
# used.
_NOT_ASKED: Final = SECRET_PARAMETERS | {"$.xgafv", "prettyprint", "quotauser"}

_DEFAULTS: Final = frozenset({("alt", "json"), ("stream", "false")})

MAX_COMPARED: Final = 200
MAX_COMPARED_BYTES: Final = 8_000_000
"""The limit of recorded requests that are compared to find the nearest; at least one is."""
MAX_FINDINGS: Final = 20

_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode


def is_same_request(one: Request, other: Request) -> bool:
    """Return whether two requests of one cassette have the same canonical form. Both are as
    recorded, so their redacted values are the same.
    """
    return _compared_parts(one) == _compared_parts(other)


class RequestIndex:
    """The exchanges of a cassette by their requests, each to be used once, in start order.

    ``again``: when all equal exchanges have been used, the last of them answers again. ``redact``
    redacts a live request like the recorded ones: `redact_request`, or the ``request`` of a
    `Redactor` with the user's rules.
    """

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        *,
        again: bool = False,
        redact: Callable[[Request], Request] = redact_request,
    ) -> None:
        self._exchanges = exchanges
        self._again = again
        self._redact = redact
        self._free: dict[bytes, list[int]] = {}
        self._last: dict[bytes, int] = {}
        self._next = 0
        for index, exchange in enumerate(exchanges):
            if exchange.request is not None:
                self._free.setdefault(
                    _digest(_compared_parts(redact(exchange.request))), []
                ).append(index)
        for places in self._free.values():
            places.reverse()

    def find(self, method: str, url: str, body: bytes) -> int | None:
        """Return the index of the exchange that answers this request, which then counts as used;
        None if there is none.
        """
        digest = _digest(_compared_parts(self._redact(Request(method, url, {}, body))))
        places = self._free.get(digest)
        if places:
            index = self._last[digest] = places.pop()
            self._next = index + 1
            return index
        return self._last.get(digest) if self._again else None

    def nearest(self, method: str, url: str, body: bytes) -> tuple[int, list[Mismatch]] | None:
        """Return the most similar recorded request, and its differences from this one; None if no
        request was recorded.

        The findings name ``method``, ``path``, ``query`` and ``body`` in canonical form. A used
        exchange may be the nearest; if it is equal, there is no finding.
        """
        live = _compared_parts(self._redact(Request(method, url, {}, body)))
        traits = Counter(_traits(live))
        best: tuple[float, int, dict[str, Any]] | None = None
        size = 0
        for count, (index, request) in enumerate(self._candidates(live)):
            size += len(request.body)
            if best is not None and (count >= MAX_COMPARED or size > MAX_COMPARED_BYTES):
                break
            recorded = _compared_parts(self._redact(request))
            theirs = Counter(_traits(recorded))
            likeness = (traits & theirs).total() / max(1, (traits | theirs).total())
            if best is None or likeness > best[0]:
                best = likeness, index, recorded
        if best is None:
            return None
        return best[1], compare(_literal(best[2]), live, limit=MAX_FINDINGS)

    def unused(self) -> list[int]:
        """Return the indices of the exchanges with a request that were never found, in order."""
        return sorted(index for places in self._free.values() for index in places)

    def _candidates(self, live: dict[str, Any]) -> Iterator[tuple[int, Request]]:
        """Yield recorded requests, the likeliest first: same path, then same method on another
        model, then others; unused before used; near the next one in order.
        """
        unused = set(self.unused())
        ranked = []
        for index, exchange in enumerate(self._exchanges):
            if exchange.request is not None:
                path = _path(exchange.request.url)
                other = (
                    0 if path == live["path"] else 1 if _verb(path) == _verb(live["path"]) else 2
                )
                ranked.append(
                    (other, index not in unused, abs(index - self._next), index, exchange.request)
                )
        for *_, index, request in sorted(ranked, key=lambda item: item[:4]):
            yield index, request


def _compared_parts(request: Request) -> dict[str, Any]:
    parts: dict[str, Any] = {"method": request.method.upper(), "path": _path(request.url)}
    query = _query(request.url)
    if query:
        parts["query"] = query
    if request.body:
        try:
            parts["body"] = _body(decode_json(request.body), request.url)
        except ValueError:
            parts |= _plain(request.body)
    return parts


def _path(url: str) -> str:
    """Return the path without host, gateway, API version, project and location."""
    place, slashes, path = url.partition("?")[0].partition("#")[0].partition("://")
    path = unquote("/" + path.partition("/")[2] if slashes else place)
    internal = _INTERNAL.search(path)
    if internal:
        return internal[1]
    return _PROJECT.sub("", _VERSION.split(path, maxsplit=1)[-1].lstrip("/"), count=1)


def _query(url: str) -> list[list[str]]:
    """Return the parameters that change the answer, without the defaults."""
    query = url.partition("#")[0].partition("?")[2]
    parameters = []
    for parameter in query.split("&") if query else ():
        name, _, value = map(unquote_plus, parameter.partition("="))
        name = "alt" if name == "$alt" else name
        if parameter and name.lower() not in _NOT_ASKED and (name, value) not in _DEFAULTS:
            parameters.append([name, value])
    return sorted(parameters)


def _body(decoded: Any, url: str) -> Any:
    """Return the canonical request of the wire of this URL, without nulls; an envelope loses the
    numbers of the call and the project.
    """
    read = _plain_json(canonical_form(url)(decoded))
    if type(read) is dict and type(read.get("request")) is dict:
        read = {
            key: value
            for key, value in read.items()
            if key not in _CALL_NUMBERS and key != "project"
        }
        read["request"] = {
            key: value for key, value in read["request"].items() if key not in _CALL_NUMBERS
        }
    return read


def _plain_json(value: Any) -> Any:
    """Return the value without keys whose value is null, and with whole numbers as integers."""
    if isinstance(value, dict):
        return {key: _plain_json(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_plain_json(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(body: bytes) -> dict[str, str]:
    """Return a body that is not JSON, to be compared byte by byte."""
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}


def _digest(parts: dict[str, Any]) -> bytes:
    try:
        text = _ENCODE(parts)
    except (
        UnicodeEncodeError,
        OverflowError,
        ValueError,
    ):  # a lone surrogate, or an integer beyond 64 bits
        text = json.dumps(parts, sort_keys=True).encode()
    return blake2b(text, digest_size=16).digest()


def _verb(path: str) -> str:
    return path.rpartition(":")[2]


def _literal(value: Any) -> Any:
    """Return an expectation of exactly this value: keys of the user must not become operators."""
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith("$"):
            return {"$literal": value}
        return {key: _literal(inner) for key, inner in value.items()}
    return [_literal(item) for item in value] if isinstance(value, list) else value


def _traits(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every plain value with its key. The more of them two requests share, the more similar
    they are.
    """
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _traits(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _traits(inner, key)
    else:
        yield key, str(value)
