"""Reads the body of a request of Chat Completions, with the additions of Gemini and of gateways:
the reverse of the writers of `openai` and of Gemini's endpoint.

The fields are those of https://platform.openai.com/docs/api-reference/chat/create and
https://ai.google.dev/gemini-api/docs/openai. A field that the prompt has no value for is in
``more``. Nothing is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from harness.facts import arguments_of
from harness.stream.json_codec import Json, objects_in
from harness.stream.prompt import (
    AnyPart,
    Call,
    Instruction,
    Message,
    Prompt,
    Reasoning,
    Result,
    Text,
    Thinking,
)

from ..gemini.request import VENDOR
from ..gemini.tools import requests_thoughts
from ..history import CallNames, HistoryRules, opaque, text_of, word
from ..request_reading import Unread, listed, others, unusual
from .fields import choice_of, format_of, parts_of, result_of, tier_of, tools_of
from .thoughts import TAG

HISTORY: Final = HistoryRules(by_id=True)
SETTINGS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_completion_tokens",
    "stop": "stop",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""Setting → field of the body."""
_OLDER: Final = {"max_tokens": "max_tokens"}
_GOOGLE: Final = {"labels": "labels", "cached": "cached_content"}
"""Value in Google's words → field of ``extra_body.google``."""
_EXTRA: Final = "extra_body.google"
_OF_ANSWER: Final = (
    *("role", "content", "name", "refusal", "reasoning", "reasoning_content", "reasoning_details"),
    *("tool_calls", "function_call", "extra_content", "thought_signature"),
)
_SYSTEM: Final = ("system", "developer")
_RESULTS: Final = ("tool", "function")
_ROLES: Final = ("user", "assistant", "system", *_RESULTS)
_SIGNED: Final = ("extra_content", "thought_signature")

JsonObject = dict[str, Any]


def read_compatible(body: JsonObject) -> Prompt:
    """Return the prompt of a request to Gemini's endpoint, whose texts may have thoughts between
    tags.
    """
    return ChatReader(body, VENDOR, TAG, requests_thoughts).prompt()


class ChatReader:
    """Reads one body. ``tag``: thoughts are between such tags in the texts of the model. ``shows``:
    returns whether a request asks for thoughts. A field that is read is taken out, and the rest is
    unread.
    """

    def __init__(
        self, body: JsonObject, vendor: str, tag: str, shows: Callable[[JsonObject], bool]
    ) -> None:
        self._body = {name: value for name, value in body.items() if name != "messages"}
        self._messages = body.get("messages")
        self._vendor = vendor
        self._tag = tag
        self._shown = shows(body)
        self._unread = Unread()
        self._names = CallNames()

    def prompt(self) -> Prompt:
        """Return the prompt."""
        body, unread = self._body, self._unread
        messages, instructions = self._history()
        google = tier_of(body, unread)
        reasoning = self._reasoning(google)
        settings = unread.settings(body, SETTINGS)
        if "max_tokens" not in settings:
            settings |= unread.settings(body, _OLDER)
        metadata = body.get("metadata")
        metadata = body.pop("metadata") if isinstance(metadata, dict) else {}
        prompt = Prompt(
            messages=tuple(messages),
            instructions=tuple(instructions),
            model=word(body.pop("model", None)) or None,
            tools=tuple(tools_of(body.pop("tools", None), self._vendor, unread)),
            choice=choice_of(body, unread),
            format=format_of(body.pop("response_format", None), "response_format", unread),
            settings=settings,
            reasoning=reasoning,
            google=google,
            metadata=metadata,
            streamed=body.pop("stream", None) is True,
            home=self._vendor,
            places=unread.places,
            more=unread.more,
        )
        unread.keep(body, "")
        return prompt

    # ---------------------------------------------------------------- messages

    def _history(self) -> tuple[list[Message], list[Instruction]]:
        """Return the messages, and the instructions before them."""
        messages: list[Message] = []
        instructions: list[Instruction] = []
        if self._messages == []:
            self._unread.more["messages"] = []
        for message, place in listed(self._messages, "messages", self._unread):
            content, role = message.get("content"), message.get("role")
            own, name = f"{place}.content", message.get("name")
            name = name if isinstance(name, str) else None
            self._unread.keep_unusual(message, place, role=_ROLES)
            if not isinstance(content, str | list):
                self._unread.keep({} if role in _RESULTS else {"content": content}, place)
            if role == "assistant" or (role not in _ROLES and "tool_calls" in message):
                self._unread.keep(message, place, but=_OF_ANSWER)
                parts = tuple(self._answer(message, place))
                messages.append(Message("assistant", parts, name, place, ordered=False))
                continue
            read = ("role", "content", "name", *(("tool_call_id",) if role in _RESULTS else ()))
            self._unread.keep(message, place, but=read)
            given = parts_of(content, own, unread=self._unread)
            if role in _RESULTS:
                result = self._result(message, place)
                messages.append(Message("user", (result,), place=place))
            elif role in _SYSTEM and not messages:
                pieces = tuple(part for part in given if isinstance(part, Text))
                self._unread.keep({"content": content} if len(pieces) < len(given) else {}, place)
                instructions.append(Instruction(pieces, name, place))
            else:
                known: Any = "system" if role in _SYSTEM else "user"
                messages.append(Message(known, tuple(given), name, place))
        return messages, instructions

    def _result(self, message: JsonObject, place: str) -> Result:
        call_id, name = message.get("tool_call_id"), word(message.get("name"))
        known = word(call_id)
        if message["role"] == "tool":
            name = self._names.take(call_id) or name
        more = unusual(message, name=(name, None, ""), role=("tool",))
        value, parts = result_of(message.get("content"), f"{place}.content")
        return Result(known, name, value, parts, known or None, place=place, more=more)

    def _answer(self, message: JsonObject, place: str) -> Iterator[AnyPart]:
        for name in ("reasoning_content", "reasoning"):
            if isinstance(message.get(name), str):
                yield Thinking(message[name], place=f"{place}.{name}")
        details = message.get("reasoning_details")
        for detail, own in listed(details, f"{place}.reasoning_details", self._unread):
            yield _detail(detail, own)
        parts = [
            part
            for item in parts_of(message.get("content"), f"{place}.content", unread=self._unread)
            for part in (_tagged(item, self._tag) if isinstance(item, Text) else [item])
        ]
        if isinstance(message.get("refusal"), str):
            parts.append(Text(message["refusal"], True, place=f"{place}.refusal"))
        signature, beside = opaque(_signature(message)), _beside_signature(message)
        if parts and isinstance(last := parts[-1], Text) and (signature or beside):
            more = {**last.more, **beside}
            at = f"{place}.content" if signature else last.place
            parts[-1] = replace(last, signature=signature, place=at, more=more)
        elif signature:
            parts.append(Text("", signature=signature, place=f"{place}.content", more=beside))
        else:
            self._unread.keep(beside, f"{place}.extra_content")
        yield from parts
        for call, own in listed(message.get("tool_calls"), f"{place}.tool_calls", self._unread):
            yield self._call(call, own)
        if isinstance(legacy := message.get("function_call"), dict):
            yield self._call({"type": "function", "function": legacy}, f"{place}.function_call")

    def _call(self, call: JsonObject, place: str) -> Call:
        called = call.get("function") or call.get("custom")
        called = called if isinstance(called, dict) else {}
        call_id, name, given = call.get("id"), word(called.get("name")), called.get("arguments")
        self._names.add(call_id, name)
        arguments: Any = {"input": called["input"]} if "input" in called else text_arguments(given)
        known, signature = word(call_id), opaque(_signature(call))
        more = {
            **others(call, ("id", "type", "function", "custom", *_SIGNED)),
            **unusual(call, type=("custom" if "custom" in call else "function",)),
            **others(called, ("name", "arguments", "input")),
            **_beside_signature(call),
        }
        return Call(
            known, name, arguments, known or None, signature=signature, place=place, more=more
        )

    # ---------------------------------------------------------------- settings

    def _reasoning(self, google: JsonObject) -> Reasoning | None:
        body, places = self._body, self._unread.places
        effort, budget = body.pop("reasoning_effort", None), None
        if effort is not None:
            places["reasoning.effort"] = "reasoning_effort"
        if self._vendor == VENDOR:
            level, budget = self._extra(google)
            if effort is not None:
                name = f"{_EXTRA}.thinking_config.thinking_level"
                self._unread.keep({name: level}, "")
            effort = effort or level
            if effort is not None:
                google["thinking_level"] = str(effort).upper()
        shown = self._shown or None
        if effort is None and budget is None and shown is None:
            return None
        if effort == "none":
            return Reasoning("off", None, budget, shown)
        return Reasoning(None, effort, budget, shown)

    def _extra(self, google: JsonObject) -> tuple[Any, Any]:
        """Read Google's own fields. Return the level and the budget of the thinking."""
        outer = self._body.get("extra_body")
        inner = outer.get("google") if isinstance(outer, dict) else None
        if not isinstance(outer, dict) or not isinstance(inner, dict) or not inner:
            return None, None
        del self._body["extra_body"]
        self._unread.keep(outer, "extra_body", but=("google",))
        fields, places = dict(inner), self._unread.places
        safety = fields.get("safety_settings")
        if isinstance(safety, list) and len(objects_in(safety)) == len(safety):
            del fields["safety_settings"]
            google["safety"] = {item.get("category"): item.get("threshold") for item in safety}
            places["google.safety"] = f"{_EXTRA}.safety_settings"
            for item, own in listed(safety, places["google.safety"]):
                self._unread.keep(item, own, but=("category", "threshold"))
        for name, field in _GOOGLE.items():
            if field in fields:
                google[name] = fields.pop(field)
                places[f"google.{name}"] = f"{_EXTRA}.{field}"
        config = fields.get("thinking_config")
        config = dict(fields.pop("thinking_config")) if isinstance(config, dict) else {}
        level, budget = config.pop("thinking_level", None), config.pop("thinking_budget", None)
        shown = config.pop("include_thoughts") if config.get("include_thoughts") is True else None
        for name, value in (("effort", level), ("budget", budget), ("shown", shown)):
            if value is not None:
                places[f"reasoning.{name}"] = f"{_EXTRA}.thinking_config"
        self._unread.keep(config, f"{_EXTRA}.thinking_config")
        self._unread.keep(fields, _EXTRA)
        return (str(level).lower() if level is not None else None), budget


def _detail(detail: JsonObject, place: str) -> Thinking:
    words = next((key for key in ("text", "summary") if text_of(detail.get(key))), "text")
    secret = "signature" if detail.get("signature") else "data"
    return Thinking(
        text_of(detail.get(words)),
        word(detail.get("id")) or None,
        signature=opaque(detail.get(secret)),
        place=place,
        more=others(detail, ("id", words, secret)),
    )


def text_arguments(given: Json) -> Any:
    """Return the object in the text of arguments. A value that is not a text stays a text, because
    it is not the same arguments.
    """
    if given is None or isinstance(given, str):
        return arguments_of(given or "")
    return json.dumps(given)


def _tagged(whole: Text, tag: str) -> Iterator[AnyPart]:
    """Yield the text of a message, and the thoughts between tags in it."""
    if whole.refusal or not tag or f"<{tag}>" not in whole.text:
        yield whole
        return
    for number, piece in enumerate(whole.text.split(f"<{tag}>")):
        thought, _, rest = piece.rpartition(f"</{tag}>") if number else ("", "", piece)
        if thought:
            yield Thinking(thought, place=whole.place)
        yield Text(rest, place=whole.place)


def _signature(holder: JsonObject) -> Json:
    """Return the signature in ``extra_content`` of a call or a message; Vertex AI has its own key.
    Older answers had it beside the content, so it may be sent back there.
    """
    extra = holder.get("extra_content")
    extra = extra if isinstance(extra, dict) else {}
    own = extra.get("google") or extra.get("vertex")
    signature = own.get("thought_signature") if isinstance(own, dict) else None
    return signature or holder.get("thought_signature")


def _beside_signature(holder: JsonObject) -> JsonObject:
    """Return what ``extra_content`` has beside a signature."""
    extra = holder.get("extra_content")
    if not isinstance(extra, dict):
        return {} if extra is None else {"extra_content": extra}
    more = others(extra, ("google", "vertex"))
    for vendor in ("google", "vertex"):
        own = extra.get(vendor)
        more |= others(own, ("thought_signature",)) if isinstance(own, dict) else {}
    return more
