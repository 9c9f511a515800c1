"""Finds the recorded exchange that answers a request, by a hash of its prompt: the cost does not
grow with the cassette.

A body of a wire without a reader is compared as it is. The hash ignores host, port, gateway prefix,
API version, project, location, keys, and the numbers of the call. The request is redacted like the
recording, so that redacted values cannot make a difference.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

from msgspec.structs import replace as with_fields

from harness.cassettes.redaction.names import SECRET_PARAMETERS
from harness.cassettes.redaction.redactor import redact_request
from harness.providers import PROVIDERS, detect_provider
from harness.specs.matching import Mismatch, compare
from harness.stream.exchange import Exchange, Request
from harness.stream.json_codec import Json, decode_json
from harness.stream.json_path import readable_path
from harness.stream.prompt import Prompt
from harness.stream.prompt_data import as_data

_VERSION: Final = re.compile(r"(?:^|/)(?:v1|v1beta|v1alpha|v1beta1)/")
_INTERNAL: Final = re.compile(r"(?:^|/)(v1internal[:/].*)")
_PROJECT: Final = re.compile(r"projects/[^/]+/locations/[^/]+/")
_CALL_NUMBERS: Final = frozenset(
    f"{prefix}{name}"
    for name in ("project", "userPromptId", "requestId", "sessionId")
    for prefix in ("", "request.")
)
"""The project, and values that Code Assist's clients make for each prompt or call; the model never
sees them.
"""
_PLACES: Final = ("place", "places")
_Parts = dict[str, Json]
# System parameters of Google's APIs, which select the form of errors and JSON, and whose quota is
# used.
_NOT_ASKED: Final = SECRET_PARAMETERS | {"$.xgafv", "prettyprint", "quotauser"}

_DEFAULTS: Final = frozenset({("alt", "json"), ("stream", "false")})

MAX_COMPARED: Final = 200
MAX_COMPARED_BYTES: Final = 8_000_000
"""The limit of recorded requests that are compared to find the nearest; at least one is."""
MAX_FINDINGS: Final = 20


def is_same_request(one: Request, other: Request) -> bool:
    """Return whether two requests of one cassette are the same. Both are as recorded, so their
    redacted values are the same.
    """
    return _digest(one) == _digest(other)


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
                self._free.setdefault(_digest(redact(exchange.request)), []).append(index)
        for places in self._free.values():
            places.reverse()

    def find(self, method: str, url: str, body: bytes) -> int | None:
        """Return the index of the exchange that answers this request, which then counts as used;
        None if there is none.
        """
        digest = _digest(self._redact(Request(method, url, {}, body)))
        places = self._free.get(digest)
        if places:
            index = self._last[digest] = places.pop()
            self._next = index + 1
            return index
        return self._last.get(digest) if self._again else None

    def nearest(self, method: str, url: str, body: bytes) -> tuple[int, list[Mismatch]] | None:
        """Return the most similar recorded request, and its differences from this one; None if no
        request was recorded.

        The findings name ``method``, ``path``, ``query`` and ``body``, with the paths of a body and
        the values of a prompt. A used exchange may be the nearest; if it is equal, there is no
        finding.
        """
        asked = _read(self._redact(Request(method, url, {}, body)))
        live = as_data(asked, but=_PLACES)
        traits = Counter(_traits(live))
        best: tuple[float, int, _Parts, Json] | None = None
        size = 0
        for count, (index, request) in enumerate(self._candidates(live)):
            size += len(request.body)
            if best is not None and (count >= MAX_COMPARED or size > MAX_COMPARED_BYTES):
                break
            recorded = _read(self._redact(request))
            data = as_data(recorded, but=_PLACES)
            theirs = Counter(_traits(data))
            likeness = (traits & theirs).total() / max(1, (traits | theirs).total())
            if best is None or likeness > best[0]:
                best = likeness, index, recorded, data
        if best is None:
            return None
        _, index, recorded, data = best
        found = compare(_literal(data), live, limit=MAX_FINDINGS)
        if not found:  # at other places
            found = compare(_literal(as_data(recorded)), as_data(asked), limit=MAX_FINDINGS)
        return index, [
            with_fields(each, path=_path_in_body(each.path, side.get("body")))
            for each in found
            for side in [asked if each.kind == "extra" else recorded]
        ]

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


def _read(request: Request) -> _Parts:
    """Return what is compared of a request: with its prompt if it is a JSON object for a wire whose
    requests are read as a whole. An envelope loses the numbers of the call and the project. Other
    methods of the APIs have fields of generateContent.
    """
    parts: _Parts = {"method": request.method.upper(), "path": _path(request.url)}
    query = _query(request.url)
    if query:
        parts["query"] = query
    if not request.body:
        return parts
    try:
        body = parts["body"] = decode_json(request.body)
    except ValueError:
        return parts | _plain(request.body)
    named = detect_provider(request.method, request.url, b"", b"").provider
    provider = PROVIDERS[named or "gemini-api"]
    if type(body) is dict and provider.reads_whole:
        prompt = provider.compared_prompt(body)
        kept = prompt.more.keys() - (_CALL_NUMBERS if type(body.get("request")) is dict else ())
        parts["body"] = replace(prompt, more={name: prompt.more[name] for name in kept})
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


def _path_in_body(path: str, prompt: Json) -> str:
    """Return the path in the body for a path in the compared parts."""
    if not isinstance(prompt, Prompt):
        return path
    places = {**prompt.places, **{readable_path(["more", place]): place for place in prompt.more}}
    for number, message in enumerate(prompt.messages):
        places[f"messages[{number}]"] = message.place
        for index, part in enumerate(message.parts):
            places[f"messages[{number}].parts[{index}]"] = part.place
    for number, tool in enumerate(prompt.tools):
        places[f"tools[{number}]"] = tool.place
    name = max((name for name in places if path.startswith(f"body.{name}")), key=len, default="")
    return path.replace(name, places[name], 1) if name else path


def _plain(body: bytes) -> dict[str, str]:
    """Return a body that is not JSON, to be compared byte by byte."""
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}


def _digest(request: Request) -> bytes:
    text = json.dumps(as_data(_read(request)), sort_keys=True)
    return blake2b(text.encode(), digest_size=16).digest()


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
