"""Reads the body of a request of generateContent, bare or in the envelope of Code Assist: the
reverse of `request`.

The fields are those of https://ai.google.dev/api/caching#Content and
https://ai.google.dev/api/generate-content, in either spelling. A field that the prompt has no value
for is in `Prompt.more`, with its place. Nothing is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from harness.stream.json_codec import Json, objects_in
from harness.stream.prompt import (
    AnswerFormat,
    AnyPart,
    Call,
    Choice,
    Function,
    Instruction,
    Media,
    Message,
    Native,
    Opaque,
    Prompt,
    Reasoning,
    Result,
    Role,
    Schema,
    ServerTool,
    Text,
    Thinking,
    media_kind,
)

from ..history import opaque, texts_in, word
from ..request_reading import Unread, objects
from .canonical_request import canonical_request
from .fields import SpelledFields, spellings
from .request import GOOGLE_FIELDS, SETTINGS, VENDOR
from .tools import requests_thoughts

_PART: Final = spellings("text thought thoughtSignature functionCall functionResponse")
_MEDIA: Final = spellings("inlineData fileData mediaResolution videoMetadata")
_DATA: Final = spellings("mimeType data fileUri displayName")
_SCHEMAS: Final = ("parametersJsonSchema", "parameters")
_OUTPUT_SCHEMAS: Final = ("responseJsonSchema", "_responseJsonSchema", "responseSchema")
_SERVER_TOOLS: Final = {
    "googleSearch": "search",
    "googleSearchRetrieval": "search",
    "codeExecution": "code",
    "urlContext": "urls",
}
"""Field of a tool → its neutral name."""
_MODES: Final[Mapping[str, Any]] = {
    "AUTO": "auto",
    "VALIDATED": "auto",
    "NONE": "none",
    "ANY": "required",
}
_RESOLUTIONS: Final = {"MEDIA_RESOLUTION_LOW": "low", "MEDIA_RESOLUTION_HIGH": "high"}

JsonObject = dict[str, Any]


def read_contents(body: JsonObject) -> Prompt:
    """Return the prompt of a request."""
    inner, prefix, outer = body, "", {}
    if isinstance(body.get("request"), dict):
        inner, prefix = body["request"], "request."
        outer = {name: value for name, value in body.items() if name != "request"}
    contents = inner.get("contents")
    settings = {name: value for name, value in inner.items() if name != "contents"}
    reader = _Settings({**canonical_request(settings)}, prefix)
    messages = []
    for index, content in enumerate(
        objects_in(contents if isinstance(contents, list) else [contents])
    ):
        is_model = content.get("role") == "model"
        place = f"{prefix}contents[{index}]"
        reader.unread.keep(content, place, but=("role", "parts"))
        parts = tuple(
            part
            for item, own in objects(content.get("parts"), f"{place}.parts")
            for part in _parts(item, is_model, own)
        )
        role: Role = "assistant" if is_model else "user"
        messages.append(Message(role, parts, place=place))
    return reader.prompt(tuple(messages), outer, requests_thoughts(inner))


def _parts(part: JsonObject, is_model: bool, place: str) -> Iterator[AnyPart]:
    fields = SpelledFields(part, _PART)
    signed, thought = fields.take("thoughtSignature"), fields.take("thought")
    signature = None if signed is None else Opaque(str(signed))
    call, text = fields.take("functionCall", dict), fields.take("text", str)
    result = None if is_model else fields.take("functionResponse", dict)
    if call is not None:
        given = call.get("args") or {}
        arguments = given if isinstance(given, dict) else json.dumps(given)
        name, call_id = word(call.get("name")), word(call.get("id"))
        more = {key: item for key, item in call.items() if key not in ("name", "id", "args")}
        known = call_id or None
        yield Call(
            call_id, name, arguments, known, signature=opaque(signed), place=place, more=more
        )
        signature = None
    if result is not None:
        yield _result(result, place)
    if text is not None:
        kind = Thinking if thought is True else Text
        yield kind(text, signature=signature, place=place)
        signature = None
    rest = dict(fields.left())
    if medium := _medium(rest, signature, place):
        yield medium
    elif rest:
        yield Native(rest, signature=signature, place=place)
    elif signature is not None:
        yield Text("", signature=signature, place=place)


def _result(result: JsonObject, place: str) -> Result:
    """Return a result: its value is the response, and its parts are the media."""
    read = ("name", "id", "parts", "response")
    more = {key: item for key, item in result.items() if key not in read}
    response = result.get("response")
    media = tuple(
        medium
        for part, own in objects(result.get("parts"), f"{place}.functionResponse.parts")
        if (medium := _medium(part, None, own))
    )
    call_id, name = word(result.get("id")), word(result.get("name"))
    return Result(
        call_id,
        name,
        response,
        media or None,
        call_id or None,
        isinstance(response, dict) and bool(response.get("error")),
        place=place,
        more=more,
    )


def _medium(part: JsonObject, signature: Opaque | None, place: str) -> Media | None:
    """Return the medium of a part that has nothing else; None for any other part."""
    fields = SpelledFields(part, _MEDIA)
    data = fields.take("inlineData", dict) or fields.take("fileData", dict)
    resolution, video = fields.take("mediaResolution"), fields.take("videoMetadata", dict) or {}
    if data is None or [*fields.left()]:
        return None
    held = SpelledFields(data, _DATA)
    media_type = held.take("mimeType", str)
    level = resolution.get("level") if isinstance(resolution, dict) else resolution
    return Media(
        media_kind("", media_type),
        media_type,
        held.take("data", str),
        held.take("fileUri", str),
        held.take("displayName", str),
        _RESOLUTIONS.get(str(level), level),
        _seconds(video.get("startOffset", video.get("start_offset"))),
        _seconds(video.get("endOffset", video.get("end_offset"))),
        video.get("fps"),
        signature=signature,
        place=place,
    )


def _seconds(offset: Json) -> float | None:
    """Return the seconds of a duration such as ``1.5s``."""
    try:
        return float(str(offset).removesuffix("s"))
    except ValueError:
        return None


class _Settings:
    """Reads the canonical fields beside the contents. A field that is read is taken out, and the
    rest is unread.
    """

    def __init__(self, body: JsonObject, prefix: str) -> None:
        self.unread = Unread()
        self._body = body
        self._prefix = prefix

    def prompt(self, messages: tuple[Message, ...], outer: JsonObject, shown: bool) -> Prompt:
        """Return the prompt. ``outer``: the fields of the envelope. ``shown``: whether the request
        asks for thoughts, perhaps in the words of another wire of Gemini.
        """
        body, prefix = self._body, self._prefix
        generation = body.pop("generationConfig", None)
        generation = dict(generation) if isinstance(generation, dict) else {}
        google: JsonObject = {}
        settings = self.unread.settings(generation, SETTINGS, f"{prefix}generationConfig")
        output = self._format(generation)
        reasoning = self._reasoning(generation.pop("thinkingConfig", None), google)
        if reasoning is None and shown:
            reasoning = Reasoning(shown=True)
        instructions = self._instructions(body.pop("systemInstruction", None))
        tools = self._tools(body.pop("tools", None))
        choice = self._choice(body)
        model = body.pop("model", None) or outer.get("model")
        self._google(body, google)
        self.unread.keep(generation, f"{prefix}generationConfig")
        self.unread.keep(body, prefix.rstrip("."))
        self.unread.keep(outer, "", but=("model",))
        return Prompt(
            messages=messages,
            instructions=instructions,
            model=word(model).rpartition("/")[2] or None,
            tools=tools,
            choice=choice,
            format=output,
            settings=settings,
            reasoning=reasoning,
            google=google,
            places=self.unread.places,
            more=self.unread.more,
            home=VENDOR,
        )

    def _instructions(self, wire: Json) -> tuple[Instruction, ...]:
        place = f"{self._prefix}systemInstruction"
        content = wire.get("parts") if isinstance(wire, dict) else wire
        if isinstance(wire, dict):
            self.unread.keep(wire, place, but=("parts", "role"))
        for part, own in objects(content, f"{place}.parts"):
            self.unread.keep(part, own, but=("text",))
        return tuple(Instruction((piece,), place=place) for piece in texts_in(content))

    def _format(self, generation: JsonObject) -> AnswerFormat | None:
        place = f"{self._prefix}generationConfig."
        kind = generation.get("responseMimeType")
        if isinstance(generation.get("responseFormat"), dict):
            return self._new_format(generation, place)
        names = [name for name in _OUTPUT_SCHEMAS if isinstance(generation.get(name), dict)]
        schema = None
        if names:
            schema = Schema(generation.pop(names[0]), f"{place}{names[0]}")
        if kind != "application/json" and schema is None:
            return None
        if kind == "application/json":
            del generation["responseMimeType"]
            self.unread.places["format.json"] = f"{place}responseMimeType"
        self.unread.places["format"] = schema.place if schema else f"{place}responseMimeType"
        return AnswerFormat(schema)

    def _new_format(self, generation: JsonObject, place: str) -> AnswerFormat | None:
        """Read ``responseFormat``, which has the MIME type and the schema in one object."""
        own = generation.pop("responseFormat")
        inner = own.get("text") if isinstance(own.get("text"), dict) else own
        place = f"{place}responseFormat"
        schema = inner.get("schema")
        if inner.get("mimeType") in ("application/json", "APPLICATION_JSON"):
            self.unread.places["format.json"] = place
        elif schema is None:
            self.unread.more[place] = own
            return None
        self.unread.places["format"] = place
        return AnswerFormat(Schema(schema, place) if isinstance(schema, dict) else None)

    def _reasoning(self, config: Json, google: JsonObject) -> Reasoning | None:
        if not isinstance(config, dict):
            return None
        place = f"{self._prefix}generationConfig.thinkingConfig"
        config = dict(config)
        shown, budget = config.pop("includeThoughts", None), config.pop("thinkingBudget", None)
        level = config.pop("thinkingLevel", None)
        for name, field, value in (
            ("shown", "includeThoughts", shown),
            ("budget", "thinkingBudget", budget),
            ("effort", "thinkingLevel", level),
        ):
            if value is not None:
                self.unread.places[f"reasoning.{name}"] = f"{place}.{field}"
        if level is not None:
            google["thinking_level"] = str(level).upper().removeprefix("THINKING_LEVEL_")
            self.unread.places["google.thinking_level"] = f"{place}.thinkingLevel"
        self.unread.keep(config, place)
        effort = google["thinking_level"].lower() if level is not None else None
        return Reasoning("off" if budget == 0 else None, effort, budget, shown)

    def _tools(self, tools: Json) -> tuple[Function | ServerTool, ...]:
        read: list[Function | ServerTool] = []
        for tool, place in objects(tools, f"{self._prefix}tools"):
            for name, value in tool.items():
                if name != "functionDeclarations":
                    kind = _SERVER_TOOLS.get(name, "")
                    raw = {name: value}
                    read.append(ServerTool(raw, VENDOR, f"{place}.{name}", "", kind))
            declared = objects(tool.get("functionDeclarations"), f"{place}.functionDeclarations")
            for function, own in declared:
                if isinstance(function.get("name"), str):
                    read.append(self._function(function, own))
                else:
                    self.unread.keep(function, own)
        return tuple(read)

    def _function(self, wire: JsonObject, place: str) -> Function:
        wire = dict(wire)
        name, description = wire.pop("name", None), None
        if isinstance(wire.get("description"), str):
            description = wire.pop("description")
        field = next((field for field in _SCHEMAS if isinstance(wire.get(field), dict)), None)
        schema = Schema(wire.pop(field), f"{place}.{field}") if field else None
        self.unread.keep(wire, place)
        return Function(str(name or ""), description, schema, place=place)

    def _choice(self, body: JsonObject) -> Choice | None:
        config = body.get("toolConfig")
        if not isinstance(config, dict) or not isinstance(
            calling := config.get("functionCallingConfig"), dict
        ):
            return None
        rest = {name: value for name, value in config.items() if name != "functionCallingConfig"}
        body["toolConfig"] = rest
        if not rest:
            del body["toolConfig"]
        place = f"{self._prefix}toolConfig.functionCallingConfig"
        mode = _MODES.get(str(calling.get("mode") or "AUTO").upper())
        allowed: tuple[str, ...] = ()
        others = {name: value for name, value in calling.items() if name != "mode"}
        if isinstance(others.get("allowedFunctionNames"), list):
            allowed = tuple(map(str, others.pop("allowedFunctionNames")))
        self.unread.keep(others, place)
        self.unread.places["choice"] = place
        if mode is None:
            self.unread.more[f"{place}.mode"] = calling.get("mode")
            return None
        if mode == "required" and len(allowed) == 1:
            return Choice("named", allowed[0], place=place)
        return Choice(mode, place=place, allowed=allowed)

    def _google(self, body: JsonObject, google: JsonObject) -> None:
        if (thresholds := _thresholds(body.get("safetySettings"))) is not None:
            del body["safetySettings"]
            google["safety"] = thresholds
        for name, field in GOOGLE_FIELDS.items():
            if field in body:
                google[name] = body.pop(field)
        for name in google:
            field = GOOGLE_FIELDS.get(name, "safetySettings")
            self.unread.places.setdefault(f"google.{name}", f"{self._prefix}{field}")


def _thresholds(settings: Json) -> dict[str, Json] | None:
    """Return each category of harm with its threshold; None for settings of another form."""
    thresholds: dict[str, Json] = {}
    for item in settings if isinstance(settings, list) else [None]:
        match item:
            case {"category": str(category), **rest} if category not in thresholds:
                thresholds[category] = rest.get("threshold")
            case _:
                return None
    return thresholds
