"""Finds the dialects, providers, formats and laws that other distributions add.

A distribution registers each as an entry point, for example in the group
``gemini_conformance.dialects``.
"""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeVar

T = TypeVar("T")
PluginKind = Literal["dialects", "providers", "formats", "laws"]


class PluginError(Exception):
    """An entry point that can't be loaded, or is not what its group promises."""


def installed(kind: PluginKind, type_: type[T], taken: dict[Any, T], key: str = "name") -> list[T]:
    """Return the values of the group ``gemini_conformance.KIND``, in the order of their names.

    ``taken`` has our own values by their ``key``, an attribute that must be unique. Raises
    `PluginError`, which names the distribution.
    """
    known, added = dict(taken), []
    for point in sorted(entry_points(group=f"gemini_conformance.{kind}"), key=lambda p: p.name):
        value = _load(point)
        if not isinstance(value, type_):
            raise PluginError(f"{_title(point)} must be a {type_.__name__}, got {value!r:.80}")
        name = getattr(value, key)
        if name in known:
            raise PluginError(f"{_title(point)} has the {key} {name!r}, which exists already")
        known[name] = value
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
