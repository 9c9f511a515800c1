"""Writes the body of ``POST /chat/completions`` of Gemini's OpenAI-compatible endpoint from a
prompt.

A signature is put into ``extra_content`` of its call, or of the message if it belongs to a text or
a thought. Thoughts are tagged text, as in an answer. An assistant's message has one text and its
calls, so text after a call is moved before it.

Source: https://ai.google.dev/gemini-api/docs/openai.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from ..gemini.other_wire import (
    function_of,
    gemini_settings,
    known_fields,
    named,
    plain,
    text_item,
    written,
)
from ..gemini.request import redacted_warning

NAME: Final = "openai-compat"
_WIRE: Final = "the compatible endpoint"

SETTINGS: Final = {
    "temperature": "temperature",
    "topP": "top_p",
    "maxOutputTokens": "max_tokens",
    "candidateCount": "n",
    "stopSequences": "stop",
    "seed": "seed",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}
"""Field of ``generationConfig`` → field of the body."""
GOOGLE: Final = {
    "cachedContent": "cached_content",
    "safetySettings": "safety_settings",
    "labels": "labels",
}
"""Field of a generate request → field of ``extra_body.google``."""
CHOICES: Final = {"AUTO": "auto", "NONE": "none", "ANY": "required", "VALIDATED": "auto"}
"""Mode of function calling → ``tool_choice``."""
SOUNDS: Final = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/x-wav": "wav"}
"""Media type → ``format`` of audio, if it is not the second half of the type."""
_OWN: Final = frozenset({"systemInstruction", "tools", "toolConfig", "generationConfig"})
_FORMAT: Final = frozenset({"responseMimeType", "responseJsonSchema"})
_TAGS: Final = ("<thought>", "</thought>")


def write_completion(prompt: Prompt, session: Session) -> tuple[dict[str, Any], list[str]]:
    """Return the body of a chat completion; see `harness.providers.provider.Provider.write`."""
    warnings: list[str] = []
    given = gemini_settings(prompt, warnings)
    body: dict[str, Any] = {}
    if prompt.model:
        body["model"] = prompt.model
    else:
        warnings.append(f"model: is missing; {_WIRE} needs one")
    body["messages"] = [
        *(
            {"role": "system", "content": instruction.text}
            for instruction in prompt.instructions
            if instruction.text
        ),
        *(wire for message in prompt.messages for wire in _messages(message, warnings)),
    ]
    if tools := _tools(given.get("tools", ()), warnings):
        body["tools"] = tools
    body |= _choice(given.get("toolConfig"), warnings)
    config = dict(given.get("generationConfig") or {})
    body |= _format({key: config.pop(key) for key in _FORMAT & config.keys()})
    effort, thinking = _thinking(config.pop("thinkingConfig", None) or {})
    settings, unsaid = known_fields(config, SETTINGS, "generationConfig.", _WIRE)
    rest = {key: value for key, value in given.items() if key not in _OWN}
    google, more_unsaid = known_fields(rest, GOOGLE, "", _WIRE)
    warnings += [*unsaid, *more_unsaid]
    body |= {**settings, **effort}
    if google := {**google, **thinking}:
        body["extra_body"] = {"google": google}
    if prompt.streamed or session.context.get("stream"):
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return with_options(body, prompt, NAME), warnings


# -------------------------------------------------------------------- messages


def _messages(message: Message, warnings: list[str]) -> list[dict[str, Any]]:
    parts = [plain(part) for part in message.parts]
    if message.role == "assistant":
        return _answer(parts, warnings)
    results = [_result(part, warnings) for part in parts if isinstance(part, Result)]
    items = [
        item for part in parts if not isinstance(part, Result) for item in _item(part, warnings)
    ]
    if not items:
        return results
    content = items[0]["text"] if len(items) == 1 and items[0]["type"] == "text" else items
    return [*results, {"role": message.role, "content": content}]


class _Message:
    """An assistant's message while its parts are read."""

    def __init__(self) -> None:
        self.texts: list[tuple[bool, str]] = []
        self.refusal = ""
        self.calls: list[dict[str, Any]] = []
        self.signature: str | None = None

    def written(self) -> list[dict[str, Any]]:
        """Return a list with the message; an empty list for an empty message."""
        message: dict[str, Any] = {"role": "assistant"}
        if self.texts:
            message["content"] = "".join(
                text.join(_TAGS) if thought else text for thought, text in self.texts
            )
        if self.refusal:
            message["refusal"] = self.refusal
        if self.calls:
            message["tool_calls"] = self.calls
        thought = {"thought": True} if any(thought for thought, _ in self.texts) else {}
        signed = {"thought_signature": self.signature} if self.signature else {}
        if google := {**thought, **signed}:
            message["extra_content"] = {"google": google}
        return [message] if len(message) > 1 else []


def _answer(parts: Sequence[AnyPart], warnings: list[str]) -> list[dict[str, Any]]:
    """Return the messages of one answer: one, or more if several of its texts are signed, because a
    message holds one signature.
    """
    message, messages = _Message(), []
    for part in parts:
        signature = part.signature.value if part.signature else None
        if isinstance(part, Call):
            message.calls.append(_call(part, signature))
            continue
        if not isinstance(part, Text | Thinking):
            _leave(part, "an assistant's message has only text and calls", warnings)
            continue
        if signature and message.signature and not message.calls:
            messages += message.written()
            message = _Message()
        if part.text and message.calls:
            warnings.append(
                f"contents: text after a call is sent before it; {_WIRE} has one text a message"
            )
        if isinstance(part, Text) and part.refusal:
            message.refusal += part.text
        elif part.text:
            _add(message.texts, isinstance(part, Thinking), part.text)
        if signature and message.signature:
            warnings.append(f"contents: a second signature is left out; {_WIRE} has one a message")
        else:
            message.signature = signature or message.signature
    return [*messages, *message.written()]


def _add(texts: list[tuple[bool, str]], thought: bool, text: str) -> None:
    """Add a text; thoughts that follow each other share their tags."""
    if texts and texts[-1][0] == thought:
        text = texts.pop()[1] + text
    texts.append((thought, text))


def _call(call: Call, signature: str | None) -> dict[str, Any]:
    arguments = call.arguments
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    extra = {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}
    return {
        **extra,
        "id": call.any_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _result(result: Result, warnings: list[str]) -> dict[str, Any]:
    """Return a tool's message: a string as it is, any other value as JSON, a failure as ``{"error":
    …}`` because the message has no field for it.
    """
    value, parts = result.value, result.parts or ()
    texts = [] if value is None else [written(value)]
    texts += [part.text for part in parts if isinstance(part, Text)]
    for part in parts:
        if isinstance(part, Media):
            _leave(part, "a tool's message has only text", warnings)
    content: Any = "".join(texts) if len(texts) < 2 else [text_item(text) for text in texts]
    if result.failed:
        content = written({"error": value if value is not None else "\n".join(texts)})
    return {"role": "tool", "tool_call_id": result.any_id, "content": content}


def _item(part: AnyPart, warnings: list[str]) -> list[dict[str, Any]]:
    if isinstance(part, Text):
        return [text_item(part.text)]
    item = _medium(part) if isinstance(part, Media) else None
    if item is None:
        _leave(part, f"{_WIRE} does not accept such a part", warnings)
        return []
    return [item]


def _medium(medium: Media) -> dict[str, Any] | None:
    """Return the item for media; None if a message has no form for them."""
    media_type = medium.media_type or "application/octet-stream"
    data_url = f"data:{media_type};base64,{medium.data}" if medium.data is not None else None
    if medium.kind == "image":
        detail = {"detail": medium.detail} if medium.detail in ("low", "high") else {}
        return {"type": "image_url", "image_url": {"url": data_url or medium.url, **detail}}
    if data_url is None or medium.kind == "video":
        return None
    if medium.kind == "audio":
        sound = SOUNDS.get(media_type, media_type.rpartition("/")[2])
        return {"type": "input_audio", "input_audio": {"data": medium.data, "format": sound}}
    name = {"filename": medium.name} if medium.name else {}
    return {"type": "file", "file": {**name, "file_data": data_url}}


def _leave(part: AnyPart, why: str, warnings: list[str]) -> None:
    if isinstance(part, Redacted):
        warnings.append(redacted_warning(part))
    else:
        warnings.append(f"contents: a part with {named(part)} is left out; {why}")


# -------------------------------------------------------------------- settings


def _tools(tools: Sequence[Mapping[str, Any]], warnings: list[str]) -> list[dict[str, Any]]:
    functions: list[dict[str, Any]] = []
    for number, tool in enumerate(tools):
        for key, value in tool.items():
            if key == "functionDeclarations":
                functions += [
                    {"type": "function", "function": function_of(declared)} for declared in value
                ]
            else:
                warnings.append(f"tools[{number}].{key}: is left out; {_WIRE} has only functions")
    return functions


def _choice(config: Any, warnings: list[str]) -> dict[str, Any]:
    calling = (config or {}).get("functionCallingConfig") or {}
    mode, names = calling.get("mode"), list(calling.get("allowedFunctionNames") or ())
    if len(names) == 1:
        return {"tool_choice": {"type": "function", "function": {"name": names[0]}}}
    if names:
        warnings.append(f"allowedFunctionNames: is left out; {_WIRE} allows one function, or all")
    return {"tool_choice": CHOICES.get(mode, "auto")} if mode else {}


def _thinking(thinking: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the field of the body and Google's own field: a level becomes an effort. A budget is
    not allowed beside an effort.
    """
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    shows = thinking.get("includeThoughts")
    config = {
        **({} if shows is None else {"include_thoughts": shows}),
        **({} if budget is None else {"thinking_budget": budget}),
    }
    effort = {"reasoning_effort": level.lower()} if level and budget is None else {}
    return effort, {"thinking_config": config} if config else {}


def _format(shape: Mapping[str, Any]) -> dict[str, Any]:
    schema = shape.get("responseJsonSchema")
    if schema is not None:
        named = {"name": "response", "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    if shape.get("responseMimeType") == "application/json":
        return {"response_format": {"type": "json_object"}}
    return {}
