"""Counted numbers in two items that stand side by side: where each is, what was expected, what we
got.

One lost block shifts every later number by the same amount. Told number by number that is a wall of
findings; seen together it is one.
"""

from __future__ import annotations

from msgspec import Struct

from harness.stream.json_codec import Json

from .equality import equal
from .fingerprint import counted
from .operators import NOTHING, Bindings, fields, matches, operator_of

Path = tuple[str | int | range, ...]


class Sighting(Struct, frozen=True):
    """A number that counts (`counted`), seen on both sides. ``path`` leads to it; ``expected`` and
    ``got`` are the values, ``number`` is the expected number and ``by`` how far ours is off.

    ``name`` is for a person. ``counter`` tells what counts together: an id by its prefix, wherever
    it stands; an index by its keys.
    """

    path: Path
    name: str
    counter: str
    number: int
    by: int
    expected: Json
    got: Json


def sightings(
    expected: Json, actual: Json, loose: Bindings, path: Path = ()
) -> tuple[list[Sighting], bool]:
    """The counted numbers of two items, and whether the items are equal but for those."""
    seen: list[Sighting] = []
    return seen, _look(expected, actual, loose, path, seen)


def _look(expected: Json, actual: Json, loose: Bindings, path: Path, seen: list[Sighting]) -> bool:
    if operator_of(expected) is not None:
        return matches(expected, actual, loose)
    if isinstance(expected, dict) and isinstance(actual, dict):
        alike = True
        for key, want, got in fields(expected, actual):
            there = want is not NOTHING and got is not NOTHING
            alike = there and _look(want, got, loose, (*path, key), seen) and alike
        return alike
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        # A list, not a generator: every item is looked at, also after one that differs.
        alikes = [
            _look(want, got, loose, (*path, place), seen)
            for place, (want, got) in enumerate(zip(expected, actual, strict=True))
        ]
        return all(alikes)
    last = path[-1] if path else None
    name = last if isinstance(last, str) else None
    one, other = counted(name, expected), counted(name, actual)
    if one is not None and other is not None and one[0] == other[0]:
        counter = (
            one[0]
            if isinstance(expected, str)
            else ".".join(step for step in path if isinstance(step, str))
        )
        seen.append(Sighting(path, one[0], counter, one[1], other[1] - one[1], expected, actual))
        return True
    return equal(expected, actual)
