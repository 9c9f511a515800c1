"""Draws a grammar, as the table that it is, as a Mermaid state diagram
(https://mermaid.js.org/syntax/stateDiagram.html).

A grammar is a table state → label → next state. A stream begins in ``fresh``, and may end in any
state of ``final``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from harness.dialects import DIALECTS
from harness.stream.events import ORDER

START: Final = "fresh"


def draw(order: Mapping[str, Mapping[str, str]], final: Collection[str]) -> str:
    """The diagram; labels with the same start and target state share one arrow, in the order of the
    table.
    """
    lines = ["stateDiagram-v2", f"    [*] --> {START}"]
    for state, following in order.items():
        for target in dict.fromkeys(following.values()):
            labels = [label for label, other in following.items() if other == target]
            lines.append(f"    {_id(state)} --> {_id(target)}: {', '.join(labels)}")
    lines += [f"    {_id(state)} --> [*]" for state in order if state in final]
    return "\n".join(lines) + "\n"


def _id(state: str) -> str:
    """Mermaid's names of states can't contain blanks."""
    return state.replace(" ", "_")


def grammars() -> dict[str, str]:
    """Every grammar of the laws as a diagram, by name: ``events`` and the dialects."""
    drawn = {name: draw(dialect.order, dialect.final) for name, dialect in DIALECTS.items()}
    return {"events": draw(ORDER, ORDER), **drawn}
