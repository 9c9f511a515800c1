"""The rules of the table *Can Gemini take it?*: the values that an API refuses for some models.

Each row of `models.tsv` is a public fact: ``field`` and ``api``, ``models`` with ``*``, ``verdict``
(``accepted``, ``refused`` or ``ignored``), ``note``, ``source`` and its ``kind``. The ``rule`` of a
refused row is made of the rows that name it, unless another module has a rule of this name. Its
level is ``api`` if a row has a recording, a live probe or two threads; for other rows there is a
second rule, which ends in ``-reported``.

A ``field`` that a rule checks has a form: ``a.b=X|Y`` for one of the values in any case,
``a.b=X!Y`` for those of X that are not Y, ``a.b=*`` for any value, ``a.b>1``, ``a.b`` for a value
that is not empty or 0. The path goes through lists and omits ``generationConfig``; ``**`` is each
Schema at or below its place. A comma means *or*, ``&`` means *and*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any, Final

from harness.providers.request_rules import Rule, RuleLevel, Spot, breaks, read_lines
from harness.stream.prompt import Thinking
from harness.stream.prompt_data import as_data

from .rule import EVERY_WIRE, Asked
from .tools import schema_nodes

TABLE: Final = "models.tsv"
_INDEX: Final = re.compile(r"\[\d+\]")
_TERM: Final = re.compile(r"([\w.*$]+)(?:([=>])(.*))?")
_QUOTED: Final = re.compile(r'^(?:400 )?"(.+?)"')
_SURE: Final = frozenset({"recording", "live probe"})


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    field: str
    api: str
    models: str
    verdict: str
    note: str
    source: str
    kind: str
    rule: str

    @property
    def urls(self) -> list[str]:
        """The sources: threads as in GitHub, repositories of recordings, pages."""
        return [_url(source) for source in self.source.split(", ")]

    @property
    def level(self) -> RuleLevel:
        """The level of a rule that rests on this row."""
        return "api" if self.kind in _SURE or len(self.urls) > 1 else "warning"

    def concerns(self, request: Asked) -> bool:
        """Return whether a request is for the API and the models of the row, and has its field."""
        return (
            request.wire in self.api.split(", ")
            and any(fnmatchcase(request.model, name) for name in self.models.split(", "))
            and has_field(request, self.field)
        )


def _url(source: str) -> str:
    if "://" in source:
        return source
    repository, _, number = source.partition(" ")[0].partition("#")
    return f"https://github.com/{repository}" + (f"/issues/{number}" if number else "")


@cache
def read_rows() -> tuple[Row, ...]:
    """Return the rows of the table."""
    return tuple(Row(**line) for line in read_lines(__package__, TABLE))


def has_field(request: Asked, field: str) -> bool:
    """Return whether a request has a field in the form of the table."""
    values = request.spots(_fields)
    return any(
        all(_holds(values, term) for term in option.split(" & ")) for option in field.split(", ")
    )


def _fields(request: Asked) -> Iterator[Spot]:
    """Yield the values of a request, with their paths in the form of the table."""
    prompt, data = request.prompt, as_data(request.prompt)
    values: list[Spot] = [*prompt.more.items()]
    for name, place in prompt.places.items():
        group, _, own = name.partition(".")
        values.append(
            (place, data.get(group, {}).get(own, "application/json"))
        )  # that of format.json
    for each in (*prompt.instructions, *prompt.tools, prompt.format):
        values.append((getattr(each, "place", ""), True))
        if schema := getattr(each, "schema", None):
            values.append((schema.place, schema.value))
    for part in (part for message in prompt.messages for part in message.parts):
        fields: dict[str, Any] = {
            "fileData.fileUri": getattr(part, "url", None),
            "mediaResolution": getattr(part, "detail", None),
            "thought": isinstance(part, Thinking),
            "thoughtSignature": part.signature,
            **part.more,
            **getattr(part, "raw", {}),
        }
        values += [(f"contents.parts.{name}", value) for name, value in fields.items()]
    for place, value in values:
        path = _INDEX.sub("", place).removeprefix("request.")
        yield path.removeprefix("generationConfig."), value


def _holds(fields: Sequence[Spot], term: str) -> bool:
    match = _TERM.fullmatch(term)
    if match is None:
        raise ValueError(f"models.tsv: {term!r} is not the form of a field")
    path, sign, wanted = match.groups()
    words, _, others = (wanted or "").partition("!")
    for value in _values_at(path, fields):
        text = str(value).casefold()
        if sign == "=" and _is_one_of(text, words) and not (others and _is_one_of(text, others)):
            return True
        if sign == ">" and type(value) in (int, float) and value > float(wanted):
            return True
        if not sign and value:
            return True
    return False


def _is_one_of(text: str, words: str) -> bool:
    return any(fnmatchcase(text, word.casefold()) for word in words.split("|"))


def _values_at(path: str, fields: Sequence[Spot]) -> Iterator[Any]:
    for place, value in fields:
        if f"{path}.".startswith(f"{place}."):
            yield from _values(value, path[len(place) :].split(".")[1:])
        elif place.startswith(f"{path}."):
            yield place


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    if type(value) is list:
        for inner in value:
            yield from _values(inner, path)
    elif not path:
        if value is not None:
            yield value
    elif path[0] == "**":
        for node in schema_nodes(value):
            yield from _values(node.get(path[1]), path[2:])
    elif type(value) is dict:
        yield from _values(value.get(path[0]), path[1:])


def model_rules(others: frozenset[str]) -> tuple[Rule, ...]:
    """Return the rules of the table, without those of the names ``others``. A name has a rule for
    each source, so that a refusal cites its own.
    """
    groups: dict[tuple[str, RuleLevel, str], list[Row]] = {}
    for row in read_rows():
        if row.verdict == "refused" and row.rule and row.rule not in others:
            groups.setdefault((row.rule, row.level, row.urls[0]), []).append(row)
    return tuple(_rule(*group, rows) for group, rows in groups.items())


def _rule(name: str, level: RuleLevel, source: str, rows: list[Row]) -> Rule:
    wires = tuple(wire for wire in EVERY_WIRE if any(wire in row.api.split(", ") for row in rows))
    models: dict[str, list[str]] = {}
    for row in rows:
        models.setdefault(f"`{row.field}` on {row.api}", []).append(row.models)
    texts = [f"{field} for {', '.join(names)}" for field, names in models.items()]
    refused = f"{'; '.join(texts)}.".replace("for *", "for all models")
    name = name if level == "api" else f"{name}-reported"
    each = partial(_refused, [(_sentence(row), row) for row in rows])
    return Rule(name, refused, source, partial(breaks, each, bool, "{place}"), level, wires)


def _sentence(row: Row) -> str:
    quoted = _QUOTED.match(row.note)
    return quoted[1] if quoted else f"{row.field} is not supported for this model."


def _refused(rows: Sequence[tuple[str, Row]], request: Asked) -> Iterator[Spot]:
    return ((sentence, row) for sentence, row in rows if row.concerns(request))
