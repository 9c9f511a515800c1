"""The plain reading of streamed arguments by the second readers: pieces with JSON paths (RFC 9535).

It shares no code with `harness.stream.json_path`, so it can't share its faults.
"""

from __future__ import annotations

import re
from itertools import pairwise

from harness.stream.json_codec import Json

WIDEST_ARRAY = 10_000
"""A JSON path to an element beyond this is read as damage."""

_STEP = re.compile(
    r"""\.(?P<name>[^.*\[\]'"]+)|\[(?P<index>\d+)\]|\[(?P<quote>['"])(?P<quoted>(?:\\.|(?!(?P=quote)).)*)(?P=quote)\]"""
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class PlainArguments:
    """The arguments of one call, assembled from pieces with JSON paths."""

    def __init__(self, arguments: dict[str, Json]) -> None:
        self.arguments = arguments

    def put(self, path: str, value: Json) -> bool:
        """Set ``value`` at ``path``, or append a string to the string there; Returns False if the
        path leads nowhere or another value is there.
        """
        steps = path_steps(path)
        if not steps:
            return False
        holder: Json = self.arguments
        for step, following in pairwise(steps):
            if _value_at(holder, step) is None and not _set(
                holder, step, [] if isinstance(following, int) else {}
            ):
                return False
            holder = _value_at(holder, step)
        before = _value_at(holder, steps[-1])
        if before is None:
            return _set(holder, steps[-1], value)
        return (
            isinstance(before, str)
            and isinstance(value, str)
            and _set(holder, steps[-1], before + value)
        )


def path_steps(path: str) -> list[str | int] | None:
    """Return the names and indexes of an RFC 9535 path such as ``$.ops[0]['a b']``; None for any
    other text.
    """
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        if match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["name"] is not None:
            steps.append(match["name"])
        else:
            steps.append(_ESCAPE.sub(_unescape, match["quoted"]))
        at = match.end()
    return steps


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _ESCAPED.get(escape, escape)


def _value_at(holder: Json, step: str | int) -> Json:
    """Return the value at one step; None if there is none."""
    if isinstance(step, int):
        return holder[step] if isinstance(holder, list) and step < len(holder) else None
    return holder.get(step) if isinstance(holder, dict) else None


def _set(holder: Json, step: str | int, value: Json) -> bool:
    if isinstance(step, int) and isinstance(holder, list) and step <= WIDEST_ARRAY:
        holder.extend([None] * (step + 1 - len(holder)))
        holder[step] = value
        return True
    if isinstance(step, str) and isinstance(holder, dict):
        holder[step] = value
        return True
    return False
