"""Writes a neutral prompt as a unified-llm Request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.facts import losses_of_model
from harness.stream.generation import TranslationError
from harness.stream.prompt import (
    AnyPart,
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
from .request import PROVIDER, SETTINGS, tool_result

_GOOGLE: Final = {"labels": "labels", "cached": "cachedContent", "tier": "serviceTier"}
"""Value in Google's words → the option of Gemini."""
_KINDS: Final = ("image", "audio")


def write(prompt: Prompt) -> tuple[Payload, Payload]:
    """Return the Request; see `harness.dialects.dialect.PromptWriter`."""
    system = [_text(instruction.text) for instruction in prompt.instructions]
    fields: Payload = {
        "model": prompt.model,
        "messages": [
            *({"role": "system", "content": [text]} for text in system),
            *(own for message in prompt.messages for own in _messages(message)),
        ],
        "tools": [_tool(tool) for tool in prompt.tools if isinstance(tool, Function)],
        "tool_choice": _choice(prompt),
        "response_format": _format(prompt),
        "reasoning_effort": prompt.reasoning.effort if prompt.reasoning else None,
        "provider_options": _options(prompt),
        **{own: prompt.settings.get(name) for own, (name, _) in SETTINGS.items()},
    }
    empty: tuple[Any, ...] = (None, [], {})
    return {
        name: value for name, value in fields.items() if name == "messages" or value not in empty
    }, {}


def _messages(message: Message) -> Iterator[Payload]:
    """Yield the messages of one turn; each result is a message of its own."""
    for part in message.parts:
        if isinstance(part, Result):
            yield _result(part)
    content = [_part(part) for part in message.parts if not isinstance(part, Result)]
    if content or not message.parts:
        yield {"role": message.role, "content": content}


def _part(part: AnyPart) -> Payload:
    signature = {"signature": part.signature.value} if part.signature else {}
    match part:
        case Text():
            return {**_text(part.text), **signature}
        case Thinking():
            return {"kind": "thinking", "thinking": {"text": part.text, **signature}}
        case Call():
            call = {"id": part.any_id, "name": part.name, "arguments": part.arguments}
            return {"kind": "tool_call", "tool_call": {**call, **signature}}
        case Media():
            return _medium(part)
    raise TranslationError(part.place, "is a part of an answer of one provider")


def _text(text: str) -> Payload:
    return {"kind": "text", "text": text}


def _medium(medium: Media) -> Payload:
    if (medium.start_s, medium.end_s, medium.fps) != (None, None, None):
        raise TranslationError(medium.place, "is a part of a video")
    kind = medium.kind if medium.kind in _KINDS else "document"
    fields = {
        "data": medium.data,
        "url": medium.url,
        "media_type": medium.media_type,
        "detail": medium.detail if kind == "image" else None,
        "file_name": medium.name if kind == "document" else None,
    }
    return {"kind": kind, kind: {name: value for name, value in fields.items() if value}}


def _result(result: Result) -> Payload:
    """Return the message of a result, which may have a text and one image."""
    if result.parts is None:
        return tool_result(result.any_id, result.value, result.failed)
    texts = [part.text for part in result.parts if isinstance(part, Text)]
    match [part for part in result.parts if isinstance(part, Media)]:
        case []:
            image = {}
        case [Media(kind="image", data=str(data), media_type=media_type)]:
            image = {"image_data": data, "image_media_type": media_type}
        case _:
            raise TranslationError(result.place, "is a result with media other than one image")
    message = tool_result(result.any_id, "\n".join(texts), result.failed)
    message["content"][0]["tool_result"] |= image
    return message


def _tool(tool: Function) -> Payload:
    schema = tool.schema.value if tool.schema else None
    fields = {"name": tool.name, "description": tool.description, "parameters": schema}
    return {name: value for name, value in fields.items() if value is not None}


def _choice(prompt: Prompt) -> Payload | None:
    if prompt.choice is None:
        return None
    named = {"tool_name": prompt.choice.name} if prompt.choice.name else {}
    return {"mode": prompt.choice.mode, **named}


def _format(prompt: Prompt) -> Payload | None:
    if prompt.format is None:
        return None
    if prompt.format.schema is None:
        return {"type": "json"}
    return {"type": "json_schema", "json_schema": prompt.format.schema.value}


def _options(prompt: Prompt) -> Payload:
    """Return the options of single providers: Google's words, and the tier of OpenAI."""
    google = prompt.google
    gemini: Payload = {_GOOGLE[name]: google[name] for name in _GOOGLE if name in google}
    if "safety" in google:
        gemini["safetySettings"] = [
            {"category": category, "threshold": threshold}
            for category, threshold in google["safety"].items()
        ]
    if "thinking_level" in google:
        gemini["thinkingConfig"] = {"thinkingLevel": google["thinking_level"]}
    openai = {"service_tier": google["tier"]} if "tier" in google else {}
    return {name: own for name, own in ((PROVIDER, gemini), ("openai", openai)) if own}


WRITER: Final = PromptWriter(
    write,
    frozenset({
        *("system", "messages", "tools", "choice", "output", "google", "thinking.effort"),
        *(f"settings.{name}" for name, _ in SETTINGS.values()),
    }),
    losses_of_model(SCHEMA_LOSSES),
)  # fmt: skip
