"""A request for an answer, between an application's event model and a provider's wire.

A dialect turns its prompt into a `GenerateRequest`: the body of a generate request as the Gemini
API documents it (https://ai.google.dev/api/generate-content). A provider puts it into the envelope
of its wire, or writes the body of another wire from it.

For another wire, the dialect does not adapt values to generateContent. The project calls such a
body **as given**. In it,

- schemas are the JSON Schemas of the prompt (``parametersJsonSchema``, ``responseJsonSchema``);
- a ``functionResponse`` has the tool's own value as ``response``, whatever its type, or its content
  as ``parts``; ``isError`` marks a failure;
- each call and result has an id, also if the wire of the call had none; ``args`` of the wire that
  are not a JSON object are kept as text;
- a part with media has its ``kind`` (image, audio, document), and ``fileName`` if it has one;
  a text in which the model declines to answer is marked as ``refusal``;
- a thinking level is the word of the prompt, for every model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    """A generate request. ``body``: the JSON object, keys in camelCase until a provider has wrapped
    it. ``model``: None if the prompt names none. ``warnings``: the parts that were left out, each
    with its place. ``streamed``: the prompt asks for a stream, for wires that have this in the
    body. ``options``: fields of the prompt for the body of a single wire, by the name of its
    provider.
    """

    body: dict[str, Any]
    model: str | None = None
    warnings: tuple[str, ...] = ()
    streamed: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


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
    """The outcome of each call of an answer: `NOT_RUN` for each if the user writes a text instead
    of giving results. Raises `TranslationError` unless there is one for each call.
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
