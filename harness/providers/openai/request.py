"""Writes the body of ``POST /v1/responses`` from a prompt, or that of ``POST
/v1/chat/completions`` if the prompt has options for `CHAT`.

The history is sent whole, so the items of an answer go back as they were, in their order: reasoning
with its encrypted content before what followed it, calls, and the items of built-in tools.

Sources: https://platform.openai.com/docs/api-reference/responses/create and
https://platform.openai.com/docs/guides/conversation-state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from harness.stream.generation import UnansweredError
from harness.stream.prompt import (
    AnyPart,
    Call,
    Media,
    Message,
    Native,
    Prompt,
    Redacted,
    Result,
    Text,
    Thinking,
)
from harness.stream.session import Session

from ..body_options import with_options
from .completion import write_completion
from .items import SERVER_CALLS, SERVER_RESULTS
from .messages import NAME
from .settings import (
    CHAT,
    WIRE,
    JsonObject,
    Warnings,
    arguments_text,
    check_calls,
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
    "max_tokens": "max_output_tokens",
}
_RESPONSES: Final = "the Responses API"
_NATIVE: Final = SERVER_CALLS | SERVER_RESULTS | {"code_interpreter_call"}
"""The items of built-in tools, which are sent back unchanged."""
_PARTS_OF_ITEMS: Final = frozenset({"logs", "image"})
"""Outputs of an item that are sent back with their item."""


def write(prompt: Prompt, session: Session) -> tuple[JsonObject, list[str]]:
    """Return the body for one of the two APIs; see `harness.providers.provider.Provider.write`."""
    check_calls(prompt)
    if CHAT in prompt.options:
        return write_completion(prompt, session)
    return write_response(prompt, session)


def write_response(prompt: Prompt, session: Session) -> tuple[JsonObject, list[str]]:
    """Return the body of a request for a response."""
    warnings: Warnings = []
    body = first_fields(prompt, warnings)
    texts = [instruction.text for instruction in prompt.instructions if instruction.text]
    if texts:
        body["instructions"] = "\n\n".join(texts)
    custom = custom_tools(prompt, NAME)
    body["input"] = [
        item for message in prompt.messages for item in _items(message, custom, warnings)
    ]
    if tools := functions(prompt, warnings, nested=False):
        body["tools"] = tools
    body |= tool_choice(prompt, nested=False)
    body |= taken_settings(prompt, _SETTINGS, _RESPONSES, warnings)
    body |= _reasoning(prompt, warnings)
    body |= _format(prompt)
    if prompt.reasoning or any(item.get("type") == "reasoning" for item in body["input"]):
        body |= {"include": ["reasoning.encrypted_content"], "store": False}
    if prompt.streamed or session.context.get("stream"):
        body["stream"] = True
    warn_of_home(prompt, warnings)
    return with_options(body, prompt, NAME), warnings


# -------------------------------------------------------------------- items


def _items(message: Message, custom: frozenset[str], warnings: Warnings) -> Iterator[JsonObject]:
    if message.name is not None:
        warnings.append(f"{message.place}.name: is left out; {_RESPONSES} has no names of roles")
    if message.role == "assistant":
        yield from _answer(message.parts, custom, warnings)
        return
    content: list[JsonObject] = []
    for part in message.parts:
        if isinstance(part, Result):
            yield _result(part, custom, warnings)
        elif item := _input(part, warnings):
            content.append(item)
    if len(content) == 1 and content[0]["type"] == "input_text":
        yield {"role": message.role, "content": content[0]["text"]}
    elif content:
        yield {"role": message.role, "content": content}


def _answer(
    parts: Sequence[AnyPart], custom: frozenset[str], warnings: Warnings
) -> list[JsonObject]:
    """Return the items of one answer. Texts that follow each other are one message; reasoning needs
    an item after it.
    """
    answer: list[JsonObject] = []
    message: JsonObject | None = None
    reasoning: AnyPart | None = None
    for part in parts:
        items = list(_item(part, custom, warnings))
        for item in items:
            if item["type"] == "message" and message is not None:
                message["content"] += item["content"]
                continue
            message = item if item["type"] == "message" else None
            reasoning = part if item["type"] == "reasoning" else None
            answer.append(item)
    if reasoning is not None and reasoning is parts[-1]:
        raise UnansweredError(
            reasoning.place,
            "is reasoning without the item that followed it, which OpenAI refuses",
        )
    if reasoning is not None:
        warnings.append(
            f"{reasoning.place}: is left out; nothing that followed it can be sent back, and OpenAI"
            " refuses reasoning alone"
        )
        while answer and answer[-1]["type"] == "reasoning":
            answer.pop()
    return answer


def _item(part: AnyPart, custom: frozenset[str], warnings: Warnings) -> Iterator[JsonObject]:
    match part:
        case Text():
            if part.signature:
                warnings.append(f"{part.place}.signature: is left out; {WIRE} signs no text")
            if part.text:
                kind = "refusal" if part.refusal else "output_text"
                content = {"type": kind, "refusal" if part.refusal else "text": part.text}
                yield {"type": "message", "role": "assistant", "content": [content]}
        case Thinking() if part.signature or part.id:
            summary = [{"type": "summary_text", "text": part.text}] if part.text else []
            secret = part.signature.value if part.signature else None
            yield _reasoning_item(part.id, summary, secret)
        case Redacted():
            yield _reasoning_item(part.id, [], part.data.value)
        case Call():
            if part.signature:
                warnings.append(f"{part.place}.signature: is left out; {WIRE} signs no calls")
            yield _call(part, custom)
        case Native(raw=raw) if raw.get("type") in _NATIVE:
            yield dict(raw)
        case Native(raw=raw) if raw.get("type") in _PARTS_OF_ITEMS:
            return
        case _:
            warnings.append(
                f"{part.place}: is left out; {_RESPONSES} takes back only items that it made"
            )


def _reasoning_item(
    item_id: str | None, summary: list[JsonObject], secret: str | None
) -> JsonObject:
    named = {"id": item_id} if item_id else {}
    hidden = {"encrypted_content": secret} if secret else {}
    return {"type": "reasoning", **named, "summary": summary, **hidden}


def _call(call: Call, custom: frozenset[str]) -> JsonObject:
    fields = {"call_id": call.any_id, "name": call.name}
    if (text := custom_input(call, custom)) is not None:
        return {"type": "custom_tool_call", **fields, "input": text}
    return {"type": "function_call", **fields, "arguments": arguments_text(call)}


def _result(result: Result, custom: frozenset[str], warnings: Warnings) -> JsonObject:
    """Return the output of a call: a text, or items if it has media."""
    kind = "custom_tool_call_output" if result.name in custom else "function_call_output"
    output: Any = failure(result)
    if result.parts and not result.failed:
        items = [item for part in result.parts if (item := _input(part, warnings))]
        given = [] if result.value is None else [{"type": "input_text", "text": output}]
        output = [*given, *items]
    return {"type": kind, "call_id": result.any_id, "output": output}


def _input(part: AnyPart, warnings: Warnings) -> JsonObject | None:
    """Return the item of a user's message or of an output; None if there is no form for it."""
    match part:
        case Text():
            return {"type": "input_text", "text": part.text} if part.text else None
        case Media(kind="image"):
            url = data_url(part) if part.data is not None else part.url
            return {"type": "input_image", "image_url": url, "detail": part.detail or "auto"}
        case Media(kind="audio", data=str(data)):
            return sound(data, part.media_type)
        case Media(kind="document", url=str(url)):
            return {"type": "input_file", "file_url": url}
        case Media(kind="document"):
            name = part.name or "document"
            return {"type": "input_file", "filename": name, "file_data": data_url(part)}
    warnings.append(f"{part.place}: is left out; {_RESPONSES} does not accept such a part")
    return None


# -------------------------------------------------------------------- settings


def _reasoning(prompt: Prompt, warnings: Warnings) -> JsonObject:
    asked = prompt.reasoning
    fields = {
        "effort": effort(prompt, warnings),
        "summary": "auto" if asked and asked.shown else None,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return {"reasoning": given} if given else {}


def _format(prompt: Prompt) -> JsonObject:
    shape = prompt.format
    if shape is None:
        return {}
    if (schema := named_schema(shape)) is None:
        return {"text": {"format": {"type": "json_object"}}}
    return {"text": {"format": {"type": "json_schema", **schema}}}
