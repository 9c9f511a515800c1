"""Requests in, answers out, without a socket: what is recorded, what the API would refuse, what
nobody recorded.

The order decides. A fault of the server comes first; then the exchange that was recorded for this
very request, whatever it is: a recording is what the API did. Only then is a history judged, so
that a client that loses a signature is told so in Google's words instead of not being found. Then
what answers any request, then what the server makes up, and last a 404 with the nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from harness.pipeline.replay import choose_provider
from harness.providers import PROVIDERS, Identity, detect_provider
from harness.stream.exchange import Exchange

from .anthropic_proxy import Messages, Refusal
from .connection import HttpRequest
from .google import debug_info, error_answer, fault_answer, made_up, message_of
from .history_rules import find_fault, signatures_of
from .lookup import Finder, PlacedExchange
from .options import Fault, Manner
from .response import Answer, recorded_answer


class Endpoint:
    """The exchanges of some cassettes as the API that they were recorded from; ``missed`` is told
    of what nobody recorded.
    """

    def __init__(
        self, placed: Sequence[PlacedExchange], manner: Manner, missed: Callable[[str], None]
    ) -> None:
        # The output of a program is no answer over HTTP.
        self.placed = [
            item for item in placed if not PROVIDERS[choose_provider(item.exchange, None)].program
        ]
        self.manner = manner
        self.finder = Finder(self.placed, manner.match, manner.provider)
        self._missed = missed
        self._messages = (
            Messages(self._look_for_messages, manner, self._provider(), missed)
            if manner.dialect == "anthropic"
            else None
        )

    def answer(self, asked: HttpRequest) -> Answer:
        """What is sent for a request."""
        if self._messages is not None and (answer := self._messages.answer(asked)):
            return answer
        told = detect_provider(asked.method, asked.url, asked.body, b"")
        match self.manner.fault:
            case Fault("status", code) if told.generates:
                return fault_answer(asked, code)
        found = self._look(asked, told)
        match found:
            case Exchange():
                return recorded_answer(found, self.manner)
            case str():
                return error_answer(asked, 400, found)
        return made_up(asked, self._models) or self._not_found(asked)

    def _look(self, asked: HttpRequest, told: Identity) -> Exchange | str | None:
        """The exchange that answers, or what the API would say about the history, or neither."""
        exchange = self.finder.find_recorded(asked)
        if (
            exchange is None
            and told.generates
            and (fault := find_fault(asked.body, told.model, lambda: self._signatures))
        ):
            return fault
        return exchange or self.finder.find_other(asked, told)

    def _look_for_messages(self, asked: HttpRequest) -> Exchange | Refusal:
        match self.manner.fault:
            case Fault("status", code):
                return Refusal(code, message_of(code))
        found = self._look(asked, detect_provider(asked.method, asked.url, asked.body, b""))
        match found:
            case Exchange():
                return found
            case str():
                return Refusal(400, found)
        return Refusal(404, self._explain(asked)[0])

    def _provider(self) -> str | None:
        """Whose the cassettes are: that of the first exchange that tells it."""
        return next((one.exchange.provider for one in self.placed if one.exchange.provider), None)

    def _not_found(self, asked: HttpRequest) -> Answer:
        said, differences = self._explain(asked)
        self._missed(said)
        return error_answer(asked, 404, said, [debug_info(differences)] if differences else ())

    def _explain(self, asked: HttpRequest) -> tuple[str, list[str]]:
        sentence, differences = self.finder.explain(asked)
        return sentence + "; ".join(differences), differences

    @cached_property
    def _signatures(self) -> frozenset[str]:
        return signatures_of(one.exchange for one in self.placed)

    @cached_property
    def _models(self) -> frozenset[str]:
        told = [
            detect_provider(request.method, request.url, request.body, b"")
            for one in self.placed
            if (request := one.exchange.request)
        ]
        return frozenset(one.model for one in told if one.model)
