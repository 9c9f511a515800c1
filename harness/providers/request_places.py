"""The places in the requests of one wire that mutation testing changes.

A path has steps, divided by dots: a key; ``*``, which is each item of a list or mapping; ``*?key``
and ``*?key=value``, each item with that key, or with that string there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

NOUNS: Final = frozenset(
    {
        *("text", "order", "joined", "role", "call", "call-name", "arguments", "call-id"),
        *("signature", "result", "result-id", "result-value", "tool", "required", "setting"),
        *("system", "tool-choice"),
    }
)
"""The places that the requests of every wire have."""
MORE: Final = frozenset({"result-name", "memory"})
"""More places, which only the requests of some wires have."""

Spot = tuple[Any, Any]
"""A mapping or list of the request, and the key or index of a value in it."""


@dataclass(frozen=True, slots=True)
class RequestPlaces:
    """The places of the values in a request that mutation operators change.

    A `TypeError` names a noun that has no path or is unknown.
    """

    turns: str
    """The key of the list of contents, steps or messages."""
    roles: tuple[str, str]
    """The values of ``role`` for the user and the model."""
    paths: Mapping[str, tuple[str, ...]]
    """For each noun the paths of its values, in the order of the search. ``order`` is a list whose
    items have an order; ``joined`` is the part that two turns share after they were joined into
    one; ``required`` the arguments that a tool's schema requires; ``memory`` the values that refer
    to stored interactions.
    """

    def __post_init__(self) -> None:
        if wrong := (NOUNS - self.paths.keys()) | (self.paths.keys() - NOUNS - MORE):
            raise TypeError(
                f"places of requests with {self.turns}: missing or unknown: {sorted(wrong)}"
            )

    def find(self, body: Any, noun: str) -> Iterator[Spot]:
        """Yield every such value in the body, in order."""
        for path in self.paths.get(noun, ()):
            yield from _find(body, path.split("."))

    def beside(self, body: Any, noun: str) -> Iterator[Any]:
        """Yield every mapping or list that can hold such a value."""
        for path in self.paths.get(noun, ()):
            yield from (
                holder[key] for holder, key in _find(body, path.rpartition(".")[0].split("."))
            )


def _find(holder: Any, steps: list[str]) -> Iterator[Spot]:
    for key in _keys(holder, steps[0]):
        if steps[1:]:
            yield from _find(holder[key], steps[1:])
        else:
            yield holder, key


def _keys(holder: Any, step: str) -> list[Any]:
    if not step.startswith("*"):
        return [step] if isinstance(holder, dict) and step in holder else []
    name, _, value = step[2:].partition("=")
    keys: list[Any] = [*holder] if isinstance(holder, dict) else []
    if isinstance(holder, list):
        keys = [*range(len(holder))]
    return [key for key in keys if not name or _has(holder[key], name, value)]


def _has(item: Any, name: str, value: str) -> bool:
    return isinstance(item, dict) and name in item and value in ("", item[name])
