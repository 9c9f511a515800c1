"""Records the values that an adapter reads: what it does not read, it is not asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class ReadValues(dict[str, Any]):
    """A mapping that notes each key that is read, as ``NAME.KEY``. A key that it does not have
    counts too. Iterating, comparing and unpacking read all keys.
    """

    def __init__(self, name: str, values: dict[str, Any], read: set[str]) -> None:
        super().__init__(values)
        self._name = name
        self._read = read

    def _note_all(self) -> None:
        self._read.add(self._name)

    def _note(self, key: object) -> None:
        self._read.add(f"{self._name}.{key}")

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._note(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        self._note(key)
        return super().pop(key, *default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        self._note(key)
        return super().setdefault(key, default)

    def __eq__(self, other: object) -> bool:
        self._note_all()
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # as that of a dict

    def __contains__(self, key: object) -> bool:
        self._note(key)
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self._note_all()
        return super().__iter__()

    def keys(self) -> Any:
        self._note_all()
        return super().keys()

    def values(self) -> Any:
        self._note_all()
        return super().values()

    def items(self) -> Any:
        self._note_all()
        return super().items()

    def copy(self) -> dict[str, Any]:
        self._note_all()
        return super().copy()

    def __or__(self, other: Any) -> Any:
        self._note_all()
        return super().__or__(other)

    def __ror__(self, other: Any) -> Any:
        self._note_all()
        return super().__ror__(other)
