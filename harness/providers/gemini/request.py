"""Writes the body of a generate request, as the Gemini API documents it, from a prompt.

Schemas become Gemini's ``Schema``. A signature is put into the part that it belongs to. Options for
Gemini are merged into the body.

Sources: https://ai.google.dev/api/generate-content, https://ai.google.dev/api/caching#Content,
https://ai.google.dev/gemini-api/docs/thought-signatures and
https://ai.google.dev/gemini-api/docs/function-calling#multimodal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from harness.stream.fields import Fields
from harness.stream.generation import TranslationError
from harness.stream.prompt import (
    AnyPart,
    Call,
    Choice,
    Function,
    Instruction,
    Media,
    Message,
    Native,
    Prompt,
    Redacted,
    Result,
    Schema,
    ServerTool,
    Text,
    Thinking,
    fields_of_home,
)
from harness.stream.session import Session

from .schema import to_gemini_schema
from .spelling import camel

VENDOR: Final = "gemini"
"""Who makes Gemini's opaque values, and the name of its options."""

ROLES: Final = {"user": "user", "assistant": "model", "system": "user"}
SETTINGS: Final = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
"""Setting → field of ``generationConfig``."""
GOOGLE_FIELDS: Final = {"labels": "labels", "cached": "cachedContent", "tier": "serviceTier"}
"""Value in Google's words → field of the body."""
MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY", "named": "ANY"}
"""Choice of functions → mode of function calling."""
EFFORTS: Final = {"low": 1024, "medium": 4096, "high": 16384}
"""Reasoning effort → tokens, for models before Gemini 3; later models accept the word as their
level.
"""
GENERATION_FIELDS: Final = frozenset({
    "temperature", "topP", "topK", "seed", "presencePenalty", "frequencyPenalty",
    "responseLogprobs", "logprobs", "candidateCount", "maxOutputTokens", "stopSequences",
    "thinkingConfig", "enableEnhancedCivicAnswers", "responseMimeType", "responseSchema",
    "responseJsonSchema", "responseFormat", "responseModalities", "mediaResolution",
    "speechConfig", "imageConfig", "audioTranscriptionConfig", "translationConfig",
})  # fmt: skip
"""Options that go into ``generationConfig``, also if the options have them outside it."""

_GENERATION: Final = re.compile(r"gemini-([0-9]+)")
_RESOLUTIONS: Final = {"low": "MEDIA_RESOLUTION_LOW", "high": "MEDIA_RESOLUTION_HIGH"}

JsonObject = dict[str, Any]


def write_body(prompt: Prompt, session: Session) -> tuple[JsonObject, list[str]]:
    """Return the body of a generate request; see `harness.providers.provider.Provider.write`."""
    writer = _Writer()
    body: JsonObject = {
        "contents": [
            {"role": ROLES[message.role], "parts": [writer.part(part) for part in parts]}
            for message in prompt.messages
            if (parts := writer.sendable(message.parts))
        ]
    }
    if prompt.instructions:
        body["systemInstruction"] = {
            "parts": [
                writer.part(
                    instruction.pieces[0]
                    if len(instruction.pieces) == 1
                    else Text(instruction.text)
                )
                for instruction in prompt.instructions
            ]
        }
    body |= settings_of(prompt, writer.warnings)
    return body, writer.warnings


def settings_of(prompt: Prompt, warnings: list[str], *, exact: bool = False) -> JsonObject:
    """Return the fields of a generate request beside the messages, with the options for Gemini.

    ``exact``: for another wire of Gemini, which reads JSON Schema: schemas are not converted, and a
    thinking level is the word of the prompt for every model.
    """
    body: JsonObject = {}
    declarations = []
    for tool in prompt.tools:
        if isinstance(tool, ServerTool):
            raise TranslationError(tool.place, tool.words)
        declarations.append(_declaration(tool, warnings, exact))
    if declarations:
        body["tools"] = [{"functionDeclarations": declarations}]
    if prompt.choice:
        body["toolConfig"] = _tool_config(prompt.choice)
    generation = {SETTINGS[name]: value for name, value in prompt.settings.items()}
    thinking = _thinking(prompt, exact)
    if thinking:
        generation["thinkingConfig"] = thinking
    if prompt.format:
        generation["responseMimeType"] = "application/json"
        if prompt.format.schema:
            generation |= _response_schema(prompt.format.schema, warnings, exact)
    google = dict(prompt.google)
    if level := google.pop("thinking_level", None):
        generation["thinkingConfig"] = {**thinking, "thinkingLevel": level}
    if generation:
        body["generationConfig"] = generation
    if safety := google.pop("safety", None):
        body["safetySettings"] = [
            {"category": category, "threshold": threshold} for category, threshold in safety.items()
        ]
    body |= {GOOGLE_FIELDS[name]: value for name, value in google.items()}
    warnings += _left_out(prompt)
    _merge_options(prompt.options.get(VENDOR), body)
    return body


def _left_out(prompt: Prompt) -> list[str]:
    """Return warnings for the fields of a prompt that no wire of Gemini has."""
    turns: list[Instruction | Message] = [*prompt.instructions, *prompt.messages]
    named = [
        f"{turn.place}.name: is left out; Gemini's roles have no names"
        for turn in turns
        if turn.name is not None
    ]
    thoughts = [
        f"{part.place}.id: is left out; Gemini's thoughts have no ids"
        for message in prompt.messages
        for part in message.parts
        if isinstance(part, Thinking) and part.id
    ]
    metadata = ["metadata: is left out; Gemini has no place for it"] if prompt.metadata else []
    others = [f"{place}: left out; Gemini has no field for it" for place in fields_of_home(prompt)]
    return [*named, *thoughts, *metadata, *others]


# -------------------------------------------------------------------- parts


class _Writer:
    """Writes parts, and keeps the warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, warning: str) -> None:
        self.warnings.append(warning)

    def sendable(self, parts: tuple[AnyPart, ...]) -> list[AnyPart]:
        """Return the parts without encrypted thoughts, which Gemini does not have."""
        for part in parts:
            if isinstance(part, Redacted):
                self.warn(redacted_warning(part))
        return [part for part in parts if not isinstance(part, Redacted)]

    def part(self, part: AnyPart) -> JsonObject:
        match part:
            case Text(text=text):
                wire: JsonObject = {"text": text}
            case Thinking(text=text):
                wire = {"text": text, "thought": True}
            case Call():
                wire = {"functionCall": _call(part)}
            case Result():
                wire = {"functionResponse": _result(part)}
            case Media():
                if part.name:
                    self.warn(
                        f"{part.place}.file_name: is left out; Gemini's parts have no file names"
                    )
                wire = _media(part)
            case Native(raw=raw):
                wire = dict(raw)
            case Redacted():
                raise AssertionError("encrypted thoughts are left out before")
        return {**wire, "thoughtSignature": part.signature.value} if part.signature else wire


def redacted_warning(part: Redacted) -> str:
    """Return the warning for an encrypted thought, on a wire that has none."""
    return (
        f"{part.place}: redacted thinking is left out; only the provider that wrote it can read it"
    )


def _call(call: Call) -> JsonObject:
    if not isinstance(call.arguments, Mapping):
        raise TranslationError(
            f"{call.place}.{call.key}",
            "is not a JSON object; Gemini's functions take only objects",
        )
    wire_id = {"id": call.wire_id} if call.wire_id else {}
    return {**wire_id, "name": call.name, "args": call.arguments}


def _result(result: Result) -> JsonObject:
    """Return a ``functionResponse``. If the result is a list of parts under a key, a reference
    replaces each file there.
    """
    value, files = (
        result.value,
        [_media(part) for part in result.parts or () if isinstance(part, Media)],
    )
    if result.parts is not None and result.key:
        value, files = _with_references(result.parts)
    elif result.parts is not None and value is None:
        value = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    if result.failed:
        response: Any = {"error": value}
    elif result.key:
        response = {result.key: value}
    else:
        response = value if isinstance(value, Mapping) else {"result": value}
    return {
        **({"id": result.wire_id} if result.wire_id else {}),
        "name": result.name,
        "response": response,
        **({"parts": files} if files else {}),
    }


def _with_references(parts: tuple[Text | Media, ...]) -> tuple[list[JsonObject], list[JsonObject]]:
    items: list[JsonObject] = []
    files: list[JsonObject] = []
    for part in parts:
        if isinstance(part, Text):
            items.append({"type": "text", "text": part.text})
        else:
            [(place, file)] = _media(part).items()
            name = f"file_{len(files) + 1}"
            files.append({place: {**file, "displayName": name}})
            items.append({"$ref": name})
    return items, files


def _media(media: Media) -> JsonObject:
    if media.url is None:
        wire: JsonObject = {"inlineData": {"mimeType": media.media_type, "data": media.data}}
    else:
        kind = {"mimeType": media.media_type} if media.media_type else {}
        wire = {"fileData": {**kind, "fileUri": media.url}}
    if media.detail:
        wire["mediaResolution"] = {"level": _RESOLUTIONS[media.detail]}
    video: JsonObject = {
        name: f"{offset:g}s"
        for name, offset in (("startOffset", media.start_s), ("endOffset", media.end_s))
        if offset is not None
    }
    if media.fps is not None:
        video["fps"] = media.fps
    return {**wire, "videoMetadata": video} if video else wire


# -------------------------------------------------------------------- settings


def _declaration(function: Function, warnings: list[str], exact: bool) -> JsonObject:
    declaration: JsonObject = {"name": function.name}
    if function.description is not None:
        declaration["description"] = function.description
    schema = function.schema
    if schema is None:
        return declaration
    if exact or schema.exact:
        return {**declaration, "parametersJsonSchema": schema.value}
    written, unsaid = to_gemini_schema(
        schema.value if schema.worded is None else schema.worded, place=schema.place
    )
    warnings += unsaid
    if schema.worded is not None and not (written.get("properties") or written.get("anyOf")):
        return declaration
    return {**declaration, "parameters": written}


def _response_schema(schema: Schema, warnings: list[str], exact: bool) -> JsonObject:
    if exact or schema.exact:
        return {"responseJsonSchema": schema.value}
    written, unsaid = to_gemini_schema(schema.value, place=schema.place)
    warnings += unsaid
    return {"responseSchema": written}


def _tool_config(choice: Choice) -> JsonObject:
    allowed = {"allowedFunctionNames": [choice.name]} if choice.name else {}
    return {"functionCallingConfig": {"mode": MODES[choice.mode], **allowed}}


def _thinking(prompt: Prompt, exact: bool) -> JsonObject:
    """Return ``thinkingConfig``: an effort is a level, and for models before Gemini 3 a budget."""
    reasoning = prompt.reasoning
    if reasoning is None:
        return {}
    config: JsonObject = {} if reasoning.shown is None else {"includeThoughts": reasoning.shown}
    generation = _GENERATION.search(prompt.model or "")
    older = not exact and generation is not None and int(generation[1]) < 3
    if reasoning.mode == "off":
        return config
    if reasoning.effort and not older:
        config["thinkingLevel"] = reasoning.effort.upper()
    elif reasoning.budget is not None:
        config["thinkingBudget"] = reasoning.budget
    elif reasoning.effort:
        config["thinkingBudget"] = EFFORTS[reasoning.effort]
    return config


# -------------------------------------------------------------------- options


def _merge_options(options: Any, body: JsonObject) -> None:
    """Merge the options for Gemini into the body: objects are merged, tools are added, any other
    value replaces ours. Field names may be camelCase or snake_case.
    """
    if options is None:
        return
    own = Fields(_camel(options), f"provider_options.{VENDOR}")
    tools, generation = own.get("tools", list), own.get("generationConfig", dict)
    if tools is not None:
        if not all(isinstance(tool, Mapping) for tool in tools):
            own.fail("tools", "is not a list of objects")
        body["tools"] = [*body.get("tools", []), *tools]
    rest = own.rest()
    fields = {
        **_camel(generation or {}),
        **{key: rest.pop(key) for key in [*rest] if key in GENERATION_FIELDS},
    }
    _join(body, {**rest, **({"generationConfig": fields} if fields else {})})


def _camel(value: Any) -> Any:
    """Return an object with its top keys in camelCase; any other value unchanged."""
    if not isinstance(value, Mapping):
        return value
    return {camel(str(key)): inner for key, inner in value.items()}


def _join(body: JsonObject, more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(body.get(key), dict) and isinstance(value, Mapping):
            body[key] = dict(body[key])
            _join(body[key], _camel(value))
        else:
            body[key] = value
