"""Rules about the contents of a request: roles, empty parts, calls and their results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

from harness.stream.prompt import Call, Media, Native, Result

from .given import Content
from .rule import EVERY_WIRE, GENERATE, Asked, Rule, Spot, Wire, whole

COUNTS: Final = (
    "Please ensure that the number of function response parts is equal to the number of function"
    " call parts of the function call turn."
)
ORDER: Final = (
    "Please ensure that function call turn comes immediately after a user turn or after a function"
    " response turn."
)
RESULT_ORDER: Final = (
    "Please ensure that function response turn comes immediately after a function call turn."
)
_ROLE: Final = re.compile(r"(?:contents|messages)\[\d+\]\.role")
_SYSTEM_PART: Final = re.compile(r"systemInstruction(\.parts\[\d+\])")
_ITEM: Final = "* GenerateContentRequest."


def _roles(request: Asked) -> Iterator[Spot]:
    """Yield the roles that are not those of the user and the model."""
    system = ("developer",) if request.wire == "openai-compat" else ()
    for place, role in request.prompt.more.items():
        is_named = role or request.wire not in GENERATE  # there an empty role is the user's
        if _ROLE.fullmatch(place.removeprefix("request.")) and is_named and role not in system:
            yield place, role


def _contents(request: Asked) -> Iterator[Spot]:
    for number, content in enumerate(request.contents):
        yield f"contents[{number}]", content


def _read_contents(request: Asked) -> Iterator[Spot]:
    """Yield each content that has nothing of another type than its parts have."""
    messages = (message for message in request.prompt.messages if message.role != "system")
    for (place, content), message in zip(_contents(request), messages, strict=True):
        odd = f"{message.place}.{'parts[' if request.wire in GENERATE else 'content'}"
        if not any(name.startswith(odd) for name in request.prompt.more):
            yield place, content


def _last_content(request: Asked) -> list[Spot]:
    return [*_contents(request)][-1:]


def _other_parts(request: Asked) -> Iterator[Spot]:
    """Yield the fields of each part that is no text, call, result or medium."""
    for place, raw in request.prompt.more.items():
        if part := _SYSTEM_PART.fullmatch(place.removeprefix("request.")):
            yield f"system_instruction{part[1]}", raw
    yield from ((place, part.raw) for place, part in request.parts if isinstance(part, Native))


def _named(request: Asked) -> Iterator[Spot]:
    for place, part in request.parts:
        if isinstance(part, Call | Result) and "functionResponse" not in part.more:
            kind = "function_call" if isinstance(part, Call) else "function_response"
            yield f"{place}.{kind}", part


def _results(request: Asked) -> Iterator[Spot]:
    return ((place, part) for place, part in request.parts if isinstance(part, Result))


def _references(request: Asked) -> Iterator[Spot]:
    """Yield each ``$ref`` in a result, and whether one of its media has the name."""
    for _, result in _results(request):
        names = [part.name for part in result.parts or () if isinstance(part, Media)]
        yield from ((name, name in names) for name in _names_in(result.value))


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _names_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names_in(inner)


@dataclass(frozen=True, slots=True)
class _Turn:
    """Consecutive contents of one role; the API reads them as one."""

    role: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    """The results for calls of the previous turn."""
    contents: int = 0
    """The number of contents with such results."""
    own: int = 0
    """The number of results for calls of this turn, as remote tools have them."""


class _Pair(NamedTuple):
    """A turn and the next one."""

    turn: _Turn
    after: _Turn

    @property
    def results(self) -> int:
        return self.turn.own + len(self.after.results)


def _pairs(request: Asked) -> Iterator[Spot]:
    """Yield each turn with the next one. The first and the last are paired with an empty turn."""
    turns = [
        _turn(role, [*held]) for role, held in groupby(request.contents, lambda turn: turn.role)
    ]
    turns = [_Turn(), *turns, _Turn()]
    yield from (("", _Pair(*pair)) for pair in pairwise(turns))


def _turn(role: str, contents: list[Content]) -> _Turn:
    calls: list[Call] = []
    results: list[Result] = []
    own, number = 0, 0
    for content in contents:
        before = len(results)
        for part in content.parts:
            if isinstance(part, Call):
                calls.append(part)
            elif isinstance(part, Result) and calls:
                own += 1
            elif isinstance(part, Result):
                results.append(part)
        number += len(results) > before
    return _Turn(role, tuple(calls), tuple(results), number, own)


def _called(request: Asked) -> Iterator[Spot]:
    """Yield the name of each result with that of its call: the one with its id, else the one at its
    place.
    """
    for _, (turn, after) in _pairs(request):
        names = {call.wire_id: call.name for call in turn.calls}
        for call, result in zip(turn.calls, after.results, strict=False):
            by_id = names.get(result.wire_id, call.name) if result.wire_id else call.name
            yield "", (result.name, by_id)


_CONTENTS: Final[tuple[Wire, ...]] = (*GENERATE, "openai-compat")

CONTENT_RULES: Final = (
    Rule(
        "contents-missing",
        "A request without contents.",
        "https://github.com/quarkiverse/quarkus-langchain4j/pull/2480",
        whole,
        lambda request: not request.contents,
        f"{_ITEM}contents: contents is not specified",
        wires=_CONTENTS,
    ),
    Rule(
        "role-unknown",
        "A role other than `user`, `model` and the old `function`.",
        "https://ai.google.dev/api/caching#Content",
        _roles,
        lambda role: role not in ("user", "model", "function"),
        "Please use a valid role: user, model.",
        wires=_CONTENTS,
        once=True,
    ),
    Rule(
        "content-empty",
        "A content without parts.",
        "https://github.com/langchain-ai/langchain-google/issues/691",
        _read_contents,
        lambda content: not content.parts,
        f"{_ITEM}{{place}}.parts: contents.parts must not be empty.",
        wires=_CONTENTS,
    ),
    Rule(
        "part-empty",
        "A part without any field, also in the system instruction. A text may be empty, and a part"
        " may be a signature alone.",
        "https://github.com/genkit-ai/genkit/issues/3816",
        _other_parts,
        lambda raw: isinstance(raw, dict) and not raw.keys() - {"thought"},
        f"{_ITEM}{{place}}.data: required oneof field 'data' must have one initialized field",
    ),
    Rule(
        "name-empty",
        "A function call or a result without a name.",
        "https://github.com/langflow-ai/langflow/issues/9437",
        _named,
        lambda part: not part.name,
        f"{_ITEM}{{place}}.name: Name cannot be empty.",
        wires=EVERY_WIRE,
    ),
    Rule(
        "calls-first",
        "Function calls in the first turn.",
        "https://github.com/google-gemini/gemini-cli/issues/11814",
        _pairs,
        lambda pair: not pair.turn.role and pair.after.role == "model" and pair.after.calls,
        ORDER,
        wires=EVERY_WIRE,
    ),
    Rule(
        "results-without-calls",
        "Results that do not directly follow function calls.",
        "https://github.com/BerriAI/litellm/issues/26755",
        _pairs,
        lambda pair: pair.after.results and not pair.turn.calls,
        RESULT_ORDER,
        wires=EVERY_WIRE,
        once=True,
    ),
    Rule(
        "results-miscounted",
        "Function calls that are followed by a different number of results.",
        "https://github.com/google-gemini/gemini-cli/issues/4217",
        _pairs,
        lambda pair: pair.turn.calls and pair.results and pair.results != len(pair.turn.calls),
        COUNTS,
        wires=EVERY_WIRE,
        once=True,
    ),
    Rule(
        "results-split",
        "On Vertex AI: results of one turn in several contents. The Gemini API accepts them.",
        "https://github.com/docker/docker-agent/issues/2958",
        _pairs,
        lambda pair: pair.turn.contents > 1,
        COUNTS,
        wires=("vertex-ai",),
        once=True,
    ),
    Rule(
        "calls-without-results",
        "From Gemini 3 on, if the name has a number: function calls that no result follows.",
        "https://github.com/microsoft/vscode/issues/299295",
        _pairs,
        lambda pair: pair.turn.calls and not pair.results,
        COUNTS,
        wires=EVERY_WIRE,
        models="numbered from 3",
        once=True,
    ),
    Rule(
        "result-name",
        "On Vertex AI, from Gemini 3 on: a result with another name than its call. The Gemini API"
        " accepts it.",
        "https://github.com/archestra-ai/archestra/pull/7583",
        _called,
        lambda names: names[0] != names[1],
        "Request contains an invalid argument.",
        wires=("vertex-ai",),
        models="from 3",
        once=True,
    ),
    Rule(
        "result-media",
        "Before Gemini 3: `parts` in a result.",
        "https://github.com/google-gemini/gemini-cli/issues/19436",
        _results,
        lambda result: result.parts or isinstance(result.more.get("parts"), list),
        "Unable to submit request because `function_response.parts` is not supported for this"
        " model.",
        models="before 3",
        once=True,
    ),
    Rule(
        "result-reference",
        "A `$ref` inside a result that is not the `displayName` of one of its `parts`.",
        "https://github.com/vercel/ai/issues/14369",
        _references,
        lambda is_known: not is_known,
        "The referenced name `{place}` in function_response.response does not match to a"
        " display_name in the function_response.parts.",
        once=True,
    ),
    Rule(
        "ends-with-model",
        "For Gemini 3.5 Flash-Lite, 3.6 and later: a history that ends with a turn of the model.",
        "https://github.com/LibreChat-AI/agents/pull/323",
        _last_content,
        lambda last: last.role == "model" and not isinstance([None, *last.parts][-1], Result),
        "Requests ending with a model turn are not supported.",
        wires=EVERY_WIRE,
        models="without prefill",
    ),
    Rule(
        "results-beside-text",
        "From Gemini 3 on: results and other parts in one content.",
        "https://github.com/MoonshotAI/kimi-code/issues/2914",
        _contents,
        lambda content: (
            content.role == "user"
            and 0 < sum(isinstance(part, Result) for part in content.parts) < len(content.parts)
        ),
        "{place} has function responses and other parts",
        level="warning",
        models="from 3",
    ),
)
