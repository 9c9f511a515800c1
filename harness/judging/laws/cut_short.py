"""Law 4: an answer that is cut short gives the beginning of the whole output, then a sign that it
is unfinished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from harness.adapters import AdapterError, OutOfTime, Output, Subject
from harness.facts import Aspect, View
from harness.specs.volatile import as_read
from harness.stream.exchange import Exchange

from ..aspects import facts_of, judge_exchange, provider_of
from ..metamorphic.reads import seeded, shortened
from ..reading import Reading
from .law import Breach, Law, difference, shown
from .loss import judged, unknown_model

_OF_BEGINNINGS: tuple[Aspect, ...] = ("text", "thoughts", "calls", "unfinished")

LINES = 64
"""The number of prefixes of a large body that end after a line."""

PREFIXES = 24
"""The number of prefixes of a large body that end at seeded places."""


def prefix_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return the shortest prefix that was found with a wrong output, if there is one."""
    finding_of = _beginning_of_events if subject.adapter.layer == "events" else _beginning_of_facts
    if subject.adapter.by_facts:
        finding_of = _aspects_of_beginning
    judge = finding_of(exchange, subject)
    if isinstance(judge, str):
        return [Breach(judge, exchange)]
    broken = first_prefix(exchange, prefixes(exchange, subject.adapter.effort.tries), judge)
    if broken is None:
        return []
    size, finding = broken
    before = shown(exchange.body[max(0, size - 12) : size])
    short = shortened(exchange, size)
    place = f"cut short at byte {size} ({before})"
    sentence = f"{place if size else 'the stream ends before its first byte'}: {finding}"
    breach = Breach(sentence, short, _expected_events(exchange, short, subject))
    if subject.adapter.by_facts:
        breach = _with_aspect(breach, subject)
    return [breach]


def _with_aspect(breach: Breach, subject: Subject) -> Breach:
    """Return the breach with the first lost aspect of its sentence."""
    judgement = judge_exchange(Reading(breach.exchange, subject.options), subject.adapter)
    for aspect in judgement.red:
        if aspect in _OF_BEGINNINGS:
            return replace(breach, aspect=aspect, group=judgement.aspects[aspect].group)
    return breach


def _expected_events(exchange: Exchange, short: Exchange, subject: Subject) -> Any:
    if subject.adapter.layer != "events":
        return None
    right = subject.items(exchange)[: max(0, len(subject.outcome(short)) - 1)]
    return [*as_read(right), {"$contains": {"kind": "incomplete", "end": "cut"}}]


Judge = Callable[[Exchange], str]
"""Checks the output of a prefix. Gives the fault as a sentence, or ""."""


def _beginning_of_events(exchange: Exchange, subject: Subject) -> Judge:
    """Require that a prefix gives exactly the first events.

    A prefix may end with text that was held back as a possible tag.
    """
    full = subject.items(exchange)
    tags = _finds_tool_code(exchange, subject) or provider_of(exchange, subject).tags

    def judge(short: Exchange) -> str:
        items = subject.outcome(short)
        if not items or items[-1].get("kind") != "incomplete":
            return f"the last event is {shown(items[-1] if items else None)}, not incomplete"
        events = items[:-1]
        held_back = tags and events and str(events[-1].get("text", "")).startswith("<")
        compared = len(events) - bool(held_back)
        return difference(full[:compared], events[:compared], "event", "in the whole answer")

    return judge


def _beginning_of_facts(exchange: Exchange, subject: Subject) -> Judge | str:
    """Require that the text, thoughts and calls of a prefix are a beginning of those of the whole
    answer. An error follows.
    """
    full = facts_of(subject.adapter, subject.output(exchange))
    if isinstance(full, str):
        return full
    # A block or line that is cut may become text, although it is not text in the whole answer.
    provider = provider_of(exchange, subject)
    loose = _finds_tool_code(exchange, subject) or provider.program

    def judge(short: Exchange) -> str:
        output = subject.attempt(short)
        if isinstance(output, AdapterError):
            return str(output)
        facts = facts_of(subject.adapter, output)
        if isinstance(facts, str):
            return facts
        if not (facts.errors or facts.unfinished or facts.block_reason):
            return f"the last payload is {shown(_last(output))}; nothing reports the cut"
        return "" if loose else _not_a_beginning(facts, full, provider.tags)

    return judge


def _aspects_of_beginning(exchange: Exchange, subject: Subject) -> Judge:
    """Require that the text, thoughts and calls of a prefix are those in its bytes. The cut is
    reported.
    """
    aspects = {*_OF_BEGINNINGS} - {*judged(exchange, subject).red}

    def judge(short: Exchange) -> str:
        if Reading(replace(short, end="complete"), subject.options).variants:
            return ""  # it ends inside an event, and a client may drop such an event
        try:
            judgement = judged(short, subject)
        except OutOfTime:
            raise
        except AdapterError as error:
            return str(error)
        red = [aspect for aspect in judgement.red if aspect in aspects]
        return "; ".join(judgement.sentence(aspect) for aspect in red)

    return judge


def _finds_tool_code(exchange: Exchange, subject: Subject) -> bool:
    """Return whether the adapter reads ``<tool_code>`` in the text as a call."""
    chosen = subject.options.tool_code
    return provider_of(exchange, subject).tool_code if chosen is None else chosen


def _last(output: Output) -> object:
    return output.items[-1] if output.items else None


def _not_a_beginning(facts: View, full: View, tags: Sequence[str]) -> str:
    for name in ("text", "thoughts"):
        part, whole = _without_open_tag(getattr(facts, name), tags), getattr(full, name)
        if not whole.startswith(part):
            return f"the {name} {shown(part)} should be a beginning of {shown(whole)}"
    whole_calls = facts.calls[:-1]  # the last call may have no arguments yet
    if full.calls[: len(whole_calls)] != whole_calls:
        return f"the calls {shown(facts.calls)} should be a beginning of {shown(full.calls)}"
    return ""


def _without_open_tag(text: str, tags: Sequence[str]) -> str:
    """Return the text without an unfinished tag at its end."""
    for tag in tags:
        for size in range(len(tag) - 1, 0, -1):
            if text.endswith(tag[:size]):
                return text[:-size]
    return text


def prefixes(exchange: Exchange, tries: int) -> Sequence[int]:
    """Return the lengths at which a body is cut short. A body of at most ``tries`` bytes is cut at
    every length, a larger one at the ends of its first lines and at seeded places.
    """
    body = exchange.body
    if len(body) <= tries:
        return range(len(body))
    ends = [line_end.end() for line_end in re.finditer(rb"\n|\r", body)]
    chance = seeded(exchange.body)
    chosen = {
        *chance.sample(ends, min(LINES, tries // 2, len(ends))),
        *chance.sample(range(len(body)), min(PREFIXES, tries // 2, len(body))),
    }
    return sorted(size for size in chosen if size < len(body))


def first_prefix(exchange: Exchange, sizes: Sequence[int], judge: Judge) -> tuple[int, str] | None:
    """Return the shortest wrong prefix that was found, and its finding: the first wrong one of
    ``sizes``, or a shorter one that is longer than the last right one.
    """
    right = -1
    for size in sizes:
        finding = judge(shortened(exchange, size))
        if finding:
            between = ((less, judge(shortened(exchange, less))) for less in range(right + 1, size))
            return next(((less, wrong) for less, wrong in between if wrong), (size, finding))
        right = size
    return None


CUT_SHORT = Law(
    4,
    "Cut short",
    "Every prefix of the bytes gives the beginning of the output, then a sign that it is"
    " unfinished.",
    prefix_findings,
    unasked=unknown_model,
    feature="stream-end.cut",
    source="https://html.spec.whatwg.org/multipage/server-sent-events.html",
)
