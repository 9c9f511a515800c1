"""Reads the bodies of the requests of OpenAI's two APIs: the reverse of `request`.

The fields are those of https://platform.openai.com/docs/api-reference/responses/create; those of
Chat Completions are read as on Gemini's endpoint. A field that the prompt has no value for is in
``more``. Nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from harness.stream.json_codec import Json
from harness.stream.prompt import (
    AnyPart,
    Call,
    Instruction,
    Message,
    Native,
    Prompt,
    Reasoning,
    Result,
    Role,
    Text,
    Thinking,
)

from ..history import CallNames, HistoryRules, opaque, word
from ..openai_compat.fields import choice_of, format_of, parts_of, result_of, tier_of, tools_of
from ..openai_compat.history import ChatReader, text_arguments
from ..request_reading import Unread, listed, unusual
from .messages import NAME

HISTORY: Final = HistoryRules(by_id=True, opaque=("server_tools", "code"))
_STORED: Final = ("previous_response_id", "conversation")
"""The fields that name a stored history."""
_SETTINGS: Final = {
    **{name: name for name in ("temperature", "top_p")},
    "max_tokens": "max_output_tokens",
}
"""Setting → field of a request for a response."""
_SYSTEM: Final = ("system", "developer")
_ROLES: Final = ("user", "assistant", "system")

JsonObject = dict[str, Any]


def read_request(body: JsonObject) -> Prompt:
    """Return the prompt of a request of one of the two APIs."""
    if "messages" in body:
        return ChatReader(body, NAME, "", _shows_reasoning).prompt()
    return _ResponseReader(body).prompt()


def _shows_reasoning(body: JsonObject) -> bool:
    """Return whether a request for a completion asks for thoughts, in the words of the hosts that
    give them: OpenRouter, Groq, DeepSeek.
    """
    reasoning, thinking = body.get("reasoning"), body.get("thinking")
    return bool(
        body.get("include_reasoning") is True
        or (isinstance(reasoning, dict) and reasoning.get("exclude") is not True)
        or body.get("reasoning_format") in ("parsed", "raw")
        or (isinstance(thinking, dict) and thinking.get("type") == "enabled")
    )


class _ResponseReader:
    """Reads one request for a response. A field that is read is taken out, and the rest is
    unread.
    """

    def __init__(self, body: JsonObject) -> None:
        self._body = {name: value for name, value in body.items() if name != "input"}
        given = body.get("input")
        message = {"role": "user", "content": given}
        self._unread = Unread()
        self._items = (
            [(message, "input[0]")]
            if isinstance(given, str)
            else listed(given, "input", self._unread)
        )
        self._names = CallNames()

    def prompt(self) -> Prompt:
        """Return the prompt."""
        body, unread = self._body, self._unread
        messages, instructions = self._history()
        continues = any(body.get(name) for name in _STORED)
        shape = dict(body.pop("text")) if isinstance(body.get("text"), dict) else {}
        metadata = body.get("metadata")
        metadata = body.pop("metadata") if isinstance(metadata, dict) else {}
        output = format_of(shape.pop("format", None), "text.format", unread)
        prompt = Prompt(
            messages=tuple(messages),
            instructions=tuple(instructions),
            model=word(body.pop("model", None)) or None,
            tools=tuple(tools_of(body.pop("tools", None), NAME, unread)),
            choice=choice_of(body, unread),
            format=output,
            settings=unread.settings(body, _SETTINGS),
            reasoning=self._reasoning(),
            google=tier_of(body, unread),
            metadata=metadata,
            streamed=body.pop("stream", None) is True,
            continues=continues,
            refers=any(item.get("type") == "item_reference" for item, _ in self._items),
            home=NAME,
            places=unread.places,
            more=unread.more,
        )
        unread.keep(shape, "text")
        unread.keep(body, "")
        return prompt

    def _reasoning(self) -> Reasoning | None:
        is_object = isinstance(self._body.get("reasoning"), dict)
        fields = dict(self._body.pop("reasoning")) if is_object else {}
        effort, summary = fields.pop("effort", None), fields.pop("summary", None)
        for name, field, value in (("effort", "effort", effort), ("shown", "summary", summary)):
            if value is not None:
                self._unread.places[f"reasoning.{name}"] = f"reasoning.{field}"
        self._unread.keep(fields, "reasoning")
        self._unread.keep_unusual({"summary": summary}, "reasoning", summary=(None, "auto"))
        if effort is None and summary is None:
            return None
        shown = bool(summary) or None
        if effort == "none":
            return Reasoning("off", shown=shown)
        return Reasoning(effort=effort, shown=shown)

    # ---------------------------------------------------------------- items

    def _history(self) -> tuple[list[Message], list[Instruction]]:
        """Return the messages, and the instructions before them. The items of an answer that follow
        each other are one message, but not two items with texts, nor one without content.
        """
        messages: list[Message] = []
        was_text = False
        pieces = self._parts(self._body.pop("instructions", None), "instructions", "input_text")
        instructions = [_instruction(pieces, "instructions")] if pieces else []
        for item, place in self._items:
            content = f"{place}.content"
            if item.get("role") in _SYSTEM and not messages:
                self._keep(item, place)
                parts = self._parts(item.get("content"), content, "input_text")
                if any(not isinstance(part, Text) for part in parts):
                    self._unread.keep({"content": item["content"]}, place)
                instructions.append(_instruction(parts, place))
                continue
            role, read = self._item(item, place)
            is_text = role == "assistant" and item.get("role") is not None
            joined = bool(messages) and role == messages[-1].role == "assistant"
            joined = joined and bool(read and messages[-1].parts)
            joined, was_text = joined and not (is_text and was_text), is_text
            if joined:
                messages[-1] = replace(messages[-1], parts=(*messages[-1].parts, *read))
            else:
                messages.append(Message(role, tuple(read), place=place))
        return messages, instructions

    def _item(self, item: JsonObject, place: str) -> tuple[Role, list[AnyPart]]:
        fields = dict(item)
        kind, role = fields.pop("type", None), fields.pop("role", None)
        match kind:
            case "reasoning":
                return "assistant", [_thought(fields, place)]
            case "function_call" | "custom_tool_call":
                return "assistant", [self._call(fields, place, kind)]
            case "function_call_output" | "custom_tool_call_output":
                return "user", [self._result(fields, place, kind)]
            case _ if role is not None:
                self._keep(item, place)
                known: Any = "assistant" if role == "assistant" else "user"
                known = "system" if role in _SYSTEM else known
                usual = "output_text" if known == "assistant" else "input_text"
                return known, self._parts(fields.get("content"), f"{place}.content", usual)
        secret = opaque(item.get("encrypted_content"))
        return "assistant", [Native(item, signature=secret, place=place)]

    def _parts(self, content: Json, place: str, usual: str) -> list[AnyPart]:
        if isinstance(content, dict):
            self._unread.more[place] = content
        return parts_of(content, place, usual, self._unread)

    def _keep(self, item: JsonObject, place: str) -> None:
        """Keep the fields of a message that its content does not have."""
        self._unread.keep(item, place, but=("type", "role", "content"))
        self._unread.keep_unusual(item, place, type=(None, "message"), role=_ROLES)

    def _call(self, fields: JsonObject, place: str, kind: str) -> Call:
        call_id, name = fields.pop("call_id", None), word(fields.pop("name", None))
        self._names.add(call_id, name)
        odd = {} if kind == "function_call" and "input" not in fields else {"type": kind}
        if "input" in fields:
            arguments: Any = {"input": fields.pop("input")}
        else:
            arguments = text_arguments(fields.pop("arguments", None))
        more, known = {**dict(_said(fields)), **odd}, word(call_id)
        return Call(known, name, arguments, known or None, place=place, more=more)

    def _result(self, fields: JsonObject, place: str, kind: str) -> Result:
        call_id = fields.pop("call_id", None)
        value, parts = result_of(fields.pop("output", None), f"{place}.output", "input_text")
        name, known = self._names.take(call_id), word(call_id)
        more = {**dict(_said(fields)), **unusual({"type": kind}, type=("function_call_output",))}
        return Result(known, name, value, parts, known or None, place=place, more=more)


def _said(fields: JsonObject) -> Iterator[tuple[str, Json]]:
    return ((name, value) for name, value in fields.items() if value is not None)


def _instruction(parts: list[AnyPart], place: str) -> Instruction:
    return Instruction(tuple(part for part in parts if isinstance(part, Text)), place=place)


def _thought(fields: JsonObject, place: str) -> Thinking:
    texts = [
        part.text
        for name in ("summary", "content")
        for part in parts_of(fields.get(name), f"{place}.{name}")
        if isinstance(part, Text)
    ]
    for name, plain in (
        ("summary", [{"type": "summary_text", "text": text} for text in texts]),
        ("content", []),
    ):
        if fields.get(name) in (plain, [], None):
            fields.pop(name, None)  # the texts are all that it has
    item_id, secret = word(fields.pop("id", None)), opaque(fields.pop("encrypted_content", None))
    more = dict(_said(fields))
    return Thinking("".join(texts), item_id or None, signature=secret, place=place, more=more)
