"""Reads the body of a request of Chat Completions, with the additions of Gemini and of gateways.

The fields are those of https://platform.openai.com/docs/api-reference/chat/create and
https://ai.google.dev/gemini-api/docs/openai.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from harness.facts import arguments_of
from harness.stream.json_codec import Json, objects_in
from harness.stream.prompt import (
    AnyPart,
    Call,
    Function,
    Message,
    Prompt,
    Reasoning,
    Result,
    ServerTool,
    Text,
    Thinking,
)

from ..gemini.tools import requests_thoughts
from ..history import (
    CallNames,
    HistoryRules,
    function,
    instruction,
    opaque,
    text_of,
    texts_in,
    word,
)
from .request import NAME
from .thoughts import TAG

HISTORY: Final = HistoryRules(by_id=True)


def read_compatible(body: dict[str, Any]) -> Prompt:
    """Return the prompt of a request to Gemini's endpoint, whose texts may have thoughts between
    tags.
    """
    return read_completion(body, NAME, TAG, shown=requests_thoughts(body))


def read_completion(
    body: dict[str, Any], vendor: str, tag: str = "", *, shown: bool | None = None
) -> Prompt:
    """Return the prompt of a request: its history, tools and reasoning. ``tag``: thoughts are
    between such tags in the texts of the model.
    """
    names, messages, instructions = CallNames(), [], []
    for index, message in enumerate(objects_in(body.get("messages"))):
        place, content = f"messages[{index}]", message.get("content")
        match message.get("role"):
            case "system" | "developer":
                instructions.append(instruction(content, place))
            case "assistant":
                parts = tuple(_answer(message, names, tag))
                messages.append(Message("assistant", parts, place=place, ordered=False))
            case "tool" | "function" as role:
                call_id = message.get("tool_call_id")
                name = word(message.get("name")) if role == "function" else names.take(call_id)
                result = Result(word(call_id), name, content, wire_id=word(call_id) or None)
                messages.append(Message("user", (result,), place=place))
            case _:
                messages.append(Message("user", tuple(texts_in(content)), place=place))
    return Prompt(
        messages=tuple(messages),
        instructions=tuple(instructions),
        model=word(body.get("model")) or None,
        tools=tuple(_tools(body.get("tools"), vendor)),
        reasoning=Reasoning(shown=shown),
        streamed=body.get("stream") is True,
    )


def _answer(message: dict[str, Any], names: CallNames, tag: str) -> Iterator[AnyPart]:
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str):
            yield Thinking(message[name])
    for detail in objects_in(message.get("reasoning_details")):
        text = text_of(detail.get("text")) or text_of(detail.get("summary"))
        yield Thinking(text, signature=opaque(detail.get("signature") or detail.get("data")))
    parts = [part for text in texts_in(message.get("content")) for part in _tagged(text.text, tag)]
    if isinstance(message.get("refusal"), str):
        parts.append(Text(message["refusal"], refusal=True))
    if signature := opaque(_signature(message)):
        if not parts or not isinstance(last := parts.pop(), Text):
            last = Text("")
        parts.append(Text(last.text, signature=signature))
    yield from parts
    for call in objects_in(message.get("tool_calls")):
        yield _call(call, names)
    if isinstance(legacy := message.get("function_call"), dict):
        yield _call({"function": legacy}, names)


def _call(call: dict[str, Any], names: CallNames) -> Call:
    called = call.get("function") or call.get("custom")
    called = called if isinstance(called, dict) else {}
    call_id, name, given = call.get("id"), word(called.get("name")), called.get("arguments")
    names.add(call_id, name)
    arguments: Any = {"input": called["input"]} if "input" in called else text_arguments(given)
    signature = opaque(_signature(call))
    return Call(word(call_id), name, arguments, word(call_id) or None, signature=signature)


def text_arguments(given: Json) -> Any:
    """Return the object in the text of arguments. A value that is not a text stays a text, because
    it is not the same arguments.
    """
    if given is None or isinstance(given, str):
        return arguments_of(given or "")
    return json.dumps(given)


def _tagged(text: str, tag: str) -> Iterator[AnyPart]:
    """Yield the text of a message, and the thoughts between tags in it."""
    pieces = text.split(f"<{tag}>") if tag else [text]
    for number, piece in enumerate(pieces):
        thought, _, rest = piece.rpartition(f"</{tag}>") if number else ("", "", piece)
        if thought:
            yield Thinking(thought)
        yield Text(rest)


def _signature(holder: dict[str, Any]) -> Json:
    """Return the signature in ``extra_content`` of a call or a message; Vertex AI has its own key.
    Older answers had it beside the content, so it may be sent back there.
    """
    extra = holder.get("extra_content")
    extra = extra if isinstance(extra, dict) else {}
    own = extra.get("google") or extra.get("vertex")
    signature = own.get("thought_signature") if isinstance(own, dict) else None
    return signature or holder.get("thought_signature")


def _tools(tools: Json, vendor: str) -> Iterator[Function | ServerTool]:
    for index, tool in enumerate(objects_in(tools)):
        place, declaration = f"tools[{index}]", tool.get("function", tool)
        if tool.get("type") != "function":
            yield ServerTool(tool, vendor, place, "is a tool of another type")
        elif isinstance(declaration, dict) and isinstance(declaration.get("name"), str):
            yield function(declaration, place)
