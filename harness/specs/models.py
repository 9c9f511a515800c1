"""The shapes of our two kinds of spec file, closed: what is not named here is refused.

pydantic judges them and gives editors their JSON Schema; its own messages never reach an author
(`reading` puts them into our words). An expectation is any JSON value, so the shape says nothing
about it: the operators in it are judged by ``matching.check_expectation``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, WithJsonSchema
from pydantic.json_schema import models_json_schema
from pydantic_core import PydanticCustomError

FORMAT: Final = 1
"""The number after ``harness:`` in a file that this version reads."""

LAYERS: Final = ("frames", "events")
"""What an ``expect`` can name beside dialects."""

PATTERNS: Final = {
    r"^[a-z0-9]+(-[a-z0-9]+)*$": "lower-case words joined by '-'",
    r"^[a-z0-9-]+(\.[a-z0-9-]+)*$": "lower-case words joined by '.' and '-'",
    r"^https?://\S+$": "a link that begins with http:// or https://",
    r"\S": "a sentence",
}
"""Each pattern of a field below, and what an error calls it."""
_NAME, _DOTTED, _LINK, _SENTENCE = PATTERNS

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class SpecError(ValueError):
    """A spec that cannot be used: its author's fault.

    ``problems`` holds *all* that was found as ``(line, message)``, lines from 1; the text is one
    ``path:line: message`` a line.
    """

    def __init__(self, path: str, problems: Sequence[tuple[int, str]]) -> None:
        self.path = path
        self.problems = list(problems)
        place = path or "line "
        super().__init__(
            "\n".join(
                f"{place}{':' if path else ''}{line}: {message}" for line, message in self.problems
            )
        )


def _given(value: object) -> object:
    """An optional key that stands there empty is a slip, not a default."""
    if value is None:
        raise PydanticCustomError("empty", "given a value, or its line deleted")
    return value


def _day(value: object) -> date:
    """A date as ``YYYY-MM-DD`` and in no other way: pydantic would also take numbers,
    ``date.fromisoformat`` weeks.
    """
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise PydanticCustomError("day", "a date like 2027-01-31")


Sentence = Annotated[str, Field(pattern=_SENTENCE)]
Link = Annotated[str, Field(pattern=_LINK)]
Names = Annotated[
    tuple[str, ...], Field(strict=False, min_length=1)
]  # strict would refuse the list that YAML gives


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class KnownFailing(_Closed):
    """Why a cell is known to fail. The case still runs; when it passes, the mark has to go."""

    reason: Sentence = Field(description="What is wrong, in a sentence.")
    link: Link = Field(description="Where it is tracked or explained.")
    expires: Annotated[
        date | None,
        BeforeValidator(_day),
        BeforeValidator(_given),
        WithJsonSchema({"type": "string", "format": "date"}),
    ] = Field(default=None, description="YYYY-MM-DD: after this day the mark is an error.")


class Outcome(_Closed):
    """What one call of the answer before gave: its result, or what went wrong."""

    result: Any = Field(default=None, description="What the tool gave, any JSON value.")
    error: Any = Field(default=None, description="What went wrong instead.")


class Turn(_Closed):
    """One turn of a conversation: how it begins, or how it goes on after the answer of the turn
    before.
    """

    prompt: dict[str, Any] | None = Field(
        default=None, description="First turn only: for each dialect, its own prompt."
    )
    say: str | None = Field(default=None, description="Later turns: what the user says.")
    results: Annotated[tuple[Outcome, ...] | None, Field(strict=False)] = Field(
        default=None,
        description="Later turns: what the calls of the answer before gave, in their order.",
    )


class Case(_Closed):
    """One requirement, shown on one example.

    A *stream case* names a recorded exchange and expects what each event model makes of it. A
    *request case* has a `prompt` instead and expects the request that it is sent as. A
    *conversation case* has `turns` on the exchanges of a recording, one after the other, and
    expects the request of each.
    """

    case: Annotated[str, Field(pattern=_NAME)] = Field(
        description="The name: lower-case words joined by '-', unique in the file."
    )
    requirement: Sentence = Field(description="What must hold, in a sentence.")
    features: Names = Field(description="Ids of the features that the case shows.")
    level: Literal["must", "should"] = Field(
        default="must", description="A failed `should` is a warning."
    )
    source: Link = Field(description="The documentation that the requirement rests on.")
    cassette: Annotated[
        str, WithJsonSchema({"type": "string", "pattern": r"^[a-z0-9._-]+(/[a-z0-9._-]+)*$"})
    ] = Field(
        default="",
        description=(
            "The recording: a file below the cassettes folder, without .yaml. Every case has one"
            " but a request case."
        ),
    )
    exchange: Annotated[int, Field(ge=1)] = Field(
        default=1,
        description="Which exchange of the recording, from 1; of a conversation, the first.",
    )
    prompt: dict[str, Any] = Field(
        default={}, description="A request case: for each dialect, its own prompt."
    )
    turns: Annotated[tuple[Turn, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "A conversation case: one turn for each exchange of the recording, from `exchange` on."
        ),
    )
    remembers: Annotated[int, Field(ge=1)] = Field(
        default=1000,
        description=(
            "A conversation case: of how many calls it knows name, id and signature; the oldest is"
            " forgotten first."
        ),
    )
    options: dict[str, dict[str, Any]] = Field(
        default={}, description="For a dialect, the options that go with its prompt."
    )
    provider: Annotated[str | None, BeforeValidator(_given), WithJsonSchema({"type": "string"})] = (
        Field(
            default=None,
            description=(
                "Replay as this provider instead of the one that address and body tell; whose"
                " request is asked for."
            ),
        )
    )
    tool_code: Annotated[
        bool | None, BeforeValidator(_given), WithJsonSchema({"type": "boolean"})
    ] = Field(
        default=None,
        description="Find <tool_code> in the text, or leave it, whatever the provider.",
    )
    context: dict[str, Any] = Field(
        default={},
        description=(
            "What the caller says of the conversation, by the event model's own names: threadId,"
            " agentId, …"
        ),
    )
    expect: dict[str, Any] = Field(
        min_length=1,
        description=(
            "The expectation for each of `frames`, `events` and the dialects. An empty one is not"
            " run; --harness-accept fills it. Of a request: {request: …}, {request: …, warnings:"
            " […]} or {error: …}; of a conversation one such item a turn, or `recorded`."
        ),
    )
    not_carried: dict[str, Names] = Field(
        default={},
        description=(
            "For a dialect, the declared losses that the case is about: when it holds, the verdict"
            " is 'not carried'."
        ),
    )
    known_failing: dict[str, KnownFailing] = Field(
        default={}, description="For a key of `expect`, why it is known to fail."
    )
    reviewed: Annotated[
        Literal["no"] | None, BeforeValidator(_given), WithJsonSchema({"const": "no"})
    ] = Field(
        default=None,
        description=(
            "`no`: an accepted expectation that nobody has read yet; delete the line once somebody"
            " has."
        ),
    )

    @property
    def kind(self) -> Literal["stream", "request", "conversation"]:
        """What the case is about."""
        return "request" if self.prompt else "conversation" if self.turns else "stream"

    _line: int = PrivateAttr(default=1)
    _lines: Mapping[str, int] = PrivateAttr(default={})
    _keys: Mapping[str, int] = PrivateAttr(default={})

    @property
    def line(self) -> int:
        """The line of the case in its file, from 1."""
        return self._line

    @property
    def lines(self) -> Mapping[str, int]:
        """The line of each key of ``expect``."""
        return self._lines

    def line_of(self, key: str) -> int:
        """The line of a key of the case, that of the case where it has no such key."""
        return self._keys.get(key, self._line)

    def place(self, line: int, keys: Mapping[str, int], lines: Mapping[str, int]) -> None:
        """Note where the case, its keys and those of its ``expect`` stand; `reading` does that
        once, before anyone else sees it.
        """
        self._line, self._keys, self._lines = line, keys, lines


class SpecFile(_Closed):
    """A spec file: the format's number, then the cases."""

    harness: Literal[1] = Field(description="The number of this format; a file begins with it.")
    cases: Annotated[tuple[Case, ...], Field(strict=False, min_length=1)]


class Feature(_Closed):
    """A line of the compatibility checklist."""

    id: Annotated[str, Field(pattern=_DOTTED)] = Field(description="<group>.<name>, lower-case.")
    title: Sentence = Field(description="What the report calls it.")
    meaning: Sentence = Field(description="What a client that has it does, in a sentence.")
    link: Link = Field(description="Public documentation of it.")


class FeaturesFile(_Closed):
    """The checklist: the format's number, then the features in the order of the report."""

    harness: Literal[1] = Field(description="The number of this format; a file begins with it.")
    features: Annotated[tuple[Feature, ...], Field(strict=False, min_length=1)]


OPERATORS: Final = {
    "$any": (
        "Any value, or any of a type: true, string, number, integer, boolean, object, array or"
        " null."
    ),
    "$re": "A string that the whole pattern matches.",
    "$same": "A name: the value is equal wherever the name is used in this expectation.",
    "$json": "A string that is JSON and matches this.",
    "$contains": (
        "A part of a string; items of a list in this order, with or without others between; keys of"
        " a mapping, among others."
    ),
    "$unordered": "The items of a list, in any order.",
    "$absent": "true: the mapping must not have this key.",
    "$literal": "This value itself; operators inside are not read.",
}
"""What each operator matches, for editors. An operator is a mapping with exactly one key, one of
these; other `$` keys are data.
"""


def json_schema() -> dict[str, Any]:
    """One JSON Schema (2020-12) for both kinds of file, told apart by their ``features`` key;
    operators are described, not enforced.
    """
    _, schema = models_json_schema(
        [(SpecFile, "validation"), (FeaturesFile, "validation")], ref_template="#/$defs/{model}"
    )
    definitions = schema["$defs"]
    expectation = {"$ref": "#/$defs/Expectation"}
    definitions["Case"]["properties"]["expect"]["additionalProperties"] = expectation
    for definition in definitions.values():
        for key in definition["properties"].values():
            if key.get("default", 0) is None:
                del key["default"]  # an editor would offer null, which is refused
    definitions["Expectation"] = {
        "description": (
            "Exact but for operators: a mapping with exactly one key, one of those listed. true is"
            " not 1; 1 equals 1.0."
        ),
        "items": expectation,
        "properties": {name: {"description": meaning} for name, meaning in OPERATORS.items()},
        "additionalProperties": expectation,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Specs and features of gemini-conformance",
        "if": {"required": ["features"]},
        "then": {"$ref": "#/$defs/FeaturesFile"},
        "else": {"$ref": "#/$defs/SpecFile"},
        "$defs": definitions,
    }
