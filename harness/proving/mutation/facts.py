"""The mutation operators on facts. They put known faults into the facts that an adapter states for
an answer.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from harness.dialects.dialect import lose_argument
from harness.facts import Call, Entry, Error, Fact, Finish, Text, Thought, Transcript, Usage

TranscriptChange = Callable[[Transcript], Transcript]


@dataclass(frozen=True, slots=True)
class FactsOperator:
    """One known fault of an adapter that states its facts."""

    name: str
    fault: str
    """Describes the fault."""
    change: TranscriptChange
    """Returns an equal transcript if there is nothing to change."""


def _first(kind: type[Any], change: Callable[[Any], tuple[Fact, ...]]) -> TranscriptChange:
    """Replace the first fact of a kind for which ``change`` gives other facts."""

    def changed(transcript: Transcript) -> Transcript:
        entries = list(transcript.entries)
        for number, entry in enumerate(entries):
            for at, fact in enumerate(entry.facts):
                if isinstance(fact, kind) and (facts := change(fact)) != (fact,):
                    new = (*entry.facts[:at], *facts, *entry.facts[at + 1 :])
                    entries[number] = Entry(entry.native, new)
                    return replace(transcript, entries=tuple(entries))
        return transcript

    return changed


def _every(change: Callable[[Fact], tuple[Fact, ...]]) -> TranscriptChange:
    """Replace every fact."""

    def changed(transcript: Transcript) -> Transcript:
        entries = [
            Entry(entry.native, tuple(new for fact in entry.facts for new in change(fact)))
            for entry in transcript.entries
        ]
        return replace(transcript, entries=tuple(entries))

    return changed


def _without(kind: type[Any]) -> TranscriptChange:
    return _every(lambda fact: () if isinstance(fact, kind) else (fact,))


def _lose_argument(call: Call) -> tuple[Fact, ...]:
    changed = {"arguments": copy.copy(call.arguments)}
    lose_argument(changed, "arguments")
    return (replace(call, arguments=changed["arguments"]),)


def _change_count(usage: Usage) -> tuple[Fact, ...]:
    return (usage,) if usage.output is None else (replace(usage, output=usage.output + 1),)


def _lose_finish(transcript: Transcript) -> Transcript:
    """Lose the finish reason. This also removes the native events of the finish reasons, because
    the raw finish reason in them would be enough.
    """
    entries = tuple(
        Entry(None, tuple(fact for fact in entry.facts if not isinstance(fact, Finish)))
        if any(isinstance(fact, Finish) for fact in entry.facts)
        else entry
        for entry in transcript.entries
    )
    return replace(transcript, entries=entries)


def _lose_errors(transcript: Transcript) -> Transcript:
    return replace(_without(Error)(transcript), raised=None)


def _invent_error(transcript: Transcript) -> Transcript:
    if transcript.raised or any(isinstance(fact, Error) for fact in transcript.facts()):
        return transcript
    invented = Entry(None, (Error(None, "invented"),))
    return replace(transcript, entries=(*transcript.entries, invented))


def _lose_native(transcript: Transcript) -> Transcript:
    entries = tuple(Entry(None, entry.facts) for entry in transcript.entries)
    return replace(transcript, entries=entries)


FACTS_OPERATORS: Final = (
    FactsOperator("text-lost", "a piece of text is missing", _first(Text, lambda text: ())),
    FactsOperator(
        "text-shortened",
        "the last character of a piece of text is missing",
        _first(Text, lambda text: (Text(text.text[:-1]),)),
    ),
    FactsOperator(
        "text-doubled", "a piece of text is doubled", _first(Text, lambda text: (text, text))
    ),
    FactsOperator("thought-lost", "a thought is missing", _first(Thought, lambda thought: ())),
    FactsOperator(
        "thought-as-answer",
        "a thought is shown as the answer",
        _first(Thought, lambda thought: (Text(thought.text),)),
    ),
    FactsOperator(
        "answer-as-thought",
        "a piece of text is shown as a thought",
        _first(Text, lambda text: (Thought(text.text),)),
    ),
    FactsOperator("call-lost", "a call is missing", _first(Call, lambda call: ())),
    FactsOperator(
        "call-renamed",
        "a call has another name",
        _first(Call, lambda call: (replace(call, name=f"{call.name}_"),)),
    ),
    FactsOperator("call-doubled", "a call is doubled", _first(Call, lambda call: (call, call))),
    FactsOperator(
        "argument-lost", "an argument of a call is missing", _first(Call, _lose_argument)
    ),
    FactsOperator(
        "id-wrong",
        "a call has another id",
        _first(Call, lambda call: (replace(call, id=call.id and f"{call.id}0"),)),
    ),
    FactsOperator("finish-lost", "the finish reason is missing", _lose_finish),
    FactsOperator(
        "finish-wrong",
        "the finish reason is wrong",
        _every(
            lambda fact: (
                (Finish("STOP" if fact.raw == "MAX_TOKENS" else "MAX_TOKENS"),)
                if isinstance(fact, Finish)
                else (fact,)
            )
        ),
    ),
    FactsOperator(
        "usage-wrong",
        "a count is too high by one",
        _every(lambda fact: _change_count(fact) if isinstance(fact, Usage) else (fact,)),
    ),
    FactsOperator("usage-lost", "the counts are missing", _without(Usage)),
    FactsOperator("error-lost", "errors are missing", _lose_errors),
    FactsOperator("error-invented", "there is an error that did not happen", _invent_error),
    FactsOperator("native-lost", "the native events are empty", _lose_native),
)
"""Every operator on facts, in the order of the table."""
