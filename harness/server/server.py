"""Serves cassettes as a live endpoint on a loopback address.

New cassettes or options replace the whole endpoint between two requests.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from harness.cassettes.load import load
from harness.pipeline.replay import ReplayError
from harness.providers import detect_provider, with_provider
from harness.stream.exchange import Cassette, CassetteError, Exchange
from harness.stream.websocket import SWITCHED, read_messages

from .certificate import FILE, make_certificate
from .connection import HttpRequest
from .endpoint import ServedEndpoint
from .fault_offer import FaultOffer
from .google import error_answer
from .listener import LOOPBACK, Listener
from .lookup import PlacedExchange
from .offer import Offer
from .options import Options, read_options
from .question_offer import QuestionOffer
from .request_log import MAX_REQUESTS, ServedRequest, served_request
from .response import ServedAnswer, moved
from .session import Respond, ServedSession, SessionConnection
from .session_offer import SessionOffer
from .whole_answers import asks_model

_Offer = TypeVar("_Offer", bound=Offer)
_OFFER: Final = re.compile(r"/(x[0-9]{1,9})(?=[/:]|$)")


class Server(Listener):
    """Serves cassettes inside a ``with`` block.

    If ``on_miss`` or ``on_warning`` is given, it is called instead of adding a message to
    ``misses`` or ``warnings``. ``read`` loads a cassette from a path. The other arguments are those
    of `harness.server.serve`.
    """

    def __init__(
        self,
        cassettes: Sequence[Cassette | str | Path] = (),
        *,
        port: int = 0,
        host: str = LOOPBACK,
        allowed_hosts: Collection[str] = (),
        on_miss: Callable[[str], None] | None = None,
        on_warning: Callable[[str], None] | None = None,
        read: Callable[[str | Path], Cassette] = load,
        tls: bool = False,
        **options: Any,
    ) -> None:
        made = make_certificate(host) if tls else None
        self._folder = made[1] if made else None
        self.certificate = Path(made[1].name) / FILE if made else None
        """The file of the authority that clients of a server with TLS trust, or None."""
        super().__init__(host, port, allowed_hosts, made[0] if made else None)
        self.sessions: deque[ServedSession] = deque(maxlen=MAX_REQUESTS)
        """The sessions that clients have had, in order: what each client sent, and how that differs
        from the recorded client.
        """
        self._read = read
        self.misses: list[str] = []
        """A message for each request that no exchange answers: the most similar recorded request
        and the differences.
        """
        self._requests: deque[ServedRequest] = deque(maxlen=MAX_REQUESTS)
        self._offers: dict[str, Offer] = {}
        self._sessions: dict[str, SessionOffer] = {}
        self._offered = 0
        self.warnings: list[str] = []
        """A message for each rule of the API that an answered request broke."""
        self._on_miss = on_miss or self.misses.append
        self._on_warning = on_warning or self.warnings.append
        self._serve([], options)
        self.add(*cassettes)

    def add(self, *cassettes: Cassette | str | Path) -> None:
        """Serve these cassettes too; all exchanges count as unused again. Raises `CassetteError`
        for a cassette that can't be read.
        """
        added: list[PlacedExchange] = []
        for source in cassettes:
            if isinstance(source, Cassette):
                cassette, name = source, "the cassette"
            else:
                cassette, name = self._read(source), str(source)
            for number, exchange in enumerate(cassette.exchanges, 1):
                known = exchange if exchange.generates else with_provider(exchange)
                if known.status == SWITCHED:
                    _check_session(known, f"{name}: exchange {number}")
                added.append(PlacedExchange(known, name, number))
        self._serve([*self._endpoint.placed, *added], self._options)

    def _serve(self, placed: Sequence[PlacedExchange], options: Mapping[str, Any]) -> None:
        """Serve these exchanges with these options. Raises before anything changes."""
        self._endpoint = ServedEndpoint(
            placed, read_options(**options), self._on_miss, self._on_warning, self.callers
        )
        self._options = options

    def behave(self, **options: Any) -> None:
        """Change ``pace``, ``cuts``, ``fault``, ``match``, ``provider``, ``dialect`` or
        ``strictness``, with effect from the next request. Other options stay.
        """
        self._serve(self._endpoint.placed, {**self._options, **options})

    def clear(self, **options: Any) -> None:
        """Remove all cassettes and misses, and use these options."""
        self._serve([], options)
        self.misses.clear()
        self.warnings.clear()
        self._requests.clear()

    def offer(
        self, *exchanges: Exchange, final: bool = False, attempts: Sequence[Exchange] = ()
    ) -> Offer:
        """Serve one exchange to one adapter under test, at a separate base URL. The server must be
        running.

        The adapter's first request that generates is answered; it must have the recorded method,
        but may have any model, version, provider path and ``alt``. The same turn again gets the
        next of the ``attempts``, and after them HTTP 409. Each further exchange answers one request
        with a longer history. With ``final``, later requests on Gemini's wires get a short final
        answer. Close the offer when the adapter has ended.
        Raises `ReplayError` for an exchange that can't be served.
        """
        if not exchanges:
            raise ReplayError("offer() needs at least one exchange")
        return self._add(Offer, exchanges, final=final, attempts=attempts)

    def offer_question(self) -> Offer:
        """Answer the requests of one adapter to a question, at a separate base URL: each request
        that generates gets a short answer. Close the offer when the adapter has ended.
        """
        return self._add(QuestionOffer)

    def offer_fault(self, exchange: Exchange, fault: str, times: int) -> FaultOffer:
        """Serve one exchange to one adapter under test, at a separate base URL: its first requests
        that generate get the ``fault`` (as in `behave`), ``times`` of them, and each later one the
        recorded answer. Close the offer when the adapter has ended. Raises `ReplayError` for an
        exchange that can't be served.
        """
        return self._add(FaultOffer, exchange, read_options(fault=fault).fault, times)

    def _add(self, make: Callable[..., _Offer], *arguments: Any, **options: Any) -> _Offer:
        """Add an offer at a separate base URL, until it is closed."""
        name = self._next_name()
        offer = make(
            f"{self.base_url}/{name}",
            *arguments,
            options=lambda: self._endpoint.options,
            close=lambda: self._offers.pop(name, None),
            **options,
        )
        self._offers[name] = offer
        return offer

    def _next_name(self) -> str:
        self._offered += 1
        return f"x{self._offered}"

    def offer_session(self, exchange: Exchange, turn_s: float) -> SessionOffer:
        """Serve a session to one adapter under test, at a separate base URL, with the script of
        its user. ``turn_s``: the time limit for each message of the adapter, in seconds. Raises
        `CassetteError` for a message that can't be read.
        """
        _check_session(exchange, "the session")
        name = self._next_name()
        self._sessions[name] = offer = SessionOffer(
            f"{self.base_url}/{name}",
            exchange,
            turn_s,
            options=self._endpoint.options,
            close=lambda: self._close_session(name),
        )
        return offer

    def _close_session(self, name: str) -> None:
        offer = self._sessions.pop(name, None)
        if offer and self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(offer.end)

    @property
    def token(self) -> str:
        """The token of this server. A request with the token in the header ``X-Harness-Token`` is
        shown the most similar recorded request.
        """
        return self.callers.token

    @property
    def requests(self) -> list[ServedRequest]:
        """The requests that are not for an offer, in order: at most the last `MAX_REQUESTS`."""
        return list(self._requests)

    @property
    def unused(self) -> list[str]:
        """The exchanges that no request has used, by cassette and number."""
        return [str(placed) for placed in self._endpoint.finder.unused()]

    async def run(self, started: Callable[[], None]) -> None:
        try:
            await super().run(started)
        finally:
            if self._folder:
                self._folder.cleanup()

    async def serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await SessionConnection(
            reader, writer, self.callers, self._respond, self._open, self._session_of
        ).run()

    def _session_of(self, request: HttpRequest) -> Respond | None:
        match = _OFFER.match(urlsplit(request.url).path)
        offer = self._sessions.get(match[1]) if match else None
        return offer.respond if offer else None

    def _open(self, request: HttpRequest) -> tuple[Exchange, ServedSession, Options] | None:
        """Return the next recorded session for a request that opens one; None without one, and for
        a fault that refuses it.
        """
        options = self._endpoint.options
        if options.fault and options.fault.kind == "status":
            return None
        placed = self._endpoint.finder.next_session()
        if placed is None:
            return None
        session = ServedSession(str(placed), note=self._on_warning)
        self.sessions.append(session)
        return placed.exchange, session, options

    def _respond(self, request: HttpRequest) -> tuple[ServedAnswer, Options]:
        endpoint = self._endpoint
        path = urlsplit(request.url).path
        name = match[1] if (match := _OFFER.match(path)) else ""
        offer = self._offers.get(name)
        if offer is None and len(self._offers) == 1 and not endpoint.placed and not name:
            (offer,) = self._offers.values()
        if offer is not None:
            answer = offer.answer(request)
        else:
            if name and 0 < int(name[1:]) <= self._offered:
                note = f"the offer /{name} is closed; this request is too late"
                answer = replace(error_answer(request, 404, note), notes=(note,))
            else:
                answer = endpoint.answer(request)
            identity = detect_provider(request.method, request.url, request.body, b"")
            generates = asks_model(identity, request.url)
            self._requests.append(
                served_request(request, answer, path, time.monotonic(), generates)
            )
        answer = replace(answer, headers=moved(answer.headers, self.base_url))
        return answer, endpoint.options


def _check_session(exchange: Exchange, place: str) -> None:
    """Raise `CassetteError` if a message of a session can't be read."""
    try:
        read_messages(exchange.body, cut=True)
    except CassetteError as error:
        raise CassetteError(f"{place}: {error}") from None
