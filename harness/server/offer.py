"""Serves one exchange to one adapter under test, at a separate base URL.

An adapter may request any model, version, provider path and ``alt``; notes of the request list its
differences from the recorded one. The method must be the recorded one, because an adapter can't be
judged on an answer in the other mode. The first request that generates is answered. A second
request gets HTTP 409, unless its history is longer and there is an answer for another turn, or the
recording has another answer to the same request.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from harness.pipeline.replay import ReplayError
from harness.providers import PROVIDERS, Identity, detect_provider, with_provider
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_object

from .connection import HttpRequest
from .google import FINAL_WIRES, error_answer, fault_answer, final_answer, made_up
from .options import Options, ServedFault
from .request_log import MAX_REQUESTS, ServedRequest, served_request
from .response import ServedAnswer, recorded_answer
from .stored_interactions import StoredInteractions
from .whole_answers import asks_model

_METHOD: Final = re.compile(r":(?P<method>(?:g|streamG)enerateContent)$")
_MODEL: Final = re.compile(r"/models/(?P<model>[^/:]+)$")
_VERSION: Final = re.compile(r"(?:^|/)(?P<version>v[0-9]+[a-z0-9]*)(?=[/:])")
_HISTORIES: Final = ("contents", "messages", "input")
"""The fields that contain the history, on all public wires."""
_STORED: Final = ("previous_interaction_id", "previous_response_id", "conversation")
"""The fields that name a history which the service has stored."""


class Offer(AbstractContextManager["Offer"]):
    """Serves an exchange, and the exchanges of later turns, at one base URL.

    ``exchanges``: one for each turn; the entries of `requests` contain these objects. ``final``:
    later turns get a short final answer that is not recorded. The argument ``attempts``: the
    further answers to the request of the first turn. The end of a ``with`` block closes the offer.
    Raises `ReplayError` for an exchange that can't be served.
    """

    def __init__(
        self,
        base_url: str,
        exchanges: Sequence[Exchange],
        *,
        final: bool,
        attempts: Sequence[Exchange] = (),
        options: Callable[[], Options],
        close: Callable[[], object],
    ) -> None:
        self.base_url = base_url
        self.close = close
        """Ends the offer."""
        self.named = True
        """Whether the client knows the path of the base URL. A gateway is configured without it."""
        self.asked_again = 0
        """The number of requests that got HTTP 409."""
        self.attempts = 1
        """The number of answers that the first turn got."""
        self._attempts = [(given, _servable(given, final)) for given in attempts]
        self._given = exchanges
        self._exchanges = [_servable(exchange, final) for exchange in exchanges]
        self._final = final
        self._options = options
        self._below = urlsplit(base_url).path
        self._requests: deque[ServedRequest] = deque(maxlen=MAX_REQUESTS)
        self._histories: list[_History] = []
        self._stored = StoredInteractions((), options())

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def requests(self) -> list[ServedRequest]:
        """The requests at this base URL, in order: at most the last `MAX_REQUESTS`."""
        return list(self._requests)

    @property
    def answered(self) -> int:
        """The number of answered turns."""
        return len(self._histories)

    def answer(self, request: HttpRequest) -> ServedAnswer:
        """Return the answer to a request, which is then one of `requests`."""
        path = unquote(urlsplit(request.url).path)
        below = path.removeprefix(self._below)
        identity = identify(request.method, below, request.body)
        generates = asks_model(identity, below)
        answer = (
            self._generated(request, below, identity) if generates else self._other(request, below)
        )
        if self.named and not path.startswith(self._below):
            note = f"the client left out {self._below}, the path of its base URL"
            answer = replace(answer, notes=(*answer.notes, note))
        entry = served_request(request, answer, below, time.monotonic(), generates)
        self._requests.append(entry)
        return answer

    def _generated(self, request: HttpRequest, path: str, identity: Identity) -> ServedAnswer:
        turn, history = len(self._histories), _history(request.body)
        if turn and not history.follows(self._histories[-1]):
            if turn > 1 or self.attempts > len(self._attempts):
                return self._refuse(request, "this turn was asked before")
            return self._attempt(request, path, identity)
        exchange = self._exchanges[turn] if turn < len(self._exchanges) else None
        if exchange is None and not self._final:
            return self._refuse(request, "no exchange is offered for this turn")
        offered = exchange or self._exchanges[0]
        if miss := self._miss(request, exchange, offered, path, identity):
            return miss
        self._histories.append(history)
        answered = self._exchanges[: len(self._histories)]
        self._stored = StoredInteractions(answered, self._options())
        options = self._options()
        match options.fault:
            case ServedFault("status", code):
                return fault_answer(request, code)
        if exchange is None:
            return final_answer(request, identity)
        notes = _differences(exchange, request, path, identity)
        return self._recorded(exchange, self._given[turn], notes)

    def _miss(
        self,
        request: HttpRequest,
        exchange: Exchange | None,
        offered: Exchange,
        path: str,
        identity: Identity,
    ) -> ServedAnswer | None:
        """Return the refusal of a request for another wire or another mode, else None."""
        if miss := _find_miss(exchange, offered, path, identity):
            note = f"{miss}: {_describe(offered)}"
            return replace(error_answer(request, 404, f"{miss}."), notes=(note,))
        return None

    def _attempt(self, request: HttpRequest, path: str, identity: Identity) -> ServedAnswer:
        """Return the next answer to the request of the first turn."""
        given, exchange = self._attempts[self.attempts - 1]
        if miss := _find_miss(exchange, exchange, path, identity):
            return self._refuse(request, f"the next answer is for another request: {miss}")
        self.attempts += 1
        return self._recorded(exchange, given, (f"the same turn, attempt {self.attempts}",))

    def _recorded(
        self, exchange: Exchange, given: Exchange, notes: tuple[str, ...]
    ) -> ServedAnswer:
        # An adapter can't know when the recorded client disconnected, so the server does not wait
        # for it to disconnect.
        served = replace(exchange, end="cut") if exchange.end == "aborted" else exchange
        return replace(recorded_answer(served, self._options()), exchange=given, notes=notes)

    def _refuse(self, request: HttpRequest, note: str) -> ServedAnswer:
        self.asked_again += 1
        message = f"Only one request for each offered turn is answered, and {note}."
        return replace(error_answer(request, 409, message), notes=(note,))

    def _other(self, request: HttpRequest, path: str) -> ServedAnswer:
        """Return the answer to a request that does not generate. Every requested model exists, and
        so does every served interaction.
        """
        if stored := self._stored.answer(request):
            return replace(stored, notes=("the answer is made from a recorded interaction",))
        models = {exchange.model for exchange in self._exchanges if exchange.model}
        if match := _MODEL.search(path):
            models.add(match["model"])
        if answer := made_up(request, models):
            return replace(
                answer, notes=("the request does not generate; its answer is not recorded",)
            )
        miss = f"{request.method} {path} does not generate, and no answer to it is known"
        note = f"{miss}; the offered exchange is {_describe(self._exchanges[0])}"
        return replace(error_answer(request, 404, f"{miss}."), notes=(note,))


def _servable(exchange: Exchange, final: bool) -> Exchange:
    known = exchange if exchange.generates else with_provider(exchange)
    provider = PROVIDERS.get(known.provider or "")
    if provider and provider.program:
        raise ReplayError(
            f"the exchange is the output of a program ({provider.name}); only answers over HTTP can"
            " be offered"
        )
    if known.request and not known.generates:
        raise ReplayError(
            f"the exchange of {known.request.method} {urlsplit(known.request.url).path} does not"
            " generate; only answers of a model can be offered"
        )
    if final and provider and provider.name not in FINAL_WIRES:
        raise ReplayError(
            f"there is no final answer for {provider.name}; offer an exchange for the later turn"
        )
    return known


def identify(method: str, path: str, body: bytes) -> Identity:
    """Return the provider, mode and model of a request to a path below a base URL."""
    identity = detect_provider(method, f"http://localhost{path}", body, b"")
    if not identity.generates and method == "POST" and (match := _METHOD.search(path)):
        # Some clients put the method directly after a custom base URL.
        return Identity("gemini-api", True, match["method"].startswith("stream"))
    return identity


@dataclass(frozen=True, slots=True)
class _History:
    """The history of a request: the stored one that it names, and the number of its messages."""

    stored: Any
    length: int

    def follows(self, before: _History) -> bool:
        """Return whether this is a later history of a conversation than ``before``."""
        return self.stored != before.stored or self.length > before.length


def _history(body: bytes) -> _History:
    """Return the history of a request on any wire. A text is one message; a request without any
    has the length of its body.
    """
    sent = decode_object(body) or {}
    if isinstance(sent.get("request"), dict):
        sent = sent["request"]
    stored = [sent[name] for name in _STORED if sent.get(name)]
    history = next((sent[name] for name in _HISTORIES if sent.get(name)), body)
    return _History(stored, 1 if isinstance(history, str | dict) else len(history))


def _find_miss(
    exchange: Exchange | None, offered: Exchange, path: str, identity: Identity
) -> str | None:
    """Return the reason why a request is not answered: another wire, or the other mode. None if it
    is answered.
    """
    if not _same_wire(offered.provider, identity.provider):
        return (
            f"path {path} belongs to {identity.provider}, but the offered exchange is from"
            f" {offered.provider}"
        )
    streamed = _recorded_mode(exchange) if exchange else None
    if streamed is not None and streamed != identity.streamed:
        return (
            f"mode {_mode(identity.streamed)} was requested with {path}, but the offered exchange"
            f" is {_mode(streamed)}"
        )
    return None


def _same_wire(recorded: str | None, asked: str | None) -> bool:
    """Return whether two providers accept the same requests; True if one of them is unknown."""
    if recorded is None or asked is None or recorded == asked:
        return True
    write = PROVIDERS[recorded].write
    return write is not None and write is PROVIDERS[asked].write


def _recorded_mode(exchange: Exchange) -> bool | None:
    """Return whether an exchange is streamed. None for an error without a request, because its body
    does not identify the provider.
    """
    if exchange.request is None and (exchange.status >= 300 or not exchange.generates):
        return None
    return exchange.streamed


def _mode(streamed: bool) -> str:
    return "streamed" if streamed else "unary"


def _describe(exchange: Exchange) -> str:
    if exchange.request is not None:
        return f"{exchange.request.method} {urlsplit(exchange.request.url).path}"
    mode = _recorded_mode(exchange)
    words = [exchange.provider, None if mode is None else _mode(mode)]
    return ", ".join(["an answer without a request", *filter(None, words)])


def _differences(
    exchange: Exchange, request: HttpRequest, path: str, identity: Identity
) -> tuple[str, ...]:
    """Return the differences between the address of an answered request and the recorded
    address.
    """
    if exchange.request is None:
        return ()
    split = urlsplit(exchange.request.url)
    recorded = _address(unquote(split.path), split.query, exchange.model)
    here = _address(path, urlsplit(request.url).query, identity.model)
    return tuple(
        f"{name} {value or 'none'}, recorded {recorded[name] or 'none'}"
        for name, value in here.items()
        if value != recorded[name]
    )


def _address(path: str, query: str, model: str | None) -> dict[str, str | None]:
    """Return the parts of an address that an adapter may choose."""
    version = match["version"] if (match := _VERSION.search(path)) else None
    rest = path.replace(f"/{version}", "", 1).replace(f"/{model}", "/MODEL", 1)
    return {
        "model": model,
        "version": version,
        "path": rest,
        "alt": dict(parse_qsl(query)).get("alt"),
    }
