"""Rules about the fields of a request of the Interactions API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from .rule import Asked, Rule, Spot, whole

_DOCS: Final = "https://ai.google.dev/gemini-api/docs"
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


_rule = partial(Rule, wires=("interactions",))

INTERACTION_RULES: Final = (
    _rule(
        "model-or-agent",
        "An interaction with neither or both of `model` and `agent`.",
        "https://ai.google.dev/api/interactions-api",
        whole,
        lambda request: bool(request.prompt.model) == bool(request.more("agent")),
        "Exactly one of model and agent must be set.",
    ),
    _rule(
        "input-missing",
        "An interaction without `input`, unless it continues a stored one by a token.",
        "https://ai.google.dev/api/interactions-api",
        whole,
        lambda request: (
            not request.prompt.messages
            and not any(place.startswith("input") for place in request.prompt.more)
            and not (request.more("continuation_token") and request.prompt.continues)
        ),
        "input is required.",
    ),
    _rule(
        "turns-removed",
        "An item of `input` with a `role`, as in the schema before May 2026.",
        f"{_DOCS}/interactions-breaking-changes-may-2026",
        _steps_with_role,
        lambda kind: kind is None,
        "{place}: Unknown parameter 'role'; a step has a type.",
    ),
    _rule(
        "background-unstored",
        "A background interaction that is not stored.",
        f"{_DOCS}/interactions",
        whole,
        lambda request: request.more("background") is True and request.more("store") is False,
        "background is not supported without store.",
    ),
    _rule(
        "previous-unknown",
        "A `previous_interaction_id` that is not in the served exchanges; status 404.",
        f"{_DOCS}/interactions",
        _previous,
        lambda is_known: not is_known,
        "Interaction '{place}' not found.",
        status=404,
    ),
)
