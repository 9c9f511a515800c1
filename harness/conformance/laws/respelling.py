"""Law 6, spelling does not matter: an answer in another framing or key spelling has the same facts.

Only facts are compared, since the borders of messages may move.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.cassettes import Exchange
from harness.facts import Facts
from harness.providers.oracle import gather_events

from ..metamorphic.catalogue import SPELLINGS, spellings_of
from .replayer import Replayer, plain

FEATURES = {variant.name: variant.feature for variant in SPELLINGS if variant.feature}
"""The line of the checklist for each spelling that has its own."""

_NOT_CONTENT = {"others", "unreadable", "at_error", "at_block", "marks", "blocks", "contradictions"}


def spelling_doesnt_matter(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 6: line ends, framing, key names, key order and the envelope change no fact."""
    expected = gather_events(how.events(plain(exchange)))
    return [
        f"{name}: {field} is {got!r} instead of {before!r}"[:300]
        for name, respelled in respellings(exchange, how)
        for field, got, before in _differing(gather_events(how.events(respelled)), expected)
    ]


def respellings(exchange: Exchange, how: Replayer) -> Iterator[tuple[str, Exchange]]:
    """The exchange in every other spelling of its wire; none where its body is not all JSON."""
    original = plain(exchange)
    for variant in spellings_of(exchange, lines=how.reads_lines(exchange)):
        respelled = variant.change(original)
        if respelled is not None:
            yield variant.name, respelled


def no_other_spelling(exchange: Exchange, how: Replayer) -> str:
    """Why law 6 cannot be asked of an exchange; "" where it can."""
    if any(True for _ in respellings(exchange, how)):
        return ""
    return "no part of the answer can be spelled otherwise"


def breaking_spelling(exchange: Exchange, how: Replayer) -> tuple[str, Exchange] | None:
    """The first spelling with other facts, and the exchange in it; None where law 6 holds."""
    expected = gather_events(how.events(plain(exchange)))
    for name, respelled in respellings(exchange, how):
        if _differing(gather_events(how.events(respelled)), expected):
            return name, respelled
    return None


def _differing(actual: Facts, expected: Facts) -> list[tuple[str, object, object]]:
    pairs = [(name, value, getattr(expected, name)) for name, value in vars(actual).items()]
    return [pair for pair in pairs if pair[0] not in _NOT_CONTENT and pair[1] != pair[2]]
