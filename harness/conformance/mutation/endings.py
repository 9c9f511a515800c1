"""Damages at the edges of a payload stream: how blocks are numbered, why and how it ends, what it
counts, what its errors say.
"""

from __future__ import annotations

from typing import Any

from .shapes import Change, Payloads


def _last(payloads: Payloads, kind: str) -> dict[str, Any] | None:
    return next((one for one in reversed(payloads) if one["type"] == kind), None)


def _holder(payloads: Payloads, kind: str, path: tuple[str, ...]) -> dict[str, Any]:
    """The object that the last name of a path in the last payload of a kind stands in; an empty one
    where there is none.
    """
    holder: Any = _last(payloads, kind)
    for name in path[:-1]:
        holder = holder.get(name) if holder else None
    return holder or {}


def wrong_index_anthropic(payloads: Payloads) -> bool:
    """Every block has the number of the next."""
    found = [one for one in payloads if "index" in one]
    for one in found:
        one["index"] += 1
    return bool(found)


def wrong_index_unified(payloads: Payloads) -> bool:
    """Every block of text has another name."""
    found = [one for one in payloads if "text_id" in one]
    for one in found:
        one["text_id"] += "0"
    return bool(found)


def stop_early(payloads: Payloads) -> bool:
    """The last payload is missing."""
    if payloads:
        payloads.pop()
    return True


def wrong_stop(kind: str, path: tuple[str, ...], other: str, instead: str) -> Change:
    """The reason to stop is ``other``, or ``instead`` where it is that already."""

    def change(payloads: Payloads) -> bool:
        holder = _holder(payloads, kind, path)
        if path[-1] not in holder:
            return False
        holder[path[-1]] = instead if holder[path[-1]] == other else other
        return True

    return change


def wrong_count(kind: str, path: tuple[str, ...]) -> Change:
    """A count is one too high."""

    def change(payloads: Payloads) -> bool:
        holder = _holder(payloads, kind, path)
        if not isinstance(holder.get(path[-1]), int):
            return False
        holder[path[-1]] += 1
        return True

    return change


def wrong_error(kind: str, path: tuple[str, ...]) -> Change:
    """The text of the last error is another."""

    def change(payloads: Payloads) -> bool:
        holder = _holder(payloads, kind, path)
        if not isinstance(holder.get(path[-1]), str):
            return False
        holder[path[-1]] += "?"
        return True

    return change


def lose_error(kind: str) -> Change:
    """Every error is missing."""

    def change(payloads: Payloads) -> bool:
        found = any(one["type"] == kind for one in payloads)
        payloads[:] = [one for one in payloads if one["type"] != kind]
        return found

    return change
