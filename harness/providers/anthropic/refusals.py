"""The requests that the Messages API refuses: histories of calls and thinking that are not whole.

Sources: https://platform.claude.com/docs/en/build-with-claude/extended-thinking,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use and public threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, pairwise, takewhile
from typing import Any, Final, NamedTuple

from harness.stream.prompt import (
    AnyPart,
    Call,
    Function,
    Media,
    Message,
    Native,
    Prompt,
    Redacted,
    Result,
    Text,
    Thinking,
)

from ..request_rules import Body, CheckedRequest, Checks, RequestRules, Spot, read_rules, whole
from .messages import NAME
from .whole import blocks_of

_NAME: Final = re.compile("[a-zA-Z0-9_-]{1,128}")
_AFTER: Final = "after "
"""Before the signature of a thinking block: a key for the thinking before it."""
_TYPES: Final[dict[type[AnyPart], str]] = {
    Text: "text",
    Thinking: "thinking",
    Redacted: "redacted_thinking",
    Call: "tool_use",
    Result: "tool_result",
}
_Turn = Sequence[Message]
"""Messages of one role that follow each other: the API joins them."""


class _Block(NamedTuple):
    """A block of the history."""

    part: AnyPart
    is_known: bool = False
    """Of a call: whether a call before it in its turn has its id. The API has answered a request
    with one id in two turns. Of a result: whether a call of the turn before has its id.
    """
    is_changed: bool = False
    """Whether it is thinking that was not served. If nothing served has a signature, all is
    accepted.
    """
    is_moved: bool = False
    """Whether it is thinking of the last answer, directly after other thinking than it was."""


def _at(place: str) -> str:
    """Return a place as the API writes it: ``messages.1.content.0``."""
    return place.replace("[", ".").replace("]", "")


def _turns(prompt: Prompt) -> list[_Turn]:
    def role(message: Message) -> Any:
        return prompt.more.get(f"{message.place}.role", message.role)

    return [[*held] for _, held in groupby(prompt.messages, role)]


def _has(turn: _Turn, kind: type[AnyPart]) -> bool:
    return any(isinstance(part, kind) for message in turn for part in message.parts)


def _blocks(request: CheckedRequest) -> Iterator[Spot]:
    turns, given = _turns(request.prompt), request.repeated
    last = next((turn for turn in reversed(turns) if turn[0].role == "assistant"), ())
    ids: list[str] = []
    for turn in turns:
        before, ids = ids, []
        for part, mark_before in chain.from_iterable(map(_with_mark_before, turn)):
            is_known = is_changed = is_moved = False
            match part:
                case Call(id=call_id):
                    is_known = call_id in ids
                    ids.append(call_id)
                case Result(id=call_id):
                    is_known = call_id in before
                case Thinking(text=text):
                    mark = _mark(part)
                    is_changed = bool(given) and given.get(mark) != text
                    known = given.get(_AFTER + mark, mark_before)
                    is_moved = turn is last and bool(mark) and known != mark_before
                case Native(raw={"type": "thinking"}):
                    is_changed = bool(given)
            yield _at(part.place), _Block(part, is_known, is_changed, is_moved)


def _contents(request: CheckedRequest) -> Iterator[Spot]:
    """Yield the texts and other parts of each message, but of the last one if it is the model's."""
    messages = request.prompt.messages
    for message in messages:
        if message is not messages[-1] or message.role != "assistant":
            parts = [part.text if isinstance(part, Text) else part for part in message.parts]
            yield _at(message.place), parts


def _lost_results(request: CheckedRequest) -> Iterator[Spot]:
    """Yield the ids of the calls of each answer whose results are not the first blocks of the next
    messages of the user.
    """
    for turn, after in pairwise([*_turns(request.prompt), ()]):
        first = (takewhile(lambda part: isinstance(part, Result), each.parts) for each in after)
        results = [part.id for held in first for part in held if isinstance(part, Result)]
        if turn[0].role == "assistant":
            calls = (part for each in turn for part in each.parts if isinstance(part, Call))
            lost = [str(call.wire_id) for call in calls if call.id not in results]
            yield _at(turn[-1].place), ", ".join(lost)


def _thinks(prompt: Prompt) -> bool:
    return prompt.reasoning is not None and prompt.reasoning.mode == "on"


def _begun_with(request: CheckedRequest) -> Iterator[Spot]:
    """Yield the type of the first block of the last answer, if it has calls and results follow."""
    answer, results = [(), (), *_turns(request.prompt)][-2:]
    if _has(answer, Call) and _has(results, Result) and _thinks(request.prompt):
        first = answer[0]
        if first.role == "assistant" and first.parts:
            yield f"{_at(first.place)}.content.0", _type(first.parts[0])


def _type(part: AnyPart) -> str:
    if isinstance(part, Native):
        return str(part.raw.get("type"))
    return part.kind if isinstance(part, Media) else _TYPES[type(part)]


def _mark(part: AnyPart) -> str:
    """Return the signature of thinking; "" for another part."""
    return part.signature.value if isinstance(part, Thinking) and part.signature else ""


def _with_mark_before(message: Message) -> Iterator[tuple[AnyPart, str]]:
    """Yield each part, and the signature of the thinking directly before it."""
    return zip(message.parts, ["", *map(_mark, message.parts)], strict=False)


def _tools(request: CheckedRequest) -> Iterator[Spot]:
    for tool in request.prompt.tools:
        fields = {"name": tool.name, **tool.more} if isinstance(tool, Function) else tool.raw
        yield _at(tool.place), fields.get("name")


def _given(prompt: Prompt) -> dict[str, str]:
    """Return signature → thinking, and `_AFTER` with a signature → the signature of the thinking
    directly before it.
    """
    given: dict[str, str] = {}
    for part, before in chain.from_iterable(map(_with_mark_before, prompt.messages)):
        if isinstance(part, Thinking) and (mark := _mark(part)):
            given |= {mark: part.text, _AFTER + mark: before}
    return given


def _following(answer: Sequence[Any]) -> Body:
    return {"messages": [{"role": "assistant", "content": blocks_of(answer)}]}


_CHECKS: Final[Checks] = {
    "messages-missing": (
        whole,
        lambda request: (
            not (
                request.prompt.messages
                or any(each.place.startswith("messages") for each in request.prompt.instructions)
            )
        ),
    ),
    "message-empty": (_contents, lambda parts: parts in ([], [""])),
    "text-empty": (
        _blocks,
        lambda block: isinstance(block.part, Text) and not block.part.text,
    ),
    "tool-use-twice": (_blocks, lambda block: isinstance(block.part, Call) and block.is_known),
    "tool-use-without-result": (_lost_results, bool),
    "tool-result-without-use": (
        _blocks,
        lambda block: isinstance(block.part, Result) and not block.is_known,
    ),
    "thinking-missing": (
        _begun_with,
        lambda kind: kind not in ("thinking", "redacted_thinking"),
    ),
    "thinking-changed": (_blocks, lambda block: block.is_changed),
    "thinking-moved": (_blocks, lambda block: block.is_moved),
    "temperature-range": (
        lambda request: [("", request.prompt.settings.get("temperature"))],
        lambda value: isinstance(value, int | float) and not 0 <= value <= 1,
    ),
    "tool-name": (_tools, lambda name: isinstance(name, str) and not _NAME.fullmatch(name)),
    "forced-with-thinking": (
        lambda request: [("", request.prompt.choice)] if _thinks(request.prompt) else (),
        lambda choice: choice and choice.mode in ("required", "named"),
    ),
}
REFUSALS: Final = RequestRules(tuple(read_rules(__package__, _CHECKS, (NAME,))), _given, _following)
