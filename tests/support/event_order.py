"""Checks whether canonical events are in legal order."""

from __future__ import annotations

from harness.stream.events import ORDER


def out_of_order(kinds: list[str]) -> int | None:
    """The index of the first event whose kind is illegal at its place by `ORDER`, or None."""
    state = "fresh"
    for index, kind in enumerate(kinds):
        following = ORDER[state].get(kind)
        if following is None:
            return index
        state = following
    return None
