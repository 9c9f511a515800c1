"""Reads the limits in ``size.toml``, compares them with what was measured, and lowers them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).with_name("size.toml")
HEADER: Final = """\
# The limits of the house; `make size` compares them with what is there. A number only goes down:
# `make size LOWER=1` writes what is measured. Only something new, or a fix, adds its own number, as
# one line in `added` with the reason:
#     {kind = "nodes", name = "judging", number = 320, why = "Aspect accepted, in both turns"},
"""
KINDS: Final = {
    "nodes": "nodes of code and data in a room",
    "files": "files of the package with a word of a wire",
    "hops": "changes of file in a walk",
}
SLACK: Final = 0.02
"""A number that is lower than its limit by more than this share should be written down."""
Numbers = Mapping[str, Mapping[str, int]]
"""Kind → name → number."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number and its limit."""

    kind: str
    name: str
    measured: int
    limit: int

    @property
    def is_above(self) -> bool:
        return self.measured > self.limit

    @property
    def is_low(self) -> bool:
        return self.measured < self.limit * (1 - SLACK)

    def __str__(self) -> str:
        mark = "  ABOVE" if self.is_above else "  lower it" if self.is_low else ""
        left = self.limit - self.measured
        return f"{self.kind:6}{self.name:24}{self.measured:8,}{self.limit:8,}{left:+8,}{mark}"


@dataclass(frozen=True, slots=True)
class Limits:
    """The content of the file."""

    numbers: Numbers
    added: tuple[Mapping[str, Any], ...]
    gone: tuple[str, ...]
    """The names that no file may have."""

    def rows(self, measured: Numbers) -> list[Row]:
        """Return a row for each measured number. A name without a limit has the limit 0."""
        return [
            Row(kind, name, number, self._limit(kind, name))
            for kind in KINDS
            for name, number in measured[kind].items()
        ]

    def _limit(self, kind: str, name: str) -> int:
        own = (each for each in self.added if (each["kind"], each["name"]) == (kind, name))
        return self.numbers.get(kind, {}).get(name, 0) + sum(int(each["number"]) for each in own)


def read(text: str) -> Limits:
    """Return the limits in a text. Raises ValueError for an addition without a reason."""
    data = tomllib.loads(text)
    added = tuple(data.get("added", []))
    for each in added:
        if set(each) != {"kind", "name", "number", "why"} or not each["why"].strip():
            raise ValueError(f"size.toml: {each}: expected kind, name, number and the reason why")
    numbers = {kind: data.get(kind, {}) for kind in KINDS}
    return Limits(numbers, added, tuple(data.get("gone", [])))


def lowered(limits: Limits, measured: Numbers) -> str:
    """Return the text of the file with what was measured, where that is not above its limit."""
    lines = [HEADER, "gone = ["]
    lines += [f'    "{name}",' for name in limits.gone]
    lines += ["]", "added = ["]
    lines.append("]")
    above = {(row.kind, row.name): row.limit for row in limits.rows(measured) if row.is_above}
    for kind, title in KINDS.items():
        lines += ["", f"[{kind}]  # {title}"]
        lines += [
            f'"{name}" = {above.get((kind, name), number)}'
            for name, number in sorted(measured[kind].items())
        ]
    return "\n".join(lines) + "\n"
