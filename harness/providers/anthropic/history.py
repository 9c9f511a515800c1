"""Reads the body of a request of the Messages API: the reverse of `request`.

The fields are those of https://platform.claude.com/docs/en/api/messages. A field that the prompt
has no value for is in ``more``, of its part, of its tool or of the prompt. Nothing is refused.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

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
    Prompt,
    Reasoning,
    Redacted,
    Result,
    Schema,
    ServerTool,
    Text,
    Thinking,
    media_kind,
)

from ..history import CallNames, HistoryRules, function, opaque, text_of, word
from ..request_reading import Unread, listed, unusual
from .messages import NAME
from .request import CHOICES, SETTINGS

HISTORY: Final = HistoryRules(by_id=True, opaque=("server_tools", "code"))

_MODES: Final[Mapping[str, Any]] = {kind: mode for mode, kind in CHOICES.items()}
_THINKING: Final[Mapping[str, Literal["on", "adaptive", "off"]]] = {
    "enabled": "on",
    "adaptive": "adaptive",
    "disabled": "off",
}
"""``thinking.type`` → mode of the reasoning."""
_SERVER_TOOLS: Final = {"web_search": "search", "code_execution": "code", "web_fetch": "urls"}
"""Type of a tool, without its date → its neutral name."""

JsonObject = dict[str, Any]


def read_messages(body: JsonObject) -> Prompt:
    """Return the prompt of a request."""
    return _Reader(body).prompt()


class _Reader:
    """Reads one body. A field that is read is taken out, and the rest is unread."""

    def __init__(self, body: JsonObject) -> None:
        self._body = {name: value for name, value in body.items() if name != "messages"}
        self._messages = body.get("messages")
        self._unread = Unread()
        self._names = CallNames()

    def prompt(self) -> Prompt:
        """Return the prompt."""
        body, unread = self._body, self._unread
        instructions = [*_instructions(body.pop("system", None), "system", unread)]
        messages: list[Message] = []
        for message, place in listed(self._messages, "messages", unread):
            role, content = message.get("role"), message.get("content")
            unread.keep(message, place, but=("role", "content"))
            unread.keep_unusual(message, place, role=("user", "assistant", "system"))
            if role == "system" and not messages:
                instructions += _instructions(content, f"{place}.content", unread)
                continue
            parts = tuple(
                part
                for block, own in _blocks(content, f"{place}.content", unread)
                for part in self._parts(block, own)
            )
            known: Any = role if role in ("assistant", "system") else "user"
            messages.append(Message(known, parts, place=place))
        is_object = isinstance(body.get("output_config"), dict)
        output = dict(body.pop("output_config")) if is_object else {}
        prompt = Prompt(
            messages=tuple(messages),
            instructions=tuple(instructions),
            model=word(body.pop("model", None)) or None,
            tools=tuple(self._tools(body.pop("tools", None))),
            choice=self._choice(body.pop("tool_choice", None)),
            format=self._format(output),
            settings=unread.settings(body, SETTINGS),
            reasoning=self._reasoning(body.pop("thinking", None), output),
            metadata=self._metadata(body.pop("metadata", None)),
            streamed=body.pop("stream", None) is True,
            home=NAME,
            places=unread.places,
            more=unread.more,
        )
        unread.keep(output, "output_config")
        unread.keep(body, "")
        return prompt

    # ---------------------------------------------------------------- messages

    def _parts(self, block: JsonObject, place: str) -> Iterator[AnyPart]:
        fields = dict(block)
        kind, cache = fields.pop("type", None), fields.pop("cache_control", None)
        own: JsonObject = {"place": place, "cache": cache if isinstance(cache, dict) else None}
        match kind:
            case "text" if isinstance(fields.get("text"), str):
                yield Text(fields.pop("text"), more=_said(fields), **own)
            case "thinking" if isinstance(fields.get("thinking"), str):
                text, signature = fields.pop("thinking"), opaque(fields.pop("signature", None))
                yield Thinking(text, signature=signature, more=_said(fields), **own)
            case "redacted_thinking" if data := opaque(fields.pop("data", None)):
                yield Redacted(data, more=_said(fields), **own)
            case "tool_use":
                yield self._call(fields, own)
            case "tool_result":
                yield self._result(fields, own)
            case "image" | "document" if medium := _medium(str(kind), fields, own):
                yield medium
            case _:
                yield Native(block, place=place)

    def _call(self, fields: JsonObject, own: JsonObject) -> Call:
        call_id, name = fields.pop("id", None), word(fields.pop("name", None))
        given = fields.pop("input", None)
        self._names.add(call_id, name)
        # The input is an object; a text is not the same arguments.
        arguments = {} if given is None else given
        arguments = arguments if isinstance(arguments, dict) else json.dumps(arguments)
        known = word(call_id)
        return Call(known, name, arguments, known or None, more=_said(fields), **own)

    def _result(self, fields: JsonObject, own: JsonObject) -> Result:
        """Return a result: its parts are the texts and media of a list, and any other content is
        its value.
        """
        call_id, failed = fields.pop("tool_use_id", None), fields.get("is_error") is True
        if failed or fields.get("is_error") is False:
            del fields["is_error"]
        content = fields.pop("content", None)
        parts = None
        if isinstance(content, list):
            read = [
                part
                for block, place in listed(content, f"{own['place']}.content")
                for part in self._parts(block, place)
            ]
            held = [part for part in read if isinstance(part, Text | Media)]
            parts = tuple(held) if len(held) == len(content) else None
        return Result(
            word(call_id),
            self._names.take(call_id),
            content if parts is None else None,
            parts,
            word(call_id) or None,
            failed,
            more=_said(fields),
            **own,
        )

    # ---------------------------------------------------------------- settings

    def _tools(self, tools: Json) -> Iterator[Function | ServerTool]:
        for tool, place in listed(tools, "tools", self._unread):
            kind = tool.get("type")
            if kind in (None, "custom") and tool.get("name"):
                yield function(tool, place, "input_schema")
            else:
                known = str(kind).rpartition("_")[0]
                words = "is a tool that Anthropic runs"
                yield ServerTool(tool, NAME, place, words, _SERVER_TOOLS.get(known, ""))

    def _choice(self, choice: Json) -> Choice | None:
        fields = dict(choice) if isinstance(choice, dict) else {}
        mode = _MODES.get(str(fields.get("type")))
        if mode is None:
            self._unread.keep({"tool_choice": choice}, "")
            return None
        alone = fields.get("disable_parallel_tool_use")
        if isinstance(alone, bool):
            del fields["disable_parallel_tool_use"]
        self._unread.keep(fields, "tool_choice", but=("type", "name"))
        self._unread.places["choice"] = "tool_choice"
        name = word(fields.get("name")) or None
        return Choice(mode, name, None if alone is None else not alone, place="tool_choice")

    def _format(self, output: JsonObject) -> AnswerFormat | None:
        """Return the structured answer, of ``output_config`` or of its older field."""
        for holder, name, place in (
            (output, "format", "output_config.format"),
            (self._body, "output_format", "output_format"),
        ):
            shape = holder.get(name)
            if not isinstance(shape, dict) or shape.get("type") != "json_schema":
                continue
            del holder[name]
            schema = shape.get("schema")
            read = ("type", "schema") if isinstance(schema, dict) else ("type",)
            self._unread.keep(shape, place, but=read)
            self._unread.places |= {"format": place, "format.json": place}
            known = Schema(schema, f"{place}.schema") if isinstance(schema, dict) else None
            return AnswerFormat(known)
        return None

    def _reasoning(self, thinking: Json, output: JsonObject) -> Reasoning | None:
        fields = dict(thinking) if isinstance(thinking, dict) else {}
        mode = _THINKING.get(str(fields.get("type")))
        if mode is None:
            self._unread.keep({"thinking": thinking}, "")
            fields = {}
        else:
            del fields["type"]
        effort, budget = output.pop("effort", None), fields.pop("budget_tokens", None)
        shown = None if mode is None else mode != "off" and fields.get("display") != "omitted"
        if fields.get("display") == "omitted":
            del fields["display"]
        for name, field, value in (
            ("mode", "thinking.type", mode),
            ("effort", "output_config.effort", effort),
            ("budget", "thinking.budget_tokens", budget),
            ("shown", "thinking", shown),
        ):
            if value is not None:
                self._unread.places[f"reasoning.{name}"] = field
        self._unread.keep(fields, "thinking")
        values = (mode, effort, budget, shown)
        return Reasoning(*values) if any(value is not None for value in values) else None

    def _metadata(self, metadata: Json) -> JsonObject:
        if not isinstance(metadata, dict):
            self._unread.keep({"metadata": metadata}, "")
            return {}
        self._unread.keep(metadata, "metadata", but=("user_id",))
        return {name: metadata[name] for name in ("user_id",) if metadata.get(name) is not None}


def _said(fields: JsonObject) -> JsonObject:
    """Return the fields that say something."""
    return {name: value for name, value in fields.items() if value is not None}


def _blocks(content: Json, place: str, unread: Unread) -> list[tuple[JsonObject, str]]:
    if isinstance(content, str):
        return [({"type": "text", "text": content}, place)]
    return listed(content, place, unread)


def _instructions(content: Json, place: str, unread: Unread) -> Iterator[Instruction]:
    """Yield an instruction for each block."""
    for block, own in _blocks(content, place, unread):
        fields = dict(block)
        text, cache = text_of(fields.pop("text", None)), fields.pop("cache_control", None)
        more = {**_said({**fields, "type": None}), **unusual(block, type=("text",))}
        if text or more:
            cache = cache if isinstance(cache, dict) else None
            yield Instruction((Text(text, place=own, cache=cache, more=more),), place=own)


def _medium(kind: str, fields: JsonObject, own: JsonObject) -> Media | None:
    """Return the medium of a block; None for a source that only Anthropic can open."""
    source = fields.get("source")
    source = source if isinstance(source, dict) else {}
    media_type, data, url = source.get("media_type"), source.get("data"), source.get("url")
    match source.get("type"):
        case "text" if isinstance(data, str):
            data = base64.b64encode(data.encode()).decode()
        case "base64" if isinstance(data, str):
            pass
        case "url" if isinstance(url, str):
            data = None
        case _:
            return None
    name = fields.pop("title", None)
    more = _said({key: value for key, value in fields.items() if key != "source"})
    rest = {key: source[key] for key in source if key not in ("type", "media_type", "data", "url")}
    if rest:
        more["source"] = source
    return Media(
        media_kind(kind, media_type),
        media_type,
        data,
        None if data is not None else url,
        name,
        more=more,
        **own,
    )
