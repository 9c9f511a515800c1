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
from harness.pipeline.replay import Trace, choose_provider, frames_of
from harness.providers import (
    GENERATE_CONTENT,
    PROVIDERS,
    Normalizer,
    Provider,
    declared_tools,
)
from harness.providers.provider import Step, oddities_of
from harness.providers.unread import unread_values
from harness.stream.decompression import unpack, unpack_before_fault
from harness.stream.events import INTERRUPTED
from harness.stream.exchange import Exchange
from harness.stream.framing import Frame
from harness.stream.oddities import Oddities

from .wire_variants import variants_in

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
    def frames(self) -> list[Frame]:
        """The frames, as `frames_of` returns them."""
        if self.trace is not None:
            return self.trace.frames
        return frames_of(self.exchange, provider=self.provider.name)

    def forget_frames(self) -> None:
        """Free the memory of the frames, which is several times that of the body."""
        vars(self).pop("frames", None)

    @cached_property
    def facts(self) -> WireFacts:
        """The facts of the whole body, in which a call in ``<tool_code>`` is kept as a call and as
        text.
        """
        trace, provider = self.trace, self.provider
        replayed = trace.answer if trace and not self.exchange.header("content-encoding") else None
        if trace and replayed and not replayed.tool_code:
            return provider.facts_of(trace.steps, with_fields(replayed, tool_code=self._tool_code))
        answer = self.provider.answer(self.exchange, None, self._tool_code)
        return provider.read_facts(self.body, answer, self.exchange.end, self._normalizer)

    @cached_property
    def unread(self) -> list[str]:
        """The places of the values of the answer that stand in no event."""
        normalizer = self.provider.normalizer(self.provider.answer(self.exchange, None, False))
        steps: list[Step] = [(frame, normalizer.feed(frame)) for frame in self.frames]
        end = normalizer.close(self.exchange.end)
        return unread_values([*steps, (None, end)], self.provider)

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
        return tuple(
            variants_in(self.exchange, self.body, self.provider, self.frames, self._oddities)
        )

    @property
    def generates(self) -> bool:
        """Whether the wire is generateContent."""
        return self.provider.wire == GENERATE_CONTENT

    @property
    def _tool_code(self) -> bool:
        return self.generates or self.provider.tool_code

    @property
    def _oddities(self) -> Oddities:
        if self.trace is not None:
            return self.trace.oddities
        _ = self.facts  # its reading notes them
        return oddities_of(self._normalizer)

    @cached_property
    def _normalizer(self) -> Normalizer:
        """The reader of the whole body, if no adapter of ours has run."""
        return self.provider.normalizer(self.provider.answer(self.exchange, None, False))
