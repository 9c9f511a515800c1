"""The facts of a wire, as an adapter states them."""

from __future__ import annotations

from harness.facts import Error, Fact, Finish, Text, Thought, Usage, WireFacts, counts_of


def stated_facts(wire: WireFacts) -> list[Fact]:
    """Return the facts of a wire as an adapter states them."""
    facts: list[Fact] = []
    if wire.thoughts:
        facts.append(Thought(wire.thoughts))
    if wire.text:
        facts.append(Text(wire.text))
    facts += wire.whole_calls
    if wire.finish:
        facts.append(Finish(wire.finish))
    counts = counts_of(wire.usage)
    if counts:
        facts.append(Usage(**counts))
    facts += wire.errors
    if wire.block_reason is not None:
        facts.append(Error(None, f"blocked: {wire.block_reason}"))
    return facts
