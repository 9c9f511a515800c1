"""The common part of the requests for OpenAI's two APIs: tools, settings, media, and what the
service refuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from harness.stream.generation import TranslationError
from harness.stream.prompt import (
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

Json = dict[str, Any]
Warnings = list[str]

CHAT: Final = "openai-chat"
"""The options of a prompt under this name are for Chat Completions, which is then asked."""
WIRE: Final = "OpenAI"
# OpenAI's reference: "Must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum
# length of 64."
_NAMES: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SOUNDS: Final = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/x-wav": "wav"}
"""Media type → ``format`` of audio, if it is not the second half of the type."""


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


def functions(prompt: Prompt, warnings: Warnings, *, nested: bool) -> list[Json]:
    """Return the declared tools; in Chat Completions a function is ``nested``."""
    tools: list[Json] = []
    for tool in prompt.tools:
        if isinstance(tool, ServerTool):
            if tool.vendor != NAME:
                raise TranslationError(tool.place, tool.words)
            tools.append(dict(tool.raw))
        else:
            tools.append(_function(tool, warnings, nested))
    return tools


def _function(tool: Function, warnings: Warnings, nested: bool) -> Json:
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


def custom_tools(prompt: Prompt, name: str) -> frozenset[str]:
    """Return the names of the custom tools, which take a text: those among the options under
    ``name``.
    """
    options = prompt.options.get(name)
    tools = options.get("tools") if isinstance(options, Mapping) else None
    given = [tool for tool in tools or () if isinstance(tool, Mapping)]
    custom = [tool.get("custom", tool) for tool in given if tool.get("type") == "custom"]
    return frozenset(str(tool.get("name")) for tool in custom if isinstance(tool, Mapping))


def taken_settings(prompt: Prompt, names: Mapping[str, str], wire: str, warnings: Warnings) -> Json:
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


def sound_format(media_type: str | None) -> str:
    """Return the format of a sound, such as ``wav``."""
    kind = media_type or ""
    return _SOUNDS.get(kind, kind.rpartition("/")[2])
