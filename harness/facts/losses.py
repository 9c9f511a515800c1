"""Declared losses: facts for which an event model has no place. Dialects, projects and cases
declare them in the same words: ``aspect`` or ``aspect[condition]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from .aspects import ACCEPTED, ASPECTS
from .conditions import Conditions
from .finding import DRAFTS_MISSING, Finding
from .finish import finish_class
from .wire_facts import WireFacts

UNJUDGED: Final = (
    *("candidates", "model", "response_id", "create_time", "trace_id", "credits"),
    *("safety_ratings", "usage_details", "blocks", "refusal"),
)
"""WireFacts that no aspect judges. A dialect declares their loss for the cases that show it."""
REQUESTS: Final = (
    *("system", "messages", "tools", "schema", "limits", "choice", "output", "settings"),
    *("thinking", "google", "results", "invented"),
)
"""The aspects that only questions about requests have. In brackets is the word of a finding, such
as ``schema[map]``.
"""
SERVICE: Final = ("attempts", "cancelled")
"""The aspects that only questions about a failing service have, with words as in `REQUESTS`."""
SESSION: Final = ("input_transcript", "output_transcript", "interrupted", "cancelled_calls")
"""The aspects that only a session has, and whose loss may be declared."""
SECOND_TURN: Final = ("other_signatures",)
"""The aspects that only the second turn has, and whose loss may be declared."""
STORED: Final = "stored"
"""The condition of a loss only in a history that was saved and loaded."""
CONDITIONS: Final = (
    *("stop", "length", "filter", "other", "none"),
    *("failed", "call", "call:NAME", "block", "damaged", "tool_use", STORED),
)
"""The answers that a loss can be limited to: a class of the reason; ``none``: without a reason;
``failed``: an error, a refusal, a cut, a call that can't be read, or no reason; ``call``: with a
call; ``call:NAME``: with a call of this tool; ``block``: with ``<tool_code>`` in its text;
``damaged``: with text in damaged pieces beside the undamaged text; ``tool_use``: with tokens of
tool use, and only these are lost; ``stored``: in a question with a stored history.
"""

_DECLARED: Final = ("*", *ASPECTS, *SECOND_TURN, *SESSION, *REQUESTS, *SERVICE)
_LOSS: Final = re.compile(
    r"(?P<aspect>\*|[a-z_]+)(?:\[(?P<where>[A-Za-z_-]+|call:[^\s,;\[\]]+)\])?"
)


@dataclass(frozen=True, slots=True)
class DeclaredLoss:
    """An aspect that is not carried."""

    aspect: str
    """``*`` is every aspect."""
    where: str = ""
    """The loss is only in answers that fulfil this condition; "" is every answer."""
    meaning: str = field(default="", compare=False)
    """Describes the loss in a report."""

    def covers(self, aspect: str, wire: WireFacts, asked: Conditions, finding: Finding) -> bool:
        """Return whether the loss of this aspect of this answer is declared. Where the ``finding``
        has the names of the lost calls, ``call:NAME`` covers no call of another name. A request
        is no answer: its rules are declared where it is judged.

        ``finish`` also covers the word for a good end of an answer without a reason, except for an
        answer that was cut. ``media`` also covers the media of thoughts.
        """
        if aspect == ACCEPTED:
            return False
        covered = {"*", aspect}
        if aspect == "unfinished" and not asked.interrupted:
            covered.add("finish")
        if finding.reason == DRAFTS_MISSING:
            covered.add("media")
        if isinstance(finding.wire, dict) and self.where.startswith("call:"):
            names = finding.wire.get("names")
            if names is not None and names != [self.where.removeprefix("call:")]:
                return False
        if self.where == "tool_use":
            return self.aspect in covered and finding.reason == "tool-use-count"
        return self.aspect in covered and (not self.where or self.where in _fulfilled(wire, asked))

    def __str__(self) -> str:
        return self.aspect + (f"[{self.where}]" if self.where else "")


def read_losses(text: str) -> tuple[DeclaredLoss, ...]:
    """Return the losses of a text such as ``media, code, finish[call]``. A name may have blanks, as
    in a report. Raises ValueError.
    """
    items = filter(None, ("_".join(part.split()) for part in text.split(",")))
    return tuple(_read(item, _DECLARED) for item in items)


def losses_of_model(losses: Mapping[str, str]) -> tuple[DeclaredLoss, ...]:
    """Return the losses of an event model or of its requests, each with its meaning. They may also
    name facts that no aspect judges. Raises ValueError.
    """
    known = (*ASPECTS, *UNJUDGED, *SECOND_TURN, *REQUESTS)
    return tuple(_read(item, known, meaning) for item, meaning in losses.items())


def _read(item: str, aspects: tuple[str, ...], meaning: str = "") -> DeclaredLoss:
    match = _LOSS.fullmatch(item)
    where = (match["where"] or "") if match else ""
    has_words = bool(match and match["aspect"] in (ACCEPTED, "media", *REQUESTS, *SERVICE))
    is_known = where in ("", *CONDITIONS) or where.startswith("call:") or has_words
    if not match or match["aspect"] not in aspects or not is_known:
        near = _near_loss(item, aspects)
        hint = f" (did you mean {near}?)" if near else ""
        raise ValueError(
            f"{item!r} is not a declared loss{hint}; expected one of {', '.join(aspects)}, perhaps"
            f" with a condition in brackets: {', '.join(CONDITIONS)}"
        )
    return DeclaredLoss(match["aspect"], where, meaning)


def _near_loss(item: str, aspects: tuple[str, ...]) -> str:
    """Return the declared loss that is most like a text; "" if none is similar."""
    aspect, bracket, where = item.rstrip("]").partition("[")
    near = get_close_matches(aspect, aspects, 1)
    condition = get_close_matches(where, CONDITIONS, 1) if bracket else []
    if not near or (bracket and not condition):
        return ""
    return near[0] + (f"[{condition[0]}]" if bracket else "")


def _fulfilled(facts: WireFacts, asked: Conditions) -> set[str]:
    """Return the conditions of losses that an answer fulfils."""
    is_blocked = facts.block_reason is not None
    holds = {
        "failed": facts.errors or facts.invalid_calls or is_blocked or asked.has_fault(facts),
        "call": facts.calls or facts.blocks,
        "block": facts.blocks,
        "damaged": facts.mended is not None,
    }
    names = {name for name, _ in facts.calls} | {name for _, name, _ in facts.blocks if name}
    return {
        finish_class(facts.finish) or "none",
        *(name for name, fulfilled in holds.items() if fulfilled),
        *(f"call:{name}" for name in names),
    }
