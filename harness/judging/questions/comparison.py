"""The two sides of a comparison: the prompt of a question, and the request that an adapter sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

from harness.facts import Finding, Place
from harness.stream.json_codec import Json
from harness.stream.prompt import AnyPart, Function, Prompt, Result

from .question import Question

TOKEN: Final = re.compile(r"[A-Z]+-[a-z]+\d+")
"""Matches the texts of questions. Each is in one question only."""
NEUTRAL: Final[tuple[Json, ...]] = (
    *(None, False, "", [], {}, 1, "TEXT", ["TEXT"], "text", ["text"], "text/plain"),
)
"""Values of other fields that ask for nothing, such as ``candidateCount`` 1."""
_MOST: Final = 80
_STEP: Final = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """The prompt of a request that an adapter sent."""

    prompt: Prompt
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    json_schema: Callable[[Json], Json] = lambda schema: schema
    """Returns a schema of the wire as JSON Schema."""


@dataclass(frozen=True)
class Comparison:
    """Both sides, and the values that the adapter has read."""

    question: Question
    asked: Prompt
    """The prompt of the question, with the addresses of its media."""
    sent: SentPrompt
    read: Collection[str]
    """The names of the values, such as ``settings.seed``; ``settings`` is all of them."""
    web: Mapping[str, bytes] = field(default_factory=dict)
    """The media that the harness serves, by URL."""

    @cached_property
    def leaves(self) -> list[tuple[str, Json]]:
        """The values of the body with their paths."""
        return list(leaves_of(self.sent.body))

    def places_of(self, text: str) -> list[str]:
        """Return the paths of the values with this text."""
        return [path for path, leaf in self.leaves if isinstance(leaf, str) and text in leaf]

    def may_lack(self, *names: str) -> bool:
        """Return whether the question says of one of these values that it may be left out."""
        return any(name in self.question.either for name in names)

    def reads(self, name: str) -> bool:
        """Return whether the adapter has read a value, or one value of a mapping."""
        return any(each == name or each.startswith(f"{name}.") for each in self.read)

    def place(self, name: str) -> str:
        """Return the path of a sent value without a place of its own; "" if it was not sent."""
        return self.sent.prompt.places.get(name, "")


def value_at(body: Json, path: str) -> Json:
    """Return the value at a path such as ``tools[0].function``; None if there is none."""
    value = body
    for name, index in _STEP.findall(path):
        if name and isinstance(value, dict):
            value = value.get(name)
        elif index and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        else:
            return None
    return value


def leaves_of(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Yield each value that is no object and no list, with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves_of(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves_of(inner, f"{path}[{index}]")
    else:
        yield path, value


RedVerdict = Literal["lost", "wrong"]


def red(is_there: object) -> RedVerdict:
    """Return the verdict of a difference: wrong if the value is there in some form, else lost."""
    return "wrong" if is_there else "lost"


def found(
    aspect: str,
    verdict: RedVerdict,
    sentence: str,
    asked: Json = None,
    sent: Json = None,
    *,
    word: str = "",
    at: tuple[str, str] = ("", ""),
) -> Finding:
    """Return a finding. ``word``: the name of the value in a declared loss. ``at``: the path in the
    question, and the path in the body.
    """
    return Finding(
        aspect, verdict, "asked", asked, sent, Place(asked=at[0], sent=at[1]), sentence, word
    )


def added(sentence: str, value: Json, word: str, path: str) -> Finding:
    """Return the finding of a value that nobody asked for."""
    words = f"{sentence} was not asked for"
    return found("invented", "wrong", words, None, value, word=word, at=("", path))


def and_others(values: Sequence[object]) -> str:
    """Return words for the values after the first one, which is named."""
    return f" (and {len(values) - 1} more)" if len(values) > 1 else ""


def flat_parts(parts: Sequence[AnyPart]) -> Iterator[AnyPart]:
    """Yield the parts, and after each result its own parts."""
    for part in parts:
        yield part
        if isinstance(part, Result):
            yield from part.parts or ()


def all_parts(prompt: Prompt) -> Iterator[AnyPart]:
    """Yield the parts of all messages, in order."""
    for message in prompt.messages:
        yield from flat_parts(message.parts)


def functions_of(prompt: Prompt) -> list[Function]:
    """Return the functions among the tools."""
    return [tool for tool in prompt.tools if isinstance(tool, Function)]


def short(value: Any) -> str:
    """Return a value as a short text: a text as it is, any other value as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"
