"""What an application asks of Gemini, between its own event model and a provider's wire.

A dialect turns its prompt into an `GenerateRequest`: the body of a generate request, spelled as the
Gemini API documents it (https://ai.google.dev/api/generate-content). A provider wraps that for its
wire.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class TranslationError(ValueError):
    """A prompt that can't be translated; the message names the place in the prompt and what is
    wrong there.

    ``place`` is the path alone (``messages[2].content[0].tool_call_id``), "" for the prompt as a
    whole.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        super().__init__(f"{place}: {reason}" if place else reason)


class TranslationWarning(UserWarning):
    """Something of a prompt that Gemini has no word for was left out; the message names it and its
    place.
    """


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """A generate request before its provider has wrapped it.

    ``body``: the JSON object, keys in camelCase. ``model``: the one to ask, None if the prompt
    names none. ``warnings``: what was left out, each with its place.
    """

    body: dict[str, Any]
    model: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What running one call gave: any JSON value, or with ``failed`` what went wrong."""

    result: Any
    failed: bool = False
