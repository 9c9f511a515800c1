"""Adds up the usage of one answer: the latest value of every count and of every field."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final

from harness.stream import events as ev

_COUNTS: Final = tuple(name for name in ev.Usage.__struct_fields__ if name != "wire")
_counts_of: Final = attrgetter(*_COUNTS)


class RunningUsage:
    """The usage so far. An event need not be read if the next one has all its fields."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._raw: dict[str, Any] = {}
        self._unread: ev.Usage | None = None
        self._fields: type | None = None  # the struct of the unread event, which names its fields

    def add(self, event: ev.Usage) -> None:
        """Note the next event."""
        kind = type(event.wire)
        if kind is not self._fields:
            if self._unread is not None:
                self._read(self._unread)
            self._fields = None if kind is dict else kind
        self._unread = event

    @property
    def counts(self) -> dict[str, int]:
        """The latest value of every count of `events.Usage`; a count that the wire never sent is
        absent.
        """
        if self._unread is not None:
            self._read(self._unread)
        return self._counts

    @property
    def raw(self) -> dict[str, Any]:
        """The latest value of every field of the wire's object."""
        if self._unread is not None:
            self._read(self._unread)
        return self._raw

    def _read(self, event: ev.Usage) -> None:
        for name, count in zip(_COUNTS, _counts_of(event), strict=True):
            if count is not None:
                self._counts[name] = count
        self._raw.update(event.raw)
        self._unread = None
