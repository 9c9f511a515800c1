"""The view of what an adapter states in one run: its facts, with the statements about one call
merged, and without what it took back.

Each step is a function from the list of facts to another list. What depends on the wire is in the
functions that have it as an argument.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from harness.stream.json_codec import Json, same_json

from .calls import arguments_of, named_arguments, take_call
from .detail import Blocked, Counts, Detail, SharedId, StreamedCall, TwiceCalled, Unfinished
from .fact import Call, Error, Fact, Restart, Text, Thought, Usage
from .order import find_separators, leave_out, thought_parts
from .transcript import Raised, Transcript
from .view import View, counts_of
from .wire_facts import WireFacts


def stated_view(
    transcript: Transcript, wire: WireFacts | None = None, *, excused: bool = True
) -> View:
    """Return the view of a transcript. ``wire`` shows which calls and thoughts belong together; its
    white space between two parts of the thoughts is left out. ``excused``: every exception is an
    answer.
    """
    facts: list[Fact] = []
    places: list[int] = []
    at = -1
    entries = transcript.entries
    for number, entry in enumerate(entries):
        if entry.facts:
            at = number if at < 0 or entry.native != entries[at].native else at
            facts += entry.facts
            places += [at] * len(entry.facts)
    if excused or transcript.asked_again > 0 or transcript.attempts > 1:
        start = max((n for n, fact in enumerate(facts) if isinstance(fact, Restart)), default=0)
        del facts[:start], places[:start]
    _merge_calls(wire, facts, places)
    if wire:
        _leave_out_separators(wire, facts)
    facts += _errors(transcript, excused, facts)
    places += [at] * (len(facts) - len(places))
    return View(facts, places, [entry.native for entry in entries])


def plain_fact(fact: Fact) -> Fact | None:
    """Return a fact as a shim states it; None for a detail that no shim states, and for an empty
    text.
    """
    match fact:
        case Counts():
            counts = counts_of(fact.counts)
            return Usage(**counts) if counts else None
        case Blocked():
            return Error(None, f"blocked: {fact.reason}")
        case Unfinished():
            return Error(None, "the answer is unfinished")
        case Detail() | Text("") | Thought(""):
            return None
    return fact


def crash_of(transcript: Transcript, *, excused: bool) -> Raised | None:
    """Return the exception of a run that reports nothing about the answer, if there is one."""
    raised = transcript.raised
    return raised if raised and raised.crash and not excused else None


def merged_facts(transcript: Transcript) -> list[Fact]:
    """Return the facts of a transcript without their granularity: text and thoughts joined,
    repeated states of a call merged, the last reason and counts. Two runs with the same content
    give the same list. Ids of calls and messages of errors are left out, because they may differ in
    every run.
    """
    view = stated_view(transcript)
    merged: list[Fact] = [Thought(view.thoughts)] if view.thoughts else []
    merged += [Text(view.text)] if view.text else []
    merged += [replace(call, id=None) for call in view.whole_calls]
    merged += [view.end] if view.end.finish_class is not None else []
    merged += [Usage(**view.counts)] if view.counts else []
    merged += [Error(error.code, "") for error in view.errors]
    return merged


def _errors(transcript: Transcript, excused: bool, facts: Sequence[Fact]) -> list[Error]:
    """Return the errors that payloads report in other words, and the exception that is one."""
    kinds = {type(fact): fact for fact in facts} if transcript.is_complete else {}
    others = [kinds[Blocked]] if Blocked in kinds else []
    others += [kinds[Unfinished]] if Unfinished in kinds and Error not in kinds else []
    errors = [error for error in map(plain_fact, others) if isinstance(error, Error)]
    raised = transcript.raised
    if raised and not crash_of(transcript, excused=excused):
        errors.append(Error(raised.code, f"{raised.type}: {raised.message}"))
    return errors


def _leave_out_separators(wire: WireFacts, facts: list[Fact]) -> None:
    """Leave out the white space that an adapter puts between two parts of the thoughts."""
    pieces = [fact.text for fact in facts if isinstance(fact, Thought)]
    thoughts = "".join(pieces)
    if thoughts == wire.thoughts:
        return
    numbers = [n for n, fact in enumerate(facts) if isinstance(fact, Thought)]
    parts = thought_parts(wire.order, wire.thoughts)
    if separators := find_separators(parts, thoughts):
        for number, piece in zip(numbers, leave_out(separators, pieces), strict=True):
            facts[number] = Thought(piece)


def _merge_calls(wire: WireFacts | None, facts: list[Fact], places: list[int]) -> None:
    """Merge the statements about one call: its last state, at the place of the first one in the
    list, came with the last native event.
    """
    marks = wire.marks if wire else ()
    ids = Counter(call_id for call_id, _ in marks) if marks else Counter[str | None]()
    pieces = bool(wire and wire.pieces)
    of_client = wire.client_tools if wire else ()
    stated: dict[int, Call] = {}
    states: list[list[int]] = []
    at_id: dict[str, list[int]] = {}
    for number, fact in [(n, fact) for n, fact in enumerate(facts) if isinstance(fact, Call)]:
        if (pieces and not fact.name) or (fact.id and fact.id in of_client):
            facts[number] = StreamedCall()  # the values of a tool are looked for anywhere
            continue
        call = Call(fact.id or None, fact.name or "", _arguments(fact.arguments))
        if call.id is None or ids[call.id] > 1 or call.id not in at_id:
            at_id[call.id or ""] = []
            states.append(at_id[call.id or ""])
        at_id[call.id or ""].append(number)
        stated[number] = facts[number] = call
    states, shared_id = _divide_states(wire, stated, states)
    first_places = sorted(numbers[0] for numbers in states)
    for number in stated.keys() - {*first_places}:
        facts[number] = StreamedCall()
    last_places = [places[numbers[-1]] for numbers in states]
    for first, numbers, at in zip(first_places, states, last_places, strict=True):
        facts[first], places[first] = stated[numbers[-1]], at
    repeated = (twice for numbers in states if (twice := _repeated(stated, numbers)))
    if (twice := next(repeated, None)) is not None:
        facts.append(TwiceCalled(*named_arguments(stated[twice])))
    if shared_id is not None:
        facts.append(SharedId(shared_id))


def _divide_states(
    wire: WireFacts | None, stated: dict[int, Call], states: list[list[int]]
) -> tuple[list[list[int]], str | None]:
    """Return the calls as the numbers of their statements, and the id of several calls, if there is
    one. Statements under one id are states of one call, unless the wire has each of them as a call.
    """
    missing = list(wire.calls) if wire else []
    missing += [(name, value) for _, name, value in wire.calls_in_text if name] if wire else []
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


def _repeated(stated: dict[int, Call], numbers: Sequence[int]) -> int | None:
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
