"""Finds the answer to a request, without a socket.

The first of these answers: the configured fault; the exchange that was recorded for the same
request; an error if the API would refuse the history, so that a client that loses a signature gets
Google's message; an exchange that answers any request; an answer that the server makes up; a 404
that names the most similar recorded request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

from harness.pipeline.replay import choose_provider
from harness.providers import PROVIDERS, Identity, detect_provider
from harness.stream.exchange import Exchange

from .anthropic_proxy import Messages, Refusal
from .callers import Callers
from .connection import HttpRequest
from .google import debug_info, error_answer, fault_answer, made_up, message_of
from .lookup import Finder, PlacedExchange, miss_of
from .options import Fault, Options, Strictness
from .refusals import BrokenRule, GivenSignatures, Level, find_broken_rules, given_signatures
from .response import Answer, recorded_answer

_REFUSED: Final[dict[Strictness, frozenset[Level]]] = {
    "strict": frozenset({"api", "strict"}),
    "api": frozenset({"api"}),
    "lenient": frozenset(),
}
"""Strictness → the levels of the rules that lead to a refusal."""


class Endpoint:
    """Answers requests from the ``placed`` exchanges. ``missed`` is called with a message for each
    request that nothing answers, ``warned`` for each broken rule that does not lead to a refusal.
    Only ``callers`` that prove to be local are shown the most similar recorded request.
    """

    def __init__(
        self,
        placed: Sequence[PlacedExchange],
        options: Options,
        missed: Callable[[str], None],
        warned: Callable[[str], None],
        callers: Callers,
    ) -> None:
        # The output of a program is no answer over HTTP.
        self.placed = [
            item for item in placed if not PROVIDERS[choose_provider(item.exchange, None)].program
        ]
        self.options = options
        self.finder = Finder(self.placed, options.match, options.provider)
        self._missed = missed
        self._warned = warned
        self._callers = callers
        self._messages = (
            Messages(self._look_for_messages, options, self._provider(), missed)
            if options.dialect == "anthropic"
            else None
        )

    def answer(self, request: HttpRequest) -> Answer:
        """The answer to a request."""
        if self._messages is not None and (answer := self._messages.answer(request)):
            return answer
        identity = detect_provider(request.method, request.url, request.body, b"")
        match self.options.fault:
            case Fault("status", code) if identity.generates:
                return fault_answer(request, code)
        match self._look(request, identity):
            case Exchange() as exchange:
                return recorded_answer(exchange, self.options)
            case BrokenRule() as broken:
                return refused(request, broken)
        return made_up(request, self._models) or self._not_found(request)

    def _look(self, request: HttpRequest, identity: Identity) -> Exchange | BrokenRule | None:
        """The exchange that answers, else a rule that the request breaks, else None."""
        if exchange := self.finder.find_recorded(request):
            return exchange
        for broken in find_broken_rules(request.body, identity, lambda: self._signatures):
            if broken.rule.level in _REFUSED[self.options.strictness]:
                return broken
            self._warned(f"{request.method} {urlsplit(request.url).path}: {broken}")
        return self.finder.find_other(request, identity)

    def _look_for_messages(self, request: HttpRequest) -> Exchange | Refusal:
        match self.options.fault:
            case Fault("status", code):
                return Refusal(code, message_of(code))
        identity = detect_provider(request.method, request.url, request.body, b"")
        match self._look(request, identity):
            case Exchange() as exchange:
                return exchange
            case BrokenRule() as broken:
                return Refusal(400, broken.message)
        return Refusal(404, self._explain(request)[0], miss_of(request))

    def _provider(self) -> str | None:
        """The provider of the first exchange whose provider is known."""
        return next(
            (place.exchange.provider for place in self.placed if place.exchange.provider), None
        )

    def _not_found(self, request: HttpRequest) -> Answer:
        message, differences = self._explain(request)
        self._missed(message)
        if self._callers.proves_to_be_local(request.headers):
            details = [debug_info(differences)] if differences else ()
            answer = error_answer(request, 404, message, details)
        else:
            answer = error_answer(request, 404, miss_of(request))
        return replace(answer, notes=(message,))

    def _explain(self, request: HttpRequest) -> tuple[str, list[str]]:
        sentence, differences = self.finder.explain(request)
        return sentence + "; ".join(differences), differences

    @cached_property
    def _signatures(self) -> GivenSignatures:
        return given_signatures(placed.exchange for placed in self.placed)

    @cached_property
    def _models(self) -> frozenset[str]:
        identities = [
            detect_provider(request.method, request.url, request.body, b"")
            for placed in self.placed
            if (request := placed.exchange.request)
        ]
        return frozenset(identity.model for identity in identities if identity.model)


def refused(request: HttpRequest, broken: BrokenRule) -> Answer:
    """The API's error for a request that breaks a rule; a detail names the rule."""
    rule = broken.rule
    details = [debug_info([f"rule {rule.name}: {rule.refused}", rule.source])]
    return replace(
        error_answer(request, 400, broken.message, details), notes=(f"refused: {broken}",)
    )
