"""The forms of an answer for which there is no public evidence that Gemini's endpoint sends them.

A recording with such a form is written by hand. The page docs/openai-compat.md lists the evidence
of each recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.stream.framing import Frame
from harness.stream.json_codec import decode_object, objects_in
from harness.stream.oddities import Oddities


def variants_in(frames: Sequence[Frame], oddities: Oddities) -> list[str]:
    """Return the forms without evidence in a body, in words; none for the documented wire."""
    messages = [frame.json for frame in frames if isinstance(frame.json, dict)]
    choices = [
        choice
        for message in messages
        for choice in objects_in(message.get("choices"))
        if not choice.get("index")
    ]
    holders = [
        holder
        for choice in choices
        for name in ("delta", "message")
        if isinstance(holder := choice.get(name), dict)
    ]
    variants = {name for holder in holders for name in _of_holder(holder)}
    if sum(bool(choice.get("finish_reason")) for choice in choices) > 1:
        variants.add("two finish reasons")
    if _has_late_arguments(holders):
        variants.add("arguments after the end of their call")
    return sorted(variants)


def _of_holder(holder: dict[str, Any]) -> Iterator[str]:
    if holder.get("function_call"):
        yield "the old function_call"
    if holder.get("refusal"):
        yield "a refusal in a field of its own"


def _has_late_arguments(holders: list[dict[str, Any]]) -> bool:
    """Return whether a piece of arguments follows the whole arguments of the call with its id."""
    texts: dict[str, str] = {}
    for holder in holders:
        for call in objects_in(holder.get("tool_calls")):
            function = call.get("function")
            if not isinstance(call.get("id"), str) or not isinstance(function, dict):
                continue
            name, arguments = function.get("name"), function.get("arguments")
            if not call["id"] or not isinstance(arguments, str):
                continue
            before = "" if name else texts.get(call["id"], "")
            if arguments.strip() and decode_object(before) is not None:
                return True
            texts[call["id"]] = before + arguments
    return False
