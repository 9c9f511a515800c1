"""The relations between an answer and a changed one: what must be the same, may be missing, or
comes on top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.stream.json_codec import Json
from harness.stream.printable import short_json


@dataclass
class Said:
    """What an adapter says of an answer, as far as the relations compare it; whoever reads the
    payloads fills it in.

    ``calls``: (name, arguments) in order. ``signatures``: in order. ``finish``: the reason as the
    event model has it. ``usage``: counts by name. ``failed``: whether the answer ends in an error
    or an interruption.
    """

    text: str = ""
    thoughts: str = ""
    calls: list[tuple[str, Json]] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    failed: bool = False


Holds = Callable[[Said, Said], list[str]]
FACTS = ("text", "thoughts", "calls", "signatures", "finish", "usage", "failed")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation: its name for people, and what breaks it, a sentence each."""

    name: str
    findings: Holds


def equal(
    *,
    less: Sequence[str] = (),
    text: str = "",
    calls: Callable[[list[tuple[str, Json]]], Json] | None = None,
) -> Relation:
    """All facts are the same: but for those of ``less``, with ``text`` at the end, and with calls
    as ``calls`` makes of them.
    """

    def findings(before: Said, after: Said) -> list[str]:
        wanted = {name: getattr(before, name) for name in FACTS if name not in less}
        if "text" in wanted:
            wanted["text"] += text
        if calls and "calls" in wanted:
            wanted["calls"] = calls(wanted["calls"])
        return [
            f"{name} is {short_json(getattr(after, name))} instead of {short_json(value)}"
            for name, value in wanted.items()
            if getattr(after, name) != value
        ]

    words = [
        "equal",
        *([f"less {', '.join(less)}"] if less else []),
        *(["and more text"] if text else []),
        *(["with other calls"] if calls else []),
    ]
    return Relation(" ".join(words), findings)


def _prefix(before: Said, after: Said) -> list[str]:
    found = [
        f"{name} is {short_json(getattr(after, name))}, which does not begin"
        f" {short_json(getattr(before, name))}"
        for name in ("text", "thoughts")
        if not getattr(before, name).startswith(getattr(after, name))
    ]
    whole = after.calls[:-1]  # the last may lack arguments
    if before.calls[: len(whole)] != whole:
        found.append(
            f"calls are {short_json(after.calls)}, which do not begin {short_json(before.calls)}"
        )
    return found + ([] if after.failed else ["the answer looks whole"])


PREFIX = Relation("a prefix, then an error", _prefix)
FAILED = Relation(
    "an error and nothing else",
    lambda before, after: (
        [] if after.failed and not after.text else ["the error is not told alone"]
    ),
)
ANSWERED = Relation("an answer of any kind", lambda before, after: [])
