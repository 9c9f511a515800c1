"""Reads the body of a request of generateContent, bare or in the envelope of Code Assist: the
reverse of `request`.

The fields are those of https://ai.google.dev/api/caching#Content and
https://ai.google.dev/api/generate-content, in any spelling; a prompt has them in one. A field that
the prompt has no value for is in `Prompt.more`, with its place. Nothing is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from harness.stream.json_codec import Json
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
from ..request_reading import Unread, objects, others
from .request import GOOGLE_FIELDS, SETTINGS, VENDOR
from .spelling import in_one_spelling
from .tools import requests_thoughts

_OTHER_DATA: Final = frozenset({
    "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "inlineData", "fileData",
    "functionResponse",
})  # fmt: skip
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
_ROLES: Final = ("user", "model", None, "")
_PLAIN_MODES: Final = (None, "AUTO", "NONE", "ANY")
_JSON_TYPES: Final = ("application/json", "APPLICATION_JSON")
_RESOLUTIONS: Final = {"MEDIA_RESOLUTION_LOW": "low", "MEDIA_RESOLUTION_HIGH": "high"}

JsonObject = dict[str, Any]


def read_contents(body: JsonObject) -> Prompt:
    """Return the prompt of a request."""
    outer = in_one_spelling(body)
    inner, prefix = _take(outer, "request", dict), "request."
    if inner is None:
        inner, prefix, outer = outer, "", {}
    shown, contents = requests_thoughts(body), inner.pop("contents", None)
    reader = _Settings(inner, prefix)
    messages = []
    for content, place in objects(contents, f"{prefix}contents", reader.unread):
        is_model = content.get("role") == "model"
        reader.unread.keep(content, place, but=("role", "parts"))
        if content.get("role") not in _ROLES:
            reader.unread.more[f"{place}.role"] = content["role"]
        parts = tuple(
            part
            for item, own in objects(content.get("parts"), f"{place}.parts", reader.unread)
            for part in _parts(item, is_model, own)
        )
        role: Role = "assistant" if is_model else "user"
        messages.append(Message(role, parts, place=place))
    return reader.prompt(tuple(messages), outer, shown)


def _parts(part: JsonObject, is_model: bool, place: str) -> Iterator[AnyPart]:
    rest = dict(part)
    signature, thought = opaque(rest.pop("thoughtSignature", None)), rest.pop("thought", None)
    call, text = _take(rest, "functionCall", dict), _take(rest, "text", str)
    result = None if is_model else _take(rest, "functionResponse", dict)
    has_other = call is not None or result is not None or text is not None
    is_thought = text is not None and thought is True
    beside = {} if is_thought or thought in (None, False) else {"thought": thought}
    if rest and has_other and not rest.keys() & _OTHER_DATA:
        beside |= rest
        rest = {}
    if call is not None:
        given = {} if call.get("args") is None else call["args"]
        arguments = given if isinstance(given, dict) else json.dumps(given)
        name, call_id = word(call.get("name")), word(call.get("id"))
        more = {**others(call, ("name", "id", "args")), **beside}
        known = call_id or None
        yield Call(call_id, name, arguments, known, signature=signature, place=place, more=more)
        signature = None
    if result is not None:
        yield _result(result, place, beside)
    if text is not None:
        kind = Thinking if is_thought else Text
        yield kind(text, signature=signature, place=place, more=beside)
        signature = None
    if rest and (medium := _medium(rest, signature, place, beside)):
        yield medium
    elif rest or not (has_other or signature):
        yield Native({**rest, **beside}, signature=signature, place=place)
    elif signature is not None:
        yield Text("", signature=signature, place=place, more=beside)


def _result(result: JsonObject, place: str, beside: JsonObject) -> Result:
    """Return a result: its value is the response, and its parts are the media."""
    more = {**others(result, ("name", "id", "parts", "response")), **beside}
    response, given = result.get("response"), result.get("parts")
    held = objects(given, f"{place}.functionResponse.parts")
    media = tuple(medium for part, own in held if (medium := _medium(part, None, own, {})))
    if given and len(media) < (len(given) if isinstance(given, list) else 1):
        more["parts"] = given
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


def _medium(
    part: JsonObject, signature: Opaque | None, place: str, beside: JsonObject
) -> Media | None:
    """Return the medium of a part that has nothing else; None for any other part."""
    fields = dict(part)
    held = _take(fields, "inlineData", dict) or _take(fields, "fileData", dict)
    resolution, times = fields.pop("mediaResolution", None), _take(fields, "videoMetadata", dict)
    if held is None or fields:
        return None
    held, times = dict(held), dict(times or {})
    media_type = _take(held, "mimeType", str)
    level = resolution.get("level") if isinstance(resolution, dict) else resolution
    read = (
        *(_take(held, name, str) for name in ("data", "fileUri", "displayName")),
        _RESOLUTIONS.get(str(level), level),
        *(_seconds(_take(times, name, str)) for name in ("startOffset", "endOffset")),
        times.pop("fps", None),
    )
    more = {**beside, **held, **times}
    more |= others(resolution, ("level",)) if isinstance(resolution, dict) else {}
    kind = media_kind("", media_type)
    return Media(kind, media_type, *read, signature=signature, place=place, more=more)


def _take(holder: JsonObject, name: str, kind: type) -> Any:
    """Take a value out of its holder; None if it has another type, and then it stays."""
    return holder.pop(name) if type(holder.get(name)) is kind else None


def _seconds(offset: Json) -> float | None:
    """Return the seconds of a duration such as ``1.5s``."""
    try:
        return float(str(offset).removesuffix("s"))
    except ValueError:
        return None


class _Settings:
    """Reads the fields beside the contents. A field that is read is taken out, and the rest is
    unread.
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
        generation = _take(body, "generationConfig", dict) or {}
        google: JsonObject = {}
        settings = self.unread.settings(generation, SETTINGS, f"{prefix}generationConfig")
        output = self._format(generation)
        reasoning = self._reasoning(_take(generation, "thinkingConfig", dict), google)
        if reasoning is None and shown:
            reasoning = Reasoning(shown=True)
        instructions = self._instructions(body.pop("systemInstruction", None))
        tools = self._tools(body.pop("tools", None))
        choice = self._choice(body)
        model = word(body.pop("model", None) or outer.pop("model", None))
        name = model.rpartition("/")[2]
        self._google(body, google)
        self.unread.keep(generation, f"{prefix}generationConfig")
        self.unread.keep(body, prefix.rstrip("."))
        self.unread.keep(outer, "")
        self.unread.keep({} if name == model else {"model": model}, "")
        return Prompt(
            messages=messages,
            instructions=instructions,
            model=name or None,
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
        for part, own in objects(content, f"{place}.parts", self.unread):
            self.unread.keep(part, own, but=("text",) if isinstance(part.get("text"), str) else ())
            self.unread.more |= {} if part else {own: part}
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
        if inner.get("mimeType") in _JSON_TYPES:
            self.unread.places["format.json"] = place
        elif schema is None:
            self.unread.more[place] = own
            return None
        self.unread.places["format"] = place
        self.unread.keep(own if inner is not own else {}, place, but=("text",))
        self.unread.keep_unusual(inner, f"{place}.text", mimeType=_JSON_TYPES)
        read = ("mimeType", "schema") if isinstance(schema, dict) else ("mimeType",)
        self.unread.keep(inner, f"{place}.text", but=read)
        return AnswerFormat(Schema(schema, place) if isinstance(schema, dict) else None)

    def _reasoning(self, config: JsonObject | None, google: JsonObject) -> Reasoning | None:
        if config is None:
            return None
        place = f"{self._prefix}generationConfig.thinkingConfig"
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
            google["thinking_level"] = str(level).removeprefix("THINKING_LEVEL_")
            self.unread.places["google.thinking_level"] = f"{place}.thinkingLevel"
        self.unread.keep(config, place)
        effort = google["thinking_level"].lower() if level is not None else None
        return Reasoning("off" if budget == 0 else None, effort, budget, shown)

    def _tools(self, tools: Json) -> tuple[Function | ServerTool, ...]:
        read: list[Function | ServerTool] = []
        for tool, place in objects(tools, f"{self._prefix}tools", self.unread):
            self.unread.more |= {} if tool else {place: tool}
            for name, value in sorted(tool.items()):
                if name != "functionDeclarations":
                    kind = _SERVER_TOOLS.get(name, "")
                    raw = {name: value}
                    read.append(ServerTool(raw, VENDOR, f"{place}.{name}", "", kind))
            given = tool.get("functionDeclarations")
            declared = objects(given, f"{place}.functionDeclarations", self.unread)
            read += [self._function(function, own) for function, own in declared]
        return tuple(read)

    def _function(self, wire: JsonObject, place: str) -> Function:
        wire = dict(wire)
        name, description = _take(wire, "name", str), _take(wire, "description", str)
        field = next((field for field in _SCHEMAS if isinstance(wire.get(field), dict)), None)
        schema = Schema(wire.pop(field), f"{place}.{field}") if field else None
        self.unread.keep(wire, place)
        return Function(name or "", description, schema, place=place)

    def _choice(self, body: JsonObject) -> Choice | None:
        config = body.get("toolConfig")
        calling = config.get("functionCallingConfig") if isinstance(config, dict) else None
        if not isinstance(config, dict) or not (isinstance(calling, dict) and calling):
            return None
        body["toolConfig"] = others(config, ("functionCallingConfig",)) or None
        place = f"{self._prefix}toolConfig.functionCallingConfig"
        mode = _MODES.get(str(calling.get("mode") or "AUTO"))
        self.unread.places["choice"] = place
        if mode is None:
            self.unread.keep(calling, place)
            return None
        allowed: tuple[str, ...] = ()
        rest = others(calling, ("mode",))
        if isinstance(rest.get("allowedFunctionNames"), list):
            allowed = tuple(map(str, rest.pop("allowedFunctionNames")))
        self.unread.keep(rest, place)
        self.unread.keep_unusual(calling, place, mode=_PLAIN_MODES)
        if mode == "required" and len(allowed) == 1:
            return Choice("named", allowed[0], place=place)
        return Choice(mode, place=place, allowed=allowed)

    def _google(self, body: JsonObject, google: JsonObject) -> None:
        if (thresholds := _thresholds(body.get("safetySettings"))) is not None:
            place = f"{self._prefix}safetySettings"
            for item, own in objects(body.pop("safetySettings"), place):
                self.unread.keep(item, own, but=("category", "threshold"))
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
