"""Judges the facts that an adapter states for one answer: a verdict for each aspect of the wire.

The rules are on the page docs/what-is-judged.md. An aspect that the wire has always gets a verdict.
One that it does not have gets none, unless the adapter invents it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from msgspec.structs import replace as with_fields

from harness.stream.json_codec import Json, same_json

from .calls import NamedArguments, in_doubles, named_arguments, take_call
from .complete import (
    compare_fields,
    compare_invalid_calls,
    compare_results,
    compare_signed_parts,
    compare_stated_reason,
)
from .conditions import Conditions
from .detail import SharedId, StatedTwice, TwiceCalled, UnreadablePiece
from .error_class import error_classes
from .fact import Call
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
from .native import NativeSearch, OpaqueKind, json_values, word_pattern
from .order import Kind, Misplaced, find_misplaced
from .slips import mended_calls, mended_thoughts
from .stated import crash_of, stated_view
from .transcript import Transcript
from .view import COUNTS, View
from .wire_facts import WireFacts

_BLOCKED: Final = re.compile(
    r"block|filter|safe|prohibit|polic|(?<!connection )refus|reject|feedback", re.IGNORECASE
)
"""A word in an error by which it reports a blocked prompt or a filtered answer."""
_DEFAULT_TIER: Final = re.compile(r"(service_tier_)?(standard|default)|on_demand", re.IGNORECASE)
"""The service tier and the traffic type of a request that names none."""
MAX_TEXT: Final = 80
"""The number of characters of a text, from its first difference, that a finding has."""
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


def judge_answer(
    wire: WireFacts, asked: Conditions, transcript: Transcript, again: bool = False
) -> dict[Aspect, Finding]:
    """Return the finding of every aspect that the wire has or the adapter invents.

    ``again``: the adapter asked again after an answer after which it may; ``transcript`` then
    ends before the second request.
    """
    if transcript.skipped:
        return _before_a_skip(wire, asked, transcript)
    return _Judge(wire, asked, transcript, again).findings()


def _before_a_skip(
    wire: WireFacts, asked: Conditions, transcript: Transcript
) -> dict[Aspect, Finding]:
    """Return the findings of a run that the adapter skipped. The facts that it gave before the skip
    are judged: an aspect is wrong or kept. An aspect that it did not give, or only in part, is not
    asked.
    """
    skipped: dict[Aspect, Finding] = {
        aspect: Finding(aspect, "not_asked", "skipped", adapter=transcript.skipped)
        for aspect in present_aspects(wire, asked)
    }
    if not any(transcript.facts()):
        return skipped
    judge = _Judge(wire, asked, transcript)
    judged, given_view = judge.findings(), judge.given
    about_the_end: tuple[Aspect, ...] = ("unfinished", "finish", "usage")
    given = {
        aspect: finding
        for aspect, finding in judged.items()
        if finding.verdict in ("kept", "wrong", "raised")
        and (aspect not in about_the_end or given_view.finish or given_view.counts)
    }
    return skipped | given


def present_aspects(wire: WireFacts, asked: Conditions) -> list[Aspect]:
    """Return the aspects that a wire has."""
    return [row.name for row in TABLE if row.is_present(wire, asked)]


class _Judge:
    """Judges one transcript. Each method returns the finding of one aspect, or None."""

    def __init__(
        self, wire: WireFacts, asked: Conditions, transcript: Transcript, again: bool = False
    ) -> None:
        self._wire, self._asked = wire, asked
        self._reason = wire.finish or None
        self._is_blocked = wire.block_reason is not None
        self._has_end = asked.has_end(wire)
        self._has_fault = asked.has_fault(wire)
        self._is_excused = asked.excuse_exceptions(wire)
        self._transcript, self._again = transcript, again
        self._crash = crash_of(transcript, excused=self._is_excused)
        self.given = given = stated_view(transcript, wire, excused=self._is_excused)
        self._wire_class = finish_class(self._reason)
        self._names_reason = bool(
            self._reason
            and self._wire_class not in (None, "stop")
            and (
                names_reason(given.words, self._reason)
                or (self._wire_class == "filter" and _BLOCKED.search(given.words))
            )
        )
        may_raise = bool(
            self._is_excused or self._is_blocked or again or self._names_reason or wire.notices
        )
        self._is_loud = bool(given.errors)
        """Whether the adapter reports an error or raises."""
        self._is_traced = self._is_loud or asked.interrupted or bool(given.unreadable)
        self._is_needless = self._is_loud and not may_raise

    def findings(self) -> dict[Aspect, Finding]:
        """Return all findings, in the order of the table."""
        twice = {twice.aspect: twice for twice in self.given.of(StatedTwice)}
        findings: dict[Aspect, Finding] = {}
        for row in TABLE:
            finding = row.compare(self)
            if finding is None or not finding.red:
                if stated := twice.get(row.name):
                    finding = _found("wrong", "stated-twice", stated.first, stated.second)
                elif row.compare_complete and self._transcript.is_complete:
                    finding = self._complete(row.compare_complete) or finding
            if finding is None and row.is_present(self._wire, self._asked):
                finding = _found("lost" if self._crash else "not_asked", "beside-fault")
            if finding is not None:
                findings[row.name] = self._finding(row.name, finding)
        return findings

    def _complete(self, compare: CompareComplete) -> Finding | None:
        """Return the finding about complete facts: the best for one of the accounts."""
        first = None
        for account in self._accounts:
            finding = compare(account, self.given, self._is_traced)
            if finding is None or not finding.red:
                return finding
            first = first or finding
        return first

    @property
    def _exception(self) -> str:
        """The type of an exception that is an error; "" for none."""
        raised = self._transcript.raised
        return raised.type if raised and not self._crash else ""

    def _finding(self, aspect: Aspect, finding: Finding) -> Finding:
        """Return the finding of an aspect. A loss beside a needless error or a crash is attributed
        to it. A fact that was given before a crash is judged as it is.
        """
        reason = self._asked.unasked.get(aspect)
        if reason and not (reason == NOT_REQUESTED and finding.verdict == "kept"):
            return Finding(aspect, "not_asked", reason)
        carried = self.given
        waits = self._again and not (carried.text or carried.thoughts or carried.whole_calls)
        if waits and finding.verdict == "lost":  # it gives all at the end of the last answer
            return Finding(aspect, "not_asked", "asked-again")
        if (crash := self._crash) and finding.verdict in ("lost", "raised"):
            reason = "shim-crash" if crash.in_shim else "crash"
            stated = {"words": crash.sentence, "type": crash.type, "place": crash.place}
            return Finding(aspect, "raised", reason, adapter=stated)
        if finding.red and self._is_needless:
            given: dict[str, Json] = {"words": self.given.words, "type": self._exception}
            if again := self._transcript.asked_again:
                given |= {"again": again}
                return Finding(aspect, "raised", "needless-retried", adapter=given)
            return Finding(aspect, "raised", "needless", adapter=given)
        return with_fields(finding, subject=aspect)

    @cached_property
    def _accounts(self) -> list[WireFacts]:
        """The adapter must carry one of these accounts of the wire: the whole answer; the part up
        to its first error or the refusal; the part up to the first piece that can't be read, if the
        adapter reports that; the part without calls that could go on when the answer broke off, if
        the adapter reports that.
        """
        whole = self._wire
        before_the_end = whole.until_the_end()
        accounts = [whole] if before_the_end is whole else [whole, before_the_end]
        if whole.unreadable and self._is_loud and not self._asked.program:
            accounts.append(before_the_end.before(UnreadablePiece))
        last = accounts[-1]
        if self._is_loud:  # the client may wait for the end of a call
            accounts += [last.without_calls(n) for n in range(1, last.unclosed_calls + 1)]
        return accounts

    @property
    def _has_tagged_text(self) -> bool:
        """Whether the adapter passes on the text with the thoughts and their tags in it, as a
        client does that knows only OpenAI's own wire.
        """
        given = self.given.text
        return any(account.tagged and given == account.tagged for account in self._accounts)

    @property
    def _has_marked_thoughts(self) -> bool:
        """Whether the adapter tells the thoughts from the text by a mark of the wire, and leaves
        their tags in both.
        """
        text, thoughts = self.given.text, self.given.thoughts
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
        if self._asked.asks_thoughts or not self._wire.thoughts:
            return False
        given = self.given.text
        return any(given == account.with_thoughts_in_text().text for account in self._accounts)

    def text(self) -> Finding | None:
        if self._has_tagged_text or self._has_marked_thoughts or self._has_unasked_thoughts:
            return KEPT
        texts = [self._text_of(account) for account in self._accounts]
        mended = self._wire.mended
        if mended is not None:
            if self.given.search.count(mended)[0] == 0 and self.given.text == texts[0]:
                return _found("lost", "damaged-text", mended, texts[0])
            texts.append(mended)
        if self._asked.program:  # an end that can't be read may be passed on as text
            rest = [text + piece for text in texts for piece in self._wire.unreadable[-1:]]
            texts += rest
        finding = self._joined(self.given.text, texts)
        return self._late("text") or finding if finding is KEPT else finding

    def _text_of(self, account: WireFacts) -> str:
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
        if not (self._asked.asks_thoughts or self.given.thoughts):
            return _found("not_asked", "thoughts-not-requested")
        return with_fields(finding, reason=DRAFTS_MISSING)

    def _texts_of_thoughts(self) -> Finding | None:
        if self._wire.thoughts and not (self._asked.asks_thoughts or self.given.thoughts):
            return _found("not_asked", "thoughts-not-requested")
        if self._has_tagged_text and not self.given.thoughts:
            return _found("not_asked", "thoughts-in-text")
        if self._has_marked_thoughts:
            return KEPT
        thoughts = [account.thoughts for account in self._accounts]
        if self.given.thoughts and self.given.thoughts in map(mended_thoughts, thoughts):
            return self._late("thought") or KEPT
        finding = self._joined(self.given.thoughts, thoughts)
        return self._late("thought") or finding if finding is KEPT else finding

    def _late(self, kind: Kind) -> Finding | None:
        """Return the finding of text or thoughts that an adapter gives after what follows them."""
        late = self._misplaced
        if late is None or late.kind != kind:
            return None
        facts = self._wire
        wire = (facts.text if kind == "text" else facts.thoughts)[late.character :][:MAX_TEXT]
        other = "thoughts" if kind == "text" else "text"
        after = other if late.call is None else f"call {late.call}"
        place = Place(character=late.character, wire=wire)
        return _found("wrong", "comes-late", adapter=after, place=place)

    @cached_property
    def _misplaced(self) -> Misplaced | None:
        """The first content that comes too late, if the adapter gives a stream of pieces."""
        carried, facts = self.given, self._wire
        is_known = sum(run.kind == "call" for run in facts.order) == len(facts.calls)
        calls = [named_arguments(call) for call in carried.whole_calls]
        same = (carried.text, carried.thoughts or facts.thoughts) == (facts.text, facts.thoughts)
        if not (
            self._asked.streamed
            and not self._asked.program
            and is_known
            and same
            and _equal_calls(facts.calls, calls, True)
        ):
            return None
        return find_misplaced(facts.order, carried.given)

    def signatures(self) -> Finding | None:
        """Return every signature, anywhere in the native events, but those of thoughts for a client
        that can't ask for thoughts.
        """
        account, search = self._accounts[-1], self.given.search
        again = {
            first: value
            for value, first in account.repeated_signatures.items()
            if not search.count(first, kind="signature")[0]
        }
        unasked = not (self._asked.asks_thoughts or self.given.thoughts)
        asked = account.without_unasked_signatures() if unasked else account
        signatures = asked.signatures
        if account.signatures and not signatures:
            return _found("not_asked", "thoughts-not-requested")
        values = [again.get(value, value) for _, value in signatures]
        return self._look_for(values, kind="signature")

    def billing(self) -> Finding | None:
        """Return the service tier and the traffic type, anywhere in the native events. Everybody
        pays the default tier, so nobody must know it.
        """
        wire = self._wire
        if not wire.billing or wire.errors or self._has_fault:
            return None
        words = [word for word in wire.billing.values() if not _DEFAULT_TIER.fullmatch(word)]
        return self._look_for(words, each=False) or _found("not_asked", "default-tier")

    def needless_error(self) -> Finding | None:
        """Return an error that the wire does not have, or a crash."""
        return _found("raised") if self._is_needless or self._crash else None

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

    def _called_blocks(self, account: WireFacts) -> list[tuple[str, Call]]:
        """Return the calls in the text that the adapter turned into calls: the text of each, and
        the call. A call beside the text is none of them.
        """
        beside = list(account.calls)
        calls = self.given.whole_calls
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
        tools = self._asked.tools
        for call in calls:
            known = call.name == name if name else call.name in tools if tools else bool(call.name)
            known = known or (not name and not call.name and self._transcript.is_complete)
            if known and same_json(call.arguments, arguments):
                return call
        return None

    @cached_property
    def calls(self) -> Finding | None:
        """Name and arguments of every call, in order."""
        carried = self.given
        if not carried.whole_calls and not self._wire.calls:
            return None
        expected = self._expected_calls()
        mine = [named_arguments(call) for call in carried.whole_calls]
        invalid = list(self._wire.invalid_calls)
        passed_on = [call for call in mine if _take_invalid(invalid, call)]
        mine = [call for call in mine if call not in passed_on]
        if not mine and not expected[0]:
            return KEPT if passed_on else None
        if not all(name for name, _ in self._wire.calls):
            return _found("not_asked", "nameless-call")
        ordered = not self._wire.calls_in_text
        if any(_equal_calls(wanted, mine, ordered) for wanted in expected):
            if twice := carried.of(TwiceCalled):
                return _found(
                    "wrong", "call-twice", adapter=call_value(twice[0].name, twice[0].arguments)
                )
            return KEPT
        if self._transcript.doubles:
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
            may_ask = not self._transcript.is_complete and not is_kept
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

    def _is_call_cut(self, account: WireFacts) -> bool:
        """Return whether the last call of an account never ended, so that it is no call."""
        return account.open_call and bool(self._asked.interrupted or self._wire.errors)

    def _unended_calls(self) -> list[NamedArguments]:
        """Return the calls that the wire has without a whole object of arguments."""
        facts = self._wire
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
        given = self._wire.pieces
        pieces = [piece for piece in given if len(piece) > 3 and piece[0] + piece[-1] != "{}"][:5]
        is_more = any(arguments and arguments not in given for _, arguments in extra)
        return bool(pieces) and not is_more and all(map(self.given.search.has_leaf, pieces))

    def _ids_of(self, account: WireFacts) -> list[str | None]:
        """Return the id of each call."""
        ids = [call_id for call_id, _ in account.marks]
        return ids[:-1] if self._is_call_cut(account) else ids

    def ids(self) -> Finding | None:
        calls = self.given.whole_calls
        if shared := self.given.of(SharedId):
            return _found("wrong", "shared-id", adapter=shared[0].id)
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
            if not self.given.search.has_word(call_id)
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
                if there and not self.given.search.has_word(there):
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
            and not self.given.search.has_word(call_id)
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
            count, in_raw = self.given.search.count(value, kind=kind, enough=enough)
            only_raw &= in_raw
            if count < enough:
                lost.append(value)
        if lost:
            of = {"missing": len(lost), "of": len(set(values)), "first": lost[0]}
            return _found("lost", "values-missing", of)
        return _found("kept", "only-raw") if only_raw else KEPT

    def finish_message(self) -> Finding | None:
        message = _message_of(self._wire)
        if not message or self._wire.errors:
            return None
        if self._again:
            return _found("not_asked", "asked-again")
        if word_pattern(message[:FIRST_WORDS]).search(self.given.words):
            return KEPT
        return self._look_for([message])

    def finish(self) -> Finding | None:
        wire, carried = self._wire, self.given
        reason, expected = self._reason, self._wire_class
        if reason is None or expected is None or wire.errors or self._is_blocked:
            return None
        if self._again:
            return _found("not_asked", "asked-again")
        faulty = self._asked.interrupted or wire.unreadable or wire.invalid_calls
        if self._is_loud and (faulty or self._names_reason):
            return _found("kept", "error-for-finish")
        return self._finish_finding(reason, expected, carried.end.finish_class)

    def _finish_finding(
        self, reason: str, expected: FinishClass, got: FinishClass | None
    ) -> Finding:
        wire, carried = self._wire, self.given
        whole_call = bool(wire.calls) and not wire.open_call
        is_good_end = got == "stop" and (whole_call or not ends_in_call(carried.finish))
        without_call = ends_without_call(carried.finish) and not ends_without_call(reason)
        if carried.whole_calls and not self._asked.program and without_call:
            return _found("wrong", "no-client-runs", reason, carried.finish)
        is_refusal = expected == "stop" and got == "filter" and wire.refused
        if got == expected or is_refusal:
            return KEPT
        if whole_call and got == "stop":
            if expected == "stop" or carried.search.has_word(reason):
                return KEPT
            return _found("lost", "only-stop", reason, carried.finish)
        if expected == "other" and got not in (None, "stop"):
            return KEPT
        if got is None and not self._crash and carried.search.has_leaf(reason):
            return _found("kept", "own-word")
        if got == "other" and NativeSearch([carried.finish_event]).has_leaf(reason):
            return _found("kept", "own-word")
        if got is None:
            return _found("lost", "no-finish", reason)
        return _found("lost" if is_good_end else "wrong", "finish", reason, carried.finish)

    def usage(self) -> Finding | None:
        wire, got = self._wire, self.given.counts
        if wire.errors or self._has_fault:
            return None
        counts = wire.usage
        cached_apart = counts.get("cacheReadTokens") or 0  # counted beside the input
        there = _counts_of(wire)
        prompt, output, thoughts, total = there.values()
        tool_use = counts.get("toolUsePromptTokenCount") or 0
        if not any(there.values()):
            if any(got.values()):
                return _found("wrong", "counts-invented", adapter=got)
            return None
        reports_fault = self._is_loud and not self._is_needless
        if reports_fault and (self._is_blocked or self._is_excused):
            return None  # its error may come before the last counts
        if self._again:
            return _found("not_asked", "asked-again")
        made = output + thoughts
        cached = counts.get("cachedContentTokenCount") or cached_apart
        parts = [cached, counts.get("cacheWriteTokenCount") or 0]
        parts = [part for part in parts if part and self.given.search.has_leaf(str(part))]
        sums = (prompt + output, prompt + made, prompt + tool_use + made)
        rest = max(total - sums[-1], 0)  # tokens of thoughts, which only the total has
        whole = sums[-1:] if total + thoughts == sums[-1] else ()  # Live's total lacks the thoughts
        accepted = {
            "input": (
                *(prompt or cached, prompt, prompt + tool_use, prompt - cached_apart),
                *(prompt - part for part in (*parts, sum(parts))),
            ),
            "output": (output, made, output + rest, made + rest),
            "thoughts": (0, thoughts, thoughts + rest),
            "total": (0, total, *(sums if rest or not total else whole)),
        }
        here = {name: got.get(name) or 0 for name in COUNTS}
        if here["output"] < 0 and here["output"] not in accepted["output"]:
            # the adapter's wire counts thoughts in the output
            here["output"] += here["thoughts"]
            return _found("wrong", "thoughts-beside-output", adapter=here)
        wrong = [name for name in COUNTS if here[name] not in accepted[name]]
        lacks_thoughts = thoughts and not here["thoughts"] and here["output"] == output
        if lacks_thoughts and self._asked.asks_thoughts:
            wrong.append("thoughts")
        if wrong:
            has_others = any(here[name] for name in wrong)
            is_early = self._is_loud or self._crash  # the last counts come later
            if is_early and all(here[name] <= max(accepted[name]) for name in wrong):
                has_others = False
            wanted = [str(there[name]) for name in wrong if there[name]]
            search = self.given.search
            is_silent = not self._transcript.is_complete and not any(here[name] for name in wrong)
            is_native = bool(wanted) and all(map(search.has_leaf, wanted))
            is_native &= any(len(count) > 1 for count in wanted)  # a digit may be any number
            reason = "counts-unreported" if is_silent and is_native else "counts"
            return _found("wrong" if has_others else "lost", reason, there, here)
        if cached and not self.given.search.has_leaf(str(cached)):
            return _found("lost", "cached-count", cached)
        counted = here["input"] == prompt + tool_use or here["total"] >= sums[-1]
        if tool_use and not counted and not self.given.search.has_leaf(str(tool_use)):
            return _found("lost", "tool-use-count", tool_use)
        if rest and here["total"] not in (0, total):
            return _found("kept", "sum-as-total", rest)
        return KEPT

    def blocked(self) -> Finding | None:
        reason = self._wire.block_reason
        if reason is None:
            return None
        kind = self.given.end.finish_class
        good = kind in ("stop", "length")
        named = (
            reason in self.given.reasons
            or names_reason(self.given.words, reason)
            or (not self._crash and self.given.search.has_leaf(reason) and not good)
        )
        if kind == "filter" or named or _BLOCKED.search(self.given.words):
            return KEPT
        if self._is_loud:
            return _found("wrong", "block-not-named", reason, self.given.words)
        return _found("lost", "block", reason, self.given.finish)

    def error(self) -> Finding | None:
        facts = self._wire
        if not facts.errors:
            return None
        words = list(dict.fromkeys((*facts.error_words, *facts.unreadable)))
        if not self._is_loud:
            finish = self.given.finish
            return _found("lost", "no-error-but-end" if finish else "no-error", words, finish)
        if self._transcript.asked_again:
            # The adapter understood the error, and may report the error of its last attempt.
            return _found("kept", "retried", adapter=self._transcript.asked_again)
        recognized = any(_recognized(word, self.given.words) for word in words)
        has_text = not self._transcript.is_complete or bool(facts.errors[0].message)
        if words and has_text and not recognized:
            return _found("wrong", "other-error", words, self.given.words)
        if self._has_another_class(words):
            return _found("wrong", "other-error-class", words, self.given.words)
        return KEPT

    def _has_another_class(self, words: list[str]) -> bool:
        """Return whether the code of the adapter's error is of another class than the wire's, and
        the adapter does not have the wire's code or status.
        """
        wired = error_classes(words)
        stated = error_classes(error.code for error in self.given.errors)
        codes = (word for word in words if error_classes([word]))
        return bool(
            wired
            and stated
            and not wired & stated
            and not any(word_pattern(code).search(self.given.words) for code in codes)
        )

    def unfinished(self) -> Finding | None:
        wire, carried = self._wire, self.given
        if self._has_end or self._is_blocked or wire.errors:
            return None
        kind = carried.end.finish_class
        has_call = bool(wire.calls and not self._is_call_cut(wire))
        has_call |= bool(carried.whole_calls and wire.calls_in_text)
        if self._is_loud or (has_call and ends_in_call(carried.finish)):
            return KEPT
        if kind in ("stop", "length", "filter"):
            is_word = kind == "stop" and not (
                self._asked.interrupted or ends_in_call(carried.finish)
            )
            verdict: AspectVerdict = "lost" if is_word else "wrong"
            return _found(verdict, "invented-end", adapter=carried.finish)
        if self._asked.interrupted and kind is None:
            return _found("lost", "silent-end", self._asked.end)
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


def _counts_of(facts: WireFacts) -> dict[str, int]:
    """Return the counts that an adapter states, by its names for them; 0 for a missing one."""
    return {name: facts.usage.get(wire) or 0 for name, (wire, *_) in COUNTS.items()}


def _message_of(facts: WireFacts) -> str:
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


CompareComplete = Callable[[WireFacts, View, bool], Finding | None]
"""An account of the wire, the view of payloads, and whether these report a fault → the finding."""


@dataclass(frozen=True, slots=True)
class AspectRow:
    """One aspect of an answer. A new aspect is a row here, its function, the oracles that read its
    values, and a case.
    """

    name: Aspect
    is_present: Callable[[WireFacts, Conditions], object]
    """Whether the wire has it."""
    compare: Callable[[_Judge], Finding | None]
    """The finding; None if neither the wire nor the adapter has it."""
    compare_complete: CompareComplete | None = None
    """The finding about facts that only complete ones show, if the finding before is not red."""


def _opaque(name: Aspect, *, kind: OpaqueKind = "text", each: bool = False) -> AspectRow:
    """Return an aspect of values that are looked for anywhere, ``each`` as often as on the wire."""
    return AspectRow(
        name,
        lambda wire, asked: wire.opaque.get(name),
        lambda judge: judge.opaque(name, kind=kind, each=each),
    )


def _of_complete(name: Aspect, compare: CompareComplete) -> AspectRow:
    """Return an aspect that only complete facts show."""
    return AspectRow(name, lambda wire, asked: False, lambda judge: None, compare)


TABLE: Final = (
    AspectRow("text", lambda wire, asked: wire.text, _Judge.text),
    AspectRow(
        "thoughts",
        lambda wire, asked: wire.thoughts or wire.opaque.get("thoughts"),
        _Judge.thoughts,
    ),
    AspectRow(
        "calls",
        lambda wire, asked: wire.calls or asked.unasked.get("calls") == TOO_DEEP,
        lambda judge: judge.calls,
        compare_invalid_calls,
    ),
    AspectRow("ids", lambda wire, asked: any(call_id for call_id, _ in wire.marks), _Judge.ids),
    AspectRow(
        "signatures", lambda wire, asked: wire.signatures, _Judge.signatures, compare_signed_parts
    ),
    AspectRow(
        "finish",
        lambda wire, asked: finish_class(wire.finish),
        _Judge.finish,
        compare_stated_reason,
    ),
    AspectRow("usage", lambda wire, asked: any(_counts_of(wire).values()), _Judge.usage),
    AspectRow("blocked", lambda wire, asked: wire.block_reason is not None, _Judge.blocked),
    AspectRow("error", lambda wire, asked: wire.errors, _Judge.error),
    AspectRow(
        "unfinished",
        lambda wire, asked: (
            not (asked.has_end(wire) or wire.block_reason is not None or wire.errors)
        ),
        _Judge.unfinished,
    ),
    _opaque("media", kind="medium", each=True),
    _opaque("code"),
    _opaque("server_tools"),
    _opaque("grounding"),
    _opaque("citations"),
    _opaque("urls"),
    _opaque("logprobs"),
    AspectRow("billing", lambda wire, asked: wire.billing, _Judge.billing),
    AspectRow("finish_message", lambda wire, asked: _message_of(wire), _Judge.finish_message),
    _of_complete("results", compare_results),
    _of_complete("fields", compare_fields),
    AspectRow("needless_error", lambda wire, asked: False, _Judge.needless_error),
    # of the adapter's request: the rules of the APIs are in a package above (`judging.accepted`)
    AspectRow(ACCEPTED, lambda wire, asked: False, lambda judge: None),
)
"""Every aspect, in the order of reports."""
ASPECTS: Final = tuple(row.name for row in TABLE)
