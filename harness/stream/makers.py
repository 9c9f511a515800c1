"""Notes who made the opaque values of an answer: signatures, encrypted thoughts, and parts of the
answer without a neutral form. A later request sends them back only to their maker.
"""

from __future__ import annotations

from typing import Final

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
from .prompt import Origin
from .session import Session

_NATIVE: Final = (Code, CodeResult, ServerCall, ServerResult, ToolResult, Unknown)
_NOTED: Final = frozenset({Start, Reasoning, CallStart, NamelessCall, Media, *_NATIVE})


class Makers:
    """Passes the events of one answer to the memory of ``session``. ``vendor``: that of the
    provider (`harness.providers.Provider.vendor`). ``model``: the requested model; the answer may
    name another.
    """

    def __init__(self, session: Session, vendor: str, model: str | None) -> None:
        self._session = session
        self._origin = Origin(vendor, model)

    def note(self, event: Event) -> None:
        """Remember the opaque values of one event."""
        if isinstance(event, Text):  # the most frequent kind
            if event.signature:
                self._session.remember_origin(event.signature, self._origin)
        elif type(event) in _NOTED:
            self._note(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, Start) and event.model:
            self._origin = Origin(self._origin.vendor, event.model)
        if signature := getattr(event, "signature", None):
            self._session.remember_origin(signature, self._origin)
        if isinstance(event, _NATIVE) and event.raw:
            self._session.remember_origin(event.raw, self._origin)
