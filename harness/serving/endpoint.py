"""Requests in, answers out, without a socket: what is recorded, what the API would refuse, what nobody recorded.

The order decides. A fault of the server comes first; then the exchange that was recorded for this very request, whatever it is: a
recording is what the API did. Only then is a history judged, so that a client that loses a signature is told so in Google's words
instead of not being found. Then what answers any request, then what the server makes up, and last a 404 with the nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from ..providers import identify
from .answers import Answer, recorded_answer
from .connection import Asked
from .finding import Finder, Placed
from .google import debug_info, error_answer, fault_answer, made_up
from .history import find_fault, signatures_of
from .manner import Fault, Manner


class Endpoint:
    """The exchanges of some cassettes as the API that they were recorded from; ``missed`` is told of what nobody recorded."""

    def __init__(self, placed: Sequence[Placed], manner: Manner, missed: Callable[[str], None]) -> None:
        self.placed = [one for one in placed if one.exchange.provider != "gemini-cli"]  # a program's output, not an answer over HTTP
        self.manner = manner
        self.finder = Finder(self.placed, manner.match, manner.provider)
        self._missed = missed

    def answer(self, asked: Asked) -> Answer:
        """What is sent for a request."""
        told = identify(asked.method, asked.url, asked.body, b"")
        match self.manner.fault:
            case Fault("status", code) if told.generates:
                return fault_answer(asked, code)
        exchange = self.finder.find_recorded(asked)
        if exchange is None:
            if told.generates and (fault := find_fault(asked.body, told.model, lambda: self._signatures)):
                return error_answer(asked, 400, fault)
            exchange = self.finder.find_other(asked, told)
        if exchange is not None:
            return recorded_answer(exchange, self.manner)
        return made_up(asked, self._models) or self._not_found(asked)

    def _not_found(self, asked: Asked) -> Answer:
        sentence, differences = self.finder.explain(asked)
        said = sentence + "; ".join(differences)
        self._missed(said)
        return error_answer(asked, 404, said, [debug_info(differences)] if differences else ())

    @cached_property
    def _signatures(self) -> frozenset[str]:
        return signatures_of(one.exchange for one in self.placed)

    @cached_property
    def _models(self) -> frozenset[str]:
        told = [identify(request.method, request.url, request.body, b"") for one in self.placed if (request := one.exchange.request)]
        return frozenset(one.model for one in told if one.model)
