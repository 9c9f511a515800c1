"""Finds the answer to a request, without a socket.

A request gets the first of these that exists: the configured fault; the exchange that was recorded
for the same request; an error if the API would refuse the history (a client that loses a signature
gets Google's message); an exchange that answers any request; a stored interaction; an answer that
the server builds without a recording; a 404 that names the most similar recorded request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

from harness.dialects import DIALECTS
from harness.providers import PROVIDERS, Identity, detect_provider
from harness.stream.exchange import Exchange

from .callers import Callers
from .connection import HttpRequest
from .dialect_proxy import DialectProxy, ProxyRefusal
from .google import debug_info, error_answer, fault_answer, made_up, message_of
from .lookup import ExchangeFinder, PlacedExchange, miss_of
from .options import Options, ServedFault, Strictness
from .refusals import BrokenRule, RuleLevel, ServedSignatures, find_broken_rules, given_by
from .response import ServedAnswer, recorded_answer
from .stored_interactions import StoredInteractions

_REFUSED: Final[dict[Strictness, frozenset[RuleLevel]]] = {
    "strict": frozenset({"api", "strict"}),
    "api": frozenset({"api"}),
    "lenient": frozenset(),
}
"""Strictness → the levels of the rules that lead to a refusal."""


class ServedEndpoint:
    """Answers requests with the ``placed`` exchanges. ``missed`` is called with a message for each
    request without an answer, ``warned`` for each broken rule that does not lead to a refusal.
    ``callers`` recognises local tools; only they are shown the most similar recorded request.
    """

    def __init__(
        self,
        placed: Sequence[PlacedExchange],
        options: Options,
        missed: Callable[[str], None],
        warned: Callable[[str], None],
        callers: Callers,
    ) -> None:
        # The output of a program is not an HTTP answer.
        self.placed = [
            item
            for item in placed
            if item.exchange.provider is None or not PROVIDERS[item.exchange.provider].program
        ]
        self.options = options
        self.finder = ExchangeFinder(self.placed, options.match, options.provider)
        self._missed = missed
        self._warned = warned
        self._callers = callers
        self._stored = StoredInteractions((item.exchange for item in self.placed), options)
        self._proxies = [
            DialectProxy(dialect, api, self._look_for_proxy, options, self._provider(), missed)
            for name, dialect in DIALECTS.items()
            for api in dialect.apis
            if name == options.dialect
        ]

    def answer(self, request: HttpRequest) -> ServedAnswer:
        """Return the answer to a request."""
        identity = detect_provider(request.method, request.url, request.body, b"")
        if not self._has_recordings(identity):
            for proxy in self._proxies:
                if answer := proxy.answer(request):
                    return answer
        match self.options.fault:
            case ServedFault("status", code) if identity.generates:
                return fault_answer(request, code)
        match self._look(request, identity):
            case Exchange() as exchange:
                return recorded_answer(exchange, self.options)
            case BrokenRule() as broken:
                return refused(request, broken)
        if answer := self._stored.answer(request):
            return answer
        if rule := self._refused_count(request):
            return refused(request, rule)
        return made_up(request, self._models) or self._not_found(request)

    def _refused_count(self, request: HttpRequest) -> BrokenRule | None:
        """Return a rule that a request breaks that counts the tokens of another request."""
        counted = request.url.partition("?")[0].removesuffix("/count_tokens")
        identity = detect_provider(request.method, counted, request.body, b"")
        levels = _REFUSED[self.options.strictness]
        broken = find_broken_rules(request.body, identity, lambda: self._given)
        return next((rule for rule in broken if rule.rule.level in levels), None)

    def _has_recordings(self, identity: Identity) -> bool:
        """Return whether the wire of a request has recordings of its own, which need no
        translation.
        """
        wires = {item.exchange.provider for item in self.placed}
        return identity.provider is not None and identity.provider in wires

    def _look(self, request: HttpRequest, identity: Identity) -> Exchange | BrokenRule | None:
        """Return the exchange that answers, else a rule that the request breaks, else None."""
        if exchange := self.finder.find_recorded(request):
            return exchange
        for broken in find_broken_rules(request.body, identity, lambda: self._given):
            if broken.rule.level in _REFUSED[self.options.strictness]:
                return broken
            self._warned(f"{request.method} {urlsplit(request.url).path}: {broken}")
        return self.finder.find_other(request, identity)

    def _look_for_proxy(self, request: HttpRequest) -> Exchange | ProxyRefusal:
        match self.options.fault:
            case ServedFault("status", code):
                return ProxyRefusal(code, message_of(code))
        identity = detect_provider(request.method, request.url, request.body, b"")
        match self._look(request, identity):
            case Exchange() as exchange:
                return exchange
            case BrokenRule() as broken:
                return ProxyRefusal(broken.rule.status, broken.message)
        return ProxyRefusal(404, self._explain(request)[0], miss_of(request))

    def _provider(self) -> str | None:
        """Return the provider of the first exchange that has a known provider."""
        return next(
            (place.exchange.provider for place in self.placed if place.exchange.provider), None
        )

    def _not_found(self, request: HttpRequest) -> ServedAnswer:
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
    def _given(self) -> ServedSignatures:
        return given_by(placed.exchange for placed in self.placed)

    @cached_property
    def _models(self) -> frozenset[str]:
        recorded = [placed.exchange for placed in self.placed if placed.exchange.request]
        return frozenset(exchange.model for exchange in recorded if exchange.model)


def refused(request: HttpRequest, broken: BrokenRule) -> ServedAnswer:
    """Return the API's error for a request that breaks a rule. A header names the rule, and so does
    a detail of the error if the wire has details.
    """
    rule = broken.rule
    details = [debug_info([f"rule {rule.name}: {rule.refused}", rule.source])]
    return replace(
        error_answer(
            request,
            rule.status,
            broken.message,
            details,
            note=f"refused by rule {rule.name}",
            fields=broken.fields,
        ),
        notes=(f"refused: {broken}",),
    )
