"""Reads the body of a request of the Interactions API: the reverse of `request`.

The fields are those of https://ai.google.dev/api/interactions-api. A field that the prompt has no
value for is in ``more``, of its part, of its tool or of the prompt. Nothing is refused.
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
    Media,
    Message,
    Native,
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

from ..gemini.request import VENDOR
from ..history import HistoryRules, function, instruction, opaque, text_of, texts_in, word
from ..request_reading import Unread, listed, objects, unusual
from .request import CATEGORY, OFFSETS

HISTORY: Final = HistoryRules(by_id=True)

_SETTINGS: Final = {
    **{name: name for name in ("temperature", "top_p", "seed")},
    "max_tokens": "max_output_tokens",
    "stop": "stop_sequences",
}
"""Setting → field of ``generation_config``."""
_GOOGLE: Final = {"labels": "labels", "cached": "cached_content"}
"""Value in Google's words → field of the body."""
_MODES: Final[Mapping[str, Any]] = {
    "auto": "auto",
    "validated": "auto",
    "none": "none",
    "any": "required",
}
_SERVER_TOOLS: Final = {
    "google_search": "search",
    "code_execution": "code",
    "url_context": "urls",
}
"""Type of a tool → its neutral name."""
_MEDIA: Final = ("image", "audio", "video", "document")
_JSON: Final = "application/json"
_CONFIG: Final = "generation_config"
_RESULT: Final = "function_result"

JsonObject = dict[str, Any]


def read_interaction(body: JsonObject) -> Prompt:
    """Return the prompt of a request."""
    return _Reader(body).prompt()


class _Reader:
    """Reads one body. A field that is read is taken out, and the rest is unread."""

    def __init__(self, body: JsonObject) -> None:
        self._body = {name: value for name, value in body.items() if name != "input"}
        self._input = body.get("input")
        self._unread = Unread()

    def prompt(self) -> Prompt:
        """Return the prompt."""
        body, unread = self._body, self._unread
        messages = tuple(self._messages())
        system = body.pop("system_instruction", None)
        config = dict(body.pop(_CONFIG)) if isinstance(body.get(_CONFIG), dict) else {}
        google: JsonObject = {}
        prompt = Prompt(
            messages=messages,
            instructions=(instruction(system, "system_instruction", unread),) if system else (),
            model=word(body.pop("model", None)) or None,
            tools=tuple(self._tools(body.pop("tools", None))),
            choice=self._choice(config),
            format=self._format(),
            settings=unread.settings(config, _SETTINGS, _CONFIG),
            reasoning=self._reasoning(config, google),
            google=self._google(google),
            streamed=body.pop("stream", None) is True,
            continues=bool(body.get("previous_interaction_id")),
            home=VENDOR,
            places=unread.places,
            more=unread.more,
        )
        unread.keep(config, _CONFIG)
        unread.keep(body, "")
        return prompt

    # ---------------------------------------------------------------- steps

    def _messages(self) -> Iterator[Message]:
        """Yield a message for each step, and for each result in the content of a user."""
        given = self._input or None
        if isinstance(given, str):
            yield Message("user", (Text(given, place="input"),), place="input[0]")
            return
        if isinstance(given, list):
            given = [{"type": "text", "text": x} if isinstance(x, str) else x for x in given]
        for number, (step, place) in enumerate(objects(given, "input", self._unread)):
            index = f"input[{number}]"
            part = _part_of_step(step, place)
            if part is not None:
                role: Role = "user" if isinstance(part, Result | Text | Media) else "assistant"
                yield Message(role, (part,), place=index)
                continue
            kind = step.get("type")
            is_model = kind == "model_output" or step.get("role") in ("model", "assistant")
            content = step.get("content")
            read = ("content",) if isinstance(content, str | list | dict) else ()
            self._unread.keep(step, place, but=("type", *read))
            self._unread.keep_unusual(step, place, type=("user_input", "model_output"))
            held = _contents(content, f"{place}.content")
            results = [part for part in held if isinstance(part, Result)]
            rest = tuple(part for part in held if not isinstance(part, Result))
            for result in results:
                yield Message("user", (result,), place=index)
            if rest or not results:
                yield Message("assistant" if is_model else "user", rest, place=index)

    # ---------------------------------------------------------------- settings

    def _tools(self, tools: Json) -> Iterator[Function | ServerTool]:
        for tool, place in listed(tools, "tools", self._unread):
            kind = str(tool.get("type"))
            if kind == "function" and tool.get("name"):
                own = {name: value for name, value in tool.items() if name != "type"}
                yield function(own, place)
            else:
                words = "is a tool of the Interactions API"
                yield ServerTool(tool, VENDOR, place, words, _SERVER_TOOLS.get(kind, ""))

    def _choice(self, config: JsonObject) -> Choice | None:
        choice, place = config.get("tool_choice"), f"{_CONFIG}.tool_choice"
        allowed = choice.get("allowed_tools") if isinstance(choice, dict) else None
        allowed = allowed if isinstance(allowed, dict) else {"mode": choice}
        mode = _MODES.get(str(allowed.get("mode")))
        if mode is None:
            return None
        del config["tool_choice"]
        self._unread.places["choice"] = place
        if isinstance(choice, dict):
            self._unread.keep(choice, place, but=("allowed_tools",))
            self._unread.keep(allowed, f"{place}.allowed_tools", but=("mode", "tools"))
        self._unread.keep_unusual(allowed, place, mode=("auto", "none", "any"))
        given = allowed.get("tools")
        names = tuple(map(str, given)) if isinstance(given, list) else ()
        if mode == "required" and len(names) == 1:
            return Choice("named", names[0], place=place)
        return Choice(mode, place=place, allowed=names)

    def _format(self) -> AnswerFormat | None:
        """Return the structured answer. Its MIME type may be in a field of its own."""
        body, places = self._body, self._unread.places
        shapes = objects(body.get("response_format"), "response_format")
        shape, place = next(
            (each for each in shapes if each[0].get("type") in ("text", None)), ({}, "")
        )
        is_json = shape.get("mime_type") == _JSON
        if is_json:
            places["format.json"] = f"{place}.mime_type"
        elif body.get("response_mime_type") == _JSON:
            is_json, places["format.json"] = True, "response_mime_type"
            del body["response_mime_type"]
        schema = shape.get("schema")
        if not is_json and not isinstance(schema, dict):
            return None
        places["format"] = place or "response_mime_type"
        if place:
            self._unread.keep_unusual(shape, place, type=("text",), mime_type=(_JSON, None))
            read = ("schema",) if isinstance(schema, dict) else ()
            self._unread.keep(shape, place, but=("type", "mime_type", *read))
            others = [each for each, _ in shapes if each is not shape]
            body["response_format"] = others or None
        known = Schema(schema, f"{place}.schema", exact=True) if isinstance(schema, dict) else None
        return AnswerFormat(known)

    def _reasoning(self, config: JsonObject, google: JsonObject) -> Reasoning | None:
        level, summaries = (
            config.pop("thinking_level", None),
            config.pop("thinking_summaries", None),
        )
        places = self._unread.places
        if level is not None:
            google["thinking_level"] = str(level).upper()
            places["google.thinking_level"] = f"{_CONFIG}.thinking_level"
            places["reasoning.effort"] = f"{_CONFIG}.thinking_level"
        if summaries is not None:
            places["reasoning.shown"] = f"{_CONFIG}.thinking_summaries"
            if summaries not in ("auto", "none"):
                self._unread.more[f"{_CONFIG}.thinking_summaries"] = summaries
        if level is None and summaries is None:
            return None
        effort = str(level).lower() if level is not None else None
        return Reasoning(effort=effort, shown=None if summaries is None else summaries != "none")

    def _google(self, google: JsonObject) -> JsonObject:
        body, places = self._body, self._unread.places
        safety = body.get("safety_settings")
        if isinstance(safety, list) and all(isinstance(item, dict) for item in safety):
            del body["safety_settings"]
            google["safety"] = {
                f"{CATEGORY}{str(item.get('type')).upper()}": str(item.get("threshold")).upper()
                for item in safety
            }
            places["google.safety"] = "safety_settings"
            for index, item in enumerate(safety):
                place = f"safety_settings[{index}]"
                self._unread.keep(item, place, but=("type", "threshold"))
        if body.get("service_tier") is not None:
            google["tier"], places["google.tier"] = body.pop("service_tier"), "service_tier"
        for name, field in _GOOGLE.items():
            if field in body:
                google[name], places[f"google.{name}"] = body.pop(field), field
        return google


def _part_of_step(step: JsonObject, place: str) -> AnyPart | None:
    """Return the only part of a step; None for a step with a content."""
    fields = dict(step)
    kind, signature = fields.pop("type", None), opaque(fields.pop("signature", None))
    match kind:
        case "thought":
            summary = fields.pop("summary", None)
            text = "".join(text.text for text in texts_in(summary))
            if _is_plain(summary):
                return Thinking(text, signature=signature, place=place, more=_said(fields))
            return Native(step, signature=signature, place=place)
        case "function_call":
            given = fields.pop("arguments", None)
            given = {} if given is None else given
            arguments = given if isinstance(given, dict) else json.dumps(given)
            call_id, name = word(fields.pop("id", None)), word(fields.pop("name", None))
            return Call(
                call_id,
                name,
                arguments,
                call_id or None,
                signature=signature,
                place=place,
                more=_said(fields),
            )
        case str() if kind == _RESULT or kind in ("text", *_MEDIA):
            return _content(step, place)
        case None if "text" in fields:
            return _content(step, place)
        case str() if kind.endswith(("_call", "_result")):
            return Native(step, signature=signature, place=place)
    return None


def _is_plain(summary: Json) -> bool:
    """Return whether a summary has only texts, without annotations."""
    return summary is None or (
        isinstance(summary, list)
        and all(
            isinstance(item, dict) and item.keys() == {"type", "text"} and item["type"] == "text"
            for item in summary
        )
    )


def _contents(content: Json, place: str) -> list[AnyPart]:
    if isinstance(content, str):
        return [Text(content, place=place)]
    return [_content(item, own) for item, own in objects(content, place)]


def _content(item: JsonObject, place: str) -> AnyPart:
    fields = dict(item)
    kind = fields.pop("type", None)
    if kind == _RESULT:
        return _result(fields, place)
    if kind in ("text", None) and "text" in fields:
        text = text_of(fields.pop("text"))
        return Text(text, place=place, more={**_said(fields), **unusual(item, type=("text",))})
    if kind in _MEDIA:
        return _medium(str(kind), fields, place)
    return Native(item, place=place)


def _result(fields: JsonObject, place: str) -> Result:
    """Return a result: its parts are the texts and media of a list, any other is its value."""
    call_id, name = word(fields.pop("call_id", None)), word(fields.pop("name", None))
    value, failed = fields.pop("result", None), fields.get("is_error") is True
    if failed or fields.get("is_error") is False:
        del fields["is_error"]
    parts = None
    if isinstance(value, list):
        held = _contents(value, f"{place}.result")
        known = tuple(part for part in held if isinstance(part, Text | Media))
        if len(known) == len(value):
            value, parts = None, known
    more = _said(fields)
    return Result(call_id, name, value, parts, call_id or None, failed, place=place, more=more)


def _medium(kind: str, fields: JsonObject, place: str) -> Media:
    known = ("data", "uri", "mime_type", "name", "resolution")
    held = {name: fields.pop(name) for name in known if isinstance(fields.get(name), str)}
    media_type, processing = held.get("mime_type"), fields.get("processing")
    times: JsonObject = {}
    if isinstance(processing, dict) and processing.keys() <= {"type", *OFFSETS.values(), "fps"}:
        del fields["processing"]
        times = {name: _seconds(processing.get(field)) for name, field in OFFSETS.items()}
        times["fps"] = processing.get("fps")
        fields |= {
            f"processing.{name}": kind
            for name, kind in unusual(processing, type=("static",)).items()
        }
    return Media(
        media_kind(kind, media_type),
        media_type,
        held.get("data"),
        held.get("uri"),
        held.get("name"),
        held.get("resolution"),
        **times,
        place=place,
        more=_said(fields),
    )


def _seconds(offset: Json) -> float | None:
    """Return the seconds of a duration such as ``1.5s``."""
    try:
        return float(str(offset).removesuffix("s"))
    except ValueError:
        return None


def _said(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}
