"""The requests that OpenAI's two APIs refuse: histories of calls and reasoning that are not whole.

Sources: https://platform.openai.com/docs/guides/reasoning,
https://platform.openai.com/docs/guides/function-calling and public threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Any, Final, NamedTuple

from harness.stream.prompt import (
    AnyPart,
    Call,
    Instruction,
    Message,
    Native,
    Prompt,
    Result,
    Thinking,
)

from ..request_rules import CheckedRequest, Checks, RequestRules, Spot, read_rules, whole
from .messages import NAME
from .whole import following

_CALLS: Final = ("function_call", "custom_tool_call")
"""The types of calls that the application answers."""
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")
_PREFIXES: Final = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
"""The type of an item → the beginning of its id."""
MAX_ID: Final = 64
"""The maximum number of characters of an id."""
_SERVED: Final = "served "
"""Before the id of an item: a key that shows that a served exchange has the id."""
_WITHOUT_CALLS: Final = (
    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
)

# -------------------------------------------------------------------- Responses


class _Item(NamedTuple):
    """An item of the input."""

    place: str
    type: str
    id: Any
    call_id: Any = None
    made: bool = False
    """Whether the model made it."""
    is_alone: bool = False
    """Whether it lacks its pair: the output of a call, the call of an output, or the item of the
    answer after reasoning.
    """
    needed: str = ""
    """The id of the reasoning that was before it in a served exchange, and that neither the request
    nor the service has.
    """
    prefix: str = ""
    """The beginning that its id lacks. No served exchange has the id."""

    @property
    def words(self) -> str:
        """The kind of a call or of its output, in errors."""
        return self.type.removesuffix("_output").replace("_", " ")


def _items(prompt: Prompt) -> list[_Item]:
    """Return the items of the input; a message is one item, also one without content."""
    items: dict[str, _Item] = {}
    turns: Sequence[Message | Instruction] = [*prompt.instructions, *prompt.messages]
    for turn in turns:
        parts = turn.parts if isinstance(turn, Message) else ()
        for part in parts or (None,):
            place = (part.place if part else turn.place).partition(".")[0]
            kind = str(prompt.more.get(f"{place}.type") or "message")
            made = kind == "message" and isinstance(turn, Message) and turn.role == "assistant"
            message = _Item(place, kind, prompt.more.get(f"{place}.id"), made=made)
            items.setdefault(place, _item(place, part) or message)
    return [item for place, item in items.items() if place.startswith("input")]


def _item(place: str, part: AnyPart | None) -> _Item | None:
    """Return the item that a part is; None for a part of a message."""
    match part:
        case Thinking():
            return _Item(place, "reasoning", part.id, made=True)
        case Call(more=more):
            kind = more.get("type", "function_call")
            return _Item(place, kind, more.get("id"), part.wire_id, made=True)
        case Result(more=more):
            kind = more.get("type", "function_call_output")
            return _Item(place, kind, more.get("id"), part.wire_id)
        case Native(raw=raw) if part.place == place:
            kind = str(raw.get("type") or "message")
            made = kind.endswith("_call") or kind in ("item_reference", "program")
            return _Item(place, kind, raw.get("id"), raw.get("call_id"), made)
    return None


def _input(request: CheckedRequest) -> Iterator[Spot]:
    """Yield each item, compared with the others and with the served ones."""
    prompt, given, items = request.prompt, request.repeated, _items(request.prompt)
    is_stored = prompt.continues or prompt.refers or prompt.more.get("prompt")
    ids = [item.id for item in items]
    pairs = {(item.type, item.call_id) for item in items if item.type in (*_CALLS, *_OUTPUTS)}
    for item, after in pairwise([*items, None]):
        assert item is not None
        if item.type in _CALLS:
            is_alone = (f"{item.type}_output", item.call_id) not in pairs
        elif item.type in _OUTPUTS:
            is_alone = not is_stored and all((kind, item.call_id) not in pairs for kind in _CALLS)
        else:
            is_followed = after is not None and after.made
            is_alone = item.type == "reasoning" and bool(item.id) and not is_followed
        needed, prefix = given.get(str(item.id), ""), _PREFIXES.get(item.type, "")
        is_own = isinstance(item.id, str) and item.id and _SERVED + item.id not in given
        yield (
            item.place,
            item._replace(
                is_alone=is_alone,
                needed="" if is_stored or needed in ids else needed,
                prefix=prefix if is_own and not item.id.startswith(prefix) else "",
            ),
        )


def _previous(request: CheckedRequest) -> Iterator[Spot]:
    """Yield an id that was not served. If no response is served, every id is accepted."""
    previous = request.prompt.more.get("previous_response_id")
    known = [name for name in request.repeated if name.startswith("resp_")]
    if isinstance(previous, str) and known and previous not in known:
        yield "previous_response_id", previous


def _lengths(request: CheckedRequest) -> Iterator[Spot]:
    for item in _items(request.prompt):
        for name, value in (("id", item.id), ("call_id", item.call_id)):
            if isinstance(value, str):
                yield f"{item.place}.{name}", len(value)


def _given(prompt: Prompt) -> dict[str, str]:
    """Return id of a response → its id, id of an item directly after reasoning → its id, and a
    key for the id of each item.
    """
    previous = prompt.more.get("previous_response_id")
    given = {previous: previous} if isinstance(previous, str) else {}
    items = _items(prompt)
    given |= {f"{_SERVED}{item.id}": "" for item in items}
    for reasoning, item in pairwise(items):
        if reasoning.type == "reasoning" and reasoning.id and item.id:
            given[str(item.id)] = str(reasoning.id)
    return given


# -------------------------------------------------------------------- Chat Completions


def _messages(request: CheckedRequest) -> list[Message]:
    return [turn for turn in request.prompt.messages if turn.place.startswith("messages")]


def _ids(message: Message) -> list[str | None]:
    """Return the ids of the calls of a message; a ``function_call`` has none."""
    parts = (part for part in message.parts if isinstance(part, Call))
    return [part.wire_id for part in parts if ".tool_calls" in part.place]


def _results(message: Message) -> list[Result]:
    """Return the result of a message with the role ``tool``."""
    parts = (part for part in message.parts if isinstance(part, Result))
    return [part for part in parts if "role" not in part.more]


def _tools(request: CheckedRequest) -> Iterator[Spot]:
    """Yield the API's words for each result without its call in the message before."""
    calls: list[str | None] = []
    for message in _messages(request):
        place, results = message.place.replace("[", ".["), _results(message)
        calls = calls if results else _ids(message)
        for result in results:
            if not calls:
                yield f"{place}.role", _WITHOUT_CALLS
            elif result.wire_id not in calls:
                words = f"'tool_call_id' of '{result.wire_id}' not found in 'tool_calls'"
                yield f"{place}.tool_call_id", f"{words} of previous message."


def _lost(request: CheckedRequest) -> Iterator[Spot]:
    """Yield the ids of the calls of each message without results directly after it."""
    messages = _messages(request)
    for number, message in enumerate(messages, 1):
        if ids := _ids(message):
            after = [*takewhile(_results, messages[number:])]
            answered = [result.wire_id for held in after for result in _results(held)]
            lost = [str(call_id) for call_id in ids if call_id not in answered]
            last = [message, *after][-1].place.removeprefix("messages[").removesuffix("]")
            yield f"messages.[{int(last) + 1}].role", ", ".join(lost)


_CHECKS: Final[Checks] = {
    "previous-response-unknown": (_previous, lambda previous: True),
    "output-without-call": (_input, lambda item: item.is_alone and item.type in _OUTPUTS),
    "call-without-output": (_input, lambda item: item.is_alone and item.type in _CALLS),
    "reasoning-alone": (_input, lambda item: item.is_alone and item.type == "reasoning"),
    "reasoning-missing": (_input, lambda item: item.needed),
    "item-id-prefix": (_input, lambda item: item.prefix),
    "id-too-long": (_lengths, lambda length: length > MAX_ID),
    "chat-messages-missing": (whole, lambda request: request.prompt.more.get("messages") == []),
    "tool-without-calls": (_tools, bool),
    "calls-without-tool": (_lost, bool),
}
REFUSALS: Final = RequestRules(tuple(read_rules(__package__, _CHECKS, (NAME,))), _given, following)
