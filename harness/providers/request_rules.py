"""The rules of a wire: the requests that its API refuses, with the status and the words of the API.

A rule is a row of a table ``rules.tsv`` and a check. Gemini's rules are in
`harness.server.refusals`, because they are for five wires.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from itertools import islice
from typing import Any, Literal, cast

RuleLevel = Literal["api", "strict", "warning"]
"""``api``: the API refuses this. ``strict``: the API or some of its models accept this, but it is a
fault of the client. ``warning``: a refusal was reported, but not confirmed.
"""
Body = Mapping[str, Any]
ServedValues = Mapping[str, str]
"""The values of served exchanges that a request may repeat, and what belongs to each."""


@dataclass(frozen=True, slots=True)
class RuleBreak:
    """A break of a rule."""

    message: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the error beside its message and type."""


BodyCheck = Callable[[Body, ServedValues], Iterator[RuleBreak]]
"""Yields a break for each place of a body that breaks a rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of an API for requests."""

    name: str
    refused: str
    """Describes the requests that break the rule."""
    source: str
    """A page or a public thread that shows the refusal."""
    check: Callable[[Any], Iterator[RuleBreak]]
    """Yields the lines of the API's message, or nothing if a `harness.server.refusals.rule.Asked`
    keeps the rule.
    """
    level: RuleLevel = "api"
    wires: tuple[str, ...] = ()
    """The wires of Gemini that the rule is for."""
    models: str = "all"
    """The models of Gemini that the rule is for."""
    status: int = 400
    """The HTTP status of the refusal."""


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The rules of a wire."""

    rules: tuple[Rule, ...]
    """In the order in which they are checked."""
    given: Callable[[Body, Sequence[Any]], dict[str, str]]
    """The body of a recorded request, and the messages of its answer → the values that later
    requests may repeat.
    """


def read_lines(package: str, table: str = "rules.tsv") -> Iterator[dict[str, str]]:
    """Yield the rows of a table of a package, by the names of its columns."""
    text = files(package).joinpath(table).read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)


def read_rules(package: str, checks: Mapping[str, BodyCheck]) -> tuple[Rule, ...]:
    """Return the rules of the table of a wire; a `KeyError` names one without a check."""
    return tuple(
        Rule(
            row["name"],
            row["refused"],
            row["source"],
            partial(_first_break, checks[row["name"]]),
            cast("RuleLevel", row["level"]),
        )
        for row in read_lines(package)
    )


def _first_break(check: BodyCheck, request: Any) -> Iterator[RuleBreak]:
    return islice(check(request.sent, request.repeated), 1)
