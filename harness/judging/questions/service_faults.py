"""Asks an adapter for a recorded answer at a service that fails first, and judges its attempts.

An adapter may ask again or report an error. The page docs/what-is-asked.md has the rules.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec.structs import replace as with_fields

from harness.adapters import Adapter, AdapterError, FailingService, FaultReaction, SentRequest
from harness.facts import (
    Error,
    Finding,
    Finish,
    Text,
    error_finding,
    finish_class,
    merged_facts,
)
from harness.pipeline.replay import choose_provider
from harness.providers import PROVIDERS
from harness.stream.exchange import Cassette, Exchange
from harness.stream.json_codec import decode_object
from harness.stream.printable import plural

from ..aspect_run import JudgedExchange, LossUse, texts_of
from ..aspects import read_raw_facts
from ..decide import decided, not_asked
from ..explain import FAULTS
from ..rows import QuestionRow
from .comparison import found, leaves_of
from .run import declared

MOST_ATTEMPTS: Final = 20
"""The number of equal requests after which an adapter counts as one that asks for ever. Then it
gets the answer, so that it ends.
"""
CANCELLED: Final = "cancelled"
ANSWERS: Final = (
    *("anthropic/text", "anthropic/whole"),
    *("code-assist/text",),
    *("gemini-api/text", "gemini-api/client-complete"),
    *("interactions/text", "interactions/whole"),
    *("openai/text", "openai/responses-whole", "openai/chat-text", "openai/chat-whole"),
    *("openai-compat/text", "openai-compat/unary"),
    *("vertex-ai/text", "vertex-ai/unary"),
)
"""The cassettes of the suite with the answers: plain texts of each wire."""
_CREDENTIALS: Final = ("authorization", "x-api-key", "x-goog-api-key")
_BORDER: Final = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class ServiceFault:
    """One way in which a service fails."""

    name: str
    asks: str
    fault: str
    """As in `harness.server.serve`. ``reset:1`` and ``stall:1`` are in the middle of the answer."""
    times: int = 1
    """The number of requests that get the fault."""
    refused: bool = False
    """Whether the service refuses the request, so that no attempt can help."""
    in_answer: bool = False
    """Whether the fault comes in the middle of the answer: only in a stream."""

    @property
    def aspect(self) -> str:
        """``attempts`` or ``cancelled``."""
        return CANCELLED if self.fault.startswith("stall") else "attempts"


SERVICE_FAULTS: Final = (
    ServiceFault(
        "rate-limited",
        "The service answers 429 with Retry-After: 1, and the next request with the answer.",
        "status:429",
    ),
    ServiceFault(
        "overloaded", "The service answers each request with 503.", "status:503", MOST_ATTEMPTS
    ),
    ServiceFault(
        "bad-request",
        "The service answers each request with 400.",
        "status:400",
        MOST_ATTEMPTS,
        refused=True,
    ),
    ServiceFault(
        "bad-key",
        "The service answers each request with 401.",
        "status:401",
        MOST_ATTEMPTS,
        refused=True,
    ),
    ServiceFault(
        "reset-before-the-answer",
        "The connection is reset before the answer; the next request gets the answer.",
        "reset:0",
    ),
    ServiceFault(
        "reset-in-the-answer",
        "The connection is reset in the middle of the answer; the next request gets the answer.",
        "reset:1",
        in_answer=True,
    ),
    ServiceFault(
        CANCELLED,
        "The user cancels after the first event of the answer.",
        "stall:1",
        MOST_ATTEMPTS,
        in_answer=True,
    ),
)


@dataclass(frozen=True, slots=True)
class FaultItem:
    """One fault of a service, and the answer that it has."""

    fault: ServiceFault
    recorded: JudgedExchange
    exchange: Exchange
    """A stream has one read before the fault, and one after it."""
    text: str
    """That of the whole answer."""
    unkept: Callable[[], Finding | None]
    """Gives the finding if the adapter does not keep the text without a fault. It is run once for
    all faults.
    """
    begun: str = ""
    """That of the first read of a stream."""

    @property
    def streamed(self) -> bool:
        """Whether the answer is a stream."""
        return self.exchange.streamed is not False

    @property
    def blank(self) -> QuestionRow:
        """Its row before it is asked: only its names."""
        fault = self.fault
        return QuestionRow(
            "error",
            provider=self.exchange.provider or "",
            case=fault.name + ("" if self.streamed else " (unary)"),
            cassette=f"{FAULTS}/{self.recorded.cassette}/{fault.name}",
            exchange=self.recorded.number,
            question=fault.name,
            requirement=fault.asks,
            block="documented",
            unary=not self.streamed,
        )

    def judge(self, adapter: Adapter) -> QuestionRow:
        """Return its row."""
        fault, exchange, blank = self.fault, self.exchange, self.blank
        if adapter.ask_failing is None:
            raise ValueError(f"{adapter.name} can't be asked at a failing service")
        if unkept := self.unkept():
            return decided(blank, [with_fields(unkept, subject=unkept.subject or fault.aspect)])
        try:
            if fault.aspect == CANCELLED:
                # Only an adapter that reads `at.cancel` is asked to leave an open connection.
                whole = FailingService(exchange, "stall:1", 0, cancel=True)
                reaction = adapter.ask_failing(whole)
                if not reaction.cancels or reaction.transcript.skipped:
                    reason = reaction.transcript.skipped or "the adapter does not read at.cancel"
                    return decided(blank, [not_asked(CANCELLED, reason)])
            service = FailingService(exchange, fault.fault, fault.times, fault.aspect == CANCELLED)
            reaction = adapter.ask_failing(service)
        except AdapterError as error:
            return decided(blank, [error_finding(str(error), error.group)])
        own: LossUse = {loss: False for loss in adapter.losses if loss.aspect == fault.aspect}
        findings = [declared(each, adapter.losses, own) for each in _judged(self, reaction)]
        blank = with_fields(blank, log=reaction.transcript.log, declared=texts_of(own))
        return decided(blank, findings or [Finding(fault.aspect, "kept")])


def answers_of(
    providers: Collection[str], load: Callable[[str], Cassette]
) -> Iterator[JudgedExchange]:
    """Yield the exchanges of `ANSWERS` for some wires. ``load`` gives the cassette with a name."""
    for name in ANSWERS:
        if name.partition("/")[0] in providers:
            for number, exchange in enumerate(load(name).exchanges, 1):
                yield JudgedExchange(name, number, exchange)


def plan_faults(
    faults: Sequence[ServiceFault], items: Iterable[JudgedExchange], adapter: Adapter
) -> list[FaultItem]:
    """Return the faults with the first plain text of each wire, as a stream and unary; none for an
    adapter that can't be asked.
    """
    chosen: dict[tuple[str, str, bool], list[FaultItem]] = {}
    for item in items if faults and adapter.ask_failing else ():
        exchange = item.exchange
        if not exchange.provider:
            continue
        path = urlsplit(exchange.request.url).path if exchange.request else ""
        method = path.replace(":", "/").rpartition("/")[2]
        wire = exchange.provider, method, exchange.streamed is not False
        if wire not in chosen and (planned := _planned(faults, item, adapter)):
            chosen[wire] = planned
    return [planned for of_wire in chosen.values() for planned in of_wire]


def _planned(
    faults: Sequence[ServiceFault], item: JudgedExchange, adapter: Adapter
) -> list[FaultItem]:
    """Return the faults for one answer; none if it is not a plain text, in pieces if it is a
    stream.
    """
    exchange = item.exchange
    provider = PROVIDERS[choose_provider(exchange, exchange.provider)]
    if exchange.status != 200 or exchange.end != "complete" or provider.program:
        return []
    if exchange.header("content-encoding"):
        return []
    facts = provider.facts(exchange)
    plain = not (facts.calls or facts.thoughts or facts.errors)
    if not facts.text or not plain or finish_class(facts.finish) != "stop":
        return []
    unkept = cache(partial(_unkept, item, facts.text, adapter))
    if exchange.streamed is False:
        unary = [fault for fault in faults if not fault.in_answer]
        return [FaultItem(fault, item, exchange, facts.text, unkept) for fault in unary]
    body = exchange.body
    borders = [match.end() for match in _BORDER.finditer(body)]

    def begun_at(border: int) -> str:
        reads = ((None, body[:border]),)
        return provider.facts(replace(exchange, reads=reads, end="cut")).text

    # the text only grows from border to border, so a few of them are read
    middle = bisect_left(borders, len(facts.text) / 2, key=lambda at: len(begun_at(at)))
    for border in borders[middle : middle + 1] + borders[max(middle - 1, 0) : middle]:
        begun = begun_at(border)
        if begun not in ("", facts.text):
            break
    else:
        return []
    reads = ((None, body[:border]), (None, body[border:]))
    served = replace(exchange, reads=reads)
    return [FaultItem(fault, item, served, facts.text, unkept, begun) for fault in faults]


def _unkept(item: JudgedExchange, text: str, adapter: Adapter) -> Finding | None:
    """Return the finding for an adapter that does not keep the text of an answer without a fault,
    so that its attempts can't be judged; its subject is "" if it is not asked.
    """
    assert adapter.ask_failing is not None  # see plan_faults
    try:
        reaction = adapter.ask_failing(FailingService(item.exchange, "reset:0", 0))
    except AdapterError as error:
        return error_finding(str(error), error.group)
    if reaction.late:
        return error_finding(reaction.late)
    if reaction.transcript.skipped:
        return not_asked("", reaction.transcript.skipped)
    if _text(reaction) != text:
        return not_asked("", f"it does not keep the text of {item.place} without a fault")
    return None


def _judged(item: FaultItem, reaction: FaultReaction) -> list[Finding]:
    """Return the findings; none if the adapter is right."""
    fault, requests = item.fault, reaction.requests
    if reaction.transcript.skipped:
        return [not_asked(fault.aspect, reaction.transcript.skipped)]
    if not requests:
        return [error_finding(f"the adapter sent no request; {reaction.late}")]
    if fault.aspect == CANCELLED:
        return [*_after_cancel(item, reaction)]
    findings = [*_of_requests(fault, requests)]
    if reaction.late and not findings:
        if len(requests) > 1:
            reason = f"it pauses between its attempts, {len(requests)} so far: {reaction.late}"
            return [not_asked(fault.aspect, reason)]
        return [error_finding(reaction.late)]
    return [*findings, *_of_answer(item, reaction)] if not reaction.late else findings


def _of_requests(fault: ServiceFault, requests: Sequence[SentRequest]) -> Iterator[Finding]:
    first, *others = requests
    again = sum(_key(other) == _key(first) for other in others)
    if fault.refused and again:
        sentence = f"the same request is sent {plural(again + 1, 'time')} after {_words(fault)}"
        yield found("attempts", "wrong", sentence, word="refused")
    elif again >= MOST_ATTEMPTS:
        sentence = f"the same request is sent more than {MOST_ATTEMPTS} times"
        yield found("attempts", "wrong", sentence, word="endless")
    if fault.refused:
        return
    for number, other in enumerate(others, 2):
        if other.path == first.path and (path := _difference(first.body, other.body)) is not None:
            sentence = f"the request of attempt {number} differs from the first at {path}"
            yield found("attempts", "wrong", sentence, word="changed")
            return


def _of_answer(item: FaultItem, reaction: FaultReaction) -> Iterator[Finding]:
    """Find a wrong report about an answer that came, or that never came."""
    fault, text = item.fault, _text(reaction)
    failed, number = _is_failed(reaction), len(reaction.requests)
    answered = number > fault.times
    if answered and text == item.text:
        return
    what = _words(fault)
    if text.count(item.text) > 1 or (item.begun and text == item.begun + item.text):
        sentence = f"the text is given twice, after {plural(number, 'attempt')}"
        yield found("attempts", "wrong", sentence, item.text, text, word="twice")
    elif answered and failed:
        sentence = f"attempt {number} got the answer, and the adapter reports an error"
        yield found("attempts", "wrong", sentence, word="answer")
    elif answered:
        sentence = f"attempt {number} got the answer, and the adapter gives another text"
        yield found("attempts", "wrong", sentence, item.text, text, word="answer")
    elif not failed:
        sentence = f"no request got the answer, only {what}, and the adapter reports no error"
        yield found("attempts", "lost", sentence, word="success")
    elif not item.text.startswith(text):
        sentence = f"the adapter gives a text that it did not get, after {what}"
        yield found("attempts", "wrong", sentence, item.begun, text, word="answer")


def _after_cancel(item: FaultItem, reaction: FaultReaction) -> Iterator[Finding]:
    further = len(reaction.requests) - 1
    if not reaction.left:
        sentence = "the connection stays open after the user has canceled"
        yield found(CANCELLED, "wrong", sentence, word="open")
    if further > 0:
        sentence = f"{plural(further, 'further request')} sent after the user has canceled"
        yield found(CANCELLED, "wrong", sentence, word="again")
    if reaction.late:
        return
    facts = merged_facts(read_raw_facts(reaction.transcript))
    ends = [fact.raw for fact in facts if isinstance(fact, Finish)]
    if ends and finish_class(ends[0]) in ("stop", "length"):
        sentence = f"a canceled answer is reported as {ends[0]}"
        yield found(CANCELLED, "wrong", sentence, word="success")
    if not item.text.startswith(_text(reaction)):
        sentence = "the adapter gives a text that it did not get"
        yield found(CANCELLED, "wrong", sentence, item.begun, _text(reaction), word="text")


def _text(reaction: FaultReaction) -> str:
    facts = merged_facts(read_raw_facts(reaction.transcript))
    return "".join(fact.text for fact in facts if isinstance(fact, Text))


def _is_failed(reaction: FaultReaction) -> bool:
    """Return whether the adapter reports an error: an exception, an error fact, or an end of class
    other.
    """
    facts = merged_facts(read_raw_facts(reaction.transcript))
    return reaction.transcript.raised is not None or any(
        isinstance(fact, Error) or (isinstance(fact, Finish) and fact.finish_class == "other")
        for fact in facts
    )


def _words(fault: ServiceFault) -> str:
    kind, _, number = fault.fault.partition(":")
    return f"HTTP {number}" if kind == "status" else "a reset connection"


def _key(request: SentRequest) -> tuple[Any, ...]:
    """Return the parts of a request that decide whether an attempt can have another result."""
    credentials = tuple(request.headers.get(name) for name in _CREDENTIALS)
    return request.path, decode_object(request.body) or request.body, credentials


def _difference(first: bytes, other: bytes) -> str | None:
    """Return the path of the first difference of two bodies; None if they are equal."""
    before, after = (dict(leaves_of(decode_object(body))) for body in (first, other))
    paths = (path for path in before | after if before.get(path) != after.get(path))
    return next(paths, None)
