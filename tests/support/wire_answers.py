"""Short answers of the wire, and the red aspects of a transcript of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from harness.facts import (
    RED,
    Aspect,
    AspectVerdict,
    Call,
    Conditions,
    Error,
    Fact,
    Finish,
    Text,
    Thought,
    Transcript,
    WireFacts,
    judge_answer,
)
from harness.facts.detail import (
    Blocked,
    CallBegins,
    Counts,
    ErrorWords,
    FinishMessage,
    GoodEnd,
    Mended,
    Signature,
    Tagged,
)
from harness.providers import PROVIDERS, Answer
from harness.providers.gemini.facts import read_messages
from harness.stream.events import End


def facts_of_body(
    body: bytes, provider: str = "gemini-api", *, interrupted: bool = False, **answer: Any
) -> WireFacts:
    """The facts of a whole body, or of one that breaks off."""
    end: End = "cut" if interrupted else "complete"
    return PROVIDERS[provider].read_facts(body, Answer(**answer), end)


def made_facts(
    *facts: Fact,
    text: str = "",
    thoughts: str = "",
    calls: Sequence[tuple[str, Any]] = (),
    marks: Sequence[tuple[str | None, str | None]] = (),
    signatures: Sequence[tuple[str, str]] = (),
    finish: str | None = None,
    finish_message: str | None = None,
    block_reason: str | None = None,
    usage: dict[str, int] | None = None,
    errors: Sequence[tuple[int | None, str]] = (),
    error_words: Sequence[str] = (),
    mended: str | None = None,
    tagged: str = "",
    ended_well: bool = False,
) -> WireFacts:
    """The facts with these values, and more of them."""
    made: list[Fact] = [*facts]
    made += [Thought(thoughts)] if thoughts else []
    made += [Text(text)] if text else []
    for (name, arguments), (call_id, signature) in zip_longest(
        calls, marks, fillvalue=(None, None)
    ):
        made.append(CallBegins(call_id, name or "", signature))
        made.append(Call(call_id, name, arguments))
    made += [Signature(*signature) for signature in signatures]
    made += [Mended(mended)] if mended is not None else []
    made += [Tagged(tagged)] if tagged else []
    made += [Counts(usage)] if usage else []
    made += [Finish(finish), FinishMessage(finish_message)] if finish is not None else []
    made += [Blocked(block_reason)] if block_reason is not None else []
    made += [ErrorWords(tuple(error_words))] if error_words else []
    made += [Error(*error) for error in errors]
    made += [GoodEnd()] if ended_well else []
    return WireFacts(made)


class Wire(NamedTuple):
    """The facts of an answer, and the conditions under which an adapter is asked for them."""

    facts: WireFacts
    asked: Conditions


def wire_of(facts: WireFacts, *end: Any, **conditions: Any) -> Wire:
    return Wire(facts, Conditions(*end, **conditions))


def answer(*messages: dict[str, Any], **conditions: Any) -> Wire:
    return wire_of(read_messages(list(messages)), **conditions)


def frame(*parts: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, **candidate}]}


def call_part(name: str, call_id: str | None, **arguments: Any) -> dict[str, Any]:
    return {
        "functionCall": {"name": name, "args": arguments} | ({"id": call_id} if call_id else {})
    }


def verdicts(wire: Wire, transcript: Transcript) -> dict[Aspect, AspectVerdict]:
    return {aspect: finding.verdict for aspect, finding in judge_answer(*wire, transcript).items()}


def red(wire: Wire, transcript: Transcript) -> dict[Aspect, AspectVerdict]:
    return {
        aspect: verdict for aspect, verdict in verdicts(wire, transcript).items() if verdict in RED
    }
