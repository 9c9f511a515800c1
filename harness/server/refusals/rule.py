"""A rule is a row of `rules.tsv` and a check: the places of a request that can break it, and the
condition.

The columns of a row are ``name``, ``level``, ``wires`` (``*``: all), ``models``, ``status``,
``lines`` (whether the message has the ``first`` place that breaks the rule, or ``all``),
``refused``, ``source``, and ``sentence``: the API's message, with ``{place}`` and ``{value}``.

A rule reads the prompt of a request, so one row is for every wire that has its values. A field for
which a prompt has no value is in `Prompt.more`, under its place. Only the rules of the parser read
the body, because they are about the spelling and the JSON type of each field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, Literal, cast

from harness.providers import PROVIDERS
from harness.providers.request_rules import Rule, RuleBreak, RuleLevel, ServedValues, read_lines
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


Spot = tuple[str, Any]
"""A place of a request, and a value there."""


@dataclass(frozen=True)
class Asked:
    """A generate request."""

    model: str
    wire: str
    """The wire that the request was sent on."""
    given: Callable[[], ServedSignatures]
    """Returns the signatures of the served exchanges."""
    sent: dict[str, Any] = field(default_factory=dict)
    """The body as it was sent."""
    streamed: bool = False
    _spots: dict[Any, Sequence[Spot]] = field(default_factory=dict, compare=False)

    @cached_property
    def prompt(self) -> Prompt:
        """What the body says; read only if a rule asks."""
        return PROVIDERS[self.wire].prompt_of(self.sent)

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

    def spots(self, each: Callable[[Asked], Iterable[Spot]]) -> Sequence[Spot]:
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


def breaks(
    each: Callable[[Asked], Iterable[Spot]],
    when: Callable[[Any], object],
    sentence: str,
    request: Asked,
    *,
    once: bool = False,
) -> Iterator[RuleBreak]:
    """Yield the lines of the API's message: the sentence with each place that ``each`` yields and
    whose value breaks the rule; only the first one if ``once``.
    """
    for place, value in request.spots(each):
        if when(value):
            yield RuleBreak(sentence.format(place=place, value=value))
            if once:
                return


def whole(request: Asked) -> Iterator[Spot]:
    """Yield the request itself."""
    yield "", request


Checks = Mapping[str, tuple[Callable[[Asked], Iterable[Spot]], Callable[[Any], object]]]
"""Name of a rule → what yields the places that can break it, and whether a value breaks it."""


def read_gemini_rules(checks: Checks) -> Iterator[Rule]:
    """Yield the rules of the table in its order; a `KeyError` names one without a check."""
    for row in read_lines(__package__):
        each, when = checks[row["name"]]
        sentence, once = row["sentence"].replace("\\n", "\n"), row["lines"] == "first"
        yield Rule(
            row["name"],
            row["refused"],
            row["source"],
            partial(breaks, each, when, sentence, once=once),
            cast("RuleLevel", row["level"]),
            EVERY_WIRE if row["wires"] == "*" else tuple(row["wires"].split(", ")),
            row["models"],
            int(row["status"]),
        )
