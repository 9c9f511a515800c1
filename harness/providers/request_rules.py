"""The rules of a wire: the requests that its API refuses, with the status and the words of the API.

Gemini's rules are in `harness.server.refusals`, because they are for five wires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Body = Mapping[str, Any]
ServedValues = Mapping[str, str]
"""The values of served exchanges that a request may repeat, and what belongs to each."""


@dataclass(frozen=True, slots=True)
class RuleBreak:
    """A break of a rule."""

    message: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the error beside its message and type."""


@dataclass(frozen=True, slots=True)
class RequestRule:
    """A rule of the API of a wire."""

    name: str
    refused: str
    """A description of the requests that break it."""
    source: str
    """A page or a public thread that shows the refusal."""
    check: Callable[[Body, ServedValues], Iterator[RuleBreak]]
    """Yields a break for each place of a request that breaks it."""
    level: Literal["api", "strict", "warning"] = "api"
    status: int = 400


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The rules of a wire."""

    rules: tuple[RequestRule, ...]
    """In the order in which they are checked."""
    given: Callable[[Body, Sequence[Any]], dict[str, str]]
    """The body of a recorded request, and the messages of its answer → the values that later
    requests may repeat.
    """
