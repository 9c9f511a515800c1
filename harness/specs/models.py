"""The shapes of spec files and features files. They are closed: unknown keys are errors.

pydantic checks them and gives editors their JSON Schema; `reader` words its findings. An
expectation is any JSON value, so its shape is not checked here: `checks` looks at its operators.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import cached_property
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    WithJsonSchema,
)
from pydantic.json_schema import models_json_schema
from pydantic_core import PydanticCustomError

from harness.facts import ASPECTS, Aspect
from harness.stream.json_path import readable_steps

from .matching.operators import OPERATORS

FORMAT: Final = 1
"""The number after ``harness:`` in the files that this version reads."""

SCHEMA_ID: Final = "https://gemini-conformance.github.io/gemini-conformance/spec.schema.json"

LAYERS: Final = ("frames", "events")
"""The keys of ``expect`` that are not dialects."""

PATTERNS: Final = {
    r"^[a-z0-9]+(-[a-z0-9]+)*$": "lower-case words joined by '-'",
    r"^[a-z0-9-]+(\.[a-z0-9-]+)*$": "lower-case words joined by '.' and '-'",
    r"^https?://\S+$": "a link that begins with http:// or https://",
    r"\S": "a sentence",
    r"^[A-Za-z0-9-]+/[A-Za-z0-9._-]+#[1-9][0-9]*$": "a public thread like owner/repo#12",
}
"""The patterns of the fields below, and their descriptions for error messages."""
_NAME, _DOTTED, _LINK, _SENTENCE, _THREAD = PATTERNS

# date.fromisoformat also reads other forms, such as 20261128 and 2026-W48-6.
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def _given(value: object) -> object:
    """Refuse an optional key without a value: it is a mistake, not a default."""
    if value is None:
        raise PydanticCustomError("empty", "given a value, or its line deleted")
    return value


def _day(value: object) -> date:
    """Return a date, as ``YYYY-MM-DD`` only: pydantic also accepts numbers, and
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
Thread = Annotated[str, Field(pattern=_THREAD)]
Names = Annotated[
    tuple[str, ...], Field(strict=False, min_length=1)
]  # a strict tuple would refuse the list of the YAML parser


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class KnownFailing(_Closed):
    """The reason why a cell is known to fail. The case still runs; if it passes, the mark is an
    error.
    """

    reason: Sentence = Field(description="The fault, in a sentence.")
    link: Link = Field(description="A link to the place where the failure is tracked or explained.")
    expires: Annotated[
        date | None,
        BeforeValidator(_day),
        BeforeValidator(_given),
        WithJsonSchema({"type": "string", "format": "date"}),
    ] = Field(default=None, description="YYYY-MM-DD: after this day the mark is an error.")


class Outcome(_Closed):
    """The result of one call of the previous answer, or its error."""

    result: Any = Field(default=None, description="The result of the tool, any JSON value.")
    error: Any = Field(default=None, description="The error, if there is no result.")


class Turn(_Closed):
    """One turn of a conversation: its opening prompt, or the continuation after the previous
    answer.
    """

    prompt: dict[str, Any] | None = Field(
        default=None, description="First turn only: for each dialect, its own prompt."
    )
    say: str | None = Field(default=None, description="Later turns: the user's next text.")
    results: Annotated[tuple[Outcome, ...] | None, Field(strict=False)] = Field(
        default=None,
        description="Later turns: the results of the previous answer's calls, in their order.",
    )
    model: str | None = Field(
        default=None,
        description="Later turns: the model of this and the next requests, with its provider"
        " (`anthropic:NAME`), in a prompt that names one.",
    )


class Case(_Closed):
    """One requirement, shown on one example.

    A *stream case* names a recorded exchange and expects the payloads of each event model. A
    *request case* has a `prompt` instead and expects the request for it. A *conversation case* has
    `turns` on consecutive exchanges of a recording and expects the request of each.
    """

    case: Annotated[str, Field(pattern=_NAME)] = Field(
        description="The name: lower-case words joined by '-', unique in the file."
    )
    requirement: Sentence = Field(description="The rule that must hold, in a sentence.")
    features: Names = Field(description="Ids of the features that the case shows.")
    level: Literal["must", "should"] = Field(
        default="must", description="A failed `should` is a warning."
    )
    source: Link = Field(description="The documentation that states the requirement.")
    regression_of: Annotated[tuple[Thread, ...], Field(strict=False, min_length=1)] = Field(
        default=(),
        description="The public bug threads that the case guards against, as owner/repo#number.",
    )
    cassette: Annotated[
        str, WithJsonSchema({"type": "string", "pattern": r"^[a-z0-9._-]+(/[a-z0-9._-]+)*$"})
    ] = Field(
        default="",
        description=(
            "The recording: a file below the cassettes folder, without .yaml, else a recording of"
            " the package. Every case except a request case has one."
        ),
    )
    exchange: Annotated[int, Field(ge=1)] = Field(
        default=1,
        description=(
            "The number of the exchange in the recording, from 1; for a conversation, its first"
            " exchange."
        ),
    )
    prompt: dict[str, Any] = Field(
        default={}, description="A request case: for each dialect, its own prompt."
    )
    turns: Annotated[tuple[Turn, ...], Field(strict=False)] = Field(
        default=(),
        description=(
            "A conversation case: one turn for each exchange of the recording, beginning with"
            " `exchange`."
        ),
    )
    remembers: Annotated[int, Field(ge=1)] = Field(
        default=1000,
        description=(
            "A conversation case: the number of calls whose name, id and signature are remembered;"
            " the oldest is forgotten first."
        ),
    )
    question: Annotated[str | None, BeforeValidator(_given), WithJsonSchema({"type": "string"})] = (
        Field(
            default=None,
            pattern=_NAME,
            description=(
                "The name of the question that the prompt asks. The report shows the answers to"
                " one question over several providers side by side."
            ),
        )
    )
    options: dict[str, dict[str, Any]] = Field(
        default={}, description="For a dialect, the options of its prompt."
    )
    provider: Annotated[str | None, BeforeValidator(_given), WithJsonSchema({"type": "string"})] = (
        Field(
            default=None,
            description=(
                "Replay as this provider instead of the detected one; in a request case, the"
                " provider of the request."
            ),
        )
    )
    tool_code: Annotated[
        bool | None, BeforeValidator(_given), WithJsonSchema({"type": "boolean"})
    ] = Field(
        default=None,
        description="Whether <tool_code> in a text is a call, for every provider.",
    )
    context: dict[str, Any] = Field(
        default={},
        description=(
            "Values of the conversation that the caller chooses, by the event model's own names:"
            " threadId, agentId, …"
        ),
    )
    expect: dict[str, Any] = Field(
        default={},
        min_length=1,
        description=(
            "The expectation for each of `frames`, `events` and the dialects. An empty expectation"
            " is not run; --harness-accept fills it. A case of a recording that is there for"
            " adapters that report facts needs none. For a request: {request: …}, {request: …,"
            " warnings: […]} or {error: …}; for a conversation one such item for each turn, where a"
            " request may be `recorded`, or `recorded` for all."
        ),
    )
    not_carried: dict[str, Names] = Field(
        default={},
        description=(
            "For a dialect, the declared losses that the case is about, such as media or"
            " finish[call]: when the expectation holds, the verdict is 'not carried'."
        ),
    )
    kill: dict[str, Annotated[str, Field(pattern=_NAME)]] = Field(
        default={},
        description=(
            "For a dialect, the mutation that the case must notice: an operator of"
            " `harness check --prove`,"
            " such as argument-lost."
        ),
    )
    known_failing: dict[str, KnownFailing] = Field(
        default={}, description="For a key of `expect`, the reason why it is known to fail."
    )
    reviewed: Annotated[
        Literal["no"] | None, BeforeValidator(_given), WithJsonSchema({"const": "no"})
    ] = Field(
        default=None,
        description=(
            "`no`: an accepted expectation that was not reviewed yet; delete the line after the"
            " review."
        ),
    )

    @property
    def kind(self) -> Literal["stream", "request", "conversation"]:
        """Which of the three kinds of case this is."""
        return "request" if self.prompt else "conversation" if self.turns else "stream"

    _line_at: Callable[[tuple[str | int, ...]], int] = PrivateAttr(
        default_factory=lambda: lambda path: 1
    )

    @cached_property  # read for each cell, and private attributes of pydantic are slow
    def line(self) -> int:
        """The line of the case in its file, from 1."""
        return self._line_at(())

    def expected_line(self, key: str, path: str = "") -> int:
        """Return the line in ``expect`` for ``key``, at the path of a mismatch as far as the file
        has it; the line of the case for another key.
        """
        if key not in self.expect:
            return self.line
        return self._line_at(("expect", key, *readable_steps(path)))

    def line_of(self, key: str) -> int:
        """Return the line of a key of the case; the line of the case if it has no such key."""
        return self._line_at((key,))

    def place(self, line_at: Callable[[tuple[str | int, ...]], int]) -> None:
        """Set the function that gives the line of a path in the case; `reader` does that once,
        before it returns the case.
        """
        self._line_at = line_at


class SpecFile(_Closed):
    """A spec file: the number of the format, then the cases."""

    harness: Literal[1] = Field(description="The number of this format; a file begins with it.")
    cases: Annotated[tuple[Case, ...], Field(strict=False, min_length=1)]


def _known_aspect(name: str) -> str:
    if name not in ASPECTS:
        raise ValueError(f"unknown aspect {name!r}; known ones are {', '.join(ASPECTS)}")
    return name


_KnownAspect = Annotated[
    Aspect, AfterValidator(_known_aspect), WithJsonSchema({"enum": list(ASPECTS)})
]


class Feature(_Closed):
    """A line of the compatibility checklist."""

    id: Annotated[str, Field(pattern=_DOTTED)] = Field(description="<group>.<name>, lower-case.")
    title: Sentence = Field(description="The name of the feature in the report.")
    meaning: Sentence = Field(description="A sentence that describes a client with this feature.")
    link: Link = Field(description="Public documentation of the feature.")
    aspects: Annotated[tuple[_KnownAspect, ...] | None, Field(strict=False)] = Field(
        None,
        description=(
            "The aspects by which an adapter that reports its facts is judged in cases of this"
            " feature; without the key all aspects, with an empty list none."
        ),
    )
    losses: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        (),
        description=(
            "The aspects of declared losses that concern the feature. A feature whose case has"
            " another loss is carried."
        ),
    )


class FeaturesFile(_Closed):
    """The checklist: the number of the format, then the features in the order of the report."""

    harness: Literal[1] = Field(description="The number of this format; a file begins with it.")
    features: Annotated[tuple[Feature, ...], Field(strict=False, min_length=1)]


def json_schema() -> dict[str, Any]:
    """Return one JSON Schema (2020-12) for specs and features files, which differ by their
    ``features`` key. It allows any file of questions.

    Operators are described, not enforced.
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
            "Exact except for operators: an operator is a mapping with exactly one key, which is"
            " one of those listed. true is not 1; 1 equals 1.0."
        ),
        "items": expectation,
        "properties": {name: {"description": row.meaning} for name, row in OPERATORS.items()},
        "additionalProperties": expectation,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Specs and features of gemini-conformance",
        "if": {"required": ["features"]},
        "then": {"$ref": "#/$defs/FeaturesFile"},
        "else": {"if": {"required": ["questions"]}, "else": {"$ref": "#/$defs/SpecFile"}},
        "$defs": definitions,
    }
