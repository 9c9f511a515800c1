"""Reads and compares facts by the name of a dialect, as the laws do; ``events`` is a name too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.dialects import DIALECTS
from harness.facts import Facts, event_differences
from harness.providers.oracle import gather_events, read_raw
from harness.stream.session import Session


def gather(
    dialect: str, payloads: list[dict[str, Any]], signatures: Mapping[str, str | None] | None = None
) -> Facts:
    """The facts in payloads; ``signatures``: tool id → signature that the session remembers."""
    if dialect == "events":
        return gather_events(payloads)
    session = Session()
    for call_id, signature in (signatures or {}).items():
        session.remember(call_id, "f", signature)
    return read_raw(DIALECTS[dialect].facts(payloads, session))


def losses(wire: Facts, carried: Facts, dialect: str, *, interrupted: bool = False) -> list[str]:
    """The facts that ``carried`` lacks or invents."""
    compare = event_differences if dialect == "events" else DIALECTS[dialect].differences
    return compare(wire, carried, interrupted)
