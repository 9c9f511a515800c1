"""Law 10: an answer comes out of the event model of its own wire as it came, less declared losses.

The wire defines its normal form (`harness.providers.provider.Mirror`), in which the answer and the
payloads are compared. The law asks only answers that ended well or with an error of the wire, since
the event model has no place for other ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.adapters import Subject
from harness.pipeline.replay import frames_of
from harness.providers.provider import Mirror
from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json, same_json

from ..aspects import provider_of, wire_facts
from ..reading import Reading
from .law import Breach, Law, shown


def identity_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return one breach for each part of the message that differs."""
    mirror = _mirror(exchange, subject)
    assert mirror is not None
    came = mirror.normal(frame.json for frame in frames_of(exchange))
    given = mirror.normal(subject.items(exchange))
    return [Breach(sentence, exchange) for sentence in _differences(came, given)]


def _differences(came: Json, given: Json, place: str = "") -> Iterator[str]:
    """Yield a sentence for each place at which two normal forms differ."""
    match came, given:
        case None, _:
            return
        case {}, {} if came.keys() == given.keys():
            for name, value in came.items():
                yield from _differences(value, given[name], f"{place} {name}".strip())
        case [*_], [*_] if len(came) == len(given):
            for number, (theirs, ours) in enumerate(zip(came, given, strict=True), 1):
                yield from _differences(theirs, ours, f"{place} {number}")
        case _ if not same_json(came, given):
            yield f"{place or 'the message'} is {shown(given)}; on the wire it is {shown(came)}"


def _mirror(exchange: Exchange, subject: Subject) -> Mirror | None:
    mirror = provider_of(exchange, subject).mirror
    return mirror if mirror is not None and mirror.dialect == subject.adapter.model else None


def no_mirror(exchange: Exchange, subject: Subject) -> str:
    """Return the reason why the law has nothing to compare, or ""."""
    if _mirror(exchange, subject) is None:
        return "the event model is not that of the wire"
    facts = wire_facts(exchange, subject)
    if facts.invalid_calls or not (facts.ended_well or facts.finish or facts.errors):
        return "the answer has no good end and no error of the wire"
    if facts.unreadable:
        return "a part of the answer is not a message of the wire"
    if variants := Reading(exchange, subject.options).variants:
        return f"the answer is not the documented wire: {', '.join(variants)}"
    ids = [call_id for call_id, _ in facts.marks]
    return "calls have no ids of their own" if None in ids or len({*ids}) < len(ids) else ""


NEAR_IDENTITY = Law(
    10,
    "Near identity",
    "An answer comes out of the event model of its own wire as it came, less the declared losses.",
    identity_findings,
    unasked=no_mirror,
    layers=("payloads",),
    feature="anthropic.blocks",
    source="https://platform.claude.com/docs/en/build-with-claude/streaming",
)
