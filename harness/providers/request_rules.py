"""The rules of a wire: the requests that its API refuses, with the status and the words of the API.

A rule is a row of a table ``rules.tsv`` and a check: the places of a request that can break it, and
the condition. Gemini's rules are in `harness.server.refusals`, because they are for five wires.

The columns of a row are ``name``, ``level``, ``refused``, ``source``, and ``sentence``: the API's
message, with ``{place}`` and ``{value}``. A table has more of them where its rules differ in
``wires`` (``*``: all), ``models``, ``status``, in ``lines`` (whether the message has the ``first``
place that breaks the rule, or ``all``), or in ``param`` and ``code``, further fields of the error.

A rule reads the prompt of a request, so one row is for every wire that has its values. A field for
which a prompt has no value is in `Prompt.more`, under its place. Only the rules of Gemini's parser
read the body, because they are about the spelling and the JSON type of each field.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Any, Final, Literal, Protocol, cast

from harness.stream.prompt import Prompt

RuleLevel = Literal["api", "strict", "warning"]
"""``api``: the API refuses this. ``strict``: the API or some of its models accept this, but it is a
fault of the client. ``warning``: a refusal was reported, but not confirmed.
"""
Body = dict[str, Any]
ServedValues = Mapping[str, str]
"""The values of served exchanges that a request may repeat, and what belongs to each."""
Spot = tuple[str, Any]
"""A place of a request, and a value there."""

_DEFAULTS: Final = {"wires": "*", "models": "all", "status": "400", "lines": "first"}
_FIELDS: Final = ("param", "code")


class CheckedRequest(Protocol):
    """A generate request, for its rules."""

    @property
    def prompt(self) -> Prompt:
        """What the body says."""

    @property
    def repeated(self) -> ServedValues:
        """The values of the served exchanges of its wire."""

    def spots(self, each: Each) -> Sequence[Spot]:
        """Return the places that ``each`` yields. Many rules have the same ones."""


Each = Callable[[Any], Iterable[Spot]]
"""Yields the places of a `CheckedRequest` that can break a rule."""
Checks = Mapping[str, tuple[Each, Callable[[Any], object]]]
"""Name of a rule → what yields the places that can break it, and whether a value breaks it."""


@dataclass(frozen=True, slots=True)
class RuleBreak:
    """A break of a rule."""

    message: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the error beside its message and type."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of an API for requests."""

    name: str
    refused: str
    """Describes the requests that break the rule."""
    source: str
    """A page or a public thread that shows the refusal."""
    check: Callable[[CheckedRequest], Iterator[RuleBreak]]
    """Yields the lines of the API's message, or nothing if a request keeps the rule."""
    level: RuleLevel = "api"
    wires: tuple[str, ...] = ()
    """The wires that the rule is for."""
    models: str = "all"
    """The models of Gemini that the rule is for."""
    status: int = 400
    """The HTTP status of the refusal."""


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The rules of a wire."""

    rules: tuple[Rule, ...]
    """In the order in which they are checked."""
    given: Callable[[Prompt], dict[str, str]]
    """A recorded prompt → the values that later requests may repeat."""
    following: Callable[[Sequence[Any]], Body]
    """The messages of a recorded answer → a body whose history is this answer."""


def breaks(
    each: Each,
    when: Callable[[Any], object],
    sentence: str,
    request: CheckedRequest,
    *,
    fields: Mapping[str, str] | None = None,
    once: bool = False,
) -> Iterator[RuleBreak]:
    """Yield the lines of the API's message: the sentence with each place that ``each`` yields and
    whose value breaks the rule; only the first one if ``once``.
    """
    for place, value in request.spots(each):
        if when(value):
            named = {"place": place, "value": value}
            more = {name: text.format(**named) for name, text in (fields or {}).items()}
            yield RuleBreak(sentence.format(**named), more)
            if once:
                return


def whole(request: CheckedRequest) -> Iterator[Spot]:
    """Yield the request itself."""
    yield "", request


def read_lines(package: str, table: str = "rules.tsv") -> Iterator[dict[str, str]]:
    """Yield the rows of a table of a package, by the names of its columns."""
    text = files(package).joinpath(table).read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)


def read_rules(package: str, checks: Checks, wires: tuple[str, ...]) -> Iterator[Rule]:
    """Yield the rules of the table of a package in its order; a `KeyError` names one without a
    check. ``wires``: all wires of the table.
    """
    for row in (_DEFAULTS | line for line in read_lines(package)):
        each, when = checks[row["name"]]
        sentence, once = row["sentence"].replace("\\n", "\n"), row["lines"] == "first"
        fields = {name: row[name] for name in _FIELDS if row.get(name)}
        yield Rule(
            row["name"],
            row["refused"],
            row["source"],
            partial(breaks, each, when, sentence, fields=fields, once=once),
            cast("RuleLevel", row["level"]),
            wires if row["wires"] == "*" else tuple(row["wires"].split(", ")),
            row["models"],
            int(row["status"]),
        )
