"""A law: a statement that holds for every exchange and every adapter, without an expectation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.adapters import Subject
from harness.facts.finding import NOTHING_RECORDED, REASONS
from harness.specs.volatile import as_read
from harness.stream.exchange import Exchange
from harness.stream.printable import shorten

GENERATE_CONTENT = "https://ai.google.dev/api/generate-content"


@dataclass(frozen=True, slots=True)
class Breach:
    """One violation of a law."""

    sentence: str
    exchange: Exchange
    """The variant of the answer that shows the breach."""
    expected: Any = None
    """An expectation in the form of a spec, if the law knows one."""
    got: list[Any] | None = None
    """The adapter's output for ``exchange``."""
    feature: str = ""
    """The feature of the variant, if it is not that of the law."""
    aspect: str = ""
    """The lost aspect, if the adapter is judged by aspects."""
    group: tuple[str, ...] = ()
    """The group of the finding about the aspect: equal for findings that differ only in values."""
    exception: BaseException | None = None
    """The adapter's exception."""

    @property
    def cause(self) -> tuple[object, ...]:
        """Equal for breaches that differ only in their values."""
        return (self.group, type(self.exception))


@dataclass(frozen=True, slots=True)
class Law:
    """One law."""

    id: int
    title: str
    sentence: str
    findings: Callable[[Exchange, Subject], list[Breach]]
    """Returns the breaches; an empty list if the law holds. Raises `AdapterError` if the adapter
    fails on the recording itself.
    """
    unasked: Callable[[Exchange, Subject], str] = lambda exchange, subject: ""
    """Returns the reason why the law does not apply, or ""."""
    layers: tuple[str, ...] = ("events", "payloads")
    """The layers with cells of this law."""
    knows_expected: bool = True
    """Whether ``expected`` of a breach is right, so that a case can expect it."""
    feature: str = "text.streaming"
    """The feature in its results."""
    source: str = GENERATE_CONTENT
    """The documentation in its results."""

    def not_run(self, exchange: Exchange, subject: Subject) -> str:
        """Return the reason why the law is not run, or ""."""
        if exchange.is_empty:
            return REASONS[NOTHING_RECORDED].sentence
        return self.unasked(exchange, subject)

    @property
    def name(self) -> str:
        """The title as it is in the names of items and cases: lower case, words joined by ``-``."""
        return re.sub("[^a-z]+", "-", self.title.lower().replace("'", ""))


def difference(expected: list[Any], got: list[Any], noun: str, otherwise: str) -> str:
    """Return a sentence about the first place where two lists differ; "" if they are equal.
    ``otherwise`` describes the source of the expected item.
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
    expected: list[Any], variant: Exchange, subject: Subject, how: str, otherwise: str
) -> Breach | None:
    """Return the breach if an adapter gives other items for a variant than expected.

    ``how`` describes the variant. ``otherwise`` describes the exchange with the expected items.
    """
    got = subject.outcome(variant)
    first = difference(expected, got, subject.adapter.noun, otherwise)
    return Breach(f"{how}, {first}", variant, as_read(expected), got) if first else None


def shown(value: object) -> str:
    """Return a value, shortened for a sentence. Unprintable characters are escaped."""
    return shorten(repr(value), 120)
