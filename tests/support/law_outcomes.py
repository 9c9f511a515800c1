"""The expected outcomes of all laws for an exchange and adapters that keep them, counted from the
table of laws.
"""

from __future__ import annotations

from harness.adapters import Adapter
from harness.judging.laws.judge import cells
from harness.stream.exchange import Exchange


def outcomes(exchange: Exchange, *adapters: Adapter) -> dict[str, int]:
    """The number of items that pass, and of items that are skipped since their law is not asked."""
    reasons = [
        cell.law.not_run(cell.exchange, cell.subject)
        for cell in cells("counted", (exchange,), adapters)
    ]
    asked = reasons.count("")
    return {"passed": asked, "skipped": len(reasons) - asked}
