"""What the API refuses: rules about generate requests on Gemini's wires, each with its source.

Each rule was documented, or seen by somebody who published the API's message. A rule judges the
canonical form of a request. The first rule that a request breaks gives the error, as a parser comes
before a validator, and a validator before the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from harness.providers import PROVIDERS, Identity
from harness.providers.gemini.canonical_request import canonical_request
from harness.stream.json_codec import decode_json

from .contents import CONTENT_RULES
from .given import GivenSignatures, given_signatures
from .rule import Generate, Level, Rule
from .signatures import SIGNATURE_RULES
from .tools import TOOL_RULES

__all__ = [
    "RULES",
    "BrokenRule",
    "GivenSignatures",
    "Level",
    "Rule",
    "find_broken_rules",
    "given_signatures",
]

RULES: Final[tuple[Rule, ...]] = (*TOOL_RULES, *CONTENT_RULES, *SIGNATURE_RULES)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that a request breaks, and the API's message."""

    rule: Rule
    message: str

    def __str__(self) -> str:
        return f"{self.message} (rule {self.rule.name}, {self.rule.source})"


def find_broken_rules(
    body: bytes, identity: Identity, given: Callable[[], GivenSignatures]
) -> Iterator[BrokenRule]:
    """The rules of all levels that a request breaks, in the order of the table. A request that does
    not generate, is of another wire than Gemini's or is no JSON object breaks none.

    ``given`` gives the signatures of the served exchanges. If there are none, every signature is
    accepted.
    """
    provider = PROVIDERS.get(identity.provider or "")
    if not identity.generates or provider is None or not provider.gemini_messages:
        return
    try:
        request = canonical_request(decode_json(body))
    except ValueError:
        return
    if type(request) is not dict:
        return
    prefix = ""
    if type(request.get("request")) is dict:
        request, prefix = request["request"], "request."
    asked = Generate(request, identity.model or "", provider.name, given, prefix)
    for rule in RULES:
        try:
            lines = list(rule.check(asked))
        except RecursionError:
            continue  # nobody can say what a parser makes of a Schema that nests so deeply
        if lines:
            yield BrokenRule(rule, "\n".join(lines))
