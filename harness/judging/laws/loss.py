"""Law 3: the output carries the facts of the raw bytes except the declared losses, and no other
facts.
"""

from __future__ import annotations

from dataclasses import replace

from harness.adapters import AdapterError, Subject
from harness.specs.volatile import as_read
from harness.stream.exchange import Exchange

from ..aspects import ExchangeJudgement, compare_output, judge_exchange
from ..reading import Reading
from .law import Breach, Law


def loss_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return one breach for each aspect that is lost or wrong, or for payloads that are not of
    their event model.
    """
    output = subject.output(exchange)
    reading = Reading(exchange, subject.options)
    judgement = compare_output(reading, subject.adapter, output)
    if judgement.error:
        return as_reference([judgement.error], exchange, subject)
    left = [] if subject.adapter.by_facts else reading.unread
    unread = [f"the reader left {' '.join(left)} unread"] if left else []
    breaches = as_reference(list(map(judgement.sentence, judgement.red)), exchange, subject)
    return as_reference(unread, exchange, subject) + [
        replace(
            breach,
            aspect=aspect,
            group=judgement.aspects[aspect].group,
            exception=output.exception,
        )
        for breach, aspect in zip(breaches, judgement.red, strict=True)
    ]


def judged(exchange: Exchange, subject: Subject) -> ExchangeJudgement:
    """Return the judgement of an adapter that states its facts. Raises `AdapterError` if there is
    no output to judge.
    """
    judgement = judge_exchange(Reading(exchange, subject.options), subject.adapter)
    if judgement.error:
        raise AdapterError(judgement.error)
    return judgement


def as_reference(findings: list[str], exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return the breaches of a law about the meaning of payloads. The expected payloads of a user's
    adapter are those of our own adapter.
    """
    reference = subject.adapter.reference if findings else None
    expected = as_read(reference.output(exchange, subject.options).items) if reference else None
    return [Breach(finding, exchange, expected) for finding in findings]


def unknown_model(exchange: Exchange, subject: Subject) -> str:
    """Return the reason why a law about the meaning of payloads does not apply, or ""."""
    adapter = subject.adapter
    if adapter.by_facts:
        variants = ", ".join(Reading(exchange, subject.options).variants)
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
