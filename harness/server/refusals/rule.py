"""A generate request as the rules see it, and the wires and models that a rule is for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, cast

from harness.providers import PROVIDERS
from harness.providers.request_rules import Each, Rule, ServedValues, Spot
from harness.stream.prompt import AnyPart, Function, Prompt

from .given import Content, ServedSignatures, contents_of

GENERATE: Final = ("gemini-api", "vertex-ai", "code-assist")
"""The wires with generateContent and streamGenerateContent."""
EVERY_WIRE: Final = (*GENERATE, "interactions", "openai-compat")
"""Gemini's wires. A rule is checked on each of its wires."""

Models = Literal["all", "from 3", "numbered from 3", "before 3", "without prefill"]
"""The models that a rule is for, by their names: by the number of Gemini, where a name without
number is a current model except for ``numbered``; or those that accept no history that ends with
their own turn.
"""

_UNSIGNED: Final = re.compile(r"gemini-(?:1|2)(?:\.|-|$)|gemini-3-pro-image|gemma")
_NUMBERED: Final = re.compile(r"gemini-(?:[3-9]|[12][0-9])")
"""A name like ``gemini-flash-latest`` meant an older model at first, and a published recording
shows that this model answered a history that later ones refuse.
"""
_PREFILLED: Final = re.compile(
    r"gemini-[12](?:\.|-|$)|gemini-3(?:\.1)?-|gemini-3\.5-flash(?!-lite)|gemini-pro-latest|gemma"
    r"|claude"
)
_MODELS: Final[Mapping[Models, Callable[[str], object]]] = {
    "all": lambda model: True,
    "from 3": lambda model: not _UNSIGNED.search(model),
    "numbered from 3": _NUMBERED.match,
    "before 3": _UNSIGNED.search,
    "without prefill": lambda model: not _PREFILLED.search(model),
}


@dataclass(frozen=True)
class Asked:
    """A generate request: a `harness.providers.request_rules.CheckedRequest`."""

    model: str
    wire: str
    """The wire that the request was sent on."""
    given: Callable[[], ServedSignatures]
    """Returns the signatures of the served exchanges."""
    sent: dict[str, Any] = field(default_factory=dict)
    """The body as it was sent."""
    streamed: bool = False
    read: Prompt | None = None
    """The prompt of the body, if it is read already."""
    _spots: dict[Any, Sequence[Spot]] = field(default_factory=dict, compare=False)

    @cached_property
    def prompt(self) -> Prompt:
        """What the body says; read only if a rule asks."""
        return self.read or PROVIDERS[self.wire].prompt_of(self.sent)

    @cached_property
    def contents(self) -> list[Content]:
        """The turns of the history; of a stored interaction also those before it."""
        previous = self.more("previous_interaction_id")
        # Without steps of its own, the request only gets the rest of the answer.
        stored = self.given().interactions if previous and self.prompt.messages else {}
        return contents_of(self.prompt, self.wire, stored.get(str(previous), ()))

    @property
    def parts(self) -> Iterator[tuple[str, AnyPart]]:
        """Yield each part of the contents with its path."""
        for number, content in enumerate(self.contents):
            for place, part in enumerate(content.parts):
                yield f"contents[{number}].parts[{place}]", part

    @property
    def functions(self) -> list[tuple[str, Function]]:
        """The declared functions, with their paths in the errors of the validator."""
        return [
            (tool.place.removeprefix("request.").replace(".functionD", ".function_d"), tool)
            for tool in self.prompt.tools
            if isinstance(tool, Function)
        ]

    @property
    def repeated(self) -> ServedValues:
        """The values for the rules of another wire."""
        return self.given().repeated.get(self.wire, {})

    def spots(self, each: Each) -> Sequence[Spot]:
        """Return the places that ``each`` yields. Many rules have the same ones."""
        if (spots := self._spots.get(each)) is None:
            spots = self._spots[each] = [*each(self)]
        return spots

    def more(self, place: str) -> Any:
        """Return the value of a field that the prompt has no value for; None if there is none."""
        prefix = "request." if self.wire == "code-assist" else ""
        return self.prompt.more.get(f"{prefix}{place}")


def concerns(rule: Rule, wire: str, model: str) -> bool:
    """Return whether a rule is for a wire and a model."""
    return wire in rule.wires and bool(_MODELS[cast("Models", rule.models)](model))
