"""A request for an answer on a provider's wire, made from a prompt (`harness.stream.prompt`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class TranslationError(ValueError):
    """A prompt that can't be translated. ``place`` is the path in the prompt
    (``messages[2].content[0].tool_call_id``), ``""`` for the prompt as a whole; the message gives
    place and reason.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        super().__init__(f"{place}: {reason}" if place else reason)


class UnansweredError(TranslationError):
    """A prompt that the service refuses, because an answer in it broke off: the item that it must
    end with never came.
    """


class TranslationWarning(UserWarning):
    """A part of a prompt that the wire cannot express was left out; the message names the part and
    its place.
    """


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """A request of one wire."""

    body: dict[str, Any]
    """The JSON object."""
    model: str | None = None
    """None if the prompt names none."""
    warnings: tuple[str, ...] = ()
    """The parts of the prompt that were left out, each with its place."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of one tool call: any JSON value; with ``failed`` a description of the failure."""

    result: Any
    failed: bool = False


NOT_RUN = ToolOutcome("the call was not run", failed=True)
"""The outcome of a call if the user wrote a text instead of giving a result: the API refuses a call
without a result.
"""


def outcomes_of(calls: int, then: Sequence[ToolOutcome] | str) -> Sequence[ToolOutcome]:
    """Return the outcome of each call of an answer: `NOT_RUN` for each if the user writes a text
    instead of giving results. Raises `TranslationError` unless there is one for each call.
    """
    if isinstance(then, str):
        return [NOT_RUN] * calls
    if len(then) != calls:
        raise TranslationError(
            "results",
            f"the answer has {calls} calls, and {len(then)} outcomes are given;"
            " give one for each call",
        )
    return then
