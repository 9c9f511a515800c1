"""The lines of the paths of a spec file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.cassettes.yaml import parse_located
from harness.stream.json_path import Steps

from .matching.operators import OPERATORS

DEPTH: Final = 3
"""The number of steps of a path to a key of a case; lines of these paths are read with the file."""


class Lines:
    """Gives the line of a path. ``first`` has the lines of all paths of at most `DEPTH` steps; for
    a longer path the text is parsed again.
    """

    def __init__(self, text: str, first: Mapping[Steps, int]) -> None:
        self.first = first
        self._text = text
        self._all: dict[Steps, int] = {}

    def __call__(self, place: Steps) -> int:
        """Return the line of a path; for a missing key, that of the nearest mapping around it. A
        path may leave out operators between its steps.
        """
        if place in self.first:
            return self.first[place]
        if not self._all:
            self._all = parse_located(self._text)[1]
        lines, at = self._all, _ROOT
        for step in place:
            inner = at
            while (*inner, step) not in lines:
                holder = next((name for name in OPERATORS if (*inner, name) in lines), None)
                if holder is None:
                    return lines.get(at, 1)
                inner = (*inner, holder)
            at = (*inner, step)
        return lines.get(at, 1)


_ROOT: Final[Steps] = ()
