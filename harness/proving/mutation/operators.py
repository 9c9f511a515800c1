"""The mutation operators on payloads. They put known faults into the payloads that a dialect makes
from an answer.

An operator is written once for all dialects. The `Mutations` of a dialect have the places in its
payloads that the operators change. An operator gets a copy of the payloads and changes one thing in
it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal

from harness.dialects.dialect import (
    CallPlace,
    Dialect,
    Mutations,
    OutputChange,
    PayloadPlace,
    lose_argument,
)

Payloads = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class MutationOperator:
    """One known fault of a dialect."""

    name: str
    fault: str
    """Describes the fault."""
    make: Callable[[Mutations], OutputChange | None]
    """Returns the function that puts the fault into a dialect's output. That function returns None
    if there is nothing to change.
    """
    layer: Literal["payloads", "requests"] = "payloads"
    """The layer of that output."""

    def change_for(self, dialect: Dialect) -> OutputChange | None:
        """Return the function for this dialect; None if the dialect cannot have the fault."""
        mutations = dialect.mutations
        if self.layer == "requests" and (dialect.request is None or self.name in mutations.unsent):
            return None
        return mutations.own[self.name] if self.name in mutations.own else self.make(mutations)


def _shorten(shortened: Callable[[str], str]) -> Callable[[PayloadPlace, Payloads], bool]:
    """Replace the first piece of text for which ``shortened`` gives a shorter text."""

    def change(texts: PayloadPlace, payloads: Payloads) -> bool:
        for holder, key in texts.find(payloads):
            if (text := shortened(holder[key])) != holder[key]:
                holder[key] = text
                return True
        return False

    return change


def _double(texts: PayloadPlace, payloads: Payloads) -> bool:
    for at, payload in enumerate(payloads):
        if any(holder[key] for holder, key in texts.find([payload])):
            payloads.insert(at, copy.deepcopy(payload))
            return True
    return False


def _merge(texts: PayloadPlace, payloads: Payloads) -> bool:
    """Join two pieces of text that directly follow each other."""
    for at, pair in enumerate(pairwise(payloads)):
        places = [place for payload in pair for place in texts.find([payload])]
        if len(places) == 2 and places[0][0].keys() == places[1][0].keys():
            (first, key), (second, _) = places
            first[key] += second[key]
            del payloads[at + 1]
            return True
    return False


def _swap(texts: PayloadPlace, payloads: Payloads) -> bool:
    """Swap two different pieces of text."""
    for (first, key), (second, _) in pairwise(texts.find(payloads)):
        if first[key] != second[key]:
            first[key], second[key] = second[key], first[key]
            return True
    return False


def _lose_call(call: CallPlace, payloads: Payloads) -> bool:
    payloads[:] = [
        payload for payload in payloads if not any(payload is own for own in call.payloads)
    ]
    return True


def _rename_call(call: CallPlace, payloads: Payloads) -> bool:
    call.holder[call.name] += "_"
    return True


def _change_id(call: CallPlace, payloads: Payloads) -> bool:
    if call.id is not None:
        call.holder[call.id] += "0"
    return call.id is not None


def _lose_argument(call: CallPlace, payloads: Payloads) -> bool:
    return lose_argument(call.holder, call.arguments)


def _lose_end(mutations: Mutations) -> OutputChange:
    def change(payloads: Payloads) -> bool:
        if payloads:
            payloads.pop()
        return True

    return change


def _change_stop_reason(mutations: Mutations) -> OutputChange | None:
    if mutations.stop_reason is None:
        return None
    place, reason, instead = mutations.stop_reason
    return _change_last(place, str, lambda value: instead if value == reason else reason)


def _change_count(mutations: Mutations) -> OutputChange | None:
    return _change_last(mutations.count, int, lambda count: count + 1)


def _change_error(mutations: Mutations) -> OutputChange | None:
    return _change_last(mutations.error, str, lambda message: "something went wrong")


def _change_last(
    place: PayloadPlace | None, kind: type, new_value: Callable[[Any], Any]
) -> OutputChange | None:
    """Change the last value at a place, if it has the type ``kind``."""
    if place is None:
        return None

    def change(payloads: Payloads) -> bool:
        for holder, key in reversed([*place.find(payloads)]):
            if isinstance(holder[key], kind):
                holder[key] = new_value(holder[key])
                return True
            return False
        return False

    return change


def _lose_errors(mutations: Mutations) -> OutputChange | None:
    error = mutations.error
    if error is None:
        return None

    def change(payloads: Payloads) -> bool:
        before = len(payloads)
        payloads[:] = [payload for payload in payloads if not error.fits(payload)]
        return len(payloads) < before

    return change


def _on_texts(
    change: Callable[[PayloadPlace, Payloads], bool],
) -> Callable[[Mutations], OutputChange]:
    return lambda mutations: lambda payloads: change(mutations.texts, payloads)


def _on_calls(
    change: Callable[[CallPlace, Payloads], bool],
) -> Callable[[Mutations], OutputChange | None]:
    """Change the first call in which there is something to change."""

    def make(mutations: Mutations) -> OutputChange | None:
        calls = mutations.calls
        if calls is None:
            return None
        return lambda payloads: any(change(call, payloads) for call in calls(payloads))

    return make


def _only_own(mutations: Mutations) -> None:
    """Do nothing for a fault that has no place common to all dialects. A dialect that can have it
    has a function for it.
    """


OPERATORS: Final = (
    MutationOperator(
        "text-trimmed",
        "the blanks around a piece of text are missing",
        _on_texts(_shorten(str.strip)),
    ),
    MutationOperator(
        "text-lost",
        "the last character of a piece of text is missing",
        _on_texts(_shorten(lambda text: text[:-1])),
    ),
    MutationOperator("text-doubled", "a piece of text is doubled", _on_texts(_double)),
    MutationOperator("parts-merged", "two pieces of text are joined", _on_texts(_merge)),
    MutationOperator("parts-swapped", "two pieces of text are swapped", _on_texts(_swap)),
    MutationOperator("thought-as-answer", "thoughts are shown as the answer", _only_own),
    MutationOperator("call-lost", "the first call is missing", _on_calls(_lose_call)),
    MutationOperator("call-renamed", "the first call has another name", _on_calls(_rename_call)),
    MutationOperator(
        "argument-lost", "an argument of a call is missing", _on_calls(_lose_argument)
    ),
    MutationOperator("id-wrong", "the first call has another id", _on_calls(_change_id)),
    MutationOperator("signature-lost", "a signature is missing", _only_own),
    MutationOperator(
        "beside-lost", "what has no place in the event model is not passed on", _only_own
    ),
    MutationOperator("index-wrong", "blocks have wrong numbers or names", _only_own),
    MutationOperator("stopped-early", "the last payload is missing", _lose_end),
    MutationOperator("stop-reason-wrong", "the finish reason is wrong", _change_stop_reason),
    MutationOperator("usage-wrong", "a count is too high by one", _change_count),
    MutationOperator("error-reworded", "the message of an error is meaningless", _change_error),
    MutationOperator("error-lost", "errors are missing", _lose_errors),
)
"""Every operator on payloads, in the order of the table."""
