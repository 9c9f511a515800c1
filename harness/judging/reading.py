"""The reading of one answer: the values that the judge needs of its bytes, each made at most once.

The first turn, its evidence, another cut of the same bytes and the second turn share one reading.
"""

from __future__ import annotations

import contextlib
import zlib
from functools import cached_property
from typing import Final

from msgspec.structs import replace as with_fields

from harness.adapters import RunOptions
from harness.facts import WireFacts
from harness.pipeline.replay import Trace, choose_provider, trace_of
from harness.providers import (
    GENERATE_CONTENT,
    PROVIDERS,
    Provider,
    declared_tools,
)
from harness.providers.unread import unread_values
from harness.stream.decompression import unpack, unpack_before_fault
from harness.stream.events import INTERRUPTED
from harness.stream.exchange import Exchange
from harness.stream.framing import Frame
from harness.stream.oddities import Oddities
from harness.stream.websocket import SWITCHED

from .wire_variants import variants_in, variants_of_session

NOT_ON_WIRE: Final = "not-on-wire"
"""The reason not to ask for a value that the wire of an adapter does not have."""


class Reading:
    """The reading of one exchange, for runs with these options."""

    def __init__(self, exchange: Exchange, options: RunOptions | None = None) -> None:
        self.exchange = exchange
        self.options = options or RunOptions()
        self.trace: Trace | None = None
        """The replay of the exchange, if an adapter of ours has run."""

    @cached_property
    def provider(self) -> Provider:
        """The provider that the adapter uses for the exchange. Raises `ReplayError`."""
        return PROVIDERS[choose_provider(self.exchange, self.options.provider)]

    @property
    def body(self) -> bytes:
        """The body after content decoding; a body that can't be decoded, unchanged."""
        body, coding = self.exchange.body, self.exchange.header("content-encoding")
        if coding is not None:
            with contextlib.suppress(zlib.error):
                body = unpack(body, coding)
        return body

    @cached_property
    def replay(self) -> Trace:
        """The replay of the exchange, in which a call in ``<tool_code>`` stays text."""
        trace = self.trace
        if trace and trace.answer and not trace.answer.tool_code:
            return trace
        return trace_of(self.exchange, self.provider)

    @property
    def frames(self) -> list[Frame]:
        """The frames, as `frames_of` returns them."""
        return (self.trace or self.replay).frames

    def forget_frames(self) -> None:
        """Free the memory of the frames and events, which is several times that of the body."""
        if self.trace or "replay" in vars(self):
            _ = self.facts, self._oddities  # they stay
        self.trace = None
        vars(self).pop("replay", None)

    @cached_property
    def facts(self) -> WireFacts:
        """The facts of the whole body, in which a call in ``<tool_code>`` is kept as a call and as
        text.
        """
        assert self.replay.answer is not None
        answer = with_fields(self.replay.answer, tool_code=self._tool_code)
        return self.provider.facts_of(self.replay.steps, answer)

    @property
    def unread(self) -> list[str]:
        """The places of the values of the answer that stand in no event."""
        return unread_values(self.replay.steps, self.provider)

    @cached_property
    def interrupted(self) -> bool:
        """Whether the answer breaks off, or its content coding does."""
        coding = self.exchange.header("content-encoding")
        broken = coding is not None and bool(unpack_before_fault(self.exchange.body, coding)[1])
        return broken or self.exchange.end in INTERRUPTED

    @cached_property
    def tools(self) -> frozenset[str]:
        """The names of the tools that the request declares."""
        if self.exchange.request is None:
            return frozenset()
        asked = self.provider.read_request(self.exchange.request.body)
        return frozenset(tool.name for tool in declared_tools(asked))

    @cached_property
    def variants(self) -> tuple[str, ...]:
        """The ways in which the answer differs from the documented wire."""
        provider, frames, oddities = self.provider, self.frames, self._oddities
        if self.exchange.status == SWITCHED:
            return tuple(variants_of_session(provider, frames, oddities))
        return tuple(variants_in(self.exchange, self.body, provider, frames, oddities))

    @property
    def generates(self) -> bool:
        """Whether the wire is generateContent."""
        return self.provider.wire == GENERATE_CONTENT

    @property
    def _tool_code(self) -> bool:
        return self.generates or self.provider.tool_code

    @cached_property
    def _oddities(self) -> Oddities:
        return (self.trace or self.replay).oddities
