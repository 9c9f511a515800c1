"""The facts of an account of the wire, as an adapter states them."""

from __future__ import annotations

from harness.facts.account import Facts
from harness.facts.fact import Call, Error, Fact, Finish, Text, Thought, Usage
from harness.facts.view import counts_of


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
    counts = counts_of(account.usage)
    if counts:
        facts.append(Usage(**counts))
    facts += [Error(code, message) for code, message in account.errors]
    if account.block_reason is not None:
        facts.append(Error(None, f"blocked: {account.block_reason}"))
    return facts
