"""Judges a session: each turn as an answer, then what only a session has.

The turns of the wire and of the adapter are compared in pairs. If their numbers differ, the end of
a turn is lost or invented, and the session is compared as one answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from msgspec.structs import replace as with_fields

from harness.adapters import PlayedSession
from harness.facts import (
    CONTINUATION,
    Aspect,
    AspectVerdict,
    Cancelled,
    Entry,
    Fact,
    Finding,
    Finish,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    Place,
    Transcript,
    Usage,
)
from harness.providers.live.messages import (
    called,
    cancelled,
    canonical,
    ends_turn,
    results_in,
)
from harness.providers.provider import Step
from harness.providers.second_turn import result_text
from harness.stream.events import End
from harness.stream.framing import Frame
from harness.stream.json_codec import Json, decode_object
from harness.stream.websocket import Message, Side

from .reading import NOT_ON_WIRE, Reading

Findings = dict[Aspect, Finding]
Compare = Callable[[Reading, Transcript], Findings]
"""Compares the answer of a turn with the facts of an adapter."""

_TRANSCRIPTS: Final[Mapping[Aspect, tuple[str, str, type[InputTranscript | OutputTranscript]]]] = {
    "input_transcript": ("inputTranscription", "inputAudioTranscription", InputTranscript),
    "output_transcript": ("outputTranscription", "outputAudioTranscription", OutputTranscript),
}
"""An aspect → its field, the field of the setup that asks for it, and its fact."""
_OF_VERTEX: Final = "candidatesTokenCount"
"""A count that the Gemini API gives another name."""
_GEMINI_API: Final = "GenerativeService"
_ORDER: Final[Sequence[AspectVerdict]] = (
    *("wrong", "raised", "lost", "not_carried", "kept", "not_asked"),
)
"""The verdicts, the worst first."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """The messages of one turn, or those after the last one, with their events."""

    steps: list[Step] = field(default_factory=list)

    def objects(self, side: Side = "server") -> Iterator[dict[str, Json]]:
        """Yield each message of a side that is a JSON object."""
        for frame, _ in self.steps:
            if message := _message(frame, side):
                yield message

    def contents(self) -> Iterator[dict[str, Any]]:
        for message in self.objects():
            if isinstance(content := message.get("serverContent"), dict):
                yield content

    def transcript(self, name: str) -> str:
        pieces = (content.get(name) for content in self.contents())
        texts = (piece.get("text") for piece in pieces if isinstance(piece, dict))
        return "".join(text for text in texts if isinstance(text, str))

    @property
    def interrupted(self) -> bool:
        return any(content.get("interrupted") is True for content in self.contents())


def compare_session(
    reading: Reading, played: PlayedSession, transcript: Transcript, compare: Compare
) -> Findings:
    """Return the findings of a session with an adapter."""
    exchange, steps = reading.exchange, reading.replay.steps
    turns, rest = _turns_of(steps)
    whole = [*turns, rest]
    given, remainder = _split(transcript.entries)
    if played.late or played.unexpected:
        return _not_at_the_end(turns, rest, played)
    findings: Findings = {}
    if len(turns) == len(given):
        answers = [_answer(reading, turn) for turn in turns]
        last = _answer(reading, _Turn([*rest.steps, steps[-1]]), exchange.end)
        is_open = not turns or _is_open(last)
        if not is_open:
            given[-1] += remainder
            remainder = []
        parts = [
            replace(transcript, entries=tuple(_ended(entries, turn)), raised=None)
            for entries, turn in zip(given, turns, strict=True)
        ]
        if is_open:
            answers.append(last)
            parts.append(replace(transcript, entries=tuple(remainder)))
        else:
            parts[-1] = replace(parts[-1], raised=transcript.raised)
        for number, (answer, part) in enumerate(zip(answers, parts, strict=True), 1):
            _add(findings, compare(answer, part), number)
    else:
        findings = compare(reading, transcript)
        verdict: AspectVerdict = "lost" if len(given) < len(turns) else "wrong"
        if transcript.raised and verdict == "lost":
            verdict = "raised"
        findings["finish"] = Finding("finish", verdict, "turns", len(turns), len(given))
    if "usage" in findings and _GEMINI_API in played.path and any(map(_is_of_vertex, whole)):
        findings["usage"] = Finding("usage", "not_asked", NOT_ON_WIRE)
    if played.opened_again:
        for aspect in ("error", "unfinished", "needless_error"):
            if aspect in findings and findings[aspect].red:
                findings[aspect] = Finding(aspect, "not_asked", "opened-again")
    facts = [*(_facts(entries) for entries in given), _facts(remainder)]
    for aspect, (name, asked, kind) in _TRANSCRIPTS.items():
        if _unasked(whole, played, asked):
            continue
        texts = [turn.transcript(name) for turn in whole]
        stated = ["".join(fact.text for fact in some if isinstance(fact, kind)) for some in facts]
        by_turn = aspect == "output_transcript" and len(whole) == len(facts)
        if finding := _compare_transcripts(aspect, texts, stated, by_turn=by_turn):
            findings[aspect] = finding
    if finding := _compare_interruptions(whole, facts):
        findings["interrupted"] = finding
    if finding := _compare_cancelled(whole, facts):
        findings["cancelled_calls"] = finding
    if finding := _compare_results(whole, played):
        findings["results"] = finding
    left = not played.played or (played.left and len(given) < len(turns))
    needless = findings.get("needless_error")
    if left and not (transcript.raised or (needless and needless.red)):
        findings["sent"] = Finding("sent", "lost", "left")
    return findings


def _not_at_the_end(turns: Sequence[_Turn], rest: _Turn, played: PlayedSession) -> Findings:
    """Return the findings of a session that did not come to its end: nothing else is asked."""
    aspects: Sequence[Aspect] = ("text", "calls", "usage", "finish") if turns else ("error",)
    findings = {aspect: Finding(aspect, "not_asked", "beside-hang") for aspect in aspects}
    if played.late:
        findings["hangs"] = Finding("hangs", "lost", "hangs", wire=played.late)
    else:
        findings["sent"] = Finding("sent", "wrong", "sent", adapter=played.unexpected)
    return findings


def _turns_of(steps: Sequence[Step]) -> tuple[list[_Turn], _Turn]:
    """Return the turns of a session, and the messages after the last one. Counts that come alone
    after the end of a turn belong to it.
    """
    turns: list[_Turn] = []
    rest, has_begun = _Turn(), False
    for step in steps:
        frame, _ = step
        if frame is None or frame.partial:
            continue
        content = _message(frame, "server")
        if turns and not has_begun and content.keys() == {"usageMetadata"}:
            turns[-1].steps.append(step)
            continue
        rest.steps.append(step)
        has_begun = has_begun or _has_content(content)
        if ends_turn(content):
            turns.append(rest)
            rest, has_begun = _Turn(), False
    return turns, rest


def _message(frame: Frame | None, side: Side) -> dict[str, Json]:
    """Return the message of a side in a frame; {} if it has none that is a JSON object."""
    match frame.json if frame else None:
        case {"from": sender, "message": dict(message)} if sender == side:
            return message
    return {}


def _is_of_vertex(turn: _Turn) -> bool:
    counts = (message.get("usageMetadata") for message in turn.objects())
    return any(isinstance(each, dict) and _OF_VERTEX in each for each in counts)


def _has_content(message: Mapping[str, Json]) -> bool:
    content = message.get("serverContent")
    return "toolCall" in message or (isinstance(content, dict) and "modelTurn" in content)


def _answer(session: Reading, turn: _Turn, end: End = "complete") -> Reading:
    """Return the reading of a part of a session."""
    exchange = replace(session.exchange, end=end, request=None, streamed=True)
    reading = Reading(exchange, session.options)
    reading.trace = replace(session.replay, steps=turn.steps)
    return reading


def _is_open(rest: Reading) -> bool:
    """Return whether there is something to compare after the last turn: a turn that has begun, or
    an error.
    """
    facts = rest.facts
    media = facts.contents["media"]
    return bool(facts.errors or facts.text or facts.thoughts or facts.calls or media)


def _split(entries: Sequence[Entry]) -> tuple[list[list[Entry]], list[Entry]]:
    """Return the events of each turn, and those after the last end of a turn. Counts that come
    alone after the end belong to the turn.
    """
    turns: list[list[Entry]] = []
    rest: list[Entry] = []
    for entry in entries:
        if entry.facts:
            facts = tuple(fact for fact in entry.facts if not _goes_on(fact))
            entry = with_fields(entry, facts=facts)
        is_late = entry.facts and all(isinstance(fact, Usage) for fact in entry.facts)
        if turns and is_late and not rest:
            turns[-1].append(entry)
            continue
        rest.append(entry)
        if any(map(_is_end, entry.facts)):
            turns.append(rest)
            rest = []
    return turns, rest


def _goes_on(fact: Fact) -> bool:
    """Return whether a fact says that the exchange goes on after this end of a turn."""
    return isinstance(fact, Finish) and fact.raw in CONTINUATION


def _is_end(fact: Fact) -> bool:
    return isinstance(fact, Finish) and fact.finish_class is not None


def _ended(entries: Sequence[Entry], turn: _Turn) -> Iterator[Entry]:
    """Yield the events of a turn. The end of an interrupted turn may have any word."""
    interrupted = turn.interrupted
    for entry in entries:
        if interrupted and any(map(_is_end, entry.facts)):
            facts = (Finish("turnComplete") if _is_end(fact) else fact for fact in entry.facts)
            entry = with_fields(entry, facts=tuple(facts))
        yield entry


def _facts(entries: Sequence[Entry]) -> list[Fact]:
    return [fact for entry in entries for fact in entry.facts]


def _add(findings: Findings, others: Mapping[Aspect, Finding], turn: int) -> None:
    """Add the findings of a turn; the worst of each aspect stays."""
    for aspect, finding in others.items():
        known = findings.get(aspect)
        if known is None or _ORDER.index(finding.verdict) < _ORDER.index(known.verdict):
            findings[aspect] = with_fields(finding, turn=turn) if finding.reason else finding


def _unasked(turns: Sequence[_Turn], played: PlayedSession, name: str) -> bool:
    """Return whether the recorded setup asks for something, and that of the adapter does not."""
    recorded = next((message for turn in turns for message in turn.objects("client")), {})
    sent = next((decode_object(message.data) or {} for message in played.sent), {})
    return name in _setup(recorded) and name not in _setup(sent)


def _setup(message: dict[str, Json]) -> dict[str, Json]:
    setup = canonical(message).get("setup")
    return canonical(setup) if isinstance(setup, dict) else {}


def _compare_transcripts(
    aspect: Aspect, wire: Sequence[str], stated: Sequence[str], *, by_turn: bool
) -> Finding | None:
    """Compare the words of each turn, or of the session; blanks at their ends don't matter, nor
    blanks between the turns of the session.
    """
    spaced = _words(" ".join(stated))
    if not by_turn:
        wire, stated = ["".join(wire)], ["".join(stated)]
    for number, (said, given) in enumerate(zip(wire, stated, strict=True), 1):
        expected, got = _words(said), _words(given)
        if expected != got and (by_turn or expected != spaced):
            verdict: AspectVerdict = "lost" if _is_part(got, expected) else "wrong"
            finding = Finding(aspect, verdict, "transcript", expected, got)
            return with_fields(finding, turn=number) if by_turn else finding
    return Finding(aspect, "kept") if any(wire) else None


def _is_part(text: str, whole: str) -> bool:
    rest = iter(whole)
    return all(character in rest for character in text)


def _words(text: str) -> str:
    return " ".join(text.split())


def _compare_interruptions(
    turns: Sequence[_Turn], facts: Sequence[Sequence[Fact]]
) -> Finding | None:
    wire = [number for number, turn in enumerate(turns, 1) if turn.interrupted]
    given = [
        number
        for number, some in enumerate(facts, 1)
        if any(isinstance(fact, Interrupted) for fact in some)
    ]
    if wire == given or (len(turns) != len(facts) and len(wire) == len(given)):
        return Finding("interrupted", "kept") if wire else None
    verdict: AspectVerdict = "lost" if {*given} < {*wire} else "wrong"
    return Finding("interrupted", verdict, "interrupted", wire, given)


def _compare_cancelled(turns: Sequence[_Turn], facts: Sequence[Sequence[Fact]]) -> Finding | None:
    wire = _cancelled(turns)
    given = [fact.id for some in facts for fact in some if isinstance(fact, Cancelled)]
    if {*wire} == {*given}:
        return Finding("cancelled_calls", "kept") if wire else None
    verdict: AspectVerdict = "lost" if {*given} < {*wire} else "wrong"
    return Finding("cancelled_calls", verdict, "cancelled-calls", wire, given or ["none"])


def _cancelled(turns: Sequence[_Turn]) -> list[str]:
    return [each for turn in turns for message in turn.objects() for each in cancelled(message)]


def _compare_results(turns: Sequence[_Turn], played: PlayedSession) -> Finding | None:
    """Compare the results that the adapter sent with the calls: one result for each call that the
    recorded client answers, with its id and name, and none for a cancelled call.
    """
    calls = [call for turn in turns for message in turn.objects() for call in called(message)]
    answered = [
        _number(calls, *result)
        for turn in turns
        for message in turn.objects("client")
        for result in results_in(message)
    ]
    stopped = {_number(calls, each, "") for each in _cancelled(turns)}
    sent = list(_results(played.sent))
    if not calls and not sent:
        return None
    counts: Counter[int] = Counter()
    for result in sent:
        call_id, name = result.get("id") or "", result.get("name") or ""
        number = _number(calls, call_id, name)
        place = Place(call=number)
        if not number:
            shown = call_id or name or "a call without a name"
            return Finding("results", "wrong", "result-of-no-call", adapter=shown)
        if number in stopped and number not in answered and _has_text(result, number):
            return Finding("results", "wrong", "result-of-cancelled-call", place=place)
        if name != calls[number - 1][1]:
            return Finding("results", "wrong", "result-name", calls[number - 1][1], name, place)
        if not isinstance(response := result.get("response"), dict):
            return Finding("results", "wrong", "result-no-object", None, response, place)
        counts[number] += result.get("willContinue") is not True
    for number in dict.fromkeys(answered):
        place = Place(call=number)
        if not counts[number]:
            return Finding("results", "lost", "result-not-sent", place=place)
        if counts[number] > answered.count(number):
            return Finding("results", "wrong", "result-twice", None, counts[number], place)
        if not any(_has_text(result, number) for result in sent):
            return Finding("results", "lost", "result-text-not-sent", place=place)
    return Finding("results", "kept")


def _number(calls: Sequence[tuple[str, str]], call_id: str, name: str) -> int:
    """Return the number of a call by its id or, if the wire has none, by its name; 0 for none."""
    for number, (wire_id, wire_name) in enumerate(calls, 1):
        if call_id == wire_id if wire_id else name == wire_name:
            return number
    return 0


def _results(sent: Sequence[Message]) -> Iterator[dict[str, Any]]:
    for message in sent:
        content = canonical(decode_object(message.data) or {}) if message.kind != "close" else {}
        response = content.get("toolResponse")
        listed = response.get("functionResponses") if isinstance(response, dict) else None
        yield from (item for item in listed or () if isinstance(item, dict))


def _has_text(result: Mapping[str, Any], number: int) -> bool:
    return result_text(number) in json.dumps(result.get("response"))
