"""Writes the body of ``POST /interactions`` from a generate request.

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

from harness.stream.generation import GenerateRequest
from harness.stream.session import Session

from ..given import (
    Medium,
    Part,
    function_of,
    known_fields,
    medium_of,
    text_item,
    texts_of,
    with_options,
    without_contents,
    written,
)

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
FIELDS: Final = {"cachedContent": "cached_content", "labels": "labels"}
TOOLS: Final = {
    "googleSearch": "google_search",
    "codeExecution": "code_execution",
    "urlContext": "url_context",
    "googleMaps": "google_maps",
}
"""Tools that run on the server → their ``type``."""
LEVELS: Final = ((0, "minimal"), (1024, "low"), (8192, "medium"))
"""Largest thinking budget → thinking level; high above these."""
_OWN: Final = frozenset({"systemInstruction", "tools", "toolConfig", "generationConfig"})
_FORMAT: Final = frozenset({"responseMimeType", "responseJsonSchema", "responseModalities"})


def to_interaction(request: GenerateRequest, session: Session) -> GenerateRequest:
    """The request with the body of an interaction; see `harness.providers.provider.Provider`.

    ``store`` and ``previous_interaction_id`` are options of the prompt, or values of the session's
    context.
    """
    given, warnings = without_contents(request.body), list(request.warnings)
    state = {name: session.context[name] for name in _STATE if name in session.context}
    options = request.options.get(NAME)
    chosen = {**state, **(options if isinstance(options, Mapping) else {})}
    contents = request.body.get("contents", [])
    if chosen.get("previous_interaction_id"):
        contents = _after_the_answer(contents)
    body: dict[str, Any] = {} if "agent" in chosen else _model(request.model, warnings)
    body["input"] = [step for content in contents for step in _steps(content, warnings)]
    if system := texts_of(given.get("systemInstruction")):
        body["system_instruction"] = "\n\n".join(system)
    if tools := _tools(given.get("tools", ()), warnings):
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
    if request.streamed or session.context.get("stream"):
        fields["stream"] = True
    if not chosen.keys() & _STORED:
        fields["store"] = False
    body = with_options({**body, **fields, **state}, request, NAME)
    return replace(request, body=body, warnings=tuple(warnings))


def _model(model: str | None, warnings: list[str]) -> dict[str, Any]:
    if not model:
        warnings.append(f"model: is missing; {_WIRE} needs a model or an agent")
    return {"model": model} if model else {}


def _after_the_answer(contents: Sequence[Part]) -> Sequence[Part]:
    """The contents after the last content of the model."""
    roles = [content.get("role") for content in contents]
    return contents[len(roles) - roles[::-1].index("model") :] if "model" in roles else contents


# -------------------------------------------------------------------- steps


def _steps(content: Mapping[str, Any], warnings: list[str]) -> list[dict[str, Any]]:
    """The steps of one content. Text and media that follow each other are one step."""
    role = "model_output" if content.get("role") == "model" else "user_input"
    steps: list[dict[str, Any]] = []
    for part in content["parts"]:
        signature = part.get("thoughtSignature")
        match part:
            case {"thought": True, "text": text}:
                steps.append(_thought(text, signature))
                continue
            case {"functionResponse": result}:
                steps.append(_result(result))
                continue
            case {"type": str()}:  # a step of an answer, which is sent back unchanged
                steps.append(dict(part))
                continue
        if "functionCall" in part:
            steps.append(_call(part["functionCall"], signature, warnings))
            continue
        if signature:
            steps.append(_thought("", signature))
        medium = medium_of(part)
        if part.get("text") or medium:
            item = _medium(medium, warnings) if medium else text_item(part["text"])
            if not steps or steps[-1]["type"] != role:
                steps.append({"type": role, "content": []})
            steps[-1]["content"].append(item)
        elif "text" not in part:
            names = ", ".join(part)
            warnings.append(f"contents: a part with {names} is left out; {_WIRE} has no such step")
    return steps


def _thought(text: str, signature: str | None) -> dict[str, Any]:
    return {
        "type": "thought",
        **({"signature": signature} if signature else {}),
        **({"summary": [text_item(text)]} if text else {}),
    }


def _call(call: Mapping[str, Any], signature: str | None, warnings: list[str]) -> dict[str, Any]:
    arguments = call.get("args") or {}
    if not isinstance(arguments, Mapping):
        warnings.append(
            f"contents: the arguments of the call {call['id']} are left out; they are not a JSON"
            " object, and a step needs one"
        )
        arguments = {}
    return {
        "type": "function_call",
        "id": call["id"],
        "name": call["name"],
        "arguments": arguments,
        **({"signature": signature} if signature else {}),
    }


def _result(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result: an object or a string as it is, contents if it has media or several texts, any
    other value in an object.
    """
    value: Any = result.get("response")
    if files := result.get("parts"):
        before = [] if value is None else [text_item(written(value))]
        media = [(part, medium_of(part)) for part in files]
        value = [
            *before,
            *(_medium(medium, []) if medium else text_item(part["text"]) for part, medium in media),
        ]
    elif not isinstance(value, str | Mapping):
        value = {"result": value}
    return {
        "type": "function_result",
        "call_id": result["id"],
        "name": result["name"],
        "result": value,
        **({"is_error": True} if result.get("isError") else {}),
    }


def _medium(medium: Medium, warnings: list[str]) -> dict[str, Any]:
    if medium.name:
        warnings.append(
            f"contents: the file name {medium.name!r} is left out; {_WIRE} has no field for it"
        )
    held = {
        "data": medium.data,
        "uri": medium.uri,
        "mime_type": medium.media_type,
        "resolution": medium.level,
    }
    return {
        "type": medium.kind,
        **{name: value for name, value in held.items() if value is not None},
    }


# -------------------------------------------------------------------- settings


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
