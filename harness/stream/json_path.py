"""JSON paths (RFC 9535): reads and writes them, and assembles an object from pieces with paths.

An assembly reads each path only once, independent of the number of its pieces, and joins the pieces
of a string only once, at the end. So the cost grows only with the size of the input. A piece whose
path leads nowhere changes nothing and is refused; so is an array index far beyond the array's end,
because a stream must not decide how much memory is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from copy import deepcopy
from typing import Final

from .json_codec import Json

Steps = tuple[str | int, ...]
"""The keys and indices from the top of the data to a value."""

MAX_STEPS: Final = 100
MAX_GAP: Final = 10_000
"""The maximum number of array elements that one object may leave out; they become null."""

_STEP: Final = re.compile(
    r"""\.([^.*\[\]'"]+)|\[([0-9]{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""",
    re.DOTALL,
)
_WORD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_READABLE: Final = re.compile(
    r'\[(?P<index>\d+)(?:\.\.\d+)?\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.?(?P<word>[^.\[\]]+)'
)
_BARE_QUOTE: Final = re.compile(r'\\(.)|"', re.DOTALL)


MAX_GAPS: Final = 500_000
"""The limit for all objects of one answer: without it, a frame of 1 MB becomes 500 MB."""


class Gaps:
    """The elements that the objects of one answer may still leave out."""

    def __init__(self) -> None:
        self.left = MAX_GAPS


class Assembly:
    """One object under construction. ``gaps`` is shared by the objects of an answer. ``too_far``:
    the last piece was refused because it leaves out too many elements.
    """

    def __init__(self, gaps: Gaps | None = None) -> None:
        self.too_far = False
        self._gaps = gaps or Gaps()
        self._root: dict[str, Json] = {}
        self._steps: dict[str, Steps | None] = {}
        self._strings: dict[Steps, list[str]] = {}
        self._gap = MAX_GAP

    def add(self, path: str, value: Json, more: bool = False) -> bool:
        """Set the value at a path, or append a string to the string there; Returns False if the
        path leads nowhere or another value is there.

        ``more`` (the string continues in a later piece) is ignored, because some peers leave it
        out.
        """
        self.too_far = False
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
        """Return the object as it is so far."""
        for steps, pieces in self._strings.items():
            if len(pieces) > 1:
                holder: Json = self._root
                for step in steps[:-1]:
                    holder = holder[step]
                pieces[:] = ["".join(pieces)]
                holder[steps[-1]] = pieces[0]
        return self._root

    def _put(self, steps: Steps, value: Json) -> bool:
        """Follow the path as far as it exists, then add the rest; of existing values only null is
        replaced.
        """
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
        if gap > min(self._gap, self._gaps.left):
            self.too_far = True
            return False
        self._gap -= gap
        self._gaps.left -= gap
        for step in reversed(rest):
            value = {step: value} if type(step) is str else [*[None] * int(step), value]
        if type(first) is int and first >= len(holder):
            holder.extend([None] * (first - len(holder)))
            holder.append(value)
        else:
            holder[first] = value
        return True


def read_path(path: str) -> Steps | None:
    """Return the names and indices of a path that begins with ``$`` and selects one place; None for
    any other path.
    """
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or len(steps) == MAX_STEPS:
            return None
        bare, index, single, double = match.groups()
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
        position = match.end()
    return tuple(steps)


def write_path(*steps: str | int) -> str:
    """Return the normalized path of these names and indices."""
    return "$" + "".join(
        f"[{step}]" if type(step) is int else f"['{_quote(str(step))}']" for step in steps
    )


def readable_path(steps: Iterable[str | int | range]) -> str:
    """Return a path for a message, in ASCII: ``usage.total``, ``[3].delta``, ``[12..14]`` for
    several items, ``["odd key"]`` for a key that is not a plain word, ``$`` for the whole value.
    """
    return "".join(map(_readable_step, steps)).removeprefix(".") or "$"


def readable_steps(path: str) -> list[str | int]:
    """Return the steps of a `readable_path`; for several items, the step to the first."""
    return [
        int(match["index"])
        if match["index"]
        else json.loads(match["quoted"])
        if match["quoted"]
        else match["word"]
        for match in _READABLE.finditer("" if path == "$" else path)
    ]


def _readable_step(step: str | int | range) -> str:
    if isinstance(step, range):
        return f"[{step.start}..{step.stop - 1}]"
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _WORD.fullmatch(step) else f"[{json.dumps(step)}]"


def _unquote(name: str) -> str | None:
    """Return a name without its escapes (JSON's and ``\\'``); None if one is not known."""
    as_json = _BARE_QUOTE.sub(
        lambda match: '\\"' if match[0] == '"' else "'" if match[1] == "'" else match[0], name
    )
    try:
        return str(json.loads(f'"{as_json}"', strict=False))
    except ValueError:
        return None


def _quote(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
