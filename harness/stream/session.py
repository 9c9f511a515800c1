"""The memory of one conversation between its turns: issued ids, tool names and signatures by id.

A replay makes a fresh `Session` unless the caller passes one. With the same one in several replays,
a later request can send back the ids and signatures of earlier answers. A session is bounded; its
oldest entry is dropped first.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, Literal, TypeVar

from .events import (
    CallStart,
    Code,
    CodeResult,
    Event,
    Media,
    NamelessCall,
    Reasoning,
    ServerCall,
    ServerResult,
    Start,
    Text,
    ToolResult,
    Unknown,
)
from .prompt import Maker, Opaque

_NATIVE: Final = (Code, CodeResult, ServerCall, ServerResult, ToolResult, Unknown)
"""The events of parts that have no neutral form."""
_WITH_OPAQUE_VALUES: Final = frozenset(
    {Start, Text, Reasoning, CallStart, NamelessCall, Media, *_NATIVE}
)

SignedPart = Literal["empty thought", "lost part"]
"""A part of which an event model shows only the signature: the thought is empty, or the part itself
has no place there.
"""


_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request declares: its name, the JSON Schema of its arguments, in either of
    Gemini's two schema dialects, and its description.
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True, slots=True)
class RememberedCall:
    """A call that a later turn sends back."""

    name: str
    """The name of the tool on the wire."""
    signature: str | None = None
    wire_id: str | None = None
    """The id on the wire, None if it had none."""


class Session:
    """The ids, tool names and signatures of one conversation, and the state of the present replay.

    ``ids`` makes the next id for a prefix (``"call"`` → ``"call_1"``, ``"call_2"``, …). At most
    ``limit`` calls are remembered, and as many signatures.
    """

    def __init__(
        self,
        *,
        ids: Callable[[str], str] | None = None,
        context: Mapping[str, Any] | None = None,
        limit: int = 1000,
    ) -> None:
        self._ids = ids or CountedIds()
        self._limit = limit
        # id → whether it was invented; an OrderedDict finds its oldest entry in constant time
        self._given: OrderedDict[str, bool] = OrderedDict()
        self.calls: OrderedDict[str, RememberedCall] = OrderedDict()
        """The remembered calls by id."""
        self.signed: OrderedDict[str, SignedPart] = OrderedDict()
        """The parts that signatures belong to, by signature."""
        self._origins: OrderedDict[str, Maker] = OrderedDict()
        self.context: Mapping[str, Any] = context or {}
        """The caller's values for the conversation, named as in the event model."""
        self.own_names: Mapping[str, str] = {}
        """The wire's names of tools → the caller's, for tools that the latest request had to
        rename.
        """
        self.maker = Maker("gemini")
        """The maker of the opaque values of the present answer. The pipeline sets this."""
        self.at_ms: float | None = None
        """Milliseconds from the request to the read that completed the present frame; None if not
        recorded. The pipeline sets this.
        """
        self.streamed = True
        """Whether the present answer is a stream. The pipeline sets this."""

    @property
    def vendor(self) -> str:
        """That of the provider of the present answer."""
        return self.maker.vendor

    @property
    def invented(self) -> set[str]:
        """The latest invented ids: those that the session still remembers."""
        return {given for given, invented in self._given.items() if invented}

    def is_of_wire(self, given: str) -> bool:
        """Return whether an id is that of an answer, and not invented or the caller's."""
        return self._given.get(given) is False

    def next_id(self, prefix: str) -> str:
        """Return a new id that this session has not issued before."""
        fresh = self._ids(prefix)
        while fresh in self._given:
            fresh = self._ids(prefix)
        return self._give(fresh, invented=True)

    def call_id(self, wire_id: str | None, prefix: str) -> str:
        """Return the wire's id; a counted one if there is none or another call of this session has
        it.
        """
        if wire_id and wire_id not in self._given:
            return self._give(wire_id)
        return self.next_id(prefix)

    def reserve(self, call_id: str) -> None:
        """Reserve an id of the caller's history, so that it is never issued."""
        if call_id not in self._given:
            self._give(call_id)

    def remember(
        self, call_id: str, name: str, signature: str | None, wire_id: str | None = None
    ) -> None:
        """Keep name, signature and wire id of a call for later turns."""
        self.calls.pop(call_id, None)
        _add(self.calls, call_id, RememberedCall(name, signature, wire_id), self._limit)

    def remember_signature(self, signature: str, part: SignedPart) -> None:
        """Remember the part to which a signature belongs, for event models
        that do not show it.
        """
        _add(self.signed, signature, part, self._limit)

    def note(self, event: Event) -> None:
        """Keep who made the opaque values of an event: a signature, or a part without a neutral
        form. A later request sends them back only to their maker.
        """
        if type(event) not in _WITH_OPAQUE_VALUES:
            return
        if isinstance(event, Start) and event.model:
            self.maker = Maker(self.maker.vendor, event.model)
        if signature := getattr(event, "signature", None):
            self.keep_origin(signature, self.maker)
        if isinstance(event, _NATIVE) and event.raw:
            self.keep_origin(event.raw, self.maker)

    def keep_origin(self, value: Any, maker: Maker) -> None:
        """Remember who made an opaque value."""
        _add(self._origins, _key(value), maker, 10 * self._limit)

    def origin(self, value: Any) -> Maker | None:
        """Return who made an opaque value; None if no answer of this session had it."""
        return self._origins.get(_key(value))

    def opaque(self, value: str | None) -> Opaque | None:
        """Return a signature with its maker; None for none."""
        return Opaque(value, self.origin(value)) if value else None

    def _give(self, given: str, invented: bool = False) -> str:
        _add(self._given, given, invented, 10 * self._limit)
        return given


def _key(value: Any) -> str:
    """Return the value itself, or a digest of the JSON of a part, which may be long. All parts that
    nest too deeply have the same key.
    """
    if isinstance(value, str):
        return value
    try:
        text = json.dumps(value, sort_keys=True)
    except RecursionError:
        text = ""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _add(entries: OrderedDict[str, _Value], key: str, value: _Value, limit: int) -> None:
    """Add an entry; beyond the limit, drop the oldest."""
    entries[key] = value
    if len(entries) > limit:
        entries.popitem(last=False)


class CountedIds:
    """Makes ids that are the same in every run: every prefix counts from 1. A copy continues with
    its own count.
    """

    def __init__(self) -> None:
        self._counts: defaultdict[str, int] = defaultdict(int)

    def __call__(self, prefix: str) -> str:
        self._counts[prefix] += 1
        return f"{prefix}_{self._counts[prefix]}"
