"""Finds the recorded exchange that a request asks for: by a hash of the request as the API reads
it, so that a look-up costs the same in a cassette of ten thousand.

Where a request went (host, port, what a gateway puts before the path, API version, project and
location) does not count, nor does a key or what only numbers a call. The request is redacted as the
recording was, so that what was taken out of one can't tell it from the other.
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

from harness.cassettes.redaction.redactor import SECRET_PARAMETERS, redact_request
from harness.providers.gemini.canonical_request import canonical_request
from harness.specs.matching import Mismatch, compare
from harness.stream.exchange import Exchange, Request
from harness.stream.json_codec import decode_json

_VERSION: Final = re.compile(r"(?:^|/)(?:v1|v1beta|v1alpha|v1beta1)/")
_INTERNAL: Final = re.compile(r"(?:^|/)(v1internal[:/].*)")
_PROJECT: Final = re.compile(r"projects/[^/]+/locations/[^/]+/")
_CALL_NUMBERS: Final = frozenset({"userPromptId", "requestId", "sessionId"})
"""What Code Assist's clients make up anew for each prompt or call; the model never sees it."""
_NOT_ASKED: Final = SECRET_PARAMETERS | {"$.xgafv", "prettyprint", "quotauser"}

MAX_COMPARED: Final = 200
MAX_COMPARED_BYTES: Final = 8_000_000
"""So many recorded requests are looked at to find the nearest, at least one."""
MAX_FINDINGS: Final = 20

_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode


class RequestIndex:
    """The exchanges of a cassette by their requests, each to be used once, in start order.

    ``again``: when all equal ones have been used, the last of them answers again. ``redact`` takes
    secrets out of a live request the way they were taken out of the recorded ones:
    `redact_request`, or the ``request`` of a `Redactor` with the user's rules.
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
                self._free.setdefault(_digest(_asked(redact(exchange.request))), []).append(index)
        for places in self._free.values():
            places.reverse()

    def find(self, method: str, url: str, body: bytes) -> int | None:
        """The index of the exchange that answers this request, which counts as used from now on;
        None if there is none.
        """
        digest = _digest(_asked(self._redact(Request(method, url, {}, body))))
        places = self._free.get(digest)
        if places:
            found = self._last[digest] = places.pop()
            self._next = found + 1
            return found
        return self._last.get(digest) if self._again else None

    def nearest(self, method: str, url: str, body: bytes) -> tuple[int, list[Mismatch]] | None:
        """The recorded request most like this one, and how this one differs from it; None if no
        request was recorded.

        The findings speak of ``method``, ``path``, ``query`` and ``body`` as they are compared. A
        used exchange may be the nearest; then, if it is equal, there is no finding.
        """
        live = _asked(self._redact(Request(method, url, {}, body)))
        traits = Counter(_traits(live))
        best: tuple[float, int, dict[str, Any]] | None = None
        size = 0
        for count, (index, request) in enumerate(self._candidates(live)):
            size += len(request.body)
            if best is not None and (count >= MAX_COMPARED or size > MAX_COMPARED_BYTES):
                break
            recorded = _asked(self._redact(request))
            theirs = Counter(_traits(recorded))
            likeness = (traits & theirs).total() / max(1, (traits | theirs).total())
            if best is None or likeness > best[0]:
                best = likeness, index, recorded
        if best is None:
            return None
        return best[1], compare(_literal(best[2]), live, limit=MAX_FINDINGS)

    def unused(self) -> list[int]:
        """The indices of the exchanges with a request that were never found, in order."""
        return sorted(index for places in self._free.values() for index in places)

    def _candidates(self, live: dict[str, Any]) -> Iterator[tuple[int, Request]]:
        """Recorded requests: those of the same path first, then those of the same method on another
        model; unused before used, and those first that stand near the one whose turn it is."""
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


def _asked(request: Request) -> dict[str, Any]:
    """What of a request counts."""
    asked: dict[str, Any] = {"method": request.method.upper(), "path": _path(request.url)}
    query = _query(request.url)
    if query:
        asked["query"] = query
    if request.body:
        try:
            asked["body"] = _body(decode_json(request.body))
        except ValueError:
            asked |= _plain(request.body)
    return asked


def _path(url: str) -> str:
    """The path behind host, gateway, API version, project and location."""
    place, slashes, path = url.partition("?")[0].partition("#")[0].partition("://")
    path = unquote("/" + path.partition("/")[2] if slashes else place)
    internal = _INTERNAL.search(path)
    if internal:
        return internal[1]
    return _PROJECT.sub("", _VERSION.split(path, maxsplit=1)[-1].lstrip("/"), count=1)


def _query(url: str) -> list[list[str]]:
    """The parameters that change the answer; ``alt=json`` is what comes without ``alt``."""
    query = url.partition("#")[0].partition("?")[2]
    asked = []
    for parameter in query.split("&") if query else ():
        name, _, value = map(unquote_plus, parameter.partition("="))
        name = "alt" if name == "$alt" else name
        if parameter and name.lower() not in _NOT_ASKED and (name, value) != ("alt", "json"):
            asked.append([name, value])
    return sorted(asked)


def _body(decoded: Any) -> Any:
    """The canonical request, in an envelope without the numbers of the call and the project that
    pays for it.
    """
    read = canonical_request(decoded)
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


def _plain(body: bytes) -> dict[str, str]:
    """A body that is not JSON, for a comparison byte by byte."""
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}


def _digest(asked: dict[str, Any]) -> bytes:
    try:
        text = _ENCODE(asked)
    except (
        UnicodeEncodeError,
        OverflowError,
        ValueError,
    ):  # a lone surrogate, or an integer beyond 64 bits
        text = json.dumps(asked, sort_keys=True).encode()
    return blake2b(text, digest_size=16).digest()


def _verb(path: str) -> str:
    return path.rpartition(":")[2]


def _literal(value: Any) -> Any:
    """An expectation of just this value: what a user wrote is no operator of ours."""
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith("$"):
            return {"$literal": value}
        return {key: _literal(inner) for key, inner in value.items()}
    return [_literal(item) for item in value] if isinstance(value, list) else value


def _traits(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every plain value with the key it stands at: what two requests have in common, wherever it
    is.
    """
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _traits(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _traits(inner, key)
    else:
        yield key, str(value)
