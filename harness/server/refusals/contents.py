"""Rules about the contents of a request: roles, empty parts, calls and their results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

from harness.providers.request_rules import Checks, Spot, whole
from harness.stream.prompt import Call, Media, Native, Result

from .given import Content
from .rule import GENERATE, Asked

_ROLE: Final = re.compile(r"(?:contents|messages)\[\d+\]\.role")
_SYSTEM_PART: Final = re.compile(r"systemInstruction(\.parts\[\d+\])")


def _roles(request: Asked) -> Iterator[Spot]:
    """Yield the roles that are not those of the user and the model."""
    system = ("developer",) if request.wire == "openai-compat" else ()
    for place, role in request.prompt.more.items():
        is_role = _ROLE.fullmatch(place.removeprefix("request."))
        if is_role and (role or role is None) and role not in system:  # "" is the user's
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


CONTENT_CHECKS: Final[Checks] = {
    "contents-missing": (whole, lambda request: not request.contents),
    "role-unknown": (_roles, lambda role: role not in ("user", "model", "function")),
    "content-empty": (_read_contents, lambda content: not content.parts),
    "part-empty": (
        _other_parts,
        lambda raw: isinstance(raw, dict) and not raw.keys() - {"thought"},
    ),
    "name-empty": (_named, lambda part: not part.name),
    "calls-first": (
        _pairs,
        lambda pair: not pair.turn.role and pair.after.role == "model" and pair.after.calls,
    ),
    "results-without-calls": (_pairs, lambda pair: pair.after.results and not pair.turn.calls),
    "results-miscounted": (
        _pairs,
        lambda pair: pair.turn.calls and pair.results and pair.results != len(pair.turn.calls),
    ),
    "results-split": (_pairs, lambda pair: pair.turn.contents > 1),
    "calls-without-results": (_pairs, lambda pair: pair.turn.calls and not pair.results),
    "result-name": (_called, lambda names: names[0] != names[1]),
    "result-media": (
        _results,
        lambda result: result.parts or isinstance(result.more.get("parts"), list),
    ),
    "result-reference": (_references, lambda is_known: not is_known),
    "ends-with-model": (
        _last_content,
        lambda last: last.role == "model" and not isinstance([None, *last.parts][-1], Result),
    ),
    "results-beside-text": (
        _contents,
        lambda content: (
            content.role == "user"
            and 0 < sum(isinstance(part, Result) for part in content.parts) < len(content.parts)
        ),
    ),
}
