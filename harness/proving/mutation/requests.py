"""The mutation operators on requests. They put known faults into the request that a dialect makes
from a prompt.

An operator is written once for all wires. The `RequestPlaces` of a provider have the places in its
requests that the operators change. In a conversation, an operator changes the first request in
which it can change something.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from harness.dialects.dialect import OutputChange, lose_argument
from harness.providers import PROVIDERS
from harness.providers.request_places import RequestPlaces

from .operators import MutationOperator

RequestBody = dict[str, Any]
BodyChange = Callable[[RequestPlaces, RequestBody], bool]

_PLACES: Final = tuple(provider.places for provider in PROVIDERS.values() if provider.places)
"""The places of each wire. Wires whose lists of turns have the same key are tried in turn."""


def _lose(holder: Any, key: Any) -> bool:
    del holder[key]
    return True


def _alter(holder: Any, key: Any) -> bool:
    """Replace a string, number or boolean by another one."""
    match holder[key]:
        case bool(value):
            holder[key] = not value
        case str(value):
            holder[key] = f"{value}_"
        case int(value) | float(value):
            holder[key] = value + 1
        case _:
            return False
    return True


def _increment(holder: Any, key: Any) -> bool:
    return not isinstance(holder[key], bool | str) and _alter(holder, key)


def _empty(holder: Any, key: Any) -> bool:
    value = holder[key]
    holder[key] = type(value)()
    return bool(value)


def _swap(holder: Any, key: Any) -> bool:
    items = holder[key]
    for at in range(len(items) - 1 if isinstance(items, list) else 0):
        if items[at] != items[at + 1]:
            items[at], items[at + 1] = items[at + 1], items[at]
            return True
    return False


def _first(noun: str, change: Callable[[Any, Any], bool]) -> BodyChange:
    """Change the first value that can be changed at the places named ``noun``."""
    return lambda places, body: any(change(*spot) for spot in places.find(body, noun))


def _merge_turns(places: RequestPlaces, body: RequestBody) -> bool:
    """Join a turn to the previous turn, even if the roles differ."""
    spots = list(places.find(body, "joined"))
    for (first, key), (second, _) in pairwise(spots):
        if type(first[key]) is type(second[key]):
            first[key] = first[key] + second[key]
            body[places.turns] = [turn for turn in body[places.turns] if turn is not second]
            return True
    return False


def _other_role(places: RequestPlaces, body: RequestBody) -> bool:
    for holder, key in places.find(body, "role"):
        if holder[key] in places.roles:
            holder[key] = places.roles[1 - places.roles.index(holder[key])]
            return True
    return False


def _move_signature(places: RequestPlaces, body: RequestBody) -> bool:
    """Move a signature to another part, call or step."""
    for holder, key in places.find(body, "signature"):
        beside = places.beside(body, "signature")
        other = next((item for item in beside if isinstance(item, dict) and key not in item), None)
        if other is not None:
            other[key] = holder.pop(key)
            return True
    return False


def _inside(change: BodyChange) -> OutputChange:
    """Turn a change of a body into a change of a request case or a conversation case."""

    def change_case(sent: Any) -> bool:
        for item in sent if isinstance(sent, list) else [sent]:
            body = item.get("request") if isinstance(item, dict) else None
            if isinstance(body, dict) and isinstance(body.get("request"), dict):
                body = body["request"]  # in the envelope of Code Assist
            for places in _PLACES:
                if isinstance(body, dict) and places.turns in body and change(places, body):
                    return True
        return False

    return change_case


def _operator(name: str, fault: str, change: BodyChange) -> MutationOperator:
    return MutationOperator(name, fault, lambda _: _inside(change), layer="requests")


REQUEST_OPERATORS: Final = (
    _operator("sent-text-lost", "a text part is missing", _first("text", _lose)),
    _operator("sent-parts-swapped", "two parts are swapped", _first("order", _swap)),
    _operator("sent-contents-merged", "two contents, steps or messages are joined", _merge_turns),
    _operator("sent-role-wrong", "a content has the wrong role", _other_role),
    _operator("sent-call-lost", "a call is missing", _first("call", _lose)),
    _operator("sent-call-renamed", "a call has another name", _first("call-name", _alter)),
    _operator(
        "sent-argument-lost", "an argument of a call is missing", _first("arguments", lose_argument)
    ),
    _operator("sent-id-wrong", "a call has another id", _first("call-id", _alter)),
    _operator("sent-signature-lost", "a signature is missing", _first("signature", _lose)),
    _operator("sent-signature-moved", "a signature is at another part", _move_signature),
    _operator("sent-result-lost", "the result of a tool is missing", _first("result", _lose)),
    _operator(
        "sent-result-renamed", "a result belongs to another tool", _first("result-name", _alter)
    ),
    _operator(
        "sent-result-id-wrong", "a result belongs to another call", _first("result-id", _alter)
    ),
    _operator("sent-result-empty", "a result is empty", _first("result-value", _empty)),
    _operator("sent-tool-lost", "a tool is not declared", _first("tool", _lose)),
    _operator(
        "sent-schema-loosened", "a tool's schema requires no argument", _first("required", _lose)
    ),
    _operator(
        "sent-setting-wrong", "a number in the settings is wrong", _first("setting", _increment)
    ),
    _operator("sent-system-lost", "the system instruction is missing", _first("system", _lose)),
    _operator(
        "sent-tool-choice-lost",
        "the restriction of the tools that may be called is missing",
        _first("tool-choice", _lose),
    ),
    _operator(
        "sent-memory-wrong",
        "the server stores, or continues from, the wrong state",
        _first("memory", _alter),
    ),
)
"""Every operator on requests, in the order of the table."""
