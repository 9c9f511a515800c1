"""Writes a neutral prompt as the body of ``POST /v1/messages``."""

from __future__ import annotations

import base64
from typing import Any, Final

from harness.facts import losses_of_model
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.prompt import (
    AnyPart,
    Call,
    Function,
    Media,
    Message,
    Prompt,
    Reasoning,
    Result,
    Text,
    Thinking,
)

from ..dialect import SCHEMA_LOSSES, Payload, PromptWriter
from .request import SETTINGS, result_block
from .tools import CHOICES

_MODES: Final = {mode: word for word, mode in CHOICES.items()}
_SETTINGS: Final = {**{name: name for name in SETTINGS}, "stop": "stop_sequences"}
"""Setting → field of the body."""


def write(prompt: Prompt) -> tuple[Payload, Payload]:
    """Return the body; see `harness.dialects.dialect.PromptWriter`. The signatures of calls are
    those of the session.
    """
    system = [instruction.text for instruction in prompt.instructions]
    body: Payload = {
        "model": prompt.model,
        "system": [{"type": "text", "text": text} for text in system],
        "messages": [_message(message) for message in prompt.messages],
        "tools": [_tool(tool) for tool in prompt.tools if isinstance(tool, Function)],
        "tool_choice": _choice(prompt),
        "thinking": _thinking(prompt.reasoning),
        "output_config": _output(prompt),
        **{own: prompt.settings.get(name) for name, own in _SETTINGS.items()},
    }
    empty: tuple[Any, ...] = (None, [], {})
    return {name: value for name, value in body.items() if value not in empty}, {}


def _message(message: Message) -> Payload:
    if message.role == "system":
        raise TranslationError(message.place, "is a text of the system after a message")
    return {"role": message.role, "content": [_block(part) for part in message.parts]}


def _block(part: AnyPart) -> Payload:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thinking(text=text, signature=signature):
            signed = {"signature": signature.value} if signature else {}
            return {"type": "thinking", "thinking": text, **signed}
        case Call(name=name, arguments=arguments):
            return {"type": "tool_use", "id": part.any_id, "name": name, "input": arguments}
        case Result():
            return _result(part)
        case Media():
            return _medium(part)
    raise TranslationError(part.place, "is a part of an answer of one provider")


def _result(result: Result) -> Payload:
    block = result_block(result.any_id, ToolOutcome(result.value, result.failed))
    if result.parts is not None:
        block["content"] = [_block(part) for part in result.parts]
    return block


def _medium(medium: Media) -> Payload:
    media_type = medium.media_type or ""
    kind = "image" if medium.kind == "image" else "document"
    if medium.kind in ("audio", "video") or medium.detail:
        raise TranslationError(medium.place, "is a sound or a video, or has a resolution")
    if medium.data is None:
        source: Payload = {"type": "url", "url": medium.url}
    elif media_type.startswith("text/"):
        text = base64.b64decode(medium.data).decode()
        source = {"type": "text", "media_type": "text/plain", "data": text}
    else:
        source = {"type": "base64", "media_type": media_type, "data": medium.data}
    return {"type": kind, "source": source, **({"title": medium.name} if medium.name else {})}


def _tool(tool: Function) -> Payload:
    """Return a tool; this API requires a schema."""
    schema = tool.schema.value if tool.schema else {"type": "object"}
    about = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **about, "input_schema": schema}


def _choice(prompt: Prompt) -> Payload | None:
    if prompt.choice is None:
        return None
    named = {"name": prompt.choice.name} if prompt.choice.name else {}
    return {"type": _MODES[prompt.choice.mode], **named}


def _thinking(reasoning: Reasoning | None) -> Payload | None:
    if reasoning is None or (reasoning.budget is None and reasoning.shown is None):
        return None
    hidden = {"display": "omitted"} if reasoning.shown is False else {}
    if reasoning.budget is None:
        return {"type": "adaptive", **hidden}
    return {"type": "enabled", "budget_tokens": reasoning.budget, **hidden}


def _output(prompt: Prompt) -> Payload:
    shape, reasoning = prompt.format, prompt.reasoning
    effort = {"effort": reasoning.effort} if reasoning and reasoning.effort else {}
    if shape is None:
        return effort
    if shape.schema is None:
        raise TranslationError("output", "is JSON without a schema")
    return {"format": {"type": "json_schema", "schema": shape.schema.value}, **effort}


WRITER: Final = PromptWriter(
    write,
    frozenset({
        *("system", "messages", "tools", "choice", "output"),
        *("thinking.effort", "thinking.budget", "thinking.shown"),
        *(f"settings.{name}" for name in _SETTINGS),
    }),
    losses_of_model(
        {
            **SCHEMA_LOSSES,
            "signatures[stored]": "signatures of calls are in the session, which is not saved",
            "accepted[call-unsigned]": "Gemini 3 refuses calls without these signatures",
            "server_tools": "the payloads have no calls of the provider's tools",
        }
    ),
)  # fmt: skip
