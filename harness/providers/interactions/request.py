"""Writes the body of ``POST /interactions`` from a prompt.

A conversation is a list of steps: the user's texts, results, and the steps of earlier answers. The
signature of a text is put into a thought step before it. The signature of a call is put into the
call's own step, although this wire signs thought steps; thought steps go back at their places. With
``previous_interaction_id`` the steps up to the last answer are not sent, because the server has
them; otherwise all are sent, and nothing is stored.

Sources: https://ai.google.dev/gemini-api/docs/interactions-overview and
https://ai.google.dev/api/interactions-api.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.stream.prompt import (
    Call,
    Media,
    Message,
    Native,
    Prompt,
    Redacted,
    Result,
    ServerTool,
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
    signature_in,
    text_item,
    written,
)
from ..gemini.request import redacted_warning

NAME: Final = "interactions"
_WIRE: Final = "the Interactions API"
_STATE: Final = ("previous_interaction_id", "store")
_STORED: Final = frozenset({*_STATE, "background", "continuation_token"})
"""Fields that go with an answer that the server stores."""

SETTINGS: Final = {
    "temperature": "temperature",
    "topP": "top_p",
    "maxOutputTokens": "max_output_tokens",
    "seed": "seed",
    "stopSequences": "stop_sequences",
}
"""Field of ``generationConfig`` → field of ``generation_config``."""
FIELDS: Final = {
    "cachedContent": "cached_content",
    "labels": "labels",
    "serviceTier": "service_tier",
}
CATEGORY: Final = "HARM_CATEGORY_"
"""Begins the names of generateContent for the types of ``safety_settings``."""
OFFSETS: Final = {"start_s": "start_offset", "end_s": "end_offset"}
"""Field of a medium → field of ``processing``."""
TOOLS: Final = {
    "googleSearch": "google_search",
    "codeExecution": "code_execution",
    "urlContext": "url_context",
    "googleMaps": "google_maps",
}
"""Tools that run on the server → their ``type``."""
LEVELS: Final = ((0, "minimal"), (1024, "low"), (8192, "medium"))
"""Largest thinking budget → thinking level; high above these."""
_OWN: Final = frozenset(
    {"systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"}
)
_FORMAT: Final = frozenset({"responseMimeType", "responseJsonSchema", "responseModalities"})


def write_interaction(prompt: Prompt, session: Session) -> tuple[dict[str, Any], list[str]]:
    """Return the body of an interaction; see `harness.providers.provider.Provider.write`.

    ``store`` and ``previous_interaction_id`` are options of the prompt, or values of the session's
    context.
    """
    warnings: list[str] = []
    own = [tool for tool in prompt.tools if isinstance(tool, ServerTool) and "type" in tool.raw]
    others = tuple(tool for tool in prompt.tools if tool not in own)
    given = gemini_settings(replace(prompt, tools=others), warnings)
    state = {name: session.context[name] for name in _STATE if name in session.context}
    options = prompt.options.get(NAME)
    chosen = {**state, **(options if isinstance(options, Mapping) else {})}
    messages: Sequence[Message] = prompt.messages
    if chosen.get("previous_interaction_id"):
        messages = _after_the_answer(messages)
    body: dict[str, Any] = {} if "agent" in chosen else _model(prompt.model, warnings)
    body["input"] = [step for message in messages for step in _steps(message, warnings)]
    if system := [instruction.text for instruction in prompt.instructions if instruction.text]:
        body["system_instruction"] = "\n\n".join(system)
    server_tools = [dict(tool.raw) for tool in own]
    if tools := [*_tools(given.get("tools", ()), warnings), *server_tools]:
        body["tools"] = tools
    config = dict(given.get("generationConfig") or {})
    shape = {key: config.pop(key) for key in _FORMAT & config.keys()}
    generation = {**_generation(config, warnings), **_choice(given.get("toolConfig"))}
    if generation:
        body["generation_config"] = generation
    body |= _format(shape)
    rest = {key: value for key, value in given.items() if key not in _OWN}
    fields, unsaid = known_fields(rest, FIELDS, "", _WIRE)
    warnings += unsaid
    if safety := given.get("safetySettings"):
        fields["safety_settings"] = [_threshold(setting) for setting in safety]
    if prompt.streamed or session.context.get("stream"):
        fields["stream"] = True
    if not chosen.keys() & _STORED:
        fields["store"] = False
    return with_options({**body, **fields, **state}, prompt, NAME), warnings


def _model(model: str | None, warnings: list[str]) -> dict[str, Any]:
    if not model:
        warnings.append(f"model: is missing; {_WIRE} needs a model or an agent")
    return {"model": model} if model else {}


def _after_the_answer(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages after the last one of the model."""
    roles = [message.role for message in messages]
    after = len(roles) - roles[::-1].index("assistant") if "assistant" in roles else 0
    return messages[after:]


# -------------------------------------------------------------------- steps


def _steps(message: Message, warnings: list[str]) -> list[dict[str, Any]]:
    """Return the steps of one message. Text and media that follow each other are one step."""
    steps: list[dict[str, Any]] = []
    for part in map(plain, message.parts):
        signature = part.signature.value if part.signature else None
        match part:
            case Thinking(text=text):
                steps.append(_thought(text, signature))
            case Result():
                steps.append(_result(part))
            case Call():
                steps.append(_call(part, signature, warnings))
            case Text() | Media():
                if signature:
                    steps.append(_thought("", signature))
                _add(steps, part, message.role, warnings)
            case Native(raw={"type": str()} as raw):  # a step, which is sent back unchanged
                steps.append(dict(raw))
            case Native():
                if held := signature_in(part.raw):
                    steps.append(_thought("", held.value))
                warnings.append(
                    f"contents: a part with {named(part)} is left out; {_WIRE} has no such step"
                )
            case Redacted():
                warnings.append(redacted_warning(part))
    return steps


def _add(steps: list[dict[str, Any]], part: Text | Media, role: str, warnings: list[str]) -> None:
    """Add a text or media to the step of its role; an empty text is nothing."""
    if isinstance(part, Text) and not part.text:
        return
    kind = "model_output" if role == "assistant" else "user_input"
    if not steps or steps[-1]["type"] != kind:
        steps.append({"type": kind, "content": []})
    steps[-1]["content"].append(_item(part, warnings))


def _item(part: Text | Media, warnings: list[str]) -> dict[str, Any]:
    return text_item(part.text) if isinstance(part, Text) else _medium(part, warnings)


def _thought(text: str, signature: str | None) -> dict[str, Any]:
    return {
        "type": "thought",
        **({"signature": signature} if signature else {}),
        **({"summary": [text_item(text)]} if text else {}),
    }


def _call(call: Call, signature: str | None, warnings: list[str]) -> dict[str, Any]:
    arguments = call.arguments
    if not isinstance(arguments, Mapping):
        warnings.append(
            f"contents: the arguments of the call {call.any_id} are left out; they are not a JSON"
            " object, and a step needs one"
        )
        arguments = {}
    return {
        "type": "function_call",
        "id": call.any_id,
        "name": call.name,
        "arguments": arguments,
        **({"signature": signature} if signature else {}),
    }


def _result(result: Result) -> dict[str, Any]:
    """Return a result: an object or a string as it is, contents if it has media or several texts,
    any other value in an object.
    """
    value = result.value
    if result.parts:
        before = [] if value is None else [text_item(written(value))]
        value = [*before, *(_item(part, []) for part in result.parts)]
    elif not isinstance(value, str | Mapping):
        value = {"result": value}
    return {
        "type": "function_result",
        "call_id": result.any_id,
        "name": result.name,
        "result": value,
        **({"is_error": True} if result.failed else {}),
    }


def _medium(medium: Media, warnings: list[str]) -> dict[str, Any]:
    if medium.name:
        warnings.append(
            f"contents: the file name {medium.name!r} is left out; {_WIRE} has no field for it"
        )
    offsets = {name: getattr(medium, own) for own, name in OFFSETS.items()}
    times: dict[str, Any] = {
        name: f"{value:g}s" for name, value in offsets.items() if value is not None
    }
    if medium.fps is not None:
        times["fps"] = medium.fps
    held = {
        "data": medium.data,
        "uri": medium.url,
        "mime_type": medium.media_type,
        "resolution": medium.detail,
        "processing": {"type": "static", **times} if times else None,
    }
    return {
        "type": medium.kind,
        **{name: value for name, value in held.items() if value is not None},
    }


# -------------------------------------------------------------------- settings


def _threshold(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return a threshold, whose words are those of generateContent in lower case."""
    words = {name: str(value).lower() for name, value in setting.items()}
    category = words.pop("category", "").removeprefix(CATEGORY.lower())
    return {"type": category, **words}


def _tools(tools: Sequence[Mapping[str, Any]], warnings: list[str]) -> list[dict[str, Any]]:
    wire_tools: list[dict[str, Any]] = []
    for number, tool in enumerate(tools):
        for key, value in tool.items():
            if key == "functionDeclarations":
                wire_tools += [{"type": "function", **function_of(declared)} for declared in value]
            elif key in TOOLS and not value:
                wire_tools.append({"type": TOOLS[key]})
            else:
                warnings.append(
                    f"tools[{number}].{key}: is left out; give it in"
                    f" provider_options.{NAME}.tools in the form of this wire"
                )
    return wire_tools


def _choice(config: Any) -> dict[str, Any]:
    calling = (config or {}).get("functionCallingConfig") or {}
    if not calling:
        return {}
    mode, names = str(calling.get("mode", "AUTO")).lower(), calling.get("allowedFunctionNames")
    return {
        "tool_choice": {"allowed_tools": {"mode": mode, "tools": names}} if names else mode,
    }


def _generation(config: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    thinking = dict(config.pop("thinkingConfig", None) or {})
    generation, unsaid = known_fields(config, SETTINGS, "generationConfig.", _WIRE)
    warnings += unsaid
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is None and budget is not None and budget >= 0:  # -1: the model decides
        level = next((name for most, name in LEVELS if budget <= most), "high")
        warnings.append(
            f"thinkingBudget: {budget} is sent as the level {level}; {_WIRE} has no budgets"
        )
    if level is not None:
        generation["thinking_level"] = level.lower()
    if (shows := thinking.get("includeThoughts")) is not None:
        generation["thinking_summaries"] = "auto" if shows else "none"
    return generation


def _format(shape: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if kind := shape.get("responseMimeType"):
        schema = shape.get("responseJsonSchema")
        body["response_format"] = {
            "type": "text",
            "mime_type": kind,
            **({"schema": schema} if schema is not None else {}),
        }
    if modalities := shape.get("responseModalities"):
        body["response_modalities"] = [str(modality).lower() for modality in modalities]
    return body
