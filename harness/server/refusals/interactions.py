"""Rules about the fields of a request of the Interactions API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .rule import Generate, Rule
from .values import as_list


def _model_or_agent(request: Generate) -> Iterator[str]:
    given = [name for name in ("model", "agent") if request.sent.get(name)]
    if len(given) != 1:
        yield "Exactly one of model and agent must be set."


def _input_missing(request: Generate) -> Iterator[str]:
    goes_on = request.sent.get("continuation_token") and request.sent.get("previous_interaction_id")
    if not request.sent.get("input") and not goes_on:
        yield "input is required."


def _turns(request: Generate) -> Iterator[str]:
    for number, item in enumerate(as_list(request.sent.get("input"))):
        if type(item) is dict and "role" in item and "type" not in item:
            yield f"input[{number}]: Unknown parameter 'role'; a step has a type."


def _background_unstored(request: Generate) -> Iterator[str]:
    if request.sent.get("background") is True and request.sent.get("store") is False:
        yield "background is not supported without store."


def _previous_unknown(request: Generate) -> Iterator[str]:
    previous = request.sent.get("previous_interaction_id")
    known = request.given().interactions
    if type(previous) is str and known and previous not in known:
        yield f"Interaction '{previous}' not found."


_DOCS: Final = "https://ai.google.dev/gemini-api/docs"

INTERACTION_RULES: Final = tuple(
    Rule(name, refused, source, check, wires=("interactions",), status=status)
    for name, refused, source, check, status in (
        (
            "model-or-agent",
            "An interaction with neither or both of `model` and `agent`.",
            "https://ai.google.dev/api/interactions-api",
            _model_or_agent,
            400,
        ),
        (
            "input-missing",
            "An interaction without `input`, unless it continues a stored one by a token.",
            "https://ai.google.dev/api/interactions-api",
            _input_missing,
            400,
        ),
        (
            "turns-removed",
            "An item of `input` with a `role`, as in the schema before May 2026.",
            f"{_DOCS}/interactions-breaking-changes-may-2026",
            _turns,
            400,
        ),
        (
            "background-unstored",
            "A background interaction that is not stored.",
            f"{_DOCS}/interactions",
            _background_unstored,
            400,
        ),
        (
            "previous-unknown",
            "A `previous_interaction_id` that is not in the served exchanges; status 404.",
            f"{_DOCS}/interactions",
            _previous_unknown,
            404,
        ),
    )
)
