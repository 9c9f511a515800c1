"""Declared losses: aspects for which an event model has no place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, get_args

from .aspects import Aspect, WireAnswer
from .finish import finish_class

ASPECTS: Final[tuple[Aspect, ...]] = get_args(Aspect)
CONDITIONS: Final = ("stop", "length", "filter", "other", "failed", "call")
"""The answers that a loss can be limited to: a class of the reason, ``failed`` (error, refusal, cut
or no reason), ``call`` (with a call).
"""

_LOSS: Final = re.compile(r"(?P<aspect>\*|[a-z_]+)(?:\[(?P<where>[a-z]+)\])?")


@dataclass(frozen=True, slots=True)
class DeclaredLoss:
    """An aspect that is not carried; ``aspect`` ``*`` is every aspect. ``where``: only in answers
    that fulfil this condition; "" is every answer.
    """

    aspect: str
    where: str = ""

    def covers(self, aspect: Aspect, answer: WireAnswer) -> bool:
        """Whether the loss of this aspect of this answer is declared."""
        return self.aspect in ("*", aspect) and (not self.where or self.where in _fulfilled(answer))

    def __str__(self) -> str:
        return self.aspect + (f"[{self.where}]" if self.where else "")


def read_losses(text: str) -> tuple[DeclaredLoss, ...]:
    """The losses of a text such as ``media, code, finish[call]``. Raises ValueError."""
    losses = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _LOSS.fullmatch(item)
        if (
            not match
            or match["aspect"] not in ("*", *ASPECTS)
            or (match["where"] is not None and match["where"] not in CONDITIONS)
        ):
            raise ValueError(
                f"{item!r} is not a declared loss; expected * or one of {', '.join(ASPECTS)},"
                f" perhaps with a condition in brackets: {', '.join(CONDITIONS)}"
            )
        losses.append(DeclaredLoss(match["aspect"], match["where"] or ""))
    return tuple(losses)


def _fulfilled(answer: WireAnswer) -> set[str]:
    """The conditions that an answer fulfils."""
    conditions: set[str] = {finish_class(answer.reason) or ""}
    if answer.facts.errors or answer.blocked or answer.faulty:
        conditions.add("failed")
    if answer.facts.calls or answer.facts.blocks:
        conditions.add("call")
    return conditions
