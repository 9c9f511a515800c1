"""Puts an object together from pieces that each name their place by a JSON path (RFC 9535).

A path is read once however many pieces it brings, and the pieces of a string are joined once, at
the end: the whole costs as much as its input. A path that leads nowhere changes nothing and is told
to the caller, and so is an array index far beyond the array's end, for a stream is not to be
trusted with our memory.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Final

from .json_codec import Json

Steps = tuple[str | int, ...]

MAX_STEPS: Final = 100
MAX_GAP: Final = 10_000
"""So many array elements of one object may be left out and filled with null."""

_STEP: Final = re.compile(
    r"""\.([^.*\[\]'"]+)|\[([0-9]{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""",
    re.DOTALL,
)
_BARE_QUOTE: Final = re.compile(r'\\(.)|"', re.DOTALL)


class Assembly:
    """One object under construction."""

    def __init__(self) -> None:
        self._root: dict[str, Json] = {}
        self._steps: dict[str, Steps | None] = {}
        self._strings: dict[Steps, list[str]] = {}
        self._gap = MAX_GAP

    def add(self, path: str, value: Json, more: bool = False) -> bool:
        """Put a value at its path, a string after the string that stands there; False if it can't
        stand there.

        ``more`` says that a string goes on in a later piece. It changes nothing: a string also goes
        on where the peer forgot to say so.
        """
        if path not in self._steps:
            self._steps[path] = read_path(path)
        steps = self._steps[path]
        if not steps:
            return False
        if type(value) is not str:
            return self._put(steps, deepcopy(value))
        pieces = self._strings.get(steps)
        if pieces is not None:
            pieces.append(value)
        elif self._put(steps, value):
            self._strings[steps] = [value]
        else:
            return False
        return True

    def value(self) -> dict[str, Json]:
        """The object as it is so far."""
        for steps, pieces in self._strings.items():
            if len(pieces) > 1:
                holder: Json = self._root
                for step in steps[:-1]:
                    holder = holder[step]
                pieces[:] = ["".join(pieces)]
                holder[steps[-1]] = pieces[0]
        return self._root

    def _put(self, steps: Steps, value: Json) -> bool:
        """Walk what exists, then hang a new branch there; only null is replaced."""
        holder: Json = self._root
        for at, step in enumerate(steps):
            if type(holder) is dict and type(step) is str:
                there = holder.get(step)
            elif type(holder) is list and type(step) is int:
                there = holder[step] if step < len(holder) else None
            else:
                return False
            if there is None:
                return self._hang(holder, steps[at:], value)
            holder = there
        return False

    def _hang(self, holder: Json, steps: Steps, value: Json) -> bool:
        first, rest = steps[0], steps[1:]
        gap = sum(step for step in rest if type(step) is int)
        if type(first) is int:
            gap += max(0, first - len(holder))
        if gap > self._gap:
            return False
        self._gap -= gap
        for step in reversed(rest):
            value = {step: value} if type(step) is str else [*[None] * int(step), value]
        if type(first) is int and first >= len(holder):
            holder.extend([None] * (first - len(holder)))
            holder.append(value)
        else:
            holder[first] = value
        return True


def read_path(path: str) -> Steps | None:
    """The names and indices that a path with one goal consists of, from ``$``; None for any other
    path.
    """
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    position = 1
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None or len(steps) == MAX_STEPS:
            return None
        bare, index, single, double = found.groups()
        step = (
            bare
            if bare is not None
            else int(index)
            if index is not None
            else _unquote(double if single is None else single)
        )
        if step is None:
            return None
        steps.append(step)
        position = found.end()
    return tuple(steps)


def write_path(*steps: str | int) -> str:
    """The normalized path of these names and indices."""
    return "$" + "".join(
        f"[{step}]" if type(step) is int else f"['{_quote(str(step))}']" for step in steps
    )


def _unquote(name: str) -> str | None:
    """A name without its escapes, which are JSON's and ``\\'``; None if one of them is no
    escape.
    """
    as_json = _BARE_QUOTE.sub(
        lambda found: '\\"' if found[0] == '"' else "'" if found[1] == "'" else found[0], name
    )
    try:
        return str(json.loads(f'"{as_json}"', strict=False))
    except ValueError:
        return None


def _quote(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
