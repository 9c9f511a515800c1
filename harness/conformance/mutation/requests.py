"""Damages of requests: one known fault each, put into what an event model's prompt was sent as.

A request is the body that the API reads, in its Code Assist envelope or without. The first of a
conversation's requests that a damage finds something in is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .shapes import Change, MutationOperator

_ASKING: Final = ("art", "unified-llm", "anthropic", "mind")
_WITH_IDS: Final = ("unified-llm", "anthropic", "mind")
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
        other = next((one for one in parts if "thoughtSignature" not in one), None)
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
    """A content is appended to the one before it, whoever speaks."""
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


def inside(change: Change) -> Change:
    """The change, put into the body of a request case or into one of a conversation's; inside its
    envelope if it has one.
    """

    def damage(sent: Any) -> bool:
        for item in sent if isinstance(sent, list) else [sent]:
            body = item.get("request") if isinstance(item, dict) else None
            if isinstance(body, dict) and change(
                body["request"] if isinstance(body.get("request"), dict) else body
            ):
                return True
        return False

    return damage


def _of(change: Change, *names: str) -> dict[str, Change]:
    return dict.fromkeys(names or _ASKING, inside(change))


REQUEST_DAMAGES: Final[tuple[MutationOperator, ...]] = (
    MutationOperator("sent-text-lost", "a part of text is missing", _of(_lose_part("text"))),
    MutationOperator("sent-parts-swapped", "two parts have changed places", _of(_swap_parts)),
    MutationOperator("sent-contents-merged", "two contents are one", _of(_merge_contents)),
    MutationOperator("sent-role-wrong", "somebody else speaks", _of(_other_role)),
    MutationOperator("sent-call-lost", "a call is missing", _of(_lose_part("functionCall"))),
    MutationOperator(
        "sent-call-renamed", "a call has another name", _of(_change_in("functionCall", "name"))
    ),
    MutationOperator("sent-argument-lost", "a call lacks an argument", _of(_lose_argument)),
    MutationOperator(
        "sent-id-wrong", "a call has another id", _of(_change_in("functionCall", "id"), *_WITH_IDS)
    ),
    MutationOperator(
        "sent-signature-lost", "a signature is missing", _of(_lose_signature, *_WITH_IDS)
    ),
    MutationOperator(
        "sent-signature-moved",
        "a signature stands at another part",
        _of(_move_signature, *_WITH_IDS),
    ),
    MutationOperator(
        "sent-result-lost", "the result of a tool is missing", _of(_lose_part("functionResponse"))
    ),
    MutationOperator(
        "sent-result-renamed",
        "a result belongs to another tool",
        _of(_change_in("functionResponse", "name")),
    ),
    MutationOperator(
        "sent-result-id-wrong",
        "a result belongs to another call",
        _of(_change_in("functionResponse", "id"), *_WITH_IDS),
    ),
    MutationOperator("sent-result-empty", "a result says nothing", _of(_empty_result)),
    MutationOperator("sent-tool-lost", "a tool is not declared", _of(_lose_declaration)),
    MutationOperator(
        "sent-schema-loosened", "a tool's schema needs no argument", _of(_lose_requirement)
    ),
    MutationOperator(
        "sent-setting-wrong",
        "a number of the settings is another",
        _of(_wrong_setting, "art", "unified-llm", "anthropic"),
    ),
    MutationOperator(
        "sent-system-lost",
        "the instruction of the system is missing",
        _of(_lose_field("systemInstruction"), "unified-llm", "anthropic"),
    ),
    MutationOperator(
        "sent-tool-choice-lost",
        "which tools may be called is missing",
        _of(_lose_field("toolConfig"), "unified-llm", "anthropic"),
    ),
)
"""Every damage of requests, in the order of the table."""
