"""The facts of an account, as an adapter states them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .account import Facts
from .calls import named_arguments
from .fact import Call, Error, Fact, Finish, Text, Thought, Usage

_COUNTS: Final = {
    "input": ("promptTokenCount", "input_tokens"),
    "output": ("candidatesTokenCount", "output_tokens"),
    "thoughts": ("thoughtsTokenCount",),
    "total": ("totalTokenCount",),
}


def facts_of_account(account: Facts) -> list[Fact]:
    """Return the facts of an account as an adapter states them."""
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
    counts: dict[str, int] = {}
    for name, names in _COUNTS.items():
        if values := [account.usage[count] for count in names if count in account.usage]:
            counts[name] = sum(values)
    for name in ("cache_read_input_tokens", "cache_creation_input_tokens"):
        if name in account.usage:  # the wire counts them as input
            counts["input"] = counts.get("input", 0) + account.usage[name]
    if counts:
        facts.append(Usage(**counts))
    facts += [Error(code, message) for code, message in account.errors]
    if account.block_reason is not None:
        facts.append(Error(None, f"blocked: {account.block_reason}"))
    if account.unfinished and not account.errors:
        facts.append(Error(None, "the answer is unfinished"))
    return facts


def account_of_facts(facts: Iterable[Fact]) -> Facts:
    """Return the account of facts that `merged_facts` has joined."""
    account = Facts()
    for fact in facts:
        match fact:
            case Text():
                account.text = fact.text
            case Thought():
                account.thoughts = fact.text
            case Call():
                account.calls.append(named_arguments(fact))
            case Finish():
                account.finish = fact.raw
            case Usage():
                account.usage = {
                    names[0]: count
                    for name, names in _COUNTS.items()
                    if (count := getattr(fact, name)) is not None
                }
            case Error():
                code = fact.code if isinstance(fact.code, int) else None
                account.add_error(code, fact.message)
    return account
