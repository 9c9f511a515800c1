"""The requests that OpenAI's two APIs refuse: histories of calls and reasoning that are not whole.

Sources: https://platform.openai.com/docs/guides/reasoning,
https://platform.openai.com/docs/guides/function-calling and public threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from harness.stream.json_codec import objects_in

from ..request_rules import Body, RequestRules, RuleBreak, ServedValues, read_rules

_CALLS: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
"""The type of a call that the application answers → the type of its output."""
_PREFIXES: Final = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
"""The type of an item → the beginning of its id."""
MAX_ID: Final = 64
"""The maximum number of characters of an id."""
_SERVED: Final = "served "
"""Before the id of an item: a key that shows that a served exchange has the id."""
_IN_INPUT: Final = {"param": "input"}
_Item = dict[str, Any]


def _items(body: Body) -> list[_Item]:
    return objects_in(body.get("input"))


def _type(item: _Item) -> str:
    return str(item.get("type") or "message")


def _is_stateful(body: Body) -> bool:
    """Return whether the service has a part of the history."""
    stored = any(body.get(name) for name in ("previous_response_id", "conversation", "prompt"))
    return stored or any(_type(item) == "item_reference" for item in _items(body))


def _output_without_call(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    items = _items(body)
    calls = [item.get("call_id") for item in items if _type(item) in _CALLS]
    for item in items if not _is_stateful(body) else ():
        if _type(item) in _CALLS.values() and item.get("call_id") not in calls:
            kind = "function call" if item["type"] == "function_call_output" else "custom tool call"
            yield RuleBreak(
                f"No tool call found for {kind} output with call_id {item.get('call_id')}.",
                _IN_INPUT,
            )


def _call_without_output(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    items = _items(body)
    for item in items:
        output = _CALLS.get(_type(item))
        outputs = [other.get("call_id") for other in items if _type(other) == output]
        if output and item.get("call_id") not in outputs:
            kind = "function call" if item["type"] == "function_call" else "custom tool call"
            yield RuleBreak(f"No tool output found for {kind} {item.get('call_id')}.", _IN_INPUT)


def _is_of_answer(item: _Item) -> bool:
    """Return whether the model made an item."""
    kind = _type(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind.endswith("_call") or kind in ("item_reference", "reasoning", "program")


def _reasoning_alone(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    items = _items(body)
    for item, following in pairwise([*items, {"role": "user"}]):
        if item.get("type") == "reasoning" and item.get("id") and not _is_of_answer(following):
            yield RuleBreak(
                f"Item '{item['id']}' of type 'reasoning' was provided without its required"
                " following item.",
                _IN_INPUT,
            )


def _reasoning_missing(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    items = _items(body)
    ids = [item.get("id") for item in items]
    for item in items if not _is_stateful(body) else ():
        needed = given.get(str(item.get("id")))
        if needed and needed not in ids:
            yield RuleBreak(
                f"Item '{item['id']}' of type '{_type(item)}' was provided without its required"
                f" 'reasoning' item: '{needed}'.",
                _IN_INPUT,
            )


def _previous_unknown(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    """Find an id that was not served. If no response is served, every id is accepted."""
    previous = body.get("previous_response_id")
    known = [name for name in given if name.startswith("resp_")]
    if isinstance(previous, str) and known and previous not in known:
        yield RuleBreak(
            f"Previous response with id '{previous}' not found.",
            {"param": "previous_response_id", "code": "previous_response_not_found"},
        )


def _id_prefix(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    for number, item in enumerate(_items(body)):
        name, prefix = item.get("id"), _PREFIXES.get(_type(item))
        is_made = isinstance(name, str) and name and _SERVED + name not in given
        if prefix and is_made and not str(name).startswith(prefix):
            param = f"input[{number}].id"
            yield RuleBreak(
                f"Invalid '{param}': '{name}'. Expected an ID that begins with '{prefix}'.",
                {"param": param, "code": "invalid_id_prefix"},
            )


def _id_too_long(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    for number, item in enumerate(_items(body)):
        for field in ("id", "call_id"):
            if isinstance(name := item.get(field), str) and len(name) > MAX_ID:
                param = f"input[{number}].{field}"
                yield RuleBreak(
                    f"Invalid '{param}': string too long. Expected a string with maximum length"
                    f" {MAX_ID}, but got a string with length {len(name)} instead.",
                    {"param": param, "code": "string_above_max_length"},
                )


def _messages(body: Body) -> list[_Item]:
    return objects_in(body.get("messages"))


def _messages_missing(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    if body.get("messages") == []:
        yield RuleBreak(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an"
            " empty array instead.",
            {"param": "messages", "code": "empty_array"},
        )


def _calls(message: _Item) -> list[Any]:
    return [call.get("id") for call in objects_in(message.get("tool_calls"))]


def _tool_without_calls(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    calls: list[Any] = []
    for index, message in enumerate(_messages(body)):
        place, call_id = f"messages.[{index}]", message.get("tool_call_id")
        if message.get("role") != "tool":
            calls = _calls(message)
        elif not calls:
            yield RuleBreak(
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding"
                " message with 'tool_calls'.",
                {"param": f"{place}.role"},
            )
        elif call_id not in calls:
            yield RuleBreak(
                f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' of"
                " previous message.",
                {"param": f"{place}.tool_call_id"},
            )


def _calls_without_tool(body: Body, given: ServedValues) -> Iterator[RuleBreak]:
    messages = _messages(body)
    for index, message in enumerate(messages):
        answered: list[Any] = []
        after = index + 1
        while after < len(messages) and messages[after].get("role") == "tool":
            answered.append(messages[after].get("tool_call_id"))
            after += 1
        if lost := [str(call) for call in _calls(message) if call not in answered]:
            yield RuleBreak(
                "An assistant message with 'tool_calls' must be followed by tool messages"
                " responding to each 'tool_call_id'. The following tool_call_ids did not have"
                f" response messages: {', '.join(lost)}",
                {"param": f"messages.[{after}].role"},
            )


def _given(asked: Body, answer: Sequence[Any]) -> dict[str, str]:
    """Return id of a response → its id, id of an item directly after reasoning → its id, and a
    key for the id of each item.
    """
    previous = asked.get("previous_response_id")
    given = {previous: previous} if isinstance(previous, str) else {}
    given |= {f"{_SERVED}{item.get('id')}": "" for item in _items(asked)}
    items: list[_Item] = []
    for message in objects_in(answer):
        match message:
            case {"type": "response.output_item.done", "item": dict(item)}:
                items.append(item)
            case {"response": {"id": str(name)}} | {"object": "response", "id": str(name)}:
                given[name] = name
        if message.get("object") == "response":
            items = objects_in(message.get("output"))
    given |= {f"{_SERVED}{item.get('id')}": "" for item in items}
    for reasoning, item in pairwise(items):
        if reasoning.get("type") == "reasoning" and reasoning.get("id") and item.get("id"):
            given[str(item["id"])] = str(reasoning["id"])
    return given


REFUSALS: Final = RequestRules(
    read_rules(
        __package__,
        {
            "previous-response-unknown": _previous_unknown,
            "output-without-call": _output_without_call,
            "call-without-output": _call_without_output,
            "reasoning-alone": _reasoning_alone,
            "reasoning-missing": _reasoning_missing,
            "item-id-prefix": _id_prefix,
            "id-too-long": _id_too_long,
            "chat-messages-missing": _messages_missing,
            "tool-without-calls": _tool_without_calls,
            "calls-without-tool": _calls_without_tool,
        },
    ),
    _given,
)
