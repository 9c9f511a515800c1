"""A law: a statement that holds for every exchange and every adapter, without an expectation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.adapters import Adapter
from harness.specs.accept import as_read
from harness.stream.exchange import Exchange
from harness.stream.printable import shorten

GENERATE_CONTENT = "https://ai.google.dev/api/generate-content"


@dataclass(frozen=True, slots=True)
class Breach:
    """One violation of a law.

    ``exchange`` is the variant of the answer that shows the breach. ``got`` is the adapter's output
    for it. ``expected`` is an expectation in the form of a spec, if the law knows one. ``feature``
    is the feature of the variant, if it is not that of the law. ``aspect`` is the lost aspect, if
    the adapter is judged by aspects. ``exception`` is the adapter's exception.
    """

    sentence: str
    exchange: Exchange
    expected: Any = None
    got: list[Any] | None = None
    feature: str = ""
    aspect: str = ""
    exception: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Law:
    """One law.

    ``findings(exchange, adapter)`` returns the breaches; an empty list if the law holds. It raises
    `AdapterError` if the adapter fails on the recording itself. ``unasked(exchange, adapter)``
    returns the reason why the law does not apply, or "". ``layers`` are the layers with cells of
    this law. ``knows_expected``: whether ``expected`` of a breach is right, so that a case can
    expect it. ``feature`` and ``source`` are the feature and the documentation in its results.
    """

    id: int
    title: str
    sentence: str
    findings: Callable[[Exchange, Adapter], list[Breach]]
    unasked: Callable[[Exchange, Adapter], str] = lambda exchange, adapter: ""
    layers: tuple[str, ...] = ("events", "payloads")
    knows_expected: bool = True
    feature: str = "text.streaming"
    source: str = GENERATE_CONTENT

    @property
    def name(self) -> str:
        """The title as it is in the names of items and cases: lower case, words joined by ``-``."""
        return re.sub("[^a-z]+", "-", self.title.lower().replace("'", ""))


def difference(expected: list[Any], got: list[Any], noun: str, otherwise: str) -> str:
    """A sentence about the first place where two lists differ; "" if they are equal. ``otherwise``
    describes the source of the expected item.
    """
    for at in range(max(len(expected), len(got))):
        wanted, given = expected[at : at + 1], got[at : at + 1]
        if wanted != given:
            came = f"{noun} {at} is {shown(given[0])}" if given else f"there is no {noun} {at}"
            return f"{came}; {otherwise} " + (
                f"it is {shown(wanted[0])}" if wanted else "there is none"
            )
    return ""


def differing(
    expected: list[Any], variant: Exchange, adapter: Adapter, how: str, otherwise: str
) -> Breach | None:
    """The breach if an adapter gives other items for a variant than expected.

    ``how`` describes the variant. ``otherwise`` describes the exchange with the expected items.
    """
    got = adapter.outcome(variant)
    first = difference(expected, got, adapter.noun, otherwise)
    return Breach(f"{how}, {first}", variant, as_read(expected), got) if first else None


def shown(value: object) -> str:
    """A value, shortened for a sentence. Unprintable characters are escaped."""
    return shorten(repr(value), 120)
