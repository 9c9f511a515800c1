"""How the laws replay: one provider, one dialect and one replay function for all the variants of an
exchange that a law makes.

The function is a value, so that the laws can be held against any adapter and be seen to fail on a
faulty one.
"""

from __future__ import annotations

import random  # noqa: TID251  # seeded by the body in one place, `seeded`
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harness.cassettes import Exchange
from harness.pipeline import replay as replaying
from harness.providers import PROVIDERS, Provider
from harness.stream.decompression import unpack
from harness.stream.printable import shorten
from harness.stream.session import Session

Items = list[dict[str, Any]]
BOUNDLESS = 1 << 62
"""The limit of a session that forgets nothing: what a smaller one forgets is its contract, and no
law's business.
"""

SMALL = 512
"""A body of at most this many bytes is tried at every single place, a larger one at places that
stand for the others.
"""


@dataclass(frozen=True, slots=True)
class Replayer:
    """``provider`` and ``tool_code`` as for `harness.replay`; None: as the exchange says."""

    provider: str | None = None
    dialect: str = "unified-llm"
    tool_code: bool | None = None
    replay: Callable[..., Items] = replaying.replay

    def events(self, exchange: Exchange, cuts: replaying.Cuts = "recorded") -> Items:
        """The canonical events."""
        return self.replay(
            exchange, provider=self.provider, layer="events", cuts=cuts, tool_code=self.tool_code
        )

    def payloads(self, exchange: Exchange, session: Session | None = None) -> Items:
        """The payloads of the dialect."""
        return self.replay(
            exchange,
            provider=self.provider,
            dialect=self.dialect,
            session=session,
            tool_code=self.tool_code,
        )

    def provider_of(self, exchange: Exchange) -> Provider:
        """The provider that the exchange is replayed as."""
        return PROVIDERS[replaying.choose_provider(exchange, self.provider)]

    def finds_tool_code(self, exchange: Exchange) -> bool:
        """Whether ``<tool_code>`` of the text becomes a call."""
        default = self.provider_of(exchange).tool_code
        return default if self.tool_code is None else self.tool_code

    def reads_lines(self, exchange: Exchange) -> bool:
        """Whether the answer is the output of a program, a line a message, and not an HTTP body."""
        return self.provider_of(exchange).program


def with_reads(exchange: Exchange, *reads: bytes) -> Exchange:
    """The exchange with its body in other pieces; their times are not known."""
    return replace(exchange, reads=tuple((None, data) for data in reads if data))


def plain(exchange: Exchange) -> Exchange:
    """The exchange with its body in one piece and its content encoding undone, as some recorders
    store it.
    """
    try:
        body = unpack(exchange.body, exchange.header("content-encoding"))
    except zlib.error:  # no replay gets further either, and says so
        body = exchange.body
    return with_reads(exchange, body)


def seeded(exchange: Exchange, whose: str = "") -> random.Random:
    """Chance that depends on nothing but the body, and on whose it is."""
    # no secret, the same on every machine
    return random.Random(zlib.crc32(exchange.body, zlib.crc32(whose.encode())))  # noqa: S311


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two lists part: the items at ``index``, none where a list has ended before."""

    index: int
    expected: Items
    got: Items

    def told(self, what: str, otherwise: str) -> str:
        """What came and what comes ``otherwise``, each under its name: a law does not say which of
        them is right.
        """
        came = (
            f"{what} {self.index} is {shown(self.got[0])}"
            if self.got
            else f"there is no {what} {self.index}"
        )
        return f"{came}; {otherwise} " + (
            f"it is {shown(self.expected[0])}" if self.expected else "there is none"
        )


def difference(expected: Items, actual: Items) -> Difference | None:
    """Where two lists part; None where they don't."""
    longest = max(len(expected), len(actual))
    pairs = ((at, expected[at : at + 1], actual[at : at + 1]) for at in range(longest))
    return next((Difference(*pair) for pair in pairs if pair[1] != pair[2]), None)


def first_difference(expected: Items, actual: Items) -> str | None:
    """Where two lists part, in words; None where they don't."""
    found = difference(expected, actual)
    match found:
        case None:
            return None
        case Difference(index, [one], [other]):
            return f"item {index} is {shown(other)} instead of {shown(one)}"
        case Difference(index, missing, extra):
            return (
                f"item {index} {shown((missing or extra)[0])} is"
                f" {'missing' if missing else 'too much'}"
            )


def shown(value: object) -> str:
    """A value, short enough for a sentence; what can't be printed is escaped."""
    return shorten(repr(value), 120)
