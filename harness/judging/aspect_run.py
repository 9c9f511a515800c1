"""Judges an adapter on an exchange: its answer, cut in some ways, and the request that follows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from msgspec.structs import replace

from harness.adapters import Adapter, AdapterError, RunOptions, SentRequest
from harness.adapters.at import Question
from harness.facts import (
    ACCEPTED,
    DeclaredLoss,
    Error,
    Finding,
    Place,
    Raw,
    Transcript,
    error_finding,
    finish_class,
)
from harness.facts.finding import NOT_REQUESTED, UNDECLARED
from harness.pipeline.replay import cut_reads
from harness.providers import declares_known_tools
from harness.providers.second_turn import SecondTurnAspect, judge_second_turn
from harness.stream.events import INTERRUPTED
from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json, decode_json, decode_object
from harness.stream.websocket import SWITCHED

from .accepted import judge_request
from .aspects import (
    ExchangeJudgement,
    conditions_of,
    judge_exchange,
    not_requested,
)
from .attempts import attempts_after
from .decide import decided, not_asked
from .excerpts import Excerpts, at_next_message, excerpts_of_answer, excerpts_of_request
from .excuses import excuse
from .reading import Reading
from .rows import Evidence, ExchangeRow
from .run import shown_only
from .wire_properties import properties_of


@dataclass(frozen=True, slots=True)
class JudgedExchange:
    """One exchange to judge: the name of its cassette, and its number in that cassette."""

    cassette: str
    number: int
    exchange: Exchange
    following: Sequence[Exchange] = ()
    """The exchanges after it in its cassette. Some may be the answers for an adapter that asks
    again (`attempts_after`).
    """
    reading: Reading = field(init=False, compare=False, repr=False)
    """The reading of the answer, which every adapter and both turns share."""

    def __post_init__(self) -> None:
        options = RunOptions(
            cassette=self.cassette,
            provider=self.exchange.provider,
            attempts=partial(attempts_after, self.exchange, self.following),
        )
        object.__setattr__(self, "reading", Reading(self.exchange, options))

    @property
    def place(self) -> str:
        """The cassette and exchange, in the form for ``--cassettes``."""
        return f"{self.cassette}:{self.number}"


JudgedCuts = Literal["recorded", "whole", "pieces"]
"""The ways to cut the body of an answer: as recorded, not at all, or into `PIECES` equal pieces."""
PIECES: Final = 100
"""The number of pieces."""
FIRST_TURN_FAILED: Final = "the first turn is an error"

FirstTurns = dict[str, Transcript | None]
"""Place → the first turn of an adapter that states its facts, with the entries that state an error
only; None if it gave no transcript.
"""
LossUse = dict[DeclaredLoss, bool]
"""The declared losses that concern a row, and whether it shows the loss."""


def texts_of(use: Mapping[DeclaredLoss, bool]) -> dict[str, bool]:
    """Return the declared losses of a row as texts."""
    return {str(loss): shown for loss, shown in use.items()}


@dataclass(frozen=True, slots=True)
class AnswerItem:
    """The first turn of an exchange, with one or several ways to cut its answer."""

    item: JudgedExchange
    cuts: Sequence[JudgedCuts]
    first_turns: FirstTurns

    def judge(self, adapter: Adapter) -> ExchangeRow:
        """Return the worst row of all cuts. Two cuts at the same places are judged only once. With
        one way to cut, a red answer is judged once more whole, to find faults at borders of reads.
        """
        item, chosen = self.item, self.cuts
        recuts = {cut: _recut(item.exchange, cut) for cut in reversed(chosen)}
        first_of = {_places(exchange): cut for cut, exchange in recuts.items()}
        cell = self._judged(adapter, recuts[chosen[0]], chosen[0])
        for cut in chosen[1:]:
            if first_of[_places(recuts[cut])] == cut:
                cell = _worse(cell, self._judged(adapter, recuts[cut], cut), cut)
        is_answer = item.exchange.status != SWITCHED  # the frames of a session have no reads
        if is_answer and len(chosen) == 1 and cell.red_findings and cell.verdict != "error":
            whole = _recut(item.exchange, "whole")
            if _places(whole) != _places(recuts[chosen[0]]):
                cell = _at_borders(cell, _judge(item, adapter, whole), chosen[0])
        item.reading.forget_frames()
        return cell

    def _judged(self, adapter: Adapter, recut: Exchange, cut: JudgedCuts) -> ExchangeRow:
        judgement = _judge(self.item, adapter, recut)
        transcript = judgement.transcript
        if cut == "recorded" and transcript is not None and not transcript.is_complete:
            self.first_turns[self.item.place] = _outline(transcript)
        return _result(judgement, judgement.reading or self.item.reading)


def plan_answers(
    items: Sequence[JudgedExchange],
    cuts: Sequence[JudgedCuts] = (),
    first_turns: FirstTurns | None = None,
) -> list[AnswerItem]:
    """Return the first turn of every exchange, with each of the ``cuts``. Without ``cuts``, the
    reads are as recorded; but of the streams of which no read ends inside a message, one of each
    shape is cut into pieces. The turns with the recorded reads are added to ``first_turns``.
    """
    in_pieces = {*_one_of_each_shape(items)} if not cuts else set()
    first_turns = {} if first_turns is None else first_turns
    own: dict[bool, Sequence[JudgedCuts]] = {True: ("pieces",), False: ("recorded",)}
    return [AnswerItem(item, cuts or own[item.place in in_pieces], first_turns) for item in items]


def _one_of_each_shape(items: Sequence[JudgedExchange]) -> Iterator[str]:
    """Yield the place of the first stream of each shape of which no read ends inside a message. The
    shape is the wire, the facts that the answer has, and whether it has only ASCII characters. A
    stream that breaks off is none of them: a client need not get its last pieces.
    """
    shapes = set()
    for item in items:
        exchange = item.exchange
        broken_off = exchange.end in INTERRUPTED
        is_session = exchange.status == SWITCHED
        if exchange.streamed is False or is_session or broken_off or _is_cut_inside(exchange):
            continue
        names = frozenset(name for name, value in vars(item.reading.facts).items() if value)
        shape = exchange.provider, names, exchange.body.isascii()
        if shape not in shapes:
            shapes.add(shape)
            yield item.place


def _is_cut_inside(exchange: Exchange) -> bool:
    ends = b"\n\n", b"\r\n\r\n", b"\r\r"
    return any(not data.endswith(ends) for _, data in exchange.reads[:-1])


def _judge(item: JudgedExchange, adapter: Adapter, recut: Exchange) -> ExchangeJudgement:
    return judge_exchange(
        item.reading, adapter, recut=recut, cassette=item.cassette, number=item.number
    )


def _outline(transcript: Transcript) -> Transcript:
    """Return the transcript with the entries that state an error only."""
    entries = [
        entry
        for entry in transcript.entries
        if any(isinstance(fact, Error) for fact in entry.facts)
    ]
    return dataclasses.replace(transcript, entries=tuple(entries))


def _result(judgement: ExchangeJudgement, reading: Reading) -> ExchangeRow:
    """Return the result of a judgement, with evidence for each red aspect."""
    exchange, transcript = reading.exchange, judgement.transcript or Transcript()
    findings = at_next_message(judgement.findings, reading, transcript)
    blank = ExchangeRow(
        "error",
        cassette=judgement.cassette,
        exchange=judgement.number,
        provider=exchange.provider or "",
        end=exchange.end,
        block=judgement.block,
        variants=judgement.variants,
        unary=exchange.streamed is False,
        requests="; ".join(transcript.request_notes),
        properties=properties_of(reading),
        declared=texts_of(judgement.losses),
        log=judgement.log,
        raw=any(isinstance(fact, Raw) for fact in transcript.facts()),
    )
    excerpts = excerpts_of_answer(findings, reading, transcript)
    if judgement.request is not None and ACCEPTED in excerpts:
        request = decode_object(judgement.request.body)
        excerpts |= excerpts_of_request([judgement.aspects[ACCEPTED]], reading, request)
    return _with_findings(blank, findings, excerpts)


def _with_findings(
    blank: ExchangeRow, findings: Sequence[Finding], excerpts: Excerpts
) -> ExchangeRow:
    """Return the row with its verdict and findings. A variant of the wire keeps the verdict of its
    findings; its block says that it is not red.
    """
    row = decided(blank, findings)
    evidence = Evidence(excerpts=excerpts) if excerpts else None
    return replace(row, findings_total=len(findings), evidence=evidence)


def _recut(exchange: Exchange, cut: JudgedCuts) -> Exchange:
    if cut == "recorded":
        return exchange
    size = len(exchange.body)
    # Rounded up; the step of an empty body is 1, because a range needs one.
    places = range(0, size, -(-size // PIECES) or 1) if cut == "pieces" else ()
    return dataclasses.replace(exchange, reads=tuple(cut_reads(exchange.reads, [*places])))


def _places(exchange: Exchange) -> tuple[int, ...]:
    """Return the sizes of the reads, which determine the places of the cuts."""
    return tuple(len(data) for _, data in exchange.reads if data)


def _at_borders(cell: ExchangeRow, whole: ExchangeJudgement, cut: JudgedCuts) -> ExchangeRow:
    """Return the result. The findings that are not red when the answer comes in one read say so."""
    if whole.error:
        return cell
    red = {finding.subject for finding in whole.findings if finding.red}
    findings = (
        replace(finding, place=replace(finding.place, cuts=cut))
        if finding.red and finding.subject not in red
        else finding
        for finding in cell.findings
    )
    return replace(cell, findings=tuple(findings))


def _worse(cell: ExchangeRow, other: ExchangeRow, cut: JudgedCuts) -> ExchangeRow:
    """Return the result, and the aspects that are red only with another cut."""
    both = (cell.declared, other.declared)
    declared = {**both[0], **both[1], **shown_only(both[0]), **shown_only(both[1])}
    cell, other = (replace(each, declared=declared) for each in (cell, other))
    if cell.verdict == "error":
        return cell
    if other.verdict == "error":
        place = Place(cuts=cut)
        findings = tuple(replace(finding, place=place) for finding in other.findings)
        return replace(other, reason=f"with --cuts {cut}: {other.reason}", findings=findings)
    known = {finding.subject for finding in cell.red_findings}
    new = {
        finding.subject: replace(finding, place=replace(finding.place, cuts=cut))
        for finding in other.red_findings
        if finding.subject not in known
    }
    if not new:
        return cell
    kept = {finding.subject: finding for finding in cell.findings}
    findings = tuple({**kept, **new}.values())
    excerpts = {
        subject: views
        for result in (other, cell)
        if result.evidence
        for subject, views in result.evidence.excerpts.items()
        if subject in (new if result is other else known)
    }
    return replace(
        cell,
        verdict=other.verdict,
        reason=other.reason,
        aspects=cell.aspects | {subject: finding.verdict for subject, finding in new.items()},
        findings=findings,
        evidence=Evidence(excerpts=excerpts),
    )


def items_with_second_turn(
    items: Sequence[JudgedExchange], adapter: Adapter
) -> list[JudgedExchange]:
    """Return the whole answers, if the adapter has a second turn."""
    if adapter.second_request is None:
        return []
    return [item for item in items if goes_on(item)]


def plan_second_turns(
    items: Iterable[JudgedExchange], first_turns: FirstTurns | None = None
) -> list[SecondTurnItem]:
    """Return the request that follows each answer. `items_with_second_turn` has the ``items``. A
    first turn that is not in ``first_turns`` is run.
    """
    first_turns = {} if first_turns is None else first_turns
    return [SecondTurnItem(item, first_turns) for item in items]


@dataclass(frozen=True, slots=True)
class SecondTurnItem:
    """The request that follows an answer."""

    item: JudgedExchange
    first_turns: FirstTurns

    def judge(self, adapter: Adapter) -> ExchangeRow:
        """Return the row of the second turn."""
        assert adapter.second_request is not None  # see items_with_second_turn
        item, first_turns = self.item, self.first_turns
        reading = item.reading
        blank = ExchangeRow(
            "error",
            cassette=item.cassette,
            exchange=item.number,
            provider=item.exchange.provider or "",
            end=item.exchange.end,
            block="variant" if reading.variants else "documented",
            variants=reading.variants,
            unary=item.exchange.streamed is False,
            turn="second",
        )

        def first_turn() -> Transcript | None:
            if item.place not in first_turns:
                first_turns[item.place] = _first_turn(reading, adapter)
            return first_turns[item.place]

        if unasked := _not_for_a_second_turn(reading, first_turn):
            return decided(blank, [not_asked("calls", unasked)])
        try:
            body = adapter.second_request(item.exchange, reading.options)
        except AdapterError as error:
            if _is_error(first_turn()):
                return decided(blank, [not_asked("results", FIRST_TURN_FAILED)])
            return decided(blank, [error_finding(str(error), error.group)])
        if isinstance(body, str):
            return decided(blank, [not_asked("results", body)])
        try:
            request = decode_json(body)
        except ValueError as error:
            return decided(blank, [error_finding(f"the second request is not JSON: {error}")])
        if not isinstance(request, dict):
            return decided(blank, [error_finding("the second request is not a JSON object")])
        first = first_turn()
        use: LossUse = {}
        findings = judge_history(reading, adapter, request, first, use)
        if first and first.path:
            question = Question(item.exchange, reading.options, turn=2)
            findings.append(judge_request(SentRequest(first.path, body), question, adapter))
        asked = without_unrequested(findings, item.exchange, body)
        block, findings = excuse(reading.variants, asked, second_turn=True)
        blank = replace(blank, block=block, declared=texts_of(use))
        result = _with_findings(blank, findings, excerpts_of_request(findings, reading, request))
        reading.forget_frames()
        return result


def goes_on(item: JudgedExchange) -> bool:
    """Return whether the conversation continues after this answer."""
    facts, asked = item.reading.facts, conditions_of(item.reading, Transcript())
    is_blocked = facts.block_reason is not None
    whole = not (asked.has_fault(facts) or is_blocked or facts.errors or facts.open_call)
    has_content = bool(facts.calls or facts.text)
    stopped = finish_class(facts.finish) == "stop"
    return whole and has_content and not asked.program and stopped


def without_unrequested(findings: list[Finding], exchange: Exchange, body: bytes) -> list[Finding]:
    """Return the findings of a second request. What the adapter's request does not ask for can't be
    in its history, and nobody knows whether the service would refuse it there. Tools of the
    provider that the recorded request does not declare are those of a stored prompt or answer,
    which the adapter does not have.
    """
    recorded = exchange.request
    if recorded is None:
        return findings
    unasked: dict[str, str] = dict.fromkeys(not_requested(recorded, body), NOT_REQUESTED)
    if "text" in unasked:
        unasked |= dict.fromkeys((finding.subject for finding in findings), NOT_REQUESTED)
    elif unasked.keys() & {"server_tools", "citations"}:
        unasked[ACCEPTED] = NOT_REQUESTED
    if not declares_known_tools(recorded.body):
        unasked.setdefault("server_tools", UNDECLARED)
    return [
        Finding(finding.subject, "not_asked", unasked[finding.subject])
        if finding.red and finding.subject in unasked
        else finding
        for finding in findings
    ]


def judge_history(
    reading: Reading,
    adapter: Adapter,
    request: dict[str, Json],
    first: Transcript | None,
    use: LossUse,
) -> list[Finding]:
    """Return the finding of each aspect of the request that follows an answer. ``first``: the
    transcript of the answer. The declared losses are added to ``use``.
    """
    provider, facts = reading.provider, reading.facts
    judge = partial(
        judge_second_turn,
        prompt=provider.prompt_of(request),
        body=request,
        rules=provider.history,
        given=_given(reading),
        ordered=adapter.ordered,
    )
    judged = judge(facts)
    # A client that can't ask for thoughts does not know them, and sends them back as text.
    if facts.thoughts and first and not first.asks_thoughts and _is_red(judged, "text"):
        as_text = judge(facts.with_thoughts_in_text())
        judged = judged if _is_red(as_text, "text") else as_text
    # It need not send back the signatures of thoughts either.
    if first and not first.asks_thoughts and _is_red(judged, "other_signatures"):
        asked = judge(facts.without_unasked_signatures())
        if not _is_red(asked, "other_signatures"):
            unasked = Finding("other_signatures", "not_asked", "thoughts-not-requested")
            judged["other_signatures"] = asked.get("other_signatures", unasked)
    # Some languages have only doubles, which can't hold every integer of the wire.
    if first and first.doubles and _is_red(judged, "calls"):
        rounded = facts.in_doubles()
        in_its_language = judge(rounded, doubles=True)
        if rounded.calls != facts.calls and in_its_language["calls"].verdict == "kept":
            judged = in_its_language
            judged["calls"] = Finding("calls", "not_asked", "only-doubles")
    return [*_without_declared_losses(judged, reading, adapter.losses, use)]


def _without_declared_losses(
    judged: Mapping[SecondTurnAspect, Finding],
    reading: Reading,
    losses: Sequence[DeclaredLoss],
    use: LossUse,
) -> Iterator[Finding]:
    """Yield the findings; a lost aspect whose loss is declared is not carried."""
    wire, asked = reading.facts, conditions_of(reading, Transcript())
    for aspect, finding in judged.items():
        is_lost = finding.verdict == "lost"
        covering = [loss for loss in losses if loss.covers(aspect, wire, asked, finding)]
        for loss in covering if finding.verdict != "not_asked" else ():
            use[loss] = is_lost or use.get(loss, False)
        if covering and is_lost:
            yield Finding(aspect, "not_carried", "declared", str(covering[0]))
        else:
            yield finding


def _is_red(findings: Mapping[SecondTurnAspect, Finding], aspect: SecondTurnAspect) -> bool:
    return aspect in findings and findings[aspect].red


def _not_for_a_second_turn(reading: Reading, first_turn: Callable[[], Transcript | None]) -> str:
    """Return the reason why the calls of an answer can't be sent back, or ""."""
    if reading.generates and reading.facts.pieces:  # on Vertex AI only
        transcript = first_turn()
        if transcript is None:
            return FIRST_TURN_FAILED
        if "calls" in conditions_of(reading, transcript).unasked:
            return "the wire of the adapter's request does not have it"
    if not all(name for name, _ in reading.facts.calls):
        return "the wire has a call without a name, which can't be run"
    return ""


def _given(reading: Reading) -> list[bool]:
    """Return whether the result of each call must be the given result. If a tool is not declared,
    the adapter may itself answer its call.
    """
    if reading.exchange.request is None:
        return [True for _ in reading.facts.calls]
    return [name in reading.tools for name, _ in reading.facts.calls]


def _first_turn(reading: Reading, adapter: Adapter) -> Transcript | None:
    """Return the transcript of the answer; None if the adapter gave no transcript that can be
    judged.
    """
    try:
        output = adapter.output(reading.exchange, reading.options)
    except AdapterError:
        return None
    return output.transcript or Transcript()


def _is_error(transcript: Transcript | None) -> bool:
    """Return whether a turn ended in an error, so that the conversation does not continue."""
    return (
        transcript is None
        or transcript.raised is not None
        or any(isinstance(fact, Error) for fact in transcript.facts())
    )
