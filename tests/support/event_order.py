"""Whether canonical events come in their legal order."""

from __future__ import annotations

from harness.stream.events import ORDER


def out_of_order(kinds: list[str]) -> int | None:
    """Walk `ORDER`; the index of the first kind that may not stand where it stands, or None."""
    state = "fresh"
    for index, kind in enumerate(kinds):
        following = ORDER[state].get(kind)
        if following is None:
            return index
        state = following
    return None
