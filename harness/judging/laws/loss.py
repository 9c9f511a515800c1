"""Law 3: the output carries the facts of the raw bytes except the declared losses, and no other
facts.
"""

from __future__ import annotations

from harness.adapters import Adapter, AdapterError, Output
from harness.specs.accept import as_read
from harness.stream.exchange import Exchange
from harness.stream.session import Session

from ..aspects import ExchangeJudgement, differences, judge_exchange, variants_of_wire, wire_facts
from .law import Breach, Law


def loss_findings(exchange: Exchange, adapter: Adapter) -> list[Breach]:
    """One breach for each fact that is lost or invented.

    A user's adapter has no session. So a fact that our own adapter of that event model keeps only
    in its session, and not in its payloads, is not required.
    """
    if adapter.by_facts:
        judgement = judged(exchange, adapter)
        return [
            Breach(
                judgement.sentence(aspect),
                exchange,
                aspect=aspect,
                exception=judgement.exception,
            )
            for aspect in judgement.red
        ]
    wire = wire_facts(exchange, adapter)
    findings = differences(exchange, wire, adapter, adapter.output(exchange))
    if findings and adapter.reference:
        own = Output(adapter.reference.items(exchange), Session())
        in_session = differences(exchange, wire, adapter.reference, own)
        findings = [finding for finding in findings if finding not in in_session]
    return as_reference(findings, exchange, adapter)


def judged(exchange: Exchange, adapter: Adapter) -> ExchangeJudgement:
    """The judgement of an adapter that states its facts. Raises `AdapterError` if there is no
    output to judge.
    """
    judgement = judge_exchange(exchange, adapter)
    if judgement.error:
        raise AdapterError(judgement.error)
    return judgement


def as_reference(findings: list[str], exchange: Exchange, adapter: Adapter) -> list[Breach]:
    """The breaches of a law about the meaning of payloads. The expected payloads of a user's
    adapter are those of our own adapter.
    """
    reference = adapter.reference if findings else None
    expected = as_read(reference.items(exchange)) if reference else None
    return [Breach(finding, exchange, expected) for finding in findings]


def unknown_model(exchange: Exchange, adapter: Adapter) -> str:
    """The reason why a law about the meaning of payloads does not apply, or ""."""
    if adapter.by_facts:
        variants = ", ".join(variants_of_wire(exchange))
        return variants and f"the answer is not the documented wire: {variants}"
    if adapter.facts:
        return ""
    return (
        f"the meaning of the payloads of {adapter.model} is unknown; it is not one of our event"
        " models"
    )


LOSS = Law(
    3,
    "Nothing lost, nothing invented",
    "The output carries the facts of the raw bytes except the declared losses, and no other facts.",
    loss_findings,
    unasked=unknown_model,
)
