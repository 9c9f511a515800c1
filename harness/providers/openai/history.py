"""Reads the bodies of the requests of OpenAI's two APIs.

The fields are those of https://platform.openai.com/docs/api-reference/responses/create; those of
Chat Completions are read as on Gemini's endpoint.
"""

from __future__ import annotations

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
    Result,
    Role,
    ServerTool,
    Thinking,
)

from ..history import (
    CallNames,
    HistoryRules,
    function,
    instruction,
    opaque,
    texts_in,
    word,
)
from ..openai_compat.history import read_completion, text_arguments
from .messages import NAME

HISTORY: Final = HistoryRules(by_id=True, opaque=("server_tools", "code"))
_STORED: Final = ("previous_response_id", "conversation")
"""The fields that name a stored history."""


def read_request(body: dict[str, Any]) -> Prompt:
    """Return the prompt of a request of one of the two APIs."""
    if "messages" in body:
        return read_completion(body, NAME, shown=_shows_reasoning(body))
    return _read_response(body)


def _shows_reasoning(body: dict[str, Any]) -> bool:
    """Return whether a request for a completion asks for thoughts, in the words of the hosts that
    give them: OpenRouter, Groq, DeepSeek.
    """
    reasoning, thinking = body.get("reasoning"), body.get("thinking")
    return bool(
        body.get("include_reasoning") is True
        or (isinstance(reasoning, dict) and reasoning.get("exclude") is not True)
        or body.get("reasoning_format") in ("parsed", "raw")
        or (isinstance(thinking, dict) and thinking.get("type") == "enabled")
    )


def _read_response(body: dict[str, Any]) -> Prompt:
    names, messages, instructions = CallNames(), [], []
    if body.get("instructions"):
        instructions.append(instruction(body["instructions"], "instructions"))
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else objects_in(given)
    for index, item in enumerate(items):
        place = f"input[{index}]"
        if item.get("role") in ("system", "developer"):
            instructions.append(instruction(item.get("content"), place))
        else:
            role, parts = _message(item, names)
            messages.append(Message(role, parts, place=place))
    reasoning = body.get("reasoning")
    summary = reasoning.get("summary") if isinstance(reasoning, dict) else None
    return Prompt(
        messages=tuple(messages),
        instructions=tuple(instructions),
        model=word(body.get("model")) or None,
        tools=tuple(_tools(body.get("tools"))),
        reasoning=Reasoning(shown=bool(summary)),
        streamed=body.get("stream") is True,
        continues=any(body.get(name) for name in _STORED),
        refers=any(item.get("type") == "item_reference" for item in items),
    )


def _message(item: dict[str, Any], names: CallNames) -> tuple[Role, tuple[AnyPart, ...]]:
    call_id, name = item.get("call_id"), word(item.get("name"))
    wire_id = word(call_id) or None
    part: AnyPart
    match item.get("type"):
        case "reasoning":
            texts = [*texts_in(item.get("summary")), *texts_in(item.get("content"))]
            part = Thinking(
                "".join(text.text for text in texts),
                word(item.get("id")) or None,
                signature=opaque(item.get("encrypted_content")),
            )
        case "function_call":
            names.add(call_id, name)
            part = Call(word(call_id), name, text_arguments(item.get("arguments")), wire_id)
        case "custom_tool_call":
            names.add(call_id, name)
            part = Call(word(call_id), name, {"input": item.get("input")}, wire_id)
        case "function_call_output" | "custom_tool_call_output":
            name = names.take(call_id)
            return "user", (Result(word(call_id), name, item.get("output"), wire_id=wire_id),)
        case _ if item.get("role") == "assistant":
            return "assistant", tuple(texts_in(item.get("content")))
        case _ if "role" in item:
            return "user", tuple(texts_in(item.get("content")))
        case _:
            part = Native(item, signature=opaque(item.get("encrypted_content")))
    return "assistant", (part,)


def _tools(tools: Json) -> Iterator[Function | ServerTool]:
    for index, tool in enumerate(objects_in(tools)):
        place = f"tools[{index}]"
        if tool.get("type") == "function" and isinstance(tool.get("name"), str):
            yield function(tool, place)
        else:
            yield ServerTool(tool, NAME, place, "is a tool of another type")
