"""Faults of request translators on wires other than generateContent: the Interactions API and the
OpenAI-compatible endpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.stream.prompt import AnyPart, Call, Function, Prompt, Result, Thinking

from .requests import REQUEST_FAULTS, of_neutral

__all__ = ["REQUEST_FAULTS"]

Parts = tuple[AnyPart, ...]


def with_parts(prompt: Prompt, change: Callable[[Parts], Parts]) -> Prompt:
    """The prompt with the parts of each message changed; a message without parts is left out."""
    messages = [replace(message, parts=change(message.parts)) for message in prompt.messages]
    return replace(prompt, messages=tuple(message for message in messages if message.parts))


@of_neutral("unified-llm", "anthropic")
def extras_of_calls_lost(prompt: Prompt) -> Prompt:
    """Calls are rebuilt from id, name and arguments, so their other fields are lost
    (open-webui/computer#224, CherryHQ/cherry-studio#12729).
    """
    return with_parts(
        prompt,
        lambda parts: tuple(
            replace(part, signature=None) if isinstance(part, Call) else part for part in parts
        ),
    )


@of_neutral("unified-llm", "anthropic")
def thought_steps_dropped(prompt: Prompt) -> Prompt:
    """Thoughts are not part of the history, so the step that signs a call is lost
    (allenhutchison/obsidian-gemini#1269).
    """
    return with_parts(
        prompt, lambda parts: tuple(part for part in parts if not isinstance(part, Thinking))
    )


@of_neutral("unified-llm", "anthropic")
def thought_steps_behind_the_calls(prompt: Prompt) -> Prompt:
    """The thoughts of an answer go back after its calls (a message that is built by kind of part)."""
    return with_parts(
        prompt,
        lambda parts: tuple(sorted(parts, key=lambda part: isinstance(part, Thinking))),
    )


@of_neutral("unified-llm", "anthropic")
def calls_get_new_ids(prompt: Prompt) -> Prompt:
    """Calls and results get new numbers, whatever ids the answer has (a client that rebuilds
    tool_calls).
    """
    counts = {Call: 0, Result: 0}

    def renumbered(parts: Parts) -> Parts:
        changed: list[AnyPart] = []
        for part in parts:
            if isinstance(part, Call | Result):
                number = counts[type(part)]
                counts[type(part)] += 1
                part = replace(part, wire_id=f"call-{number}")
            changed.append(part)
        return tuple(changed)

    return with_parts(prompt, renumbered)


@of_neutral("unified-llm", "anthropic")
def failures_not_sent(prompt: Prompt) -> Prompt:
    """The failure of a tool is not sent."""
    return with_parts(
        prompt,
        lambda parts: tuple(
            replace(part, failed=False) if isinstance(part, Result) else part for part in parts
        ),
    )


@of_neutral("unified-llm", "anthropic")
def schemas_fitted(prompt: Prompt) -> Prompt:
    """A wire that reads JSON Schema gets generateContent's types in capitals."""
    tools = []
    for tool in prompt.tools:
        if isinstance(tool, Function) and tool.schema:
            tool = replace(tool, schema=replace(tool.schema, value=in_capitals(tool.schema.value)))
        tools.append(tool)
    return replace(prompt, tools=tuple(tools))


def in_capitals(schema: Any) -> Any:
    """The schema with each type in capitals, at any depth."""
    if isinstance(schema, list):
        return [in_capitals(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.upper() if key == "type" and isinstance(value, str) else in_capitals(value)
        for key, value in schema.items()
    }
