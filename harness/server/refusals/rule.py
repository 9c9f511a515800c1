"""Defines the type of a rule, and the request that a rule checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, get_args

from harness.stream.json_codec import objects_in

from .given import Given
from .values import parts_of

Wire = Literal["generateContent", "interactions", "openai-compat"]
"""The wires of the API. A rule is checked on each of its wires."""

EVERY_WIRE: Final[tuple[Wire, ...]] = get_args(Wire)

Level = Literal["api", "strict", "warning"]
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

    ``given`` returns the signatures of the served exchanges. ``prefix``: the prefix of paths in the
    errors of the JSON parser. ``sent``: the request as it was sent.
    """

    body: dict[str, Any]
    model: str
    provider: str | None
    given: Callable[[], Given]
    prefix: str = ""
    sent: dict[str, Any] = field(default_factory=dict)

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
        """Each part of the contents: its path, its content, the part."""
        for number, content in enumerate(self.contents):
            for place, part in enumerate(parts_of(content)):
                yield f"contents[{number}].parts[{place}]", content, part


Check = Callable[[Generate], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """``check`` yields the lines of the API's message, or nothing if the request keeps the rule.
    ``refused`` describes the requests that break it. ``status``: the HTTP status of the refusal.
    ``from_3``: the rule applies only to models of Gemini 3 or later.
    """

    name: str
    refused: str
    source: str
    check: Check
    level: Level = "api"
    wires: tuple[Wire, ...] = ("generateContent",)
    status: int = 400
    from_3: bool = False
