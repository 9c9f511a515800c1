"""Judges the facts that an adapter states for one answer: a verdict for each aspect of the wire.

The rules are on the page docs/what-is-judged.md. An aspect that the wire has always gets a verdict.
One that it does not have gets none, unless the adapter invents it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace as with_fields

from harness.stream.json_codec import Json, same_json

from .account import Facts, arguments_of
from .calls import NamedArguments, in_doubles, named_arguments, take_call
from .error_class import error_classes
from .fact import Call, Error, Fact, Finish, Restart, Text, Thought, Usage
from .finding import (
    DRAFTS_MISSING,
    NOT_REQUESTED,
    TOO_DEEP,
    Aspect,
    AspectVerdict,
    Finding,
    Place,
    call_value,
)
from .finish import FinishClass, ends_in_call, ends_without_call, finish_class, names_reason
from .known_model import judge_account
from .native import NativeSearch, OpaqueKind, json_values, word_pattern
from .order import (
    Given,
    Kind,
    Misplaced,
    find_misplaced,
    find_separators,
    leave_out,
    thought_parts,
)
from .slips import mended_calls, mended_thoughts
from .transcript import Raised, Transcript

_COUNTS: Final = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "thoughts": "thoughtsTokenCount",
    "total": "totalTokenCount",
}
"""The counts of an adapter, and the names of the wire for them."""
_BLOCKED: Final = re.compile(
    r"block|filter|safe|prohibit|polic|(?<!connection )refus|reject|feedback", re.IGNORECASE
)
"""A word in an error by which it reports a blocked prompt or a filtered answer."""
_DEFAULT_TIER: Final = re.compile(r"(service_tier_)?(standard|default)|on_demand", re.IGNORECASE)
"""The service tier and the traffic type of a request that names none."""
MAX_TEXT: Final = 80
"""The number of characters of a text, from its first difference, that a finding has."""
_NO_EVENT: Final = object()
NEAR: Final = 30
"""The number of characters of a call's arguments that a sentence always shows."""
BEFORE: Final = 12
"""The number of equal characters that are shown before a difference in long arguments."""
LIKE: Final = 4
"""The number of characters by which the text after a doubled piece is recognized."""
NOWHERE: Final = Place()
ACCEPTED: Final = "accepted"
"""The aspect of a request of the adapter."""
FIRST_WORDS: Final = 30
"""The number of characters by which an error's message is recognized."""


class WireAnswer(Struct, frozen=True):
    """The facts of the wire, and the conditions under which an adapter was asked for them."""

    facts: Facts
    """The facts of the whole body."""
    end: str
    """The end of the exchange in a word."""
    interrupted: bool = False
    """Whether the exchange was cut, reset or aborted."""
    readable: Facts | None = None
    """The facts before the first piece that can't be read; None if everything can be read."""
    program: bool = False
    """Whether the answer is the output of a program."""
    unasked: Mapping[Aspect, str] = {}
    """Aspects that this adapter is not asked for, each with the reason, a name in `REASONS`."""
    tools: frozenset[str] = frozenset()
    """The names of the tools that the request declares; empty if they are not known."""
    streamed: bool = True
    """Whether the answer came as a stream."""
    asks_thoughts: bool = True
    """Whether the adapter can ask for thoughts."""

    @property
    def reason(self) -> str | None:
        """The finish reason; None for an empty one."""
        return self.facts.finish or None

    @property
    def ended(self) -> bool:
        """Whether the answer reports its end."""
        return self.reason is not None or (self.program and self.facts.finish is not None)

    @property
    def blocked(self) -> bool:
        return self.facts.block_reason is not None

    @property
    def faulty(self) -> bool:
        """Whether the answer is cut, can't be read to its end, or never reports its end."""
        return bool(self.interrupted or self.facts.unreadable or not self.ended)

    @property
    def excuses_exceptions(self) -> bool:
        """Whether every exception is an answer, even a crash: the wire has an error or a fault, so
        that the answer has no good end and is not refused either.
        """
        facts = self.facts
        return bool(
            facts.errors
            or self.interrupted
            or facts.unreadable
            or not (self.ended or self.blocked)
            or not facts.understood
            or facts.invalid_calls
            or (self.program and not facts.ended_well)
        )


@dataclass(frozen=True)
class _Carried:
    """The facts that an adapter states, joined. The thoughts are without the white space that it
    puts between two parts.
    """

    text: str
    thoughts: str
    calls: list[Call]
    repeated: Call | None
    """A call that is stated twice."""
    shared_id: str | None
    """The id of two calls of the wire."""
    end: Finish
    """The last of the reasons."""
    reasons: list[str]
    finish_event: Json
    """The native event with ``end``."""
    usage: dict[str, int]
    errors: list[Error]
    """Its statements about errors, including an exception that is one."""
    exception: str
    """The type of that exception, or ""."""
    crash: Raised | None
    """An exception that reports nothing."""
    natives: list[Json]
    doubles: bool
    events: list[Given]
    """The content of each native event."""

    @cached_property
    def search(self) -> NativeSearch:
        return NativeSearch(self.natives)

    @property
    def finish(self) -> str | None:
        """The last reason, in the adapter's own word."""
        return self.end.raw

    @property
    def loud(self) -> bool:
        """Whether the adapter reports an error or raises."""
        return bool(self.errors)

    @cached_property
    def words(self) -> str:
        """All its statements about errors, as one text."""
        return "\n".join(
            error.message if error.code is None else f"{error.code} {error.message}"
            for error in self.errors
        )


def judge_answer(
    wire: WireAnswer, transcript: Transcript, again: bool = False
) -> dict[Aspect, Finding]:
    """Return the finding of every aspect that the wire has or the adapter invents.

    ``again``: the adapter asked again after an answer after which it may; ``transcript`` then
    ends before the second request.
    """
    if transcript.skipped:
        return _before_a_skip(wire, transcript)
    carried = _carried(wire, transcript)
    judge = _Judge(wire, carried, again, transcript.asked_again, transcript.account)
    return judge.findings()


def _before_a_skip(wire: WireAnswer, transcript: Transcript) -> dict[Aspect, Finding]:
    """Return the findings of a run that the adapter skipped. The facts that it gave before the skip
    are judged: an aspect is wrong or kept. An aspect that it did not give, or only in part, is not
    asked.
    """
    skipped: dict[Aspect, Finding] = {
        aspect: Finding(aspect, "not_asked", "skipped", adapter=transcript.skipped)
        for aspect in present_aspects(wire)
    }
    if not any(transcript.facts()):
        return skipped
    carried = _carried(wire, transcript)
    judge = _Judge(wire, carried, False, transcript.asked_again, transcript.account)
    judged = judge.findings()
    about_the_end: tuple[Aspect, ...] = ("unfinished", "finish", "usage")
    given = {
        aspect: finding
        for aspect, finding in judged.items()
        if finding.verdict in ("kept", "wrong", "raised")
        and (aspect not in about_the_end or carried.finish or carried.usage)
    }
    return skipped | given


def merged_facts(transcript: Transcript) -> list[Fact]:
    """Return the facts of a transcript without their granularity: text and thoughts joined,
    repeated states of a call merged, the last reason and counts. Two runs with the same content
    give the same list. Ids of calls and messages of errors are left out, because they may differ in
    every run.
    """
    carried = _carried(None, transcript)
    merged: list[Fact] = [Thought(carried.thoughts)] if carried.thoughts else []
    merged += [Text(carried.text)] if carried.text else []
    merged += [replace(call, id=None) for call in carried.calls]
    merged += [carried.end] if carried.end.finish_class is not None else []
    merged += [Usage(**carried.usage)] if carried.usage else []
    merged += [Error(error.code, "") for error in carried.errors]
    return merged


def _carried(wire: WireAnswer | None, transcript: Transcript) -> _Carried:
    """Join the facts of a transcript. ``wire`` shows which ids occur more than once."""
    marks = wire.facts.marks if wire else ()
    ids = Counter(call_id for call_id, _ in marks) if marks else Counter[str | None]()
    pieces = bool(wire and wire.facts.pieces)
    has_failed = wire is None or wire.excuses_exceptions
    may_restart = has_failed or transcript.asked_again > 0 or transcript.attempts > 1
    text: list[str] = []
    thoughts: list[str] = []
    stated: list[Call] = []
    stated_in: list[Given] = []
    events: list[Given] = []
    states: list[list[int]] = []
    at_id: dict[str, list[int]] = {}
    end, finish_event = Finish(None), None
    reasons: list[str] = []
    usage: dict[str, int] = {}
    errors: list[Error] = []
    native: Json = _NO_EVENT
    for entry in transcript.entries:
        if entry.facts and entry.native != native:
            events.append(Given())
            native = entry.native
        for fact in entry.facts:
            match fact:
                case Text():
                    text.append(fact.text)
                    events[-1].text += len(fact.text)
                case Thought():
                    thoughts.append(fact.text)
                    events[-1].thought += len(fact.text)
                case Call() if pieces and not fact.name:
                    pass  # a piece of a call that is still streaming
                case Call() if wire and fact.id and fact.id in wire.facts.client_tools:
                    pass  # its values are looked for as those of a tool of the service
                case Call():
                    arguments = _arguments(fact.arguments)
                    call = Call(fact.id or None, fact.name or "", arguments)
                    if call.id is None or ids[call.id] > 1 or call.id not in at_id:
                        at_id[call.id or ""] = []
                        states.append(at_id[call.id or ""])
                    at_id[call.id or ""].append(len(stated))
                    stated.append(call)
                    stated_in.append(events[-1])
                case Finish() if fact.finish_class is not None:
                    end, finish_event = fact, entry.native
                    reasons.append(fact.raw or "")
                case Usage():
                    for name in _COUNTS:
                        if (count := getattr(fact, name)) is not None:
                            usage[name] = count
                case Error():
                    errors.append(fact)
                case Restart() if may_restart:
                    for before in (text, thoughts, stated, stated_in, states, reasons, errors):
                        before.clear()
                    at_id.clear()
                    usage.clear()
                    events[:] = [Given()]
                    end, finish_event = Finish(None), None
    all_thoughts = "".join(thoughts)
    if wire and all_thoughts != wire.facts.thoughts:
        parts = thought_parts(wire.facts.order, wire.facts.thoughts)
        if separators := find_separators(parts, all_thoughts):
            all_thoughts = leave_out(separators, all_thoughts, events)
    states, shared_id = _divide_states(wire, stated, states)
    for number, statements in enumerate(states):
        stated_in[statements[-1]].calls += (number,)
    exception, raised = "", transcript.raised
    crash = raised if raised and raised.crash and wire and not wire.excuses_exceptions else None
    if raised and not crash:
        exception = raised.type
        errors.append(Error(raised.code, f"{raised.type}: {raised.message}"))
    return _Carried(
        "".join(text),
        all_thoughts,
        [stated[numbers[-1]] for numbers in states],
        next((stated[twice] for numbers in states if (twice := _repeated(stated, numbers))), None),
        shared_id,
        end,
        reasons,
        finish_event,
        usage,
        errors,
        exception,
        crash,
        [entry.native for entry in transcript.entries],
        transcript.doubles,
        events,
    )


def _divide_states(
    wire: WireAnswer | None, stated: Sequence[Call], states: list[list[int]]
) -> tuple[list[list[int]], str | None]:
    """Return the calls as the numbers of their statements, and the id of several calls, if there is
    one. Statements under one id are states of one call, unless the wire has each of them as a call.
    """
    missing = list(wire.facts.calls) if wire else []
    missing += (
        [(name, value) for _, name, value in wire.facts.calls_in_text if name] if wire else []
    )
    for numbers in states:
        take_call(missing, named_arguments(stated[numbers[-1]]))
    divided: list[list[int]] = []
    shared_id = None
    for numbers in states:
        state: list[int] = []
        for number in numbers:
            state.append(number)
            if number != numbers[-1] and take_call(missing, named_arguments(stated[number])):
                divided.append(state)
                state, shared_id = [], stated[number].id
        divided.append(state)
    if shared_id is not None:
        divided.sort(key=lambda state: state[-1])
    return divided, shared_id


def _repeated(stated: Sequence[Call], numbers: Sequence[int]) -> int | None:
    """Return the number of a statement of a call that equals the statement before."""
    return next(
        (
            after
            for before, after in pairwise(numbers)
            if stated[before].name == stated[after].name
            and same_json(stated[before].arguments, stated[after].arguments)
        ),
        None,
    )


def _arguments(arguments: Json) -> Json:
    """Arguments as an object; text that is not a JSON object stays text."""
    if isinstance(arguments, str):
        return arguments_of(arguments.strip())
    return {} if arguments is None else arguments


def present_aspects(wire: WireAnswer) -> list[Aspect]:
    """Return the aspects that a wire has."""
    return [row.name for row in TABLE if row.is_present(wire)]


class _Judge:
    """Judges one transcript. Each method returns the finding of one aspect, or None. ``account``:
    that of payloads with a known event model.
    """

    def __init__(
        self,
        wire: WireAnswer,
        carried: _Carried,
        again: bool,
        asked_again: int,
        account: Facts | None,
    ) -> None:
        self._wire = wire
        self._account = account
        self._asked_again = asked_again
        self._carried = carried
        self._again = again
        self._wire_class = finish_class(wire.reason)
        self._names_reason = bool(
            wire.reason
            and self._wire_class not in (None, "stop")
            and (
                names_reason(carried.words, wire.reason)
                or (self._wire_class == "filter" and _BLOCKED.search(carried.words))
            )
        )
        may_raise = bool(
            wire.excuses_exceptions
            or wire.blocked
            or again
            or self._names_reason
            or wire.facts.notices
        )
        self._is_needless = carried.loud and not may_raise

    def findings(self) -> dict[Aspect, Finding]:
        """Return all findings, in the order of the table."""
        known: Mapping[Aspect, Finding] = {}
        if (account := self._account) is not None:
            traced = self._carried.loud or self._wire.interrupted or bool(account.unreadable)
            known = judge_account(self._accounts, account, traced)
        findings: dict[Aspect, Finding] = {}
        for row in TABLE:
            finding = row.compare(self)
            if row.name in known and (finding is None or not finding.red):
                finding = known[row.name]
            if finding is None and row.is_present(self._wire):
                finding = _found("lost" if self._carried.crash else "not_asked", "beside-fault")
            if finding is not None:
                findings[row.name] = self._finding(row.name, finding)
        return findings

    def _finding(self, aspect: Aspect, finding: Finding) -> Finding:
        """Return the finding of an aspect. A loss beside a needless error or a crash is attributed
        to it. A fact that was given before a crash is judged as it is.
        """
        reason = self._wire.unasked.get(aspect)
        if reason and not (reason == NOT_REQUESTED and finding.verdict == "kept"):
            return Finding(aspect, "not_asked", reason)
        carried = self._carried
        waits = self._again and not (carried.text or carried.thoughts or carried.calls)
        if waits and finding.verdict == "lost":  # it gives all at the end of the last answer
            return Finding(aspect, "not_asked", "asked-again")
        if (crash := carried.crash) and finding.verdict in ("lost", "raised"):
            given = {"words": crash.sentence, "type": crash.type, "place": crash.place}
            reason = "shim-crash" if crash.in_shim else "crash"
            return Finding(aspect, "raised", reason, adapter=given)
        if finding.red and self._is_needless:
            given = {"words": self._carried.words, "type": self._carried.exception}
            if self._asked_again:
                again = given | {"again": self._asked_again}
                return Finding(aspect, "raised", "needless-retried", adapter=again)
            return Finding(aspect, "raised", "needless", adapter=given)
        return with_fields(finding, subject=aspect)

    @cached_property
    def _accounts(self) -> list[Facts]:
        """The adapter must carry one of these accounts of the wire: the whole answer; the part up
        to its first error or the refusal; the part up to the first piece that can't be read, if the
        adapter reports that; the part without calls that could go on when the answer broke off, if
        the adapter reports that.
        """
        whole = self._wire.facts
        before_the_end = whole.until_the_end()
        accounts = [whole] if before_the_end is whole else [whole, before_the_end]
        if self._wire.readable is not None and self._carried.loud:
            accounts.append(self._wire.readable.until_the_end())
        last = accounts[-1]
        if self._carried.loud:  # the client may wait for the end of a call
            accounts += [last.without_calls(n) for n in range(1, last.unclosed_calls + 1)]
        return accounts

    @property
    def _has_tagged_text(self) -> bool:
        """Whether the adapter passes on the text with the thoughts and their tags in it, as a
        client does that knows only OpenAI's own wire.
        """
        given = self._carried.text
        return any(account.tagged and given == account.tagged for account in self._accounts)

    @property
    def _has_marked_thoughts(self) -> bool:
        """Whether the adapter tells the thoughts from the text by a mark of the wire, and leaves
        their tags in both.
        """
        text, thoughts = self._carried.text, self._carried.thoughts
        return bool(thoughts) and any(
            account.tagged == thoughts + text
            and account.thoughts in thoughts
            and account.text in text
            for account in self._accounts
        )

    @property
    def _has_unasked_thoughts(self) -> bool:
        """Whether the text also has the thoughts, and the adapter can't ask for thoughts: the
        server would not send it any.
        """
        if self._wire.asks_thoughts or not self._wire.facts.thoughts:
            return False
        given = self._carried.text
        return any(given == account.with_thoughts_in_text().text for account in self._accounts)

    def text(self) -> Finding | None:
        if self._has_tagged_text or self._has_marked_thoughts or self._has_unasked_thoughts:
            return KEPT
        texts = [self._text_of(account) for account in self._accounts]
        mended = self._wire.facts.mended
        if mended is not None:
            if self._carried.search.count(mended)[0] == 0 and self._carried.text == texts[0]:
                return _found("lost", "damaged-text", mended, texts[0])
            texts.append(mended)
        if self._wire.program:  # an end that can't be read may be passed on as text
            rest = [text + piece for text in texts for piece in self._wire.facts.unreadable[-1:]]
            texts += rest
        finding = self._joined(self._carried.text, texts)
        return self._late("text") or finding if finding is KEPT else finding

    def _text_of(self, account: Facts) -> str:
        """Return the text without the calls in it that the adapter gives as calls."""
        text = account.text
        for raw, _ in self._called_blocks(account):
            text = text.replace(raw, "", 1)
        return text

    def thoughts(self) -> Finding | None:
        """Return the joined thoughts and their media. A client that can't ask for them need not
        show them.
        """
        texts, drafts = self._texts_of_thoughts(), self._drafts()
        if drafts is None or (texts is not None and not drafts.red):
            return texts
        return texts if texts is not None and texts.red else drafts

    def _drafts(self) -> Finding | None:
        """Return the media of the thoughts, such as the draft of an image, anywhere in the native
        events. A final medium with the same bytes is another one.
        """
        opaque = self._accounts[-1].opaque
        drafts = opaque.get("thoughts", [])
        final = [value for value in opaque.get("media", []) if value in drafts]
        finding = self._look_for([*drafts, *final], kind="medium")
        if finding is None or not finding.red:
            return finding
        if not (self._wire.asks_thoughts or self._carried.thoughts):
            return _found("not_asked", "thoughts-not-requested")
        return with_fields(finding, reason=DRAFTS_MISSING)

    def _texts_of_thoughts(self) -> Finding | None:
        if self._wire.facts.thoughts and not (self._wire.asks_thoughts or self._carried.thoughts):
            return _found("not_asked", "thoughts-not-requested")
        if self._has_tagged_text and not self._carried.thoughts:
            return _found("not_asked", "thoughts-in-text")
        if self._has_marked_thoughts:
            return KEPT
        thoughts = [account.thoughts for account in self._accounts]
        if self._carried.thoughts and self._carried.thoughts in map(mended_thoughts, thoughts):
            return self._late("thought") or KEPT
        finding = self._joined(self._carried.thoughts, thoughts)
        return self._late("thought") or finding if finding is KEPT else finding

    def _late(self, kind: Kind) -> Finding | None:
        """Return the finding of text or thoughts that an adapter gives after what follows them."""
        late = self._misplaced
        if late is None or late.kind != kind:
            return None
        facts = self._wire.facts
        wire = (facts.text if kind == "text" else facts.thoughts)[late.character :][:MAX_TEXT]
        other = "thoughts" if kind == "text" else "text"
        after = other if late.call is None else f"call {late.call}"
        place = Place(character=late.character, wire=wire)
        return _found("wrong", "comes-late", adapter=after, place=place)

    @cached_property
    def _misplaced(self) -> Misplaced | None:
        """The first content that comes too late, if the adapter gives a stream of pieces."""
        wire, carried, facts = self._wire, self._carried, self._wire.facts
        is_known = sum(run.kind == "call" for run in facts.order) == len(facts.calls)
        calls = [named_arguments(call) for call in carried.calls]
        same = (carried.text, carried.thoughts or facts.thoughts) == (facts.text, facts.thoughts)
        if not (wire.streamed and is_known and same and _equal_calls(facts.calls, calls, True)):
            return None
        return find_misplaced(facts.order, carried.events)

    def signatures(self) -> Finding | None:
        """Return every signature, anywhere in the native events, but those of thoughts for a client
        that can't ask for thoughts.
        """
        account, search = self._accounts[-1], self._carried.search
        again = {
            first: value
            for value, first in account.repeated_signatures.items()
            if not search.count(first, kind="signature")[0]
        }
        unasked = not (self._wire.asks_thoughts or self._carried.thoughts)
        signatures = account.asked_signatures if unasked else account.signatures
        if account.signatures and not signatures:
            return _found("not_asked", "thoughts-not-requested")
        values = [again.get(value, value) for _, value in signatures]
        return self._look_for(values, kind="signature")

    def billing(self) -> Finding | None:
        """Return the service tier and the traffic type, anywhere in the native events. Everybody
        pays the default tier, so nobody must know it.
        """
        wire = self._wire
        if not wire.facts.billing or wire.facts.errors or wire.faulty:
            return None
        words = [word for word in wire.facts.billing.values() if not _DEFAULT_TIER.fullmatch(word)]
        return self._look_for(words, each=False) or _found("not_asked", "default-tier")

    def needless_error(self) -> Finding | None:
        """Return an error that the wire does not have, or a crash."""
        return _found("raised") if self._is_needless or self._carried.crash else None

    def opaque(self, name: Aspect, *, kind: OpaqueKind, each: bool) -> Finding | None:
        """Values that event models only pass on, anywhere in the native events."""
        return self._look_for(self._accounts[-1].opaque.get(name, []), kind=kind, each=each)

    def _joined(self, carried: str, accepted: Sequence[str]) -> Finding | None:
        if not carried and not accepted[0]:
            return None
        shortest = min(accepted, key=len)
        if carried in accepted or (
            len(accepted) > 1 and carried.startswith(shortest) and accepted[0].startswith(carried)
        ):
            return KEPT
        is_part = any(_is_subsequence(carried, text) for text in accepted)
        return _text_finding("lost" if is_part else "wrong", accepted[0], carried)

    def _called_blocks(self, account: Facts) -> list[tuple[str, Call]]:
        """Return the calls in the text that the adapter turned into calls: the text of each, and
        the call. A call beside the text is none of them.
        """
        beside = list(account.calls)
        calls = self._carried.calls
        free = [call for call in calls if not take_call(beside, named_arguments(call))]
        called = []
        for raw, name, arguments in account.calls_in_text:
            if call := self._call_of_block(free, name, arguments):
                free.remove(call)
                called.append((raw, call))
        return called

    def _call_of_block(self, calls: list[Call], name: str | None, arguments: Json) -> Call | None:
        """Return the call that an adapter made from a ``<tool_code>`` block, if any. A block
        without a name is a call of a declared tool; a known event model may have it without a name.
        """
        tools = self._wire.tools
        for call in calls:
            known = call.name == name if name else call.name in tools if tools else bool(call.name)
            known = known or (not name and not call.name and self._account is not None)
            if known and same_json(call.arguments, arguments):
                return call
        return None

    @cached_property
    def calls(self) -> Finding | None:
        """Name and arguments of every call, in order."""
        carried = self._carried
        if not carried.calls and not self._wire.facts.calls:
            return None
        expected = self._expected_calls()
        mine = [named_arguments(call) for call in carried.calls]
        invalid = list(self._wire.facts.invalid_calls)
        passed_on = [call for call in mine if _take_invalid(invalid, call)]
        mine = [call for call in mine if call not in passed_on]
        if not mine and not expected[0]:
            return KEPT if passed_on else None
        if not all(name for name, _ in self._wire.facts.calls):
            return _found("not_asked", "nameless-call")
        ordered = not self._wire.facts.calls_in_text
        if any(_equal_calls(wanted, mine, ordered) for wanted in expected):
            if carried.repeated:
                return _found("wrong", "call-twice", adapter=_call_value(carried.repeated))
            return KEPT
        if carried.doubles:
            rounded, own = [
                [[(name, in_doubles(given)) for name, given in calls] for calls in side]
                for side in (expected, [mine])  # a double is also written with other digits
            ]
            if any(_equal_calls(wanted, own[0], ordered) for wanted in rounded):
                return _found("not_asked", "only-doubles")
        extra = list(mine)
        missing = [call for call in expected[0] if not take_call(extra, call)]
        if missing and self._handed_on_in_pieces(extra):
            return _found("lost", "arguments-in-pieces", call_value(*missing[0]))
        if missing and not extra:
            names = sorted({name for name, _ in missing})
            lost = {"missing": len(missing), "of": len(expected[0]), "names": names}
            reason = "calls-missing"
            # the event that the search finds may be that of an equal call, which is kept
            is_kept = take_call(list(mine), missing[0])
            stated = sum(name == missing[0][0] for name, _ in mine)
            may_ask = self._account is None and not is_kept
            if may_ask and carried.search.has_call(*missing[0], stated):
                reason = "calls-unreported"
            return _found("lost", reason, lost | {"first": call_value(*missing[0])})
        for name, text in self._unended_calls():
            if made := next((call for call in extra if call[0] == name), None):
                return _found("wrong", "call-made-whole", call_value(name, text), call_value(*made))
        for call in extra:
            if number := _merged(call, missing):
                return _found("wrong", "calls-merged", {"of": number}, call_value(*call))
        if missing and extra and (place := _far_difference(missing[0], extra[0])):
            values = (call_value(*missing[0]), call_value(*extra[0]))
            return _found("wrong", "arguments", *values, place=place)
        wired, given = ([call_value(*call) for call in calls] for calls in (expected[0], mine))
        return _found("wrong", "calls", wired, given)

    def _is_call_cut(self, account: Facts) -> bool:
        """Return whether the last call of an account never ended, so that it is no call."""
        return account.open_call and bool(self._wire.interrupted or self._wire.facts.errors)

    def _unended_calls(self) -> list[NamedArguments]:
        """Return the calls that the wire has without a whole object of arguments."""
        facts = self._wire.facts
        cut = facts.calls[-1:] if self._is_call_cut(facts) else []
        return [*facts.invalid_calls, *cut]

    def _expected_calls(self) -> list[list[NamedArguments]]:
        """Return the lists of calls of which the adapter must carry one."""
        lists = []
        for account in self._accounts:
            calls = list(account.calls)
            if self._is_call_cut(account):
                calls = calls[:-1]  # it never ended, so it must not be run
            lists.append(calls)
            if not self._is_call_cut(account):
                lists.append(mended_calls(account)[0].calls)
            if account.calls_in_text:
                called = self._called_blocks(account)
                lists.append(calls + [named_arguments(call) for _, call in called])
        return lists

    def _handed_on_in_pieces(self, extra: Sequence[NamedArguments]) -> bool:
        """Return whether the native events have the pieces of arguments, and no call has more."""
        given = self._wire.facts.pieces
        pieces = [piece for piece in given if len(piece) > 3 and piece[0] + piece[-1] != "{}"][:5]
        is_more = any(arguments and arguments not in given for _, arguments in extra)
        return bool(pieces) and not is_more and all(map(self._carried.search.has_leaf, pieces))

    def _ids_of(self, account: Facts) -> list[str | None]:
        """Return the id of each call."""
        ids = [call_id for call_id, _ in account.marks]
        return ids[:-1] if self._is_call_cut(account) else ids

    def ids(self) -> Finding | None:
        calls = self._carried.calls
        if (shared_id := self._carried.shared_id) is not None:
            return _found("wrong", "shared-id", adapter=shared_id)
        lists = [self._ids_of(account) for account in self._accounts]
        wired = next((ids for ids in lists if len(ids) == len(calls)), lists[-1])
        if not any(wired):
            return None
        calls_are_kept = self.calls is not None and (
            self.calls.verdict == "kept" or self.calls.reason == "only-doubles"
        )
        if calls_are_kept and len(calls) == len(wired):
            return self._aligned_ids(wired, [call.id for call in calls])
        lost = [
            call_id
            for call_id in dict.fromkeys(filter(None, wired))
            if not self._carried.search.has_word(call_id)
            and not any(_holds(call.id, call_id) for call in calls)
        ]
        if lost:
            of = {"missing": len(lost), "of": len(wired), "first": lost[0]}
            return _found("lost", "ids-missing", of)
        return KEPT

    def _aligned_ids(self, wired: list[str | None], carried: list[str | None]) -> Finding:
        times = Counter(wired)
        for number, (there, here) in enumerate(zip(wired, carried, strict=True), 1):
            others = [other for other in wired if other and other != there]
            place = Place(call=number)
            if here is None:
                if there and not self._carried.search.has_word(there):
                    return _found("lost", "id-missing", there, place=place)
            elif any(_holds(here, other) for other in others) and not _holds(here, there):
                return _found("wrong", "id-of-another-call", there, here, place)
            elif there and not _holds(here, there) and times[there] == 1:
                return _found("wrong", "id", there, here, place)
        repeated = [call_id for call_id, count in times.items() if call_id and count > 1]
        lost = [
            call_id
            for call_id in repeated
            if not any(_holds(here, call_id) for here in carried)
            and not self._carried.search.has_word(call_id)
        ]
        return _found("lost", "repeated-id-missing", lost[0]) if lost else KEPT

    def _look_for(
        self, values: Sequence[str], *, kind: OpaqueKind = "text", each: bool = True
    ) -> Finding | None:
        """Look for values anywhere. ``each``: a value that the wire has n times must be found n
        times.
        """
        if not values:
            return None
        lost: list[str] = []
        only_raw = True
        for value, times in Counter(values).items():
            enough = times if each else 1
            count, in_raw = self._carried.search.count(value, kind=kind, enough=enough)
            only_raw &= in_raw
            if count < enough:
                lost.append(value)
        if lost:
            of = {"missing": len(lost), "of": len(set(values)), "first": lost[0]}
            return _found("lost", "values-missing", of)
        return _found("kept", "only-raw") if only_raw else KEPT

    def finish_message(self) -> Finding | None:
        message = _message_of(self._wire.facts)
        if not message or self._wire.facts.errors:
            return None
        if self._again:
            return _found("not_asked", "asked-again")
        if word_pattern(message[:FIRST_WORDS]).search(self._carried.words):
            return KEPT
        return self._look_for([message])

    def finish(self) -> Finding | None:
        wire, carried = self._wire, self._carried
        reason, expected = wire.reason, self._wire_class
        if reason is None or expected is None or wire.facts.errors or wire.blocked:
            return None
        if self._again:
            return _found("not_asked", "asked-again")
        faulty = wire.interrupted or wire.facts.unreadable or wire.facts.invalid_calls
        if carried.loud and (faulty or self._names_reason):
            return _found("kept", "error-for-finish")
        return self._finish_finding(reason, expected, carried.end.finish_class)

    def _finish_finding(
        self, reason: str, expected: FinishClass, got: FinishClass | None
    ) -> Finding:
        wire, carried = self._wire, self._carried
        whole_call = bool(wire.facts.calls) and not wire.facts.open_call
        is_good_end = got == "stop" and (whole_call or not ends_in_call(carried.finish))
        without_call = ends_without_call(carried.finish) and not ends_without_call(reason)
        if carried.calls and not wire.program and without_call:
            return _found("wrong", "no-client-runs", reason, carried.finish)
        is_refusal = expected == "stop" and got == "filter" and wire.facts.refused
        if got == expected or is_refusal:
            return KEPT
        if whole_call and got == "stop":
            if expected == "stop" or carried.search.has_word(reason):
                return KEPT
            return _found("lost", "only-stop", reason, carried.finish)
        if expected == "other" and got not in (None, "stop"):
            return KEPT
        if got is None and not carried.crash and carried.search.has_leaf(reason):
            return _found("kept", "own-word")
        if got == "other" and NativeSearch([carried.finish_event]).has_leaf(reason):
            return _found("kept", "own-word")
        if got is None:
            return _found("lost", "no-finish", reason)
        return _found("lost" if is_good_end else "wrong", "finish", reason, carried.finish)

    def usage(self) -> Finding | None:
        wire, got = self._wire, self._carried.usage
        if wire.facts.errors or wire.faulty:
            return None
        counts = wire.facts.usage
        cached_apart = counts.get("cacheReadTokens") or 0  # counted beside the input
        there = _counts_of(wire.facts)
        prompt, output, thoughts, total = there.values()
        tool_use = counts.get("toolUsePromptTokenCount") or 0
        if not any(there.values()):
            if any(got.values()):
                return _found("wrong", "counts-invented", adapter=got)
            return None
        reports_fault = self._carried.loud and not self._is_needless
        if reports_fault and (wire.blocked or wire.excuses_exceptions):
            return None  # its error may come before the last counts
        if self._again:
            return _found("not_asked", "asked-again")
        made = output + thoughts
        cached = counts.get("cachedContentTokenCount") or cached_apart
        parts = [cached, counts.get("cacheWriteTokenCount") or 0]
        parts = [part for part in parts if part and self._carried.search.has_leaf(str(part))]
        sums = (prompt + output, prompt + made, prompt + tool_use + made)
        rest = max(total - sums[-1], 0)  # tokens of thoughts, which only the total has
        accepted = {
            "input": (
                *(prompt or cached, prompt, prompt + tool_use, prompt - cached_apart),
                *(prompt - part for part in (*parts, sum(parts))),
            ),
            "output": (output, made, output + rest, made + rest),
            "thoughts": (0, thoughts, thoughts + rest),
            "total": (0, total, *(sums if total != sums[-1] else ())),
        }
        here = {name: got.get(name) or 0 for name in _COUNTS}
        if here["output"] < 0 and here["output"] not in accepted["output"]:
            # the adapter's wire counts thoughts in the output
            here["output"] += here["thoughts"]
            return _found("wrong", "thoughts-beside-output", adapter=here)
        wrong = [name for name in _COUNTS if here[name] not in accepted[name]]
        lacks_thoughts = thoughts and not here["thoughts"] and here["output"] == output
        if lacks_thoughts and self._wire.asks_thoughts:
            wrong.append("thoughts")
        if wrong:
            has_others = any(here[name] for name in wrong)
            is_early = self._carried.loud or self._carried.crash  # the last counts come later
            if is_early and all(here[name] <= max(accepted[name]) for name in wrong):
                has_others = False
            wanted = [str(there[name]) for name in wrong if there[name]]
            search = self._carried.search
            is_silent = self._account is None and not any(here[name] for name in wrong)
            is_native = bool(wanted) and all(map(search.has_leaf, wanted))
            is_native &= any(len(count) > 1 for count in wanted)  # a digit may be any number
            reason = "counts-unreported" if is_silent and is_native else "counts"
            return _found("wrong" if has_others else "lost", reason, there, here)
        if cached and not self._carried.search.has_leaf(str(cached)):
            return _found("lost", "cached-count", cached)
        counted = here["input"] == prompt + tool_use or here["total"] >= sums[-1]
        if tool_use and not counted and not self._carried.search.has_leaf(str(tool_use)):
            return _found("lost", "tool-use-count", tool_use)
        if rest and here["total"] not in (0, total):
            return _found("kept", "sum-as-total", rest)
        return KEPT

    def blocked(self) -> Finding | None:
        reason = self._wire.facts.block_reason
        if reason is None:
            return None
        kind = self._carried.end.finish_class
        good = kind in ("stop", "length")
        named = (
            reason in self._carried.reasons
            or names_reason(self._carried.words, reason)
            or (not self._carried.crash and self._carried.search.has_leaf(reason) and not good)
        )
        if kind == "filter" or named or _BLOCKED.search(self._carried.words):
            return KEPT
        if self._carried.loud:
            return _found("wrong", "block-not-named", reason, self._carried.words)
        return _found("lost", "block", reason, self._carried.finish)

    def error(self) -> Finding | None:
        facts = self._wire.facts
        if not facts.errors:
            return None
        words = list(dict.fromkeys((*facts.error_words, *facts.unreadable)))
        if not self._carried.loud:
            finish = self._carried.finish
            return _found("lost", "no-error-but-end" if finish else "no-error", words, finish)
        if self._asked_again:
            # The adapter understood the error, and may report the error of its last attempt.
            return _found("kept", "retried", adapter=self._asked_again)
        recognized = any(_recognized(word, self._carried.words) for word in words)
        has_text = self._account is None or bool(facts.errors[0][1])
        if words and has_text and not recognized:
            return _found("wrong", "other-error", words, self._carried.words)
        if self._has_another_class(words):
            return _found("wrong", "other-error-class", words, self._carried.words)
        return KEPT

    def _has_another_class(self, words: list[str]) -> bool:
        """Return whether the code of the adapter's error is of another class than the wire's, and
        the adapter does not have the wire's code or status.
        """
        wired = error_classes(words)
        stated = error_classes(error.code for error in self._carried.errors)
        codes = (word for word in words if error_classes([word]))
        return bool(
            wired
            and stated
            and not wired & stated
            and not any(word_pattern(code).search(self._carried.words) for code in codes)
        )

    def unfinished(self) -> Finding | None:
        wire, carried = self._wire, self._carried
        if wire.ended or wire.blocked or wire.facts.errors:
            return None
        kind = carried.end.finish_class
        has_call = (wire.facts.calls and not self._is_call_cut(wire.facts)) or (
            carried.calls and wire.facts.calls_in_text
        )
        if carried.loud or (has_call and ends_in_call(carried.finish)):
            return KEPT
        if kind in ("stop", "length", "filter"):
            is_word = kind == "stop" and not (wire.interrupted or ends_in_call(carried.finish))
            verdict: AspectVerdict = "lost" if is_word else "wrong"
            return _found(verdict, "invented-end", adapter=carried.finish)
        if wire.interrupted and kind is None:
            return _found("lost", "silent-end", wire.end)
        return KEPT


def _found(
    verdict: AspectVerdict,
    reason: str = "",
    wire: Json = None,
    adapter: Json = None,
    place: Place = NOWHERE,
) -> Finding:
    """Return a finding of the aspect that is judged."""
    return Finding("", verdict, reason, wire, adapter, place)


KEPT: Final = Finding("", "kept")


def _text_finding(verdict: AspectVerdict, wire: str, carried: str) -> Finding:
    at = first_difference(wire, carried)
    if doubled := _doubled(wire, carried, at):
        piece = carried[at : at + doubled]
        place = Place(character=at, wire=piece[:MAX_TEXT], adapter=piece[:MAX_TEXT])
        return _found(verdict, "text-doubled", adapter=piece, place=place)
    place = Place(character=at, wire=wire[at : at + MAX_TEXT], adapter=carried[at : at + MAX_TEXT])
    return _found(verdict, "text" if at else "text-from-start", place=place)


def _doubled(wire: str, carried: str, at: int) -> int:
    """Return the number of characters of the piece before ``at`` that the adapter gives a second
    time; 0 if there is none. The text of the wire continues after the piece.
    """
    for size in range(min(at, len(carried) - at, len(carried) - len(wire)), 0, -1):
        after = wire[at : at + LIKE]
        if carried.startswith(carried[at - size : at], at) and carried.startswith(after, at + size):
            return size
    return 0


def _merged(call: NamedArguments, missing: Sequence[NamedArguments]) -> int:
    """Return the number of calls of the wire that an adapter merged into this call: it has their
    names in one name, or their arguments in one text. 0 if it is no such call.
    """
    name, arguments = call
    names = [other for other, _ in missing]
    parts = [part for _, part in missing]
    for number in range(len(missing), 1, -1):
        if name == "".join(names[:number]):
            return number
        if isinstance(arguments, str) and same_json(json_values(arguments), parts[:number]):
            return number
    return 0


def _far_difference(wire: NamedArguments, given: NamedArguments) -> Place | None:
    """Return the place of the first difference of long arguments; None for another name, or if a
    sentence with the whole calls shows it.
    """
    texts = [json.dumps(call[1], ensure_ascii=False, sort_keys=True) for call in (wire, given)]
    at = first_difference(*texts) - BEFORE
    if wire[0] != given[0] or at < NEAR:
        return None
    first, second = (text[at : at + MAX_TEXT] for text in texts)
    return Place(character=at, wire=first, adapter=second)


def _take_invalid(calls: list[tuple[str, str]], given: NamedArguments) -> bool:
    """Remove a call whose arguments are not an object, if an adapter passes it on as it is."""
    name, arguments = given
    values = json_values(arguments) if isinstance(arguments, str) else [arguments]
    for call in calls:
        text = call[1].strip()
        is_same = arguments == text or (bool(values) and same_json(json_values(text), values))
        if call[0] == name and is_same:
            calls.remove(call)
            return True
    return False


def _call_value(call: Call) -> Json:
    return call_value(*named_arguments(call))


def _counts_of(facts: Facts) -> dict[str, int]:
    """Return the counts that an adapter states, by its names for them; 0 for a missing one."""
    return {name: facts.usage.get(wire) or 0 for name, wire in _COUNTS.items()}


def _message_of(facts: Facts) -> str:
    """Return the finish message; "" for a blank one, or one that is not a text."""
    message = facts.finish_message
    return message if isinstance(message, str) and message.strip() else ""


def first_difference(wire: str, carried: str) -> int:
    """Return the index of the first character that differs."""
    pairs = enumerate(zip(wire, carried, strict=False))
    return next((at for at, pair in pairs if pair[0] != pair[1]), min(len(wire), len(carried)))


def _is_subsequence(part: str, whole: str) -> bool:
    characters = iter(whole)
    return all(character in characters for character in part)


def _equal_calls(wanted: list[NamedArguments], mine: list[NamedArguments], ordered: bool) -> bool:
    if len(wanted) != len(mine):
        return False
    if ordered:
        return all(
            there[0] == here[0] and same_json(there[1], here[1])
            for there, here in zip(wanted, mine, strict=True)
        )
    rest = list(mine)
    return all(take_call(rest, call) for call in wanted)


def _holds(carried: str | None, wired: str | None) -> bool:
    """Return whether an id is the wire's, or holds it between characters other than letters and
    digits.
    """
    return bool(carried and wired and (carried == wired or word_pattern(wired).search(carried)))


def _recognized(word: str, words: str) -> bool:
    """Return whether the adapter's statements about errors contain a code, status or message of the
    wire.
    """
    if re.fullmatch(r"[0-9]+|[A-Z_]+", word):
        return bool(word_pattern(word).search(words))
    first = word[:FIRST_WORDS]
    spellings = (first, json.dumps(first)[1:-1], json.dumps(first, ensure_ascii=False)[1:-1])
    return any(spelling in words for spelling in spellings)


@dataclass(frozen=True, slots=True)
class AspectRow:
    """One aspect of an answer. A new aspect is a row here, its function, the oracles that read its
    values, and a case.
    """

    name: Aspect
    is_present: Callable[[WireAnswer], object]
    """Whether the wire has it."""
    compare: Callable[[_Judge], Finding | None]
    """The finding; None if neither the wire nor the adapter has it."""


def _opaque(name: Aspect, *, kind: OpaqueKind = "text", each: bool = False) -> AspectRow:
    """Return an aspect of values that are looked for anywhere, ``each`` as often as on the wire."""
    return AspectRow(
        name,
        lambda wire: wire.facts.opaque.get(name),
        lambda judge: judge.opaque(name, kind=kind, each=each),
    )


def _of_known_models(name: Aspect) -> AspectRow:
    """Return an aspect that only the payloads of a known event model show (`known_model`)."""
    return AspectRow(name, lambda wire: False, lambda judge: None)


TABLE: Final = (
    AspectRow("text", lambda wire: wire.facts.text, _Judge.text),
    AspectRow(
        "thoughts",
        lambda wire: wire.facts.thoughts or wire.facts.opaque.get("thoughts"),
        _Judge.thoughts,
    ),
    AspectRow(
        "calls",
        lambda wire: wire.facts.calls or wire.unasked.get("calls") == TOO_DEEP,
        lambda judge: judge.calls,
    ),
    AspectRow("ids", lambda wire: any(call_id for call_id, _ in wire.facts.marks), _Judge.ids),
    AspectRow("signatures", lambda wire: wire.facts.signatures, _Judge.signatures),
    AspectRow("finish", lambda wire: finish_class(wire.reason), _Judge.finish),
    AspectRow("usage", lambda wire: any(_counts_of(wire.facts).values()), _Judge.usage),
    AspectRow("blocked", lambda wire: wire.blocked, _Judge.blocked),
    AspectRow("error", lambda wire: wire.facts.errors, _Judge.error),
    AspectRow(
        "unfinished",
        lambda wire: not (wire.ended or wire.blocked or wire.facts.errors),
        _Judge.unfinished,
    ),
    _opaque("media", kind="medium", each=True),
    _opaque("code"),
    _opaque("server_tools"),
    _opaque("grounding"),
    _opaque("citations"),
    _opaque("urls"),
    _opaque("logprobs"),
    AspectRow("billing", lambda wire: wire.facts.billing, _Judge.billing),
    AspectRow("finish_message", lambda wire: _message_of(wire.facts), _Judge.finish_message),
    _of_known_models("results"),
    _of_known_models("fields"),
    AspectRow("needless_error", lambda wire: False, _Judge.needless_error),
    # of the adapter's request: the rules of the APIs are in a package above (`judging.accepted`)
    AspectRow(ACCEPTED, lambda wire: False, lambda judge: None),
)
"""Every aspect, in the order of reports."""
ASPECTS: Final = tuple(row.name for row in TABLE)
