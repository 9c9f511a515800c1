"""A request for an answer, between an application's event model and a provider's wire.

A dialect turns its prompt into a `GenerateRequest`: the body of a generate request as the Gemini
API documents it (https://ai.google.dev/api/generate-content). A provider puts it into the envelope
of its wire.
"""

from __future__ import annotations

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


class TranslationWarning(UserWarning):
    """A part of a prompt that Gemini cannot express was left out; the message names the part and
    its place.
    """


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """A generate request without an envelope. ``body``: the JSON object, keys in camelCase.
    ``model``: None if the prompt names none. ``warnings``: the parts that were left out, each with
    its place.
    """

    body: dict[str, Any]
    model: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of one tool call: any JSON value; with ``failed`` a description of the failure."""

    result: Any
    failed: bool = False


NOT_RUN = ToolOutcome("the call was not run", failed=True)
"""The outcome of a call to which the user answered instead of a tool: the API refuses a call
without a result.
"""
