"""Writes the body of ``POST /v1/chat/completions`` from a prompt.

An assistant's message has one text and its calls, so text after a call is moved before it. This API
takes back no reasoning; servers beside OpenAI take the signed items of ``reasoning_details``.

Source: https://platform.openai.com/docs/api-reference/chat/create.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from harness.stream.prompt import (
    AnyPart,
    Call,
    Media,
    Message,
    Prompt,
    Redacted,
    Result,
    Text,
    Thinking,
)
from harness.stream.session import Session

from ..body_options import with_options
from .settings import (
    CHAT,
    JsonObject,
    Warnings,
    arguments_text,
    custom_input,
    custom_tools,
    data_url,
    effort,
    failure,
    first_fields,
    functions,
    named_schema,
    sound,
    taken_settings,
    tool_choice,
    warn_of_home,
)

_SETTINGS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_completion_tokens",
    "stop": "stop",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
_COMPLETIONS: Final = "Chat Completions"


def write_completion(prompt: Prompt, session: Session) -> tuple[JsonObject, list[str]]:
    """Return the body of a request for a completion."""
    warnings: Warnings = []
    body = first_fields(prompt, warnings)
    custom = custom_tools(prompt, CHAT)
    body["messages"] = [
        *(
            {"role": "system", "content": instruction.text}
            for instruction in prompt.instructions
            if instruction.text
        ),
        *(wire for message in prompt.messages for wire in _messages(message, custom, warnings)),
    ]
    if tools := functions(prompt, warnings, nested=True):
        body["tools"] = tools
    body |= tool_choice(prompt, nested=True)
    body |= taken_settings(prompt, _SETTINGS, _COMPLETIONS, warnings)
    if chosen := effort(prompt, warnings):
        body["reasoning_effort"] = chosen
    body |= _format(prompt)
    if prompt.streamed or session.context.get("stream"):
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    warn_of_home(prompt, warnings)
    return with_options(body, prompt, CHAT), warnings


def _messages(message: Message, custom: frozenset[str], warnings: Warnings) -> Iterator[JsonObject]:
    named = {"name": message.name} if message.name is not None else {}
    if message.role == "assistant":
        written = _answer(message.parts, custom, warnings)
        if len(written) > 1:
            yield {**written, **named}
        return
    content: list[JsonObject] = []
    for part in message.parts:
        if isinstance(part, Result):
            yield _result(part, warnings)
        elif item := _item(part, warnings):
            content.append(item)
    if len(content) == 1 and content[0]["type"] == "text":
        yield {"role": message.role, "content": content[0]["text"], **named}
    elif content:
        yield {"role": message.role, "content": content, **named}


def _answer(parts: Sequence[AnyPart], custom: frozenset[str], warnings: Warnings) -> JsonObject:
    text = refusal = ""
    calls: list[JsonObject] = []
    details: list[JsonObject] = []
    for part in parts:
        match part:
            case Text():
                if part.text and calls:
                    warnings.append(
                        f"{part.place}: text after a call is sent before it; {_COMPLETIONS} has"
                        " one text a message"
                    )
                if part.refusal:
                    refusal += part.text
                else:
                    text += part.text
            case Call():
                calls.append(_call(part, custom))
            case Thinking() if part.signature:
                details.append(_detail(part.id, part.text, part.signature.value))
            case Redacted():
                details.append(_detail(part.id, "", part.data.value))
            case _:
                kind = type(part).__name__.lower()
                warnings.append(f"{part.place}: is left out; {_COMPLETIONS} takes back no {kind}")
    fields = {
        "content": text,
        "refusal": refusal,
        "reasoning_details": details,
        "tool_calls": calls,
    }
    return {"role": "assistant", **{name: value for name, value in fields.items() if value}}


def _detail(item_id: str | None, text: str, secret: str) -> JsonObject:
    """Return an item of reasoning, signed or encrypted."""
    if item_id:
        summary = {"summary": text} if text else {}
        return {"type": "reasoning.encrypted", "data": secret, "id": item_id, **summary}
    return {"type": "reasoning.text", "text": text, "signature": secret}


def _call(call: Call, custom: frozenset[str]) -> JsonObject:
    if (text := custom_input(call, custom)) is not None:
        named = {"name": call.name, "input": text}
        return {"id": call.any_id, "type": "custom", "custom": named}
    function = {"name": call.name, "arguments": arguments_text(call)}
    return {"id": call.any_id, "type": "function", "function": function}


def _result(result: Result, warnings: Warnings) -> JsonObject:
    """Return a tool's message, which has only text."""
    for part in result.parts or ():
        if isinstance(part, Media):
            warnings.append(f"{part.place}: is left out; a tool's message has only text")
    texts = [part.text for part in result.parts or () if isinstance(part, Text)]
    own = [failure(result)] if result.value is not None or result.failed else []
    content: Any = "".join([*own, *([] if result.failed else texts)])
    return {"role": "tool", "tool_call_id": result.any_id, "content": content}


def _item(part: AnyPart, warnings: Warnings) -> JsonObject | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text} if part.text else None
        case Media(kind="image"):
            detail = {"detail": part.detail} if part.detail in ("low", "high") else {}
            url = data_url(part) if part.data is not None else part.url
            return {"type": "image_url", "image_url": {"url": url, **detail}}
        case Media(kind="audio", data=str(data)):
            return sound(data, part.media_type)
        case Media(kind="document", data=str()):
            name = {"filename": part.name} if part.name else {}
            return {"type": "file", "file": {**name, "file_data": data_url(part)}}
    warnings.append(f"{part.place}: is left out; {_COMPLETIONS} does not accept such a part")
    return None


def _format(prompt: Prompt) -> JsonObject:
    shape = prompt.format
    if shape is None:
        return {}
    if (schema := named_schema(shape)) is None:
        return {"response_format": {"type": "json_object"}}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}
