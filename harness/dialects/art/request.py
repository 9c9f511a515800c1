"""Translates an ArtStandardPrompt and its CallOptions into a prompt.

The table `ROLES` has the reader of messages for each role; `SETTINGS` maps options to settings.
Each message of ART is one message, in order; the results of a turn are in the order of their calls.
System messages are put before the text of the first user message.

ART has its own ids of calls and no signatures, so calls and results are sent by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.stream.fields import Fields
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.prompt import (
    AnyPart,
    Call,
    Function,
    Message,
    Prompt,
    Reasoning,
    Result,
    Role,
    Schema,
    Text,
)
from harness.stream.session import Session

from ..dialect import Payload, RequestTranslator

DEFAULT_MODEL: Final = "gemini-1.5-flash-latest"
"""The default of ART's documentation; Google has retired this model."""
FIRST_TURN: Final = "(Initial context)"
"""The text of a user message that is put before a history that begins with the model."""

_CONTEXT_OPTIONS: Final = frozenset(
    {
        "threadId",
        "traceId",
        "userId",
        "sessionId",
        "stream",
        "callContext",
        "providerConfig",
        "model",
    }
)
"""Options about the call, not about the request."""


class _Reader:
    """The messages so far, the system messages, and the warnings of one prompt."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.first_user: int | None = None
        self.calls: dict[str, int] = {}
        self.system: list[str] = []
        self.warnings: list[str] = []

    def add(self, role: Role, parts: list[AnyPart], place: str) -> None:
        self.messages.append(Message(role, tuple(parts), place=place))

    def add_result(self, result: Result) -> None:
        """Add a result among those of its turn, in the order of their calls."""
        number = self.number_of(result)
        at = len(self.messages)
        while at and self.number_of(self.messages[at - 1].parts[0]) > number:
            at -= 1
        self.messages.insert(at, Message("user", (result,), place=result.place))

    def number_of(self, part: AnyPart) -> int:
        """Return the number of the call of a result; -1 for any other part."""
        return self.calls.get(part.id, -1) if isinstance(part, Result) else -1

    def warn(self, place: str, reason: str) -> None:
        self.warnings.append(f"{place}: {reason}")

    def finish(self) -> tuple[Message, ...]:
        """Return the messages, with the system messages before the first user's text, and a user
        message first.
        """
        if self.system:
            text = "\n\n".join(self.system)
            if self.first_user is None:
                self.messages.insert(0, Message("user", (Text(text),)))
            else:
                message = self.messages[self.first_user]
                [part] = message.parts
                assert isinstance(part, Text), "a user message is one text"
                joined = replace(part, text=f"{text}\n\n{part.text}")
                self.messages[self.first_user] = replace(message, parts=(joined,))
        if self.messages and self.messages[0].role == "assistant":
            self.messages.insert(0, Message("user", (Text(FIRST_TURN),)))
        return tuple(self.messages)


def _read_system(reader: _Reader, message: Fields, given: Mapping[str, Any]) -> None:
    content = given.get("content")
    if not isinstance(content, str):
        reader.warn(
            message.at("content"),
            "is left out; the content of a system message must be a string",
        )
    elif content:
        reader.system.append(content)


def _read_user(reader: _Reader, message: Fields, given: Mapping[str, Any]) -> None:
    if "content" not in given:  # null is sent as text
        message.fail("content", "is missing; a user message has one")
    place = message.at("content")
    if reader.first_user is None:
        reader.first_user = len(reader.messages)
    reader.add("user", [Text(_as_text(given["content"], place), place=place)], message.place)


def _read_assistant(reader: _Reader, message: Fields, given: Mapping[str, Any]) -> None:
    content, place = given.get("content"), message.at("content")
    text = "" if content is None else _as_text(content, place)
    parts: list[AnyPart] = [Text(text, place=place)] if text.strip() else []
    for call in message.items("tool_calls"):
        kind = call.get("type") or "function"
        if kind == "function":
            read = _read_call(call, len(reader.messages), len(parts))
            reader.calls[read.id] = len(reader.calls)
            parts.append(read)
        else:
            reader.warn(
                call.place, f"is left out; its type is {kind!r}, and Gemini takes only functions"
            )
    reader.add("assistant", parts or [Text("", place=place)], message.place)


def _read_call(call: Fields, message: int, part: int) -> Call:
    """Return a call. Its id is that of ART, or a counted one; Gemini gets none."""
    function = Fields(call.need("function", dict), call.at("function"))
    name, arguments = function.get("name"), function.get("arguments") or "{}"
    if not isinstance(name, str) or not name:
        function.fail("name", "is missing; a call names its function")
    try:
        args = decode_json(arguments.encode()) if isinstance(arguments, str) else None
    except (ValueError, RecursionError):
        function.fail("arguments", "is not JSON")
    if not isinstance(args, dict):
        function.fail(
            "arguments",
            "must be a string with a JSON object, because Gemini's arguments are an object",
        )
    own_id = call.get("id")
    call_id = own_id if isinstance(own_id, str) and own_id else f"call_{message}_{part}"
    return Call(call_id, name, args, place=function.place)


def _read_result(reader: _Reader, message: Fields, given: Mapping[str, Any]) -> None:
    for field in ("tool_call_id", "name"):
        if not message.get(field, str):
            role = given["role"]
            message.fail(field, f"is missing; a {role} message needs tool_call_id and name")
    content = given.get("content")
    _as_text(content, message.at("content"))  # sent as it is, so it must be JSON
    result = Result(
        given["tool_call_id"], given["name"], content, key="content", place=message.place
    )
    reader.add_result(result)


def _read_request(reader: _Reader, message: Fields, given: Mapping[str, Any]) -> None:
    reader.warn(
        message.place,
        "is left out; a tool_request is only a note of ART, the call is in the assistant's message",
    )


ROLES: Final[Mapping[str, Callable[[_Reader, Fields, Mapping[str, Any]], None]]] = {
    "system": _read_system,
    "user": _read_user,
    "assistant": _read_assistant,
    "tool_request": _read_request,
    "tool_result": _read_result,
    "tool": _read_result,
}
"""Role → the function that reads such a message."""


def _as_text(content: Any, place: str) -> str:
    if isinstance(content, str):
        return content
    try:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise TranslationError(place, "is neither a string nor JSON") from None


def _number(value: Any, place: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TranslationError(place, f"is not a number: {value!r}")
    return value


def _strings(value: Any, place: str) -> Any:
    strings = [value] if isinstance(value, str) else value
    if not isinstance(strings, list) or not all(isinstance(item, str) for item in strings):
        raise TranslationError(place, f"is neither a string nor a list of strings: {value!r}")
    return strings


SETTINGS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Any, str], Any]]]] = {
    "temperature": (("temperature",), _number),
    "max_tokens": (("max_tokens", "maxOutputTokens"), _number),
    "top_p": (("top_p", "topP"), _number),
    "top_k": (("top_k", "topK"), _number),
    "stop": (("stop", "stop_sequences", "stopSequences"), _strings),
}
"""A setting → the names of its option, of which the first that is set is used, and the function
that reads its value. 0 is a set value.
"""

_KNOWN_OPTIONS: Final = (
    _CONTEXT_OPTIONS
    | {"tools", "gemini"}
    | {name for names, _ in SETTINGS.values() for name in names}
)


def _settings(options: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for setting, (names, read) in SETTINGS.items():
        name = next((name for name in names if options.get(name) is not None), None)
        if name is not None:
            settings[setting] = read(options[name], f"options.{name}")
    return settings


def _reasoning(options: Mapping[str, Any], warn: Callable[[str, str], None]) -> Reasoning | None:
    gemini = options.get("gemini") or {}
    thinking = gemini.get("thinking") or {} if isinstance(gemini, Mapping) else None
    if not isinstance(thinking, Mapping):
        raise TranslationError(
            "options.gemini", "is not of the form {thinking: {includeThoughts, thinkingBudget}}"
        )
    budget = thinking.get("thinkingBudget")
    if thinking.get("includeThoughts"):
        if budget is not None:
            budget = _number(budget, "options.gemini.thinking.thinkingBudget")
        return Reasoning(budget=budget, shown=True)
    if budget is not None:
        warn(
            "options.gemini.thinking.thinkingBudget",
            "is left out; it has an effect only with includeThoughts",
        )
    return None


def _functions(options: Fields, reader: _Reader) -> tuple[Function, ...]:
    functions = []
    for tool in options.items("tools"):
        name, description = tool.get("name"), tool.get("description")
        if not isinstance(name, str) or not name:
            tool.fail("name", "is missing; a tool must have a name")
        schema = tool.get("inputSchema")
        for field in ("outputSchema", "examples"):
            if tool.get(field):
                reader.warn(
                    tool.at(field),
                    "is left out; a function is declared by name, description and parameters",
                )
        functions.append(
            Function(
                name,
                description or None,
                None if schema is None else Schema(schema, tool.at("inputSchema")),
                place=tool.place,
            )
        )
    return tuple(functions)


def model_of(options: Mapping[str, Any], default: str = DEFAULT_MODEL) -> str:
    """Return the model to ask: ``model``, else the one that ``providerConfig`` names, else the
    default.
    """
    config = options.get("providerConfig")
    config = config if isinstance(config, Mapping) else {}
    adapter = config.get("adapterOptions")
    named = [
        options.get("model"),
        config.get("modelId"),
        adapter.get("model") if isinstance(adapter, Mapping) else None,
    ]
    return next((name for name in named if isinstance(name, str) and name), default)


def translate(prompt: Any, options: Mapping[str, Any], session: Session) -> Prompt:
    """See `harness.dialects.dialect.RequestTranslator`."""
    if not isinstance(prompt, list | tuple):
        raise TranslationError("messages", "is not a list; a prompt is a list of messages")
    reader = _Reader()
    for number, message in enumerate(prompt):
        fields = Fields(message, f"messages[{number}]")
        ROLES[fields.choose("role", ROLES)](reader, fields, message)
    messages = reader.finish()
    tools = _functions(Fields(options, "options"), reader)
    settings, reasoning = _settings(options), _reasoning(options, reader.warn)
    for name in options:
        if name not in _KNOWN_OPTIONS:
            reader.warn(f"options.{name}", "is left out; Gemini has no such option")
    return Prompt(
        messages=messages,
        model=model_of(options),
        tools=tools,
        settings=settings,
        reasoning=reasoning,
        warnings=tuple(reader.warnings),
    )


def follow_up(prompt: Any, payloads: Sequence[Payload], then: Sequence[ToolOutcome] | str) -> Any:
    """Return the prompt, the text of the answer, and the user's next text. Calls are a declared
    loss, so there can be no outcomes.
    """
    if not isinstance(then, str) and then:
        raise TranslationError("results", "StreamEvents carry no calls, so there can be no results")
    tokens = [
        payload["data"]
        for payload in payloads
        if payload["type"] == "TOKEN" and payload["tokenType"].endswith("LLM_RESPONSE")
    ]
    text = "".join(tokens)
    answer = [{"role": "assistant", "content": text}] if text else []
    return [
        *prompt,
        *answer,
        *([{"role": "user", "content": then}] if isinstance(then, str) else []),
    ]


REQUEST: Final = RequestTranslator(
    translate,
    follow_up,
    opening_prompt=[{"role": "user", "content": "Hello"}],
    sent_back=frozenset({"text"}),
    wire="generateContent",
)
