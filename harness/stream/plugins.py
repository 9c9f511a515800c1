"""Finds the dialects, providers, formats and laws that other distributions add.

A distribution registers each as an entry point, for example in the group
``gemini_conformance.dialects``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, MutableMapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeVar

T = TypeVar("T")
PluginKind = Literal["dialects", "providers", "formats", "laws"]


class PluginError(Exception):
    """An entry point that can't be loaded, or is not what its group promises."""


@cache
def _entry_points() -> Any:
    """Return all entry points. They are read once in each process, because that is slow."""
    return entry_points()


def installed(kind: PluginKind, type_: type[T], taken: Iterable[Any], key: str = "name") -> list[T]:
    """Return the values of the group ``gemini_conformance.KIND``, in the order of their names.

    ``taken`` has the ``key`` of each of our own values, an attribute that must be unique. Raises
    `PluginError`, which names the distribution.
    """
    known, added = {*taken}, []
    points = _entry_points().select(group=f"gemini_conformance.{kind}")
    for point in sorted(points, key=lambda point: point.name):
        value = _load(point)
        if not isinstance(value, type_):
            raise PluginError(f"{_title(point)} must be a {type_.__name__}, got {value!r:.80}")
        name = getattr(value, key)
        if name in known:
            raise PluginError(f"{_title(point)} has the {key} {name!r}, which exists already")
        known.add(name)
        added.append(value)
    return added


def _load(point: EntryPoint) -> object:
    _forget_half_imported(point.module.partition(".")[0])
    try:
        value: object = point.load()
    except Exception as error:  # the import runs foreign code, which may raise any exception
        raise PluginError(f"{_title(point)} can't be loaded: {error!r}") from error
    return value


def _forget_half_imported(package: str) -> None:
    """Make the next import run the modules of a package again whose import has not ended.

    ``import shop.plain`` imports harness, which needs the value of the entry point ``shop.plain``:
    a circle. Harness is imported so far that a second run of ``shop.plain`` does not get here. The
    first import then returns the module of the second, which it finds in `sys.modules`.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package and getattr(
            getattr(module, "__spec__", None), "_initializing", False
        ):
            del sys.modules[name]


def _title(point: EntryPoint) -> str:
    owner = f" of {point.dist.name}" if point.dist else ""
    return f"the entry point {point.name} = {point.value}{owner} ({point.group})"


class Table(MutableMapping[str, T]):
    """Values by name: ours, then those of other distributions. A module of ours is imported when
    its value is first used. It is the name with ``_``, and has the value as ``attribute``.
    """

    def __init__(
        self, kind: PluginKind, type_: type[T], package: str, modules: Iterable[str], attribute: str
    ) -> None:
        self._type, self._package, self._attribute = type_, package, attribute
        ours = [module.replace("_", "-") for module in modules]
        self._known: dict[str, T | None] = dict.fromkeys(ours)
        others: list[Any] = installed(kind, type_, ours)
        self._known |= {value.name: value for value in others}

    def __getitem__(self, name: str) -> T:
        known = self._known[name]
        if known is None:
            known = self._known[name] = self._load(name)
        return known

    def _load(self, name: str) -> T:
        module = name.replace("-", "_")
        value: Any = getattr(import_module(f".{module}", self._package), self._attribute, None)
        if not isinstance(value, self._type) or getattr(value, "name", None) != name:
            kind = self._type.__name__
            place = f"{self._package.replace('.', '/')}/{module}"
            raise TypeError(f"{place} must define {self._attribute}, the {kind} {name}")
        return value

    def __setitem__(self, name: str, value: T) -> None:
        self._known[name] = value

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
