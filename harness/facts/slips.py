"""Mends slips of Gemini's models. An adapter may pass a slip on as it is, or mended."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as with_fields

from .calls import NamedArguments, take_call
from .detail import CallBegins, OpenCall
from .fact import Call
from .wire_facts import WireFacts


def mended_thoughts(thoughts: str) -> str:
    """Return the thoughts without fences that nothing closes."""
    lines = thoughts.splitlines(keepends=True)
    stray: list[int] = []
    opened: int | None = None
    for number, line in enumerate(lines):
        mark, fence, word = line.strip().partition("```")
        if mark or not fence or not (word.isalnum() or not word):
            continue
        if opened is not None and not word:
            opened = None
            continue
        stray += [] if opened is None else [opened]
        opened = number
    stray += [] if opened is None else [opened]
    return "".join(line for number, line in enumerate(lines) if number not in stray)


def mended_calls(wire: WireFacts) -> tuple[WireFacts, list[int]]:
    """Return the facts without the prefix ``default_api`` in names of tools, and without copies of
    a call under its id; and the index of each call that stays. The call has the signature of its
    copy if it has none.
    """
    calls: list[NamedArguments] = []
    marks: list[tuple[str | None, str | None]] = []
    numbers: list[int] = []
    for number, ((name, arguments), mark) in enumerate(zip(wire.calls, wire.marks, strict=True)):
        call = name.removeprefix("default_api:").removeprefix("default_api."), arguments
        same_id = [at for at, (call_id, _) in enumerate(marks) if call_id and call_id == mark[0]]
        first = next((at for at in same_id if take_call([calls[at]], call)), None)
        if first is None:
            calls.append(call)
            marks.append(mark)
            numbers.append(number)
        else:
            marks[first] = (mark[0], marks[first][1] or mark[1])
    if calls == wire.calls:
        return wire, numbers
    facts = list(wire.facts)
    for number, (name, _), (_, signature) in zip(numbers, calls, marks, strict=True):
        for at in wire.spans[number]:
            match facts[at]:
                case CallBegins() as begins:
                    facts[at] = with_fields(begins, name=name, signature=signature)
                case OpenCall() as call_so_far:
                    facts[at] = with_fields(call_so_far, name=name)
                case Call() as whole:
                    facts[at] = replace(whole, name=name)
    gone = {at for n, span in enumerate(wire.spans) if n not in numbers for at in span}
    return WireFacts([fact for at, fact in enumerate(facts) if at not in gone]), numbers
