"""The mutation operators on requests: known faults, put into the request that a prompt became.

A request is the body that the API reads, in its Code Assist envelope or without. Of the requests of
a conversation, an operator changes the first in which it finds something to change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.dialects.dialect import Change

from .operators import MutationOperator

Body = dict[str, Any]


def _contents(body: Body) -> Iterator[Body]:
    yield from (
        content for content in body.get("contents") or () if isinstance(content.get("parts"), list)
    )


def _parts(body: Body, kind: str) -> Iterator[tuple[list[Body], int]]:
    """(parts, index) of every part that has ``kind``."""
    for content in _contents(body):
        yield from (
            (content["parts"], at) for at, part in enumerate(content["parts"]) if kind in part
        )


def _declarations(body: Body) -> Iterator[list[Body]]:
    yield from (
        tool["functionDeclarations"]
        for tool in body.get("tools") or ()
        if tool.get("functionDeclarations")
    )


def _lose_part(kind: str) -> Change:
    def change(body: Body) -> bool:
        for parts, at in _parts(body, kind):
            del parts[at]
            return True
        return False

    return change


def _lose_field(field: str) -> Change:
    def change(body: Body) -> bool:
        return body.pop(field, None) is not None

    return change


def _lose_signature(body: Body) -> bool:
    for parts, at in _parts(body, "thoughtSignature"):
        del parts[at]["thoughtSignature"]
        return True
    return False


def _move_signature(body: Body) -> bool:
    """A signature stands at another part of its content."""
    for parts, at in _parts(body, "thoughtSignature"):
        other = next((part for part in parts if "thoughtSignature" not in part), None)
        if other is not None:
            other["thoughtSignature"] = parts[at].pop("thoughtSignature")
            return True
    return False


def _change_in(kind: str, field: str) -> Change:
    def change(body: Body) -> bool:
        for parts, at in _parts(body, kind):
            if isinstance(parts[at][kind].get(field), str):
                parts[at][kind][field] += "_"
                return True
        return False

    return change


def _lose_argument(body: Body) -> bool:
    for parts, at in _parts(body, "functionCall"):
        if parts[at]["functionCall"].get("args"):
            parts[at]["functionCall"]["args"].popitem()
            return True
    return False


def _empty_result(body: Body) -> bool:
    for parts, at in _parts(body, "functionResponse"):
        if parts[at]["functionResponse"].get("response"):
            parts[at]["functionResponse"]["response"] = {}
            return True
    return False


def _swap_parts(body: Body) -> bool:
    for content in _contents(body):
        parts = content["parts"]
        for at in range(len(parts) - 1):
            if parts[at] != parts[at + 1]:
                parts[at], parts[at + 1] = parts[at + 1], parts[at]
                return True
    return False


def _merge_contents(body: Body) -> bool:
    """Appends a content to the one before it, even if the roles differ."""
    contents = list(_contents(body))
    if len(contents) < 2:
        return False
    contents[0]["parts"] += contents[1]["parts"]
    body["contents"] = [content for content in body["contents"] if content is not contents[1]]
    return True


def _other_role(body: Body) -> bool:
    for content in _contents(body):
        content["role"] = "model" if content.get("role") == "user" else "user"
        return True
    return False


def _lose_declaration(body: Body) -> bool:
    for declarations in _declarations(body):
        del declarations[0]
        return True
    return False


def _lose_requirement(body: Body) -> bool:
    """The schema of a tool no longer says which arguments it needs."""
    for declarations in _declarations(body):
        for declaration in declarations:
            if isinstance(declaration.get("parameters"), dict) and declaration["parameters"].pop(
                "required", None
            ):
                return True
    return False


def _wrong_setting(body: Body) -> bool:
    settings = body.get("generationConfig") or {}
    for name, value in settings.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            settings[name] = value + 1
            return True
    return False


def _inside(change: Change) -> Change:
    """The change of a body, as a change of a request case or of a conversation case."""

    def change_case(sent: Any) -> bool:
        for item in sent if isinstance(sent, list) else [sent]:
            body = item.get("request") if isinstance(item, dict) else None
            if isinstance(body, dict) and change(
                body["request"] if isinstance(body.get("request"), dict) else body
            ):
                return True
        return False

    return change_case


def _operator(name: str, fault: str, change: Change) -> MutationOperator:
    return MutationOperator(name, fault, lambda _: _inside(change), layer="requests")


REQUEST_OPERATORS: Final = (
    _operator("sent-text-lost", "a part of text is missing", _lose_part("text")),
    _operator("sent-parts-swapped", "two parts have changed places", _swap_parts),
    _operator("sent-contents-merged", "two contents are one", _merge_contents),
    _operator("sent-role-wrong", "a content has the other role", _other_role),
    _operator("sent-call-lost", "a call is missing", _lose_part("functionCall")),
    _operator("sent-call-renamed", "a call has another name", _change_in("functionCall", "name")),
    _operator("sent-argument-lost", "a call lacks an argument", _lose_argument),
    _operator("sent-id-wrong", "a call has another id", _change_in("functionCall", "id")),
    _operator("sent-signature-lost", "a signature is missing", _lose_signature),
    _operator("sent-signature-moved", "a signature stands at another part", _move_signature),
    _operator(
        "sent-result-lost", "the result of a tool is missing", _lose_part("functionResponse")
    ),
    _operator(
        "sent-result-renamed",
        "a result belongs to another tool",
        _change_in("functionResponse", "name"),
    ),
    _operator(
        "sent-result-id-wrong",
        "a result belongs to another call",
        _change_in("functionResponse", "id"),
    ),
    _operator("sent-result-empty", "a result is empty", _empty_result),
    _operator("sent-tool-lost", "a tool is not declared", _lose_declaration),
    _operator("sent-schema-loosened", "a tool's schema requires no argument", _lose_requirement),
    _operator("sent-setting-wrong", "a number of the settings is another", _wrong_setting),
    _operator(
        "sent-system-lost", "the system instruction is missing", _lose_field("systemInstruction")
    ),
    _operator(
        "sent-tool-choice-lost",
        "the choice of the tools that may be called is missing",
        _lose_field("toolConfig"),
    ),
)
"""Every operator on requests, in the order of the table."""
