"""Serves exchanges to adapters under test, and examines the requests that each adapter sent."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from harness.facts import Entry, Error, Skipped, Transcript
from harness.pipeline.replay import ReplayError
from harness.stream.exchange import CassetteError, Exchange

from .adapter import AdapterError
from .asked import FailingService, FaultReaction, PlayedSession, Reaction, SentRequest
from .reply import Reply

if TYPE_CHECKING:
    from harness.server import Offer, ServedRequest, Server
    from harness.server.fault_offer import FaultOffer
    from harness.server.session_offer import SessionOffer

_Offer = TypeVar("_Offer", bound="Offer")

ANOTHER_WIRE: Final = "another wire"
LOOPBACK: Final = "127.0.0.1"


class Offers:
    """One server for all exchanges that adapters request. It starts with the first exchange.

    ``port`` is fixed for gateways, because they are configured with it. 0 is any free port. A
    gateway drops the path that identifies an exchange, so a fixed port serves one exchange at a
    time.
    """

    def __init__(self, host: str = LOOPBACK, port: int = 0, *, tls: bool = False) -> None:
        self._tls = tls
        self._host = host
        self._port = port
        self._server: Server | None = None
        self._lock = threading.Lock()
        self._one_by_one = threading.Lock() if port else nullcontext()

    @contextmanager
    def serve(self, make: Callable[[Server], _Offer]) -> Iterator[_Offer]:
        """Serve the offer that ``make`` adds to the server.

        Raises `Skipped` for an exchange that no server can answer with. Raises `AdapterError` if
        the address is not available.
        """
        with self._one_by_one:
            server = self._started()
            try:
                offer = make(server)
            except ReplayError as error:
                raise Skipped(str(error)) from None
            offer.named = not self._port
            with offer:
                yield offer

    @contextmanager
    def offer_session(
        self, exchange: Exchange, turn_s: float
    ) -> Iterator[tuple[SessionOffer, str]]:
        """Serve a session, with the file of the certificate of its address. Raises as `serve`
        does.
        """
        try:
            server = self._started()
            offer = server.offer_session(exchange, turn_s)
        except (ReplayError, CassetteError) as error:
            raise Skipped(str(error)) from None
        with offer:
            yield offer, str(server.certificate)

    def start(self) -> None:
        """Start the server. Raises `AdapterError` if the address is not available."""
        self._started()

    def _started(self) -> Server:
        from harness.server import serve  # the server is slow to import

        with self._lock:
            if self._server is None:
                server = serve(host=self._host, port=self._port, pace="step", tls=self._tls)
                with ExitStack() as stack:
                    try:
                        self._server = stack.enter_context(server)
                    except OSError as error:
                        raise AdapterError(
                            f"no exchange can be served at {self._host}:{self._port}:"
                            f" {error.strerror or error}; HARNESS_GATEWAY_ADDRESS=HOST:PORT names"
                            " another address"
                        ) from None
                    atexit.register(stack.pop_all().close)
            return self._server


SHARED: Final = Offers()
"""The server for all adapters except gateways."""


SESSIONS: Final = Offers(tls=True)
"""The server for sessions."""


@cache
def offers_at(host: str, port: int) -> Offers:
    """Return the server for the gateways that are configured with this address."""
    return Offers(host, port)


def transcript_of(reply: Reply, offer: Offer | None) -> Transcript:
    """Return the transcript of a reply. Raises `AdapterError` for an adapter that sent no request,
    or sent it in the other mode (streamed or unary).
    """
    entries = tuple(reply.entries)
    if offer is None or reply.skipped:
        return Transcript(entries, reply.raised, skipped=reply.skipped)
    asked = [request for request in offer.requests if request.generates]
    if not offer.answered:
        skipped = _other_wire(asked, offer, reply)
        entries = _without_errors(entries, len(entries))
        return Transcript(entries, reply.raised, skipped=skipped, path=asked[0].path)
    numbers = [number for number, request in enumerate(asked) if request.exchange is not None]
    last = numbers[offer.attempts - 1]
    again = asked[last + 1 :]
    if offer.attempts > 1:
        entries = _without_errors(entries, _entries_before(asked[last], reply) or 0)
    return Transcript(
        entries,
        reply.raised,
        asked_again=offer.asked_again,
        attempts=offer.attempts,
        path=asked[0].path,
        entries_of_first_request=_entries_before(again[0], reply) if again else None,
        notes=tuple(dict.fromkeys(note for request in asked for note in request.notes)),
    )


def played_session(offer: SessionOffer, reply: Reply, late: bool) -> PlayedSession:
    """Return what the server knows of a session. ``late``: the adapter was stopped. Raises
    `AdapterError` if the adapter opened none.
    """
    if not offer.path:
        raised = f"; it raised {reply.raised.sentence}" if reply.raised else ""
        raise AdapterError(
            "the adapter opened no session at the served address; expected one at"
            f" {reply.address}{raised}"
        ) from reply.exception
    sent = tuple(offer.served.sent)
    kind = offer.late or ("the end of its run" if late else "")
    return PlayedSession(
        offer.path, sent, offer.played, kind, offer.unexpected, offer.opened_again, offer.left
    )


def first_request(offer: Offer | None) -> SentRequest | None:
    """Return the first request for an answer; None for an adapter that asks no server."""
    if offer is None:
        return None
    asked = (request for request in offer.requests if request.generates)
    return next(
        (SentRequest(request.path, request.body, request.headers) for request in asked),
        SentRequest(),
    )


def second_body(reply: Reply, offer: Offer) -> bytes | str:
    """Return the body of the request after the answer, or the reason why the adapter skips it.
    Raises `AdapterError` if the adapter sent no such request, and as `transcript_of` does.
    """
    transcript = transcript_of(reply, offer)
    if transcript.skipped:
        return transcript.skipped
    asked = [request for request in offer.requests if request.generates]
    after = next(at for at, request in enumerate(asked) if request.exchange is not None) + 1
    if after < len(asked):
        return asked[after].body
    way_out = (
        'if it has no second turn, a function calls at.skip(reason), and a program has "turns": 1'
        " in its hello line"
    )
    way_out = reply.instead or way_out
    raised = f"it raised {reply.raised.sentence}" if reply.raised else way_out
    raise AdapterError(f"the adapter sent no second request; {raised}") from reply.exception


def fault_reaction_of(
    reply: Reply, offer: FaultOffer, service: FailingService, late: str
) -> FaultReaction:
    """Return the reaction of an adapter to a failing service. ``late``: the reason why it was
    stopped, else "". Raises as `transcript_of` does.
    """
    skipped = reply.skipped
    asked = [request for request in offer.requests if request.generates]
    if not offer.answered and not skipped and not late:
        skipped = _other_wire(asked, offer, reply)
    return FaultReaction(
        tuple(SentRequest(request.path, request.body, request.headers) for request in asked),
        Transcript(tuple(reply.entries), reply.raised, skipped=skipped, log=reply.log),
        late,
        cancels="cancel" in (reply.read or ()),
        left=not service.cancel or offer.client_left(),
    )


def reaction_of(reply: Reply, offer: Offer) -> Reaction:
    """Return the reaction of an adapter to a question."""
    sent = tuple(
        SentRequest(request.path, request.body, request.headers)
        for request in offer.requests
        if request.generates
    )
    others = (f"{each.method} {each.path}" for each in offer.requests if not each.generates)
    raised = reply.raised
    return Reaction(
        sent,
        other=next(others, ""),
        answered=bool(offer.answered),
        read=reply.read,
        asked=reply.asked,
        skipped=reply.skipped,
        raised=raised.sentence if raised else "",
        crashed=bool(raised and raised.crash),
        base_url=offer.base_url,
        log=reply.log,
        doubles=reply.doubles,
    )


def _other_wire(asked: list[ServedRequest], offer: Offer, reply: Reply) -> str:
    """Return the reason why an adapter got no answer to its request. Raises `AdapterError` if the
    adapter caused it.
    """
    notes = [note for request in asked for note in request.notes]
    if any(not note.startswith("mode ") for note in notes):
        return ANOTHER_WIRE
    if notes:
        raise AdapterError(
            f"{notes[0]}; an adapter that can't use the mode of at.stream calls at.skip(reason)"
        ) from reply.exception
    raised = f"; it raised {reply.raised.sentence}" if reply.raised else ""
    others = f", only {offer.requests[0].path}" if offer.requests else ""
    instead = reply.instead or f"expected one to {reply.address}{raised}"
    raise AdapterError(
        f"the adapter sent no request for an answer to the served address{others}; {instead}"
    ) from reply.exception


def _without_errors(entries: tuple[Entry, ...], number: int) -> tuple[Entry, ...]:
    """Return the entries without the errors in the first ones, which report an answer that failed
    or a refusal of ours.
    """
    return tuple(
        Entry(entry.native, tuple(fact for fact in entry.facts if not isinstance(fact, Error)))
        if at < number
        else entry
        for at, entry in enumerate(entries)
    )


def _entries_before(request: ServedRequest, reply: Reply) -> int | None:
    """Return the number of events before a request; None if their times are not known."""
    if any(at_s is None for at_s in reply.times):
        return None
    return sum(at_s is not None and at_s < request.at_s for at_s in reply.times)
