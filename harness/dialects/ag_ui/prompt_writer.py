"""Writes a neutral prompt as a ``RunAgentInput`` of AG-UI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from harness.facts import losses_of_model
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.prompt import (
    Call,
    Function,
    Media,
    Message,
    Prompt,
    Result,
    Text,
    Thinking,
)

from ..dialect import SCHEMA_LOSSES, Payload, PromptWriter
from .request import tool_message


def write(prompt: Prompt) -> tuple[Payload, Payload]:
    """Return the input and the options; see `harness.dialects.dialect.PromptWriter`."""
    messages: list[Payload] = [
        {"role": "system", "content": instruction.text} for instruction in prompt.instructions
    ]
    for message in prompt.messages:
        messages += _messages(message)
    own = {
        "threadId": "thread",
        "runId": "run",
        "messages": [{"id": f"message_{at}", **each} for at, each in enumerate(messages)],
        "tools": [_tool(tool) for tool in prompt.tools if isinstance(tool, Function)],
    }
    return own, {"model": prompt.model}


def _messages(message: Message) -> Iterator[Payload]:
    """Yield the messages of one turn: each thought, result and text of the model has its own."""
    content: list[Payload] = []
    for part in message.parts:
        signed = {"encryptedValue": part.signature.value} if part.signature else {}
        match part:
            case Thinking():
                yield {"role": "reasoning", "content": part.text, **signed}
            case Result():
                yield _result(part)
            case Call():
                text = json.dumps(part.arguments, ensure_ascii=False)
                function = {"name": part.name, "arguments": text}
                call = {"id": part.any_id, "type": "function", "function": function, **signed}
                yield {"role": "assistant", "toolCalls": [call]}
            case Text() if message.role != "user":
                yield {"role": message.role, "content": part.text, **signed}
            case Text() | Media():
                content.append(_content(part))
            case _:
                raise TranslationError(part.place, "is a part of an answer of one provider")
    texts = [part["text"] for part in content if part["type"] == "text"]
    if message.role == "user" and (content or not message.parts):
        is_text = len(texts) == len(content) <= 1
        yield {"role": "user", "content": "".join(texts) if is_text else content}


def _content(part: Text | Media) -> Payload:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if part.detail or (part.start_s, part.end_s, part.fps) != (None, None, None):
        raise TranslationError(part.place, "is a medium with a resolution or a part of a video")
    source: dict[str, Any] = {"type": "data", "value": part.data}
    if part.data is None:
        source = {"type": "url", "value": part.url}
    if part.media_type:
        source["mimeType"] = part.media_type
    return {"type": part.kind, "source": source}


def _result(result: Result) -> Payload:
    own = tool_message(result.any_id, ToolOutcome(result.value, result.failed))
    del own["id"]
    if result.parts is not None:
        own["content"] = [_content(part) for part in result.parts]
    return own


def _tool(tool: Function) -> Payload:
    schema = {} if tool.schema is None else {"parameters": tool.schema.value}
    return {"name": tool.name, "description": tool.description or "", **schema}


WRITER: Final = PromptWriter(
    write,
    frozenset({"system", "messages", "tools"}),
    losses_of_model(
        {
            **SCHEMA_LOSSES,
            "server_tools": "the messages of AG-UI have no calls of the provider's tools",
            "other_signatures": "nor the signatures of these calls",
        }
    ),
)
