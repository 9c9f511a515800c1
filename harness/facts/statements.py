"""The facts of an account, as an adapter states them."""

from __future__ import annotations

from typing import Final

from .account import Facts
from .fact import Call, Error, Fact, Finish, Text, Thought, Usage

_COUNTS: Final = {
    "input": ("promptTokenCount", "input_tokens"),
    "output": ("candidatesTokenCount", "output_tokens"),
    "thoughts": ("thoughtsTokenCount",),
    "total": ("totalTokenCount",),
}


def facts_of_account(account: Facts) -> list[Fact]:
    """The facts of an account as an adapter states them."""
    facts: list[Fact] = []
    if account.thoughts:
        facts.append(Thought(account.thoughts))
    if account.text:
        facts.append(Text(account.text))
    ids = [call_id for call_id, _ in account.marks]
    ids += [None] * (len(account.calls) - len(ids))
    calls = list(zip(ids, account.calls, strict=True))
    if account.open_call:
        calls.pop()  # it never ended
    facts += [Call(call_id, name, arguments) for call_id, (name, arguments) in calls]
    if account.finish:
        facts.append(Finish(account.finish))
    counts = {
        name: sum(account.usage[count] for count in names if count in account.usage)
        for name, names in _COUNTS.items()
        if any(count in account.usage for count in names)
    }
    if "cache_read_input_tokens" in account.usage:  # the wire counts them as input
        counts["input"] = counts.get("input", 0) + account.usage["cache_read_input_tokens"]
    if counts:
        facts.append(Usage(**counts))
    facts += [Error(code, message) for code, message in account.errors]
    if account.block_reason is not None:
        facts.append(Error(None, f"blocked: {account.block_reason}"))
    if account.unfinished and not account.errors:
        facts.append(Error(None, "the answer is unfinished"))
    return facts
