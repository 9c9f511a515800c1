"""Compares what was expected with what came, and says what differs in as few findings as the
difference deserves.

`compare` decides first, in one pass (`equality`, `operators`), and only explains what is not equal:
it walks down to the difference (`explaining`), and goes through lists by a plan (`planning`: who
stands beside whom) in which one lost block is one finding, though it shifts every number after it
(`shifting`), and a text that was cut differently is one finding, however many pieces it has
(`joining`).
"""

from __future__ import annotations

from .compare import compare
from .mismatch import Kind, Mismatch, sides
from .validate import check_expectation

__all__ = ["Kind", "Mismatch", "check_expectation", "compare", "sides"]
