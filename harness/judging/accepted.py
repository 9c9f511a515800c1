"""Judges whether the API accepts a request of an adapter: the aspect ``accepted`` of both turns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from harness.adapters import Adapter, SentRequest
from harness.adapters.at import Question
from harness.adapters.faithful import faithful_requests
from harness.facts import ACCEPTED, Finding, Place
from harness.providers import Identity
from harness.stream.json_codec import Json

if TYPE_CHECKING:
    from harness.server.refusals import BrokenRule

_CONTENT: Final = re.compile(r"\b(?:contents|messages|input)\.?\[?(\d+)")
_QUOTED: Final = re.compile(r'"([^"]*)"')


def judge_request(request: SentRequest, question: Question, adapter: Adapter) -> Finding:
    """Return the finding about a request of the turn of ``question``: *wrong* for the rules of the
    level ``api`` that it breaks. A rule that a request with only what the adapter was given breaks
    too is *passed on*; it is red only for a strict adapter.
    """
    if not request.path:
        return Finding(ACCEPTED, "not_asked", "no-request")
    from harness.server.offer import identify  # slow to import; a request was served, so it is

    identity = identify("POST", request.path, request.body)
    broken = list(_broken_rules(request.body, identity, question))
    declared = {str(loss): loss.where for loss in adapter.losses if loss.aspect == ACCEPTED}
    left = [rule for rule in broken if not {"", rule.rule.name} & {*declared.values()}]
    if not left:
        return Finding(ACCEPTED, "kept") if not broken else _declared(declared)
    given = {
        _identity_of(rule)
        for body in faithful_requests(question, identity.provider or "", request.path)
        for rule in _broken_rules(body, identity, question)
    }
    own = [rule for rule in left if adapter.strict or _identity_of(rule) not in given]
    if not own:
        return Finding(ACCEPTED, "kept", "passed-on", [*map(_value, left)])
    return Finding(ACCEPTED, "wrong", "refused", [*map(_value, own)], place=_place(own[0]))


def _declared(declared: dict[str, str]) -> Finding:
    return Finding(ACCEPTED, "not_carried", "declared", ", ".join(declared))


def _broken_rules(body: bytes, identity: Identity, question: Question) -> Iterator[BrokenRule]:
    from harness.server.refusals import find_broken_rules, given_by

    served = [question.exchange] if question.turn == 2 else []
    for broken in find_broken_rules(body, identity, lambda: given_by(served)):
        if broken.rule.level == "api":
            yield broken


def _identity_of(broken: BrokenRule) -> tuple[str, frozenset[str]]:
    """Return the rule and the names and values that the API quotes. Places may differ."""
    return broken.rule.name, frozenset(_QUOTED.findall(broken.message))


def _place(broken: BrokenRule) -> Place:
    """Return the content or message that the API names, else the first name that it quotes."""
    if match := _CONTENT.search(broken.message):
        return Place(content=int(match[1]))
    return Place(adapter=next(iter(_QUOTED.findall(broken.message)), ""))


def _value(broken: BrokenRule) -> Json:
    first, *others = broken.message.splitlines()
    more = f" (and {len(others)} more)" if others else ""
    return {
        "rule": broken.rule.name,
        "message": f"{first}{more}",
        "refused": broken.rule.refused,
        "source": broken.rule.source,
    }
