"""Law 8: every call of an answer is sent back in the next request.

The dialect continues the conversation: the payloads of the answer are appended to a prompt, with an
outcome for each call. The oracle then compares the request with the raw answer. The oracle does not
know the event model.
"""

from __future__ import annotations

from typing import Final

from harness.adapters import AdapterError, Subject
from harness.dialects.dialect import RequestTranslator
from harness.facts import WireFacts
from harness.pipeline.request import ask
from harness.providers.second_turn import SecondTurnAspect, judge_second_turn
from harness.stream.events import INTERRUPTED
from harness.stream.exchange import Exchange
from harness.stream.generation import (
    GenerateRequest,
    ToolOutcome,
    TranslationError,
    UnansweredError,
)
from harness.stream.websocket import SWITCHED

from ..aspects import provider_of, wire_facts
from .law import Breach, Law

ASKED: Final[tuple[SecondTurnAspect, ...]] = (
    *("calls", "ids", "signatures", "other_signatures", "results"),
)


def return_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return one breach for each aspect of `ASKED` that is red in the next request."""
    translator = subject.adapter.request
    if translator is None:
        return []
    wire = wire_facts(exchange, subject)
    try:
        request = _next_request(exchange, subject, translator, wire)
    except TranslationError as error:
        return [Breach(f"the answer can't be sent back: {error}", exchange)]
    provider = provider_of(exchange, subject)
    prompt = provider.prompt_of(request.body)
    findings = judge_second_turn(
        wire, prompt, request.body, provider.history, exact=translator.sent_back
    )
    return [
        Breach(finding.sentence, exchange)
        for aspect, finding in findings.items()
        if aspect in ASKED and finding.red
    ]


def _next_request(
    exchange: Exchange, subject: Subject, translator: RequestTranslator, wire: WireFacts
) -> GenerateRequest:
    """Return the request after the answer, with an outcome for each call. Raises
    `TranslationError`.
    """
    output = subject.output(exchange)
    outcomes = [ToolOutcome({"done": True}) for _ in wire.calls] if wire.calls else "Go on."
    prompt = translator.follow_up(translator.opening_prompt, output.items, outcomes)
    return ask(translator, prompt, provider_of(exchange, subject).name, {}, output.session)


def nothing_goes_back(exchange: Exchange, subject: Subject) -> str:
    """Return the reason why the law has nothing to check, or ""."""
    if subject.adapter.request is None:
        return f"{subject.adapter.name} sends nothing back"
    if "call" not in subject.adapter.request.sent_back:
        return f"{subject.adapter.name} declares calls as lost"
    provider = provider_of(exchange, subject)
    if exchange.status == SWITCHED:
        return "the results of its calls are messages of the session"
    if provider.write is None:
        return "the harness builds no request for the provider"
    if subject.adapter.request.wire not in (None, provider.wire):
        return f"{subject.adapter.name} builds only requests of {subject.adapter.request.wire}"
    wire = wire_facts(exchange, subject)
    failed = (
        exchange.end in INTERRUPTED
        or wire.errors
        or wire.block_reason is not None
        or wire.open_call
        or not wire.understood
    )
    if failed:
        return "the answer failed"
    if wire.invalid_calls:
        return "the arguments of a call are not an object"
    if wire.blocks or wire.results:
        return "its calls are text, or already have their results"
    if not (wire.calls or wire.signatures):
        return "the answer has no call and no signature"
    try:
        _next_request(exchange, subject, subject.adapter.request, wire)
    except UnansweredError as error:
        if wire.ends_in_thought:
            return f"the service would refuse the answer: {error}"
    except (TranslationError, AdapterError):
        pass  # `return_findings` reports it
    if wire.ends_in_thought and not wire.calls:
        return "the service would refuse the reasoning: nothing that can be sent back follows it"
    return ""


ROUND_TRIP = Law(
    8,
    "What goes back",
    "After its calls have run, every call, id, name, argument and signature of the answer is sent"
    " back at its part, and nowhere else.",
    return_findings,
    unasked=nothing_goes_back,
    layers=("payloads",),
    feature="requests.signatures",
    source="https://ai.google.dev/gemini-api/docs/thought-signatures",
)
