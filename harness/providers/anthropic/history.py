"""Reads the body of a request of the Messages API.

The fields are those of https://platform.claude.com/docs/en/api/messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from harness.stream.json_codec import Json, objects_in
from harness.stream.prompt import (
    AnyPart,
    Call,
    Function,
    Message,
    Native,
    Prompt,
    Reasoning,
    Redacted,
    Result,
    ServerTool,
    Text,
    Thinking,
)

from ..history import CallNames, HistoryRules, function, instruction, opaque, text_of, word
from .messages import NAME

HISTORY: Final = HistoryRules(by_id=True, opaque=("server_tools", "code"))
_UNSHOWN: Final = ("disabled", None)
"""The types of ``thinking`` with which an answer has no thoughts."""


def read_messages(body: dict[str, Any]) -> Prompt:
    """Return the prompt of a request: its history, tools and thinking."""
    names, messages, instructions = CallNames(), [], []
    if body.get("system"):
        instructions.append(instruction(body["system"], "system"))
    for index, message in enumerate(objects_in(body.get("messages"))):
        place, role, content = f"messages[{index}]", message.get("role"), message.get("content")
        if role == "system":
            instructions.append(instruction(content, place))
            continue
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        parts = tuple(part for block in objects_in(blocks) for part in _parts(block, names))
        messages.append(Message("assistant" if role == "assistant" else "user", parts, place=place))
    return Prompt(
        messages=tuple(messages),
        instructions=tuple(instructions),
        model=word(body.get("model")) or None,
        tools=tuple(_tools(body.get("tools"))),
        reasoning=Reasoning(shown=_shows_thoughts(body.get("thinking"))),
        streamed=body.get("stream") is True,
    )


def _parts(block: dict[str, Any], names: CallNames) -> Iterator[AnyPart]:
    match block:
        case {"type": "text"}:
            yield Text(text_of(block.get("text")))
        case {"type": "thinking"}:
            signature = opaque(block.get("signature"))
            yield Thinking(text_of(block.get("thinking")), signature=signature)
        case {"type": "redacted_thinking"}:
            if data := opaque(block.get("data")):
                yield Redacted(data)
        case {"type": "tool_use"}:
            call_id, name, given = block.get("id"), word(block.get("name")), block.get("input")
            names.add(call_id, name)
            # The input is an object; a text is not the same arguments.
            arguments = {} if given is None else given
            arguments = arguments if isinstance(arguments, dict) else json.dumps(arguments)
            yield Call(word(call_id), name, arguments, word(call_id) or None)
        case {"type": "tool_result"}:
            call_id, failed = block.get("tool_use_id"), block.get("is_error") is True
            name, value = names.take(call_id), block.get("content")
            yield Result(word(call_id), name, value, wire_id=word(call_id) or None, failed=failed)
        case _:
            yield Native(block)


def _tools(tools: Json) -> Iterator[Function | ServerTool]:
    for index, tool in enumerate(objects_in(tools)):
        place = f"tools[{index}]"
        if tool.get("type") in (None, "custom") and tool.get("name"):
            yield function(tool, place, "input_schema")
        else:
            yield ServerTool(tool, NAME, place, "is a tool that Anthropic runs")


def _shows_thoughts(thinking: Json) -> bool:
    return isinstance(thinking, dict) and thinking.get("type") not in _UNSHOWN
