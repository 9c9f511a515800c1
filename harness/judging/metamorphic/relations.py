"""Relations between the facts of a recorded answer and the facts of one of its variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.facts import View
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

NamedCalls = list[tuple[str, Json]]


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that must hold between two accounts of facts.

    ``name`` describes the relation to users. ``findings(before, after)`` gives one sentence for
    each breach. ``before`` are the facts of the recorded answer, and ``after`` those of the
    variant.
    """

    name: str
    findings: Callable[[View, View], list[str]]


def equal(
    *,
    less: Sequence[str] = (),
    text: str = "",
    calls: Callable[[NamedCalls], NamedCalls] | None = None,
) -> Relation:
    """Require that all facts are equal, with the exceptions that the arguments name.

    The facts named in ``less`` are not compared. ``text`` is appended to the text of the answer.
    ``calls`` maps the recorded calls to the expected calls.
    """

    def findings(before: View, after: View) -> list[str]:
        expected, got = _compared(before), _compared(after)
        expected["text"] += text
        if calls:
            expected["calls"] = calls(expected["calls"])
        return [
            f"{name} is {short_json(got[name])} instead of {short_json(value)}"
            for name, value in expected.items()
            if name not in less and got[name] != value
        ]

    words = [
        "equal",
        *([f"less {', '.join(less)}"] if less else []),
        *(["and more text"] if text else []),
        *(["with other calls"] if calls else []),
    ]
    return Relation(" ".join(words), findings)


def _compared(facts: View) -> dict[str, Json]:
    """Return the facts that relations compare, by name.

    A signature may move to another part, so the kind of its part is not compared.
    """
    return {
        "text": facts.text,
        "thoughts": facts.thoughts,
        "calls": facts.calls,
        "signatures": [signature for _, signature in facts.signatures],
        "finish": facts.finish,
        "usage": facts.usage,
        "failed": _has_failed(facts),
    }


def _has_failed(facts: View) -> bool:
    return bool(facts.errors) or facts.unfinished


def _prefix(before: View, after: View) -> list[str]:
    findings = [
        f"{name} is {short_json(got)}, which is not a beginning of {short_json(expected)}"
        for name, got, expected in (
            ("text", after.text, before.text),
            ("thoughts", after.thoughts, before.thoughts),
        )
        if not expected.startswith(got)
    ]
    whole = after.calls[:-1]  # the last call may have no arguments yet
    if before.calls[: len(whole)] != whole:
        got, expected = short_json(after.calls), short_json(before.calls)
        findings.append(f"calls are {got}, which are not a beginning of {expected}")
    return findings + ([] if _has_failed(after) else ["no error is reported"])


def _failed(before: View, after: View) -> list[str]:
    alone = _has_failed(after) and not after.text
    return [] if alone else ["the answer is not only an error"]


PREFIX = Relation("a prefix, then an error", _prefix)
FAILED = Relation("only an error", _failed)
ANSWERED = Relation("an answer of any kind", lambda before, after: [])
