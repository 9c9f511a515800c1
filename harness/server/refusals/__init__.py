"""Finds requests that the API refuses, by rules; each rule has its source. Gemini's rules are here,
those of another wire are in its folder (`harness.providers.Provider.refusals`).

The source of a rule is the API's documentation or a published error message. A rule is a row of a
table and a check of a request. The first broken rule determines the error. The rules have the order
of the API's checks: first the parser, then the validator, then the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from harness.providers import PROVIDERS, Identity
from harness.providers.request_rules import Checks, Rule, RuleLevel, read_rules
from harness.stream.json_codec import decode_object
from harness.stream.prompt import Prompt

from .contents import CONTENT_CHECKS
from .fields import FIELD_CHECKS
from .given import ServedSignatures, given_by
from .interactions import INTERACTION_CHECKS
from .models import model_rules
from .rule import EVERY_WIRE, GENERATE, Asked, concerns
from .signatures import SIGNATURE_CHECKS
from .tools import TOOL_CHECKS

__all__ = [
    "MODEL_RULES",
    "RULES",
    "BrokenRule",
    "Rule",
    "RuleLevel",
    "ServedSignatures",
    "find_broken_rules",
    "given_by",
    "read_request",
]

CHECKS: Final[Checks] = {
    **INTERACTION_CHECKS,
    **FIELD_CHECKS,
    **TOOL_CHECKS,
    **CONTENT_CHECKS,
    **SIGNATURE_CHECKS,
}
_OWN: Final = tuple(read_rules(__package__, CHECKS, EVERY_WIRE))
MODEL_RULES: Final = model_rules(frozenset(CHECKS))
RULES: Final[tuple[Rule, ...]] = (*_OWN, *MODEL_RULES)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that a request breaks."""

    rule: Rule
    message: str
    """The API's message."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of its error."""

    def __str__(self) -> str:
        return f"{self.message} (rule {self.rule.name}, {self.rule.source})"


@lru_cache(maxsize=256)
def _rules_for(wire: str, model: str) -> tuple[Rule, ...]:
    others = PROVIDERS[wire].refusals
    return others.rules if others else tuple(rule for rule in RULES if concerns(rule, wire, model))


def find_broken_rules(
    body: bytes,
    identity: Identity,
    given: Callable[[], ServedSignatures],
    prompt: Prompt | None = None,
) -> Iterator[BrokenRule]:
    """Yield the rules of all levels that a request breaks, in the order of the table. A request
    that does not generate, that is for an API without rules, or that is not a JSON object breaks
    no rule.

    ``given`` returns the signatures and interactions of the served exchanges. If the exchanges have
    no signatures, every signature is accepted. ``prompt``: that of the body, if it is read already.
    """
    sent = decode_object(body) if identity.generates else None
    asked = None if sent is None else read_request(sent, identity, given, prompt)
    if asked is None:
        return
    for rule in _rules_for(asked.wire, asked.model):
        try:
            lines = list(rule.check(asked))
        except RecursionError:
            continue  # the API's behaviour for a Schema of this depth is unknown
        if lines:
            message = "\n".join(line.message for line in lines)
            yield BrokenRule(rule, message, lines[0].fields)


def read_request(
    sent: dict[str, Any],
    identity: Identity,
    given: Callable[[], ServedSignatures],
    prompt: Prompt | None = None,
) -> Asked | None:
    """Return the request that the rules check; None for an API without rules."""
    known = PROVIDERS.get(identity.provider or "")
    if known is None or not (known.name in EVERY_WIRE or known.refusals):
        return None
    model, wire = identity.model or "", known.name
    if wire not in GENERATE:  # the others accept names with a collection or publisher
        model = model.rpartition("/")[2]
    return Asked(model, wire, given, sent, bool(identity.streamed), prompt)
