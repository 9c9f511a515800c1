"""Law 2: native events have a legal order, which their grammar defines."""

from __future__ import annotations

from typing import Any

from harness.adapters import Subject
from harness.adapters.adapter import Grammar
from harness.stream.exchange import Exchange

from .law import Breach, Law, shown
from .loss import as_reference, unknown_model


def order_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return the first item that the grammar does not allow, if there is one."""
    items = subject.items(exchange)
    adapter = subject.adapter
    finding = illegal(items, adapter.grammar, adapter.noun) if adapter.grammar else ""
    return as_reference([finding] if finding else [], exchange, subject)


def illegal(items: list[Any], grammar: Grammar, noun: str) -> str:
    """Return a sentence about the first item that the grammar does not allow, or ""."""
    state = "fresh"
    for index, item in enumerate(items):
        try:
            label = grammar.label(item)
        except (AttributeError, KeyError, TypeError) as error:  # items may have any shape
            return (
                f"{noun} {index}, {shown(item)}, is not of the dialect's shape:"
                f" {type(error).__name__} {error}"
            )
        following = grammar.order.get(state, {}).get(label)
        if following is None:
            return f"{noun} {index}, {label}, is not allowed in the state {state}"
        state = following
    return "" if state in grammar.final else f"the {noun}s end in the state {state}"


ORDER = Law(
    2,
    "Legal order",
    "The output follows the grammar of its event model.",
    order_findings,
    unasked=unknown_model,
)
