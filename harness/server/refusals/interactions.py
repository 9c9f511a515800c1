"""Rules about the fields of a request of the Interactions API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from harness.providers.request_rules import Checks, Spot, whole

from .rule import Asked

_ROLE: Final = re.compile(r"(input\[\d+\])\.role")


def _steps_with_role(request: Asked) -> Iterator[Spot]:
    """Yield the type of each step with a role; None for a step without a type."""
    more = request.prompt.more
    for match in filter(None, map(_ROLE.fullmatch, more)):
        yield match[1], more.get(f"{match[1]}.type", "")


def _previous(request: Asked) -> Iterator[Spot]:
    """Yield the id of the previous interaction, and whether it is known: it is served, or none
    is.
    """
    if isinstance(previous := request.more("previous_interaction_id"), str):
        known = request.given().interactions
        yield previous, not known or previous in known


INTERACTION_CHECKS: Final[Checks] = {
    "model-or-agent": (
        whole,
        lambda request: bool(request.prompt.model) == bool(request.more("agent")),
    ),
    "input-missing": (
        whole,
        lambda request: (
            not request.prompt.messages
            and not any(place.startswith("input") for place in request.prompt.more)
            and not (request.more("continuation_token") and request.prompt.continues)
        ),
    ),
    "turns-removed": (_steps_with_role, lambda kind: kind is None),
    "background-unstored": (
        whole,
        lambda request: request.more("background") is True and request.more("store") is False,
    ),
    "previous-unknown": (_previous, lambda is_known: not is_known),
}
