"""The common part of the requests for OpenAI's two APIs: tools, settings, media, and what the
service refuses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from harness.stream.generation import TranslationError
from harness.stream.prompt import (
    AnswerFormat,
    Call,
    Function,
    Media,
    Prompt,
    Result,
    ServerTool,
    Text,
    fields_of_home,
)

from ..gemini.other_wire import written
from .messages import NAME

JsonObject = dict[str, Any]
Warnings = list[str]

CHAT: Final = "openai-chat"
"""The options of a prompt under this name are for Chat Completions, which is then asked."""
WIRE: Final = "OpenAI"
# OpenAI's reference: "Must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum
# length of 64."
_NAMES: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SOUNDS: Final = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/x-wav": "wav"}
"""Media type → ``format`` of audio, if it is not the second half of the type."""


def first_fields(prompt: Prompt, warnings: Warnings) -> JsonObject:
    """Return the fields that both APIs have: the model and the metadata."""
    fields: JsonObject = {}
    if prompt.model:
        fields["model"] = prompt.model
    else:
        warnings.append(f"model: is missing; {WIRE} needs one")
    google = dict(prompt.google)
    if tier := google.pop("tier", None):
        fields["service_tier"] = tier
    warnings += [f"google.{name}: is left out; {WIRE} has no field for it" for name in google]
    if prompt.metadata:
        fields["metadata"] = {key: str(value) for key, value in prompt.metadata.items()}
    return fields


def check_calls(prompt: Prompt) -> None:
    """Raise `TranslationError` for a history that the service refuses: nothing to answer, or a call
    without its result.
    """
    if not prompt.messages:
        raise TranslationError("messages", f"{WIRE} refuses a request without any")
    parts = [part for message in prompt.messages for part in message.parts]
    results = {part.id for part in parts if isinstance(part, Result)}
    for part in parts:
        if isinstance(part, Call) and part.id not in results:
            raise TranslationError(
                part.place, f"{WIRE} refuses the call {part.any_id!r} without its result"
            )


def functions(prompt: Prompt, warnings: Warnings, *, nested: bool) -> list[JsonObject]:
    """Return the declared tools; in Chat Completions a function is ``nested``."""
    tools: list[JsonObject] = []
    for tool in prompt.tools:
        if isinstance(tool, ServerTool):
            if tool.vendor != NAME:
                raise TranslationError(tool.place, tool.words)
            tools.append(dict(tool.raw))
        else:
            tools.append(_function(tool, warnings, nested))
    return tools


def _function(tool: Function, warnings: Warnings, nested: bool) -> JsonObject:
    if not _NAMES.fullmatch(tool.name):
        raise TranslationError(
            f"{tool.place}.name",
            f"{tool.name!r} is refused by {WIRE}: expected 1 to 64 of A-Z a-z 0-9 _ -",
        )
    fields = {
        "name": tool.name,
        "description": tool.description or None,
        "parameters": dict(tool.schema.value) if tool.schema else None,
    }
    function = {name: value for name, value in fields.items() if value is not None}
    if nested:
        strict = {} if tool.strict is None else {"strict": tool.strict}
        return {"type": "function", "function": {**function, **strict}}
    return {
        "type": "function",
        "parameters": {"type": "object", "properties": {}},
        **function,
        "strict": bool(tool.strict),
    }


def tool_choice(prompt: Prompt, *, nested: bool) -> JsonObject:
    """Return which tool is called; in Chat Completions the name of a function is ``nested``."""
    choice = prompt.choice
    if choice is None:
        return {}
    name = {"name": choice.name}
    named = {"type": "function", **({"function": name} if nested else name)}
    parallel = {} if choice.parallel is None else {"parallel_tool_calls": choice.parallel}
    return {"tool_choice": named if choice.mode == "named" else choice.mode, **parallel}


def arguments_text(call: Call) -> str:
    """Return the arguments of a call as JSON text; a text stays as it is."""
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))


def custom_input(call: Call, custom: frozenset[str]) -> str | None:
    """Return the text that a custom tool takes; None for the call of a function."""
    if call.name in custom and isinstance(call.arguments, Mapping):
        return str(call.arguments.get("input", ""))
    return None


def effort(prompt: Prompt, warnings: Warnings) -> str | None:
    """Return the effort of the reasoning."""
    asked = prompt.reasoning
    if asked is None:
        return None
    if asked.budget is not None:
        warnings.append(f"reasoning: the budget is left out; {WIRE} has efforts, not budgets")
    return "none" if asked.mode == "off" else asked.effort


def named_schema(shape: AnswerFormat) -> JsonObject | None:
    """Return the schema of the answer with its name; None for any JSON."""
    if shape.schema is None:
        return None
    strict = {} if shape.strict is None else {"strict": shape.strict}
    return {"name": shape.name or "response", "schema": dict(shape.schema.value), **strict}


def custom_tools(prompt: Prompt, name: str) -> frozenset[str]:
    """Return the names of the custom tools, which take a text: those among the options under
    ``name``.
    """
    options = prompt.options.get(name)
    tools = options.get("tools") if isinstance(options, Mapping) else None
    given = [tool for tool in tools or () if isinstance(tool, Mapping)]
    custom = [tool.get("custom", tool) for tool in given if tool.get("type") == "custom"]
    return frozenset(str(tool.get("name")) for tool in custom if isinstance(tool, Mapping))


def taken_settings(
    prompt: Prompt, names: Mapping[str, str], wire: str, warnings: Warnings
) -> JsonObject:
    """Return the sampling settings that the wire has, and a warning for each other one."""
    warnings += [
        f"{setting}: is left out; {wire} has no field for it"
        for setting in prompt.settings
        if setting not in names
    ]
    return {names[setting]: value for setting, value in prompt.settings.items() if setting in names}


def warn_of_home(prompt: Prompt, warnings: Warnings) -> None:
    """Warn of the fields that only the application's own wire has."""
    own = {prompt.choice.place if prompt.choice else ""}
    own |= {f"{tool.place}.strict" for tool in prompt.tools if isinstance(tool, Function)}
    warnings += [
        f"{place}: is left out; {WIRE} has no field for it"
        for place in fields_of_home(prompt)
        if place not in own
    ]


def failure(result: Result) -> str:
    """Return the output of a tool as a text: a string as it is, any other value as JSON, a failure
    as ``{"error": …}`` because there is no field for it.
    """
    value = result.value
    if not result.failed:
        return "" if value is None else written(value)
    texts = [part.text for part in result.parts or () if isinstance(part, Text)]
    return written({"error": value if value is not None else "\n".join(texts)})


def data_url(medium: Media) -> str:
    """Return the data of a medium as a URL."""
    return f"data:{medium.media_type or 'application/octet-stream'};base64,{medium.data}"


def sound(data: str, media_type: str | None) -> JsonObject:
    """Return the item of a sound, with a format such as ``wav``."""
    kind = media_type or ""
    named = _SOUNDS.get(kind, kind.rpartition("/")[2])
    return {"type": "input_audio", "input_audio": {"data": data, "format": named}}
