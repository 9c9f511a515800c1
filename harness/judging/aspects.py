"""Judges an adapter by facts: gives a verdict for each aspect of one exchange."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from harness.adapters import Adapter, AdapterError, Output, SentRequest, Subject
from harness.adapters.at import Question
from harness.facts import (
    ACCEPTED,
    ASPECTS,
    RUN,
    Aspect,
    Conditions,
    DeclaredLoss,
    Entry,
    Fact,
    Finding,
    Raw,
    Text,
    Thought,
    Transcript,
    View,
    WireFacts,
    error_finding,
    judge_answer,
)
from harness.facts.finding import NOT_REQUESTED, NOTHING_RECORDED, TOO_DEEP
from harness.facts.stated import plain_fact
from harness.pipeline.replay import choose_provider
from harness.providers import PROVIDERS, Provider, asked_features
from harness.providers.gemini.facts import state_messages
from harness.stream.exchange import Exchange, Request
from harness.stream.json_codec import nests_deeply
from harness.stream.session import Session

from .accepted import judge_request
from .excuses import excuse
from .reading import NOT_ON_WIRE, Reading
from .rows import Block
from .sessions import compare_session

_OF_FEATURES: Final[Mapping[str, Sequence[Aspect]]] = {
    "logprobs": ("logprobs",),
    "partial_images": ("media",),
    "server_tools": ("server_tools", "code", "grounding", "citations", "urls"),
    "audio": ("media",),
    "citations": ("citations",),
}
"""The aspects of an answer that depend on what the request asks for; of another feature all."""
MAX_FRAMES: Final = 2_000
"""The maximum number of characters of stack frames; the last ones are kept."""


@dataclass(frozen=True, slots=True)
class ExchangeJudgement:
    """The judgement of one adapter and one exchange by facts."""

    cassette: str
    number: int
    aspects: Mapping[Aspect, Finding] = field(default_factory=dict)
    """The finding for every aspect that was judged."""
    variants: tuple[str, ...] = ()
    """The ways in which the answer differs from the documented wire."""
    block: Block = "documented"
    """``variant`` if the variants excuse every red aspect (`judging.excuses`). Then the cell is
    shown, but never red.
    """
    error: str = ""
    """The reason why there is no transcript to judge."""
    error_group: str = ""
    """Equal for errors that differ only in their values."""
    is_recorded: bool = True
    """Whether the answer has a byte or an end that explains why it has none."""
    losses: Mapping[DeclaredLoss, bool] = field(default_factory=dict)
    """The declared losses that concern this cell, and whether it shows them."""
    transcript: Transcript | None = None
    exception: BaseException | None = field(default=None, compare=False, repr=False)
    """The exception that the adapter raised, if it was raised in this process."""
    reading: Reading | None = field(default=None, compare=False, repr=False)
    """The reading of the answer that is expected."""
    request: SentRequest | None = field(default=None, compare=False, repr=False)
    """The request that the adapter sent to a served address."""

    @property
    def red(self) -> list[Aspect]:
        """The aspects that make the cell fail."""
        return [aspect for aspect, finding in self.aspects.items() if finding.red]

    def sentence(self, aspect: Aspect) -> str:
        """The finding for one aspect as a sentence."""
        return self.aspects[aspect].sentence

    @property
    def findings(self) -> list[Finding]:
        """The findings of all aspects, or that of the error or the empty answer."""
        if self.error:
            return [error_finding(self.error, self.error_group)]
        if not self.is_recorded:
            return [Finding(RUN, "not_asked", NOTHING_RECORDED)]
        return list(self.aspects.values())

    @property
    def log(self) -> str:
        """The end of the text that the adapter wrote to stderr, if a finding is red. Below it are
        the stack frames of an exception that is a finding; pytest and the debugger show those of
        this process.
        """
        if self.transcript is None or not any(finding.red for finding in self.findings):
            return ""
        is_finding = any(finding.verdict == "raised" for finding in self.findings)
        raised = self.transcript.raised if is_finding and self.exception is None else None
        frames = _short_paths(raised.traceback) if raised else ""
        return "\n".join(filter(None, [self.transcript.log.rstrip("\n"), frames[-MAX_FRAMES:]]))


_FILE: Final = re.compile(r'^(\s*File ")[^"\n]*?([^"/\\\n]+[/\\][^"/\\\n]+")', re.MULTILINE)


def _short_paths(frames: str) -> str:
    """Return the stack frames of Python with the folder and the name of each file, not its path,
    which differs on other machines.
    """
    return _FILE.sub(r"\1\2", frames)


def judge_exchange(
    reading: Reading,
    adapter: Adapter,
    *,
    recut: Exchange | None = None,
    cassette: str = "",
    number: int = 1,
) -> ExchangeJudgement:
    """Run an adapter on one exchange, judge its transcript, and list the variants of the wire.
    ``recut``: the same exchange in other reads, which the adapter gets instead.
    """
    judged = compare_exchange(reading, adapter, recut=recut, cassette=cassette, number=number)
    exchange = reading.exchange
    return (
        judged
        if exchange.coding_fault or exchange.size_fault or exchange.is_empty
        else with_variants(judged, reading)
    )


def answered_last(reading: Reading, transcript: Transcript) -> Reading:
    """The reading of the answer that the adapter got last. An adapter that asks again after a
    failed answer gets the next attempt of the recording, and must give the facts of that answer.
    """
    if transcript.attempts == 1:
        return reading
    return Reading(reading.options.attempts()[transcript.attempts - 2], reading.options)


def compare_exchange(
    reading: Reading,
    adapter: Adapter,
    *,
    recut: Exchange | None = None,
    cassette: str = "",
    number: int = 1,
) -> ExchangeJudgement:
    """Run an adapter on one exchange and judge its transcript, without the variants of the wire. An
    answer whose coding can't be decoded is an error. The adapter does not run on an answer of which
    nothing was recorded.
    """
    exchange = recut or reading.exchange
    if fault := exchange.coding_fault or exchange.size_fault:
        return ExchangeJudgement(cassette, number, error=fault)
    if exchange.is_empty:
        return ExchangeJudgement(cassette, number, is_recorded=False)
    try:
        output = adapter.output(exchange, reading.options)
    except AdapterError as error:
        return ExchangeJudgement(
            cassette,
            number,
            error=str(error),
            error_group=error.group,
            exception=error.__cause__,
        )
    judged = compare_output(reading, adapter, output, cassette=cassette, number=number)
    return replace(judged, exception=output.exception) if output.exception else judged


def judge_output(reading: Reading, adapter: Adapter, output: Output) -> ExchangeJudgement:
    """Judge the output of an adapter, and list the variants of the wire."""
    return with_variants(compare_output(reading, adapter, output), reading)


def with_variants(judged: ExchangeJudgement, reading: Reading) -> ExchangeJudgement:
    """Return the judgement with the variants of the wire, and without the red aspects that these
    excuse beside others.
    """
    variants = (judged.reading or reading).variants
    block, findings = excuse(variants, judged.aspects.values())
    aspects = dict(zip(judged.aspects, findings, strict=True))
    return replace(judged, variants=variants, block=block, aspects=aspects)


def compare_output(
    reading: Reading, adapter: Adapter, output: Output, *, cassette: str = "", number: int = 1
) -> ExchangeJudgement:
    """Judge the output of an adapter without the variants of the wire.

    A declaration excuses only an aspect that is lost: nothing wrong, invented or repeated, and no
    exception. A user's adapter has no session. So the facts that our own payloads do not have
    without their session are not required.
    """
    try:
        transcript = transcript_of(adapter, output)
    except AdapterError as error:
        return ExchangeJudgement(cassette, number, error=str(error))
    if output.trace is not None and output.trace.source == reading.exchange.reads:
        reading.trace = output.trace  # of this answer, and not of one that the adapter has changed
    asked, reading = reading.exchange, answered_last(reading, transcript)
    exchange = reading.exchange
    wire, conditions = reading.facts, conditions_of(reading, transcript, output.request)
    if output.played is None:
        findings = judge_transcript(wire, conditions, transcript)
    else:
        findings = compare_session(reading, output.played, transcript, _compare_turn)
    if output.request is not None:
        question = Question(asked, reading.options)
        findings[ACCEPTED] = judge_request(output.request, question, adapter)
    if exchange.status == 200 and not wire.understood and _is_silent(transcript):
        # silence is right for any answer that can't be read, so it shows nothing
        for aspect in [aspect for aspect, finding in findings.items() if finding.verdict == "kept"]:
            if aspect == ACCEPTED:
                continue
            findings[aspect] = Finding(aspect, "not_asked", "unread")
    declared: dict[DeclaredLoss, bool] = {}
    for aspect, finding in findings.items():
        if finding.verdict == "not_asked":
            continue  # no declaration is used, and none is unused
        is_lost = finding.verdict == "lost"
        own, of_model = (
            [loss for loss in losses if loss.covers(aspect, wire, conditions, finding)]
            for losses in (adapter.losses, adapter.model_losses)
        )
        declared |= {loss: is_lost or declared.get(loss, False) for loss in own}
        if is_lost and (covering := own + of_model):
            findings[aspect] = Finding(aspect, "not_carried", "declared", str(covering[0]))
    red = [aspect for aspect, finding in findings.items() if finding.red]
    if red and adapter.reference:
        items = adapter.reference.output(exchange, reading.options).items
        lacking = compare_output(reading, adapter.reference, Output(items, Session())).red
        for aspect in red:
            if aspect in lacking:
                findings[aspect] = Finding(aspect, "not_asked", "in-session", adapter.model)
    if red and adapter.by_facts and reading.unread:  # a green cell needs no excuse
        for aspect in red:
            findings[aspect] = Finding(aspect, "not_asked", "left-unread", reading.unread)
    return ExchangeJudgement(
        cassette,
        number,
        aspects=findings,
        transcript=transcript,
        losses=declared,
        reading=reading,
        request=output.request,
    )


def _compare_turn(reading: Reading, transcript: Transcript) -> dict[Aspect, Finding]:
    return judge_transcript(reading.facts, conditions_of(reading, transcript), transcript)


def _is_silent(transcript: Transcript) -> bool:
    facts = transcript.facts()
    if transcript.is_complete:
        facts = filter(plain_fact, facts)
    return not (transcript.raised or transcript.skipped or any(facts))


def provider_of(exchange: Exchange, subject: Subject) -> Provider:
    """The provider that the adapter uses for the exchange."""
    return PROVIDERS[choose_provider(exchange, subject.options.provider)]


def wire_facts(exchange: Exchange, subject: Subject) -> WireFacts:
    """The facts that the oracle reads from the raw answer."""
    return provider_of(exchange, subject).facts(exchange, subject.options.tool_code)


def judge_transcript(
    wire: WireFacts, asked: Conditions, transcript: Transcript
) -> dict[Aspect, Finding]:
    """The verdicts of a transcript. If the adapter may ask again, only the part before the second
    request is judged.
    """
    transcript = read_raw_facts(transcript)
    again = wire.may_be_asked_again(transcript.asked_again)
    if again:  # without a number, all entries: the second request was refused
        first = transcript.entries[: transcript.entries_of_first_request]
        transcript = replace(transcript, entries=first, raised=None)
    return judge_answer(wire, asked, transcript, again)


def conditions_of(
    reading: Reading, transcript: Transcript, sent: SentRequest | None = None
) -> Conditions:
    """The conditions under which an adapter was asked for an answer. ``sent``: the request of an
    adapter that asks a served address.
    """
    exchange, facts = reading.exchange, reading.facts
    unasked: dict[Aspect, str] = {}
    at_vertex = "/publishers/" in transcript.path
    if reading.generates and transcript.path and not at_vertex:
        unasked["citations"] = NOT_ON_WIRE
        if facts.pieces or "partialArgs" in facts.others:
            # a client of that wire never gets such an answer
            unasked = dict.fromkeys(ASPECTS, NOT_ON_WIRE)
    if facts.billing and not transcript.path and not transcript.is_complete:
        body = reading.body
        if not any(word.encode() in body for word in facts.billing.values()):
            unasked["billing"] = "in-header"
    if exchange.request is not None and sent is not None and sent.path:
        unasked |= dict.fromkeys(not_requested(exchange.request, sent.body), NOT_REQUESTED)
    if any(nests_deeply(text.encode("utf-8", "surrogatepass")) for _, text in facts.invalid_calls):
        others = facts.text or facts.thoughts or facts.calls
        of_calls: Sequence[Aspect] = ("calls", "ids", "signatures") if others else ASPECTS
        unasked |= dict.fromkeys(of_calls, TOO_DEEP)
    return Conditions(
        exchange.end,
        reading.interrupted,
        reading.provider.program,
        unasked,
        reading.tools if facts.blocks else frozenset(),
        exchange.streamed is not False,
        transcript.asks_thoughts,
    )


def not_requested(recorded: Request, sent: bytes) -> set[Aspect]:
    """Return the aspects of an answer that depend on what its ``recorded`` request asks for and the
    request that an adapter ``sent`` does not. A request for a stored answer has no body.
    """
    if recorded.method == "GET" and sent and not recorded.body:
        return {*ASPECTS}
    missing = asked_features(recorded.body) - asked_features(sent)
    return {aspect for name in missing for aspect in _OF_FEATURES.get(name, ASPECTS)}


def transcript_of(adapter: Adapter, output: Output) -> Transcript:
    """The transcript of a run. For our own event models, it has the payloads and the facts that the
    model's reader finds in them.
    """
    if output.transcript is not None:
        return output.transcript
    facts = _read_facts(adapter, output)
    if isinstance(facts, str):
        raise AdapterError(facts)
    remembered = [
        call.signature for call in output.session.calls.values() if call.signature is not None
    ]
    entries = [Entry(item) for item in output.items]
    if remembered:
        entries.append(Entry({"session": remembered}))
    last = output.items[-1] if output.items else None
    return Transcript((*entries, Entry(last, tuple(facts))), is_complete=True)


def facts_of(adapter: Adapter, output: Output) -> View | str:
    """The facts of an output. A ``str`` is the reason why they are unknown, or the fault if the
    output does not have the shape of its event model.
    """
    facts = _read_facts(adapter, output)
    return facts if isinstance(facts, str) else View(facts)


def _read_facts(adapter: Adapter, output: Output) -> list[Fact] | str:
    if adapter.facts is None:
        return (
            f"the facts of {adapter.name} are unknown: its event model {adapter.model} is not"
            " one of ours; a shim that states facts is declared as `NAME: facts = TARGET`"
        )
    try:
        facts = adapter.facts(output)
        "".join([fact.text for fact in facts if isinstance(fact, Text | Thought)])
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # items may have any shape
        return f"the payloads are not of the dialect's shape: {type(error).__name__} {error}"
    return facts


def read_raw_facts(transcript: Transcript) -> Transcript:
    """The transcript with the facts of its raw messages in the place of the messages. The oracle
    reads all raw messages together.
    """
    raw = [
        fact.object
        for entry in transcript.entries
        if entry.facts
        for fact in entry.facts
        if isinstance(fact, Raw)
    ]
    if not raw:
        return transcript
    read = list(state_messages(raw))
    entries = []
    for entry in transcript.entries:
        facts: list[Fact] = []
        for fact in entry.facts:
            if not isinstance(fact, Raw):
                facts.append(fact)
            elif raw and fact.object is raw[-1]:
                facts += read
                raw = []
        entries.append(Entry(entry.native, tuple(facts)))
    return replace(transcript, entries=tuple(entries))
