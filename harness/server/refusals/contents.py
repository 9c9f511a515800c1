"""Rules about the contents of a request: roles, empty parts, calls and their results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from .rule import EVERY_WIRE, GENERATE, Generate, Rule, Wire
from .values import as_dict, as_list, parts_of

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


_FROM_3: Final = re.compile(r"gemini-(?:[3-9]|[12][0-9])")
"""Names of models that have the number. A name like ``gemini-flash-latest`` meant an older model at
first, and a published recording shows that this model answered such a history.
"""


def _contents_missing(request: Generate) -> Iterator[str]:
    if not request.contents:
        yield "* GenerateContentRequest.contents: contents is not specified"


def _role_unknown(request: Generate) -> Iterator[str]:
    if any(
        content.get("role") not in ("user", "model", "function") for content in request.contents
    ):
        yield "Please use a valid role: user, model."


def _content_empty(request: Generate) -> Iterator[str]:
    for number, content in enumerate(request.contents):
        if not as_list(content.get("parts")):
            yield (
                f"* GenerateContentRequest.contents[{number}].parts: contents.parts must not be"
                " empty."
            )


def _part_empty(request: Generate) -> Iterator[str]:
    instruction = parts_of(as_dict(request.body.get("systemInstruction")))
    parts = [
        *((f"system_instruction.parts[{place}]", part) for place, part in enumerate(instruction)),
        *((path, part) for path, _, part in request.parts()),
    ]
    for path, part in parts:
        if not part.keys() - {"thought"}:
            yield (
                f"* GenerateContentRequest.{path}.data: required oneof field 'data' must have one"
                " initialized field"
            )


def _name_empty(request: Generate) -> Iterator[str]:
    for path, _, part in request.parts():
        for field, spelling in (
            ("functionCall", "function_call"),
            ("functionResponse", "function_response"),
        ):
            if type(part.get(field)) is dict and not part[field].get("name"):
                yield f"* GenerateContentRequest.{path}.{spelling}.name: Name cannot be empty."


def _result_media(request: Generate) -> Iterator[str]:
    for _, _, part in request.parts():
        if as_list(as_dict(part.get("functionResponse")).get("parts")):
            yield (
                "Unable to submit request because `function_response.parts` is not supported for"
                " this model."
            )
            return


def _result_reference(request: Generate) -> Iterator[str]:
    for _, _, part in request.parts():
        result = as_dict(part.get("functionResponse"))
        names = {
            as_dict(media.get(field)).get("displayName")
            for media in parts_of(result)
            for field in ("inlineData", "fileData")
        }
        for name in _references(result.get("response")):
            if name not in names:
                yield (
                    f"The referenced name `{name}` in function_response.response does not match to"
                    " a display_name in the function_response.parts."
                )
                return


def _references(value: Any) -> Iterator[str]:
    """Yield the values of ``$ref`` anywhere in a result, which name its media."""
    if type(value) is dict:
        if type(value.get("$ref")) is str:
            yield value["$ref"]
        for inner in value.values():
            yield from _references(inner)
    elif type(value) is list:
        for inner in value:
            yield from _references(inner)


_Named = tuple[Any, str | None]
"""The name and the id of a call or a result."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """Consecutive contents of one role; the API reads them as one."""

    role: str
    calls: tuple[_Named, ...] = ()
    """The names of its calls, with their ids."""
    results: tuple[_Named, ...] = ()
    """The names of the results for calls of the previous turn, with their ids."""
    contents: int = 0
    """The number of contents with such results."""
    own: int = 0
    """The number of results for calls of this turn, as remote tools have them."""


def _turns(request: Generate) -> list[_Turn]:
    turns: list[_Turn] = []
    for content in request.contents:
        role = "model" if content.get("role") == "model" else "user"
        turn = turns.pop() if turns and turns[-1].role == role else _Turn(role)
        before = len(turn.results)
        for part in parts_of(content):
            call, result = part.get("functionCall"), part.get("functionResponse")
            if type(call) is dict:
                turn = replace(turn, calls=(*turn.calls, _named(call)))
            elif "functionResponse" in part and turn.calls:
                turn = replace(turn, own=turn.own + 1)
            elif "functionResponse" in part:
                turn = replace(turn, results=(*turn.results, _named(as_dict(result))))
        if len(turn.results) > before:
            turn = replace(turn, contents=turn.contents + 1)
        turns.append(turn)
    return turns


def _named(part: dict[str, Any]) -> _Named:
    call_id = part.get("id")
    return part.get("name"), call_id if type(call_id) is str else None


def _calls_first(request: Generate) -> Iterator[str]:
    if any(turn.role == "model" and turn.calls for turn in _turns(request)[:1]):
        yield ORDER


def _results_without_calls(request: Generate) -> Iterator[str]:
    turns = _turns(request)
    if any(turn.results and not before.calls for before, turn in pairwise([_Turn(""), *turns])):
        yield RESULT_ORDER


def _results_miscounted(request: Generate) -> Iterator[str]:
    for turn, after in pairwise([*_turns(request), _Turn("")]):
        results = turn.own + len(after.results)
        if turn.calls and results and results != len(turn.calls):
            yield COUNTS
            return


def _calls_without_results(request: Generate) -> Iterator[str]:
    for turn, after in pairwise([*_turns(request), _Turn("")]):
        if turn.calls and not turn.own and not after.results and _FROM_3.match(request.model):
            yield COUNTS
            return


def _results_split(request: Generate) -> Iterator[str]:
    if any(turn.contents > 1 for turn in _turns(request)):
        yield COUNTS


def _result_name(request: Generate) -> Iterator[str]:
    for turn, after in pairwise([*_turns(request), _Turn("")]):
        names = {call_id: name for name, call_id in turn.calls}
        for (called, _), (name, call_id) in zip(turn.calls, after.results, strict=False):
            if name != (names.get(call_id, called) if call_id else called):
                yield "Request contains an invalid argument."
                return


def _ends_with_model(request: Generate) -> Iterator[str]:
    last = request.contents[-1] if request.contents else {}
    parts = parts_of(last)
    ends_with_result = bool(parts) and "functionResponse" in parts[-1]
    if last.get("role") == "model" and not ends_with_result and not request.takes_prefill:
        yield "Requests ending with a model turn are not supported."


def _results_beside_text(request: Generate) -> Iterator[str]:
    for number, content in enumerate(request.contents):
        parts = parts_of(content)
        results = sum("functionResponse" in part for part in parts)
        if content.get("role") != "model" and 0 < results < len(parts):
            yield f"contents[{number}] has function responses and other parts"


_API: Final = "https://ai.google.dev/api"
_CONTENTS: Final[tuple[Wire, ...]] = (*GENERATE, "openai-compat")

CONTENT_RULES: Final = (
    Rule(
        "contents-missing",
        "A request without contents.",
        "https://github.com/quarkiverse/quarkus-langchain4j/pull/2480",
        _contents_missing,
        wires=_CONTENTS,
    ),
    Rule(
        "role-unknown",
        "A role other than `user`, `model` and the old `function`.",
        f"{_API}/caching#Content",
        _role_unknown,
        wires=_CONTENTS,
    ),
    Rule(
        "content-empty",
        "A content without parts.",
        "https://github.com/langchain-ai/langchain-google/issues/691",
        _content_empty,
        wires=_CONTENTS,
    ),
    Rule(
        "part-empty",
        "A part without any field, also in the system instruction. A text may be empty, and a part"
        " may be a signature alone.",
        "https://github.com/genkit-ai/genkit/issues/3816",
        _part_empty,
    ),
    Rule(
        "name-empty",
        "A function call or a result without a name.",
        "https://github.com/langflow-ai/langflow/issues/9437",
        _name_empty,
        wires=EVERY_WIRE,
    ),
    Rule(
        "calls-first",
        "Function calls in the first turn.",
        "https://github.com/google-gemini/gemini-cli/issues/11814",
        _calls_first,
        wires=EVERY_WIRE,
    ),
    Rule(
        "results-without-calls",
        "Results that do not directly follow function calls.",
        "https://github.com/BerriAI/litellm/issues/26755",
        _results_without_calls,
        wires=EVERY_WIRE,
    ),
    Rule(
        "results-miscounted",
        "Function calls that are followed by a different number of results.",
        "https://github.com/google-gemini/gemini-cli/issues/4217",
        _results_miscounted,
        wires=EVERY_WIRE,
    ),
    Rule(
        "results-split",
        "On Vertex AI: results of one turn in several contents. The Gemini API accepts them.",
        "https://github.com/docker/docker-agent/issues/2958",
        _results_split,
        wires=("vertex-ai",),
    ),
    Rule(
        "calls-without-results",
        "From Gemini 3 on, if the name has a number: function calls that no result follows.",
        "https://github.com/microsoft/vscode/issues/299295",
        _calls_without_results,
        wires=EVERY_WIRE,
    ),
    Rule(
        "result-name",
        "On Vertex AI, from Gemini 3 on: a result with another name than its call. The Gemini API"
        " accepts it.",
        "https://github.com/archestra-ai/archestra/pull/7583",
        _result_name,
        wires=("vertex-ai",),
        models="from 3",
    ),
    Rule(
        "result-media",
        "Before Gemini 3: `parts` in a result.",
        "https://github.com/google-gemini/gemini-cli/issues/19436",
        _result_media,
        models="before 3",
    ),
    Rule(
        "result-reference",
        "A `$ref` inside a result that is not the `displayName` of one of its `parts`.",
        "https://github.com/vercel/ai/issues/14369",
        _result_reference,
    ),
    Rule(
        "ends-with-model",
        "For Gemini 3.5 Flash-Lite, 3.6 and later: a history that ends with a turn of the model.",
        "https://github.com/LibreChat-AI/agents/pull/323",
        _ends_with_model,
        wires=EVERY_WIRE,
    ),
    Rule(
        "results-beside-text",
        "From Gemini 3 on: results and other parts in one content.",
        "https://github.com/MoonshotAI/kimi-code/issues/2914",
        _results_beside_text,
        level="warning",
        models="from 3",
    ),
)
