"""Defines the type of a rule, and the request that a rule checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, get_args

from harness.stream.json_codec import objects_in

from .given import ServedSignatures
from .values import parts_of

Wire = Literal["gemini-api", "vertex-ai", "code-assist", "interactions", "openai-compat"]
"""The wires of the API. A rule is checked on each of its wires."""

EVERY_WIRE: Final[tuple[Wire, ...]] = get_args(Wire)

GENERATE: Final[tuple[Wire, ...]] = ("gemini-api", "vertex-ai", "code-assist")
"""The wires with generateContent and streamGenerateContent."""

Models = Literal["all", "from 3", "before 3"]
"""The models that a rule is for, by the number of Gemini in their names."""

RuleLevel = Literal["api", "strict", "warning"]
"""``api``: the API refuses this. ``strict``: the API or some of its models accept this, but it is a
fault of the client. ``warning``: a refusal was reported, but not confirmed.
"""

_UNSIGNED: Final = re.compile(r"gemini-(?:1|2)(?:\.|-|$)|gemini-3-pro-image|gemma")
_PREFILLED: Final = re.compile(
    r"gemini-[12](?:\.|-|$)|gemini-3(?:\.1)?-|gemini-3\.5-flash(?!-lite)|gemini-pro-latest|gemma"
    r"|claude"
)


@dataclass(frozen=True)
class Generate:
    """A generate request in canonical form, without Code Assist's envelope. For other wires, the
    history in this form.
    """

    body: dict[str, Any]
    model: str
    wire: Wire
    """The wire that the request was sent on."""
    given: Callable[[], ServedSignatures]
    """Returns the signatures of the served exchanges."""
    prefix: str = ""
    """The prefix of paths in the errors of the JSON parser."""
    sent: dict[str, Any] = field(default_factory=dict)
    """The request as it was sent."""
    streamed: bool = False

    @cached_property
    def contents(self) -> list[dict[str, Any]]:
        """The contents that are objects."""
        return objects_in(self.body.get("contents"))

    @property
    def wants_signatures(self) -> bool:
        """Whether the model is of Gemini 3 or later. A name without number is a current model."""
        return not _UNSIGNED.search(self.model)

    @property
    def takes_prefill(self) -> bool:
        """Whether the model accepts a history that ends with its own turn."""
        return bool(_PREFILLED.search(self.model))

    def parts(self) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Yield each part of the contents: its path, its content, the part."""
        for number, content in enumerate(self.contents):
            for place, part in enumerate(parts_of(content)):
                yield f"contents[{number}].parts[{place}]", content, part


Check = Callable[[Generate], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the API for requests."""

    name: str
    refused: str
    """Describes the requests that break the rule."""
    source: str
    check: Check
    """Yields the lines of the API's message, or nothing if the request keeps the rule."""
    level: RuleLevel = "api"
    wires: tuple[Wire, ...] = GENERATE
    """The wires that the rule is for."""
    models: Models = "all"
    """The models that the rule is for."""
    status: int = 400
    """The HTTP status of the refusal."""

    def concerns(self, request: Generate) -> bool:
        """Return whether the rule is for the wire and the model of a request."""
        from_3 = request.wants_signatures
        is_model = self.models == "all" or (self.models == "from 3") == from_3
        return request.wire in self.wires and is_model
