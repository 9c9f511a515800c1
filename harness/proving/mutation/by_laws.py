"""Finds the laws that detect a mutant of payloads, without any expectation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.adapters import Adapter, Output
from harness.judging.aspects import compare_output, facts_of
from harness.judging.laws.order import illegal
from harness.judging.laws.success import no_good_end
from harness.judging.reading import Reading


def make_observer(
    reading: Reading, adapter: Adapter, output: Output
) -> Callable[[list[Any]], list[str]]:
    """Return a function from the payloads of a mutant to the laws that have more findings for them
    than for ``output``: ``law-2``, ``law-3`` and ``law-9``.

    The other laws compare two outputs of an adapter, so they can't find a change in one given
    output.
    """
    reason = no_good_end(reading.provider.facts(reading.exchange, reading.options.tool_code))

    def findings(items: list[Any]) -> dict[str, list[str]]:
        changed = replace(output, items=items)
        facts = facts_of(adapter, changed)
        known = (
            adapter if isinstance(facts, str) else replace(adapter, facts=lambda _: [*facts.facts])
        )
        judged = compare_output(reading, known, changed)
        shape = [judged.error] if judged.error else []
        good_end = not isinstance(facts, str) and facts.ended_well and reason
        return {
            "law-2": [illegal(items, adapter.grammar, "payload")] if adapter.grammar else [],
            "law-3": [*shape, *map(judged.sentence, judged.red)],
            "law-9": [reason] if good_end else [],
        }

    usual = findings(output.items)
    return lambda items: [law for law, texts in findings(items).items() if texts != usual[law]]
