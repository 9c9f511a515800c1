"""Translates an ArtStandardPrompt and its CallOptions into a Gemini request.

The table `ROLES` has the writer of messages for each role; `GENERATION` maps options to fields of
``generationConfig``. Each message is one content, in order. System messages are put before the text
of the first user message.

ART has its own ids of calls and no signatures, so calls and results are sent by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from harness.stream.generation import GenerateRequest, ToolOutcome, TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.session import Session

from ..dialect import Payload, RequestTranslator
from ..fields import Fields
from ..gemini_schema import to_gemini_schema

DEFAULT_MODEL: Final = "gemini-1.5-flash-latest"
"""The default of ART's documentation; Google has retired this model."""
FIRST_TURN: Final = "(Initial context)"
"""The text of a user content that is put before a history that begins with the model."""

Content = dict[str, Any]

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


class _Writer:
    """The contents so far, the system messages, and the warnings of one prompt."""

    def __init__(self) -> None:
        self.contents: list[Content] = []
        self.first_user: Content | None = None
        self.system: list[str] = []
        self.warnings: list[str] = []

    def add(self, role: str, parts: list[Any]) -> Content:
        self.contents.append({"role": role, "parts": parts})
        return self.contents[-1]

    def warn(self, place: str, reason: str) -> None:
        self.warnings.append(f"{place}: {reason}")

    def finish(self) -> list[Content]:
        """The contents, with the system messages before the first user's text, and a user content
        first.
        """
        if self.system:
            text = "\n\n".join(self.system)
            if self.first_user:
                part = self.first_user["parts"][0]
                part["text"] = f"{text}\n\n{part['text']}"
            else:
                self.contents.insert(0, {"role": "user", "parts": [{"text": text}]})
        if self.contents and self.contents[0]["role"] == "model":
            self.contents.insert(0, {"role": "user", "parts": [{"text": FIRST_TURN}]})
        return self.contents


def _write_system(writer: _Writer, message: Fields, given: Mapping[str, Any]) -> None:
    content = given.get("content")
    if not isinstance(content, str):
        writer.warn(
            message.at("content"),
            "is left out; the content of a system message must be a string",
        )
    elif content:
        writer.system.append(content)


def _write_user(writer: _Writer, message: Fields, given: Mapping[str, Any]) -> None:
    if "content" not in given:  # null is sent as text
        message.fail("content", "is missing; a user message has one")
    added = writer.add("user", [{"text": _as_text(given["content"], message.at("content"))}])
    writer.first_user = writer.first_user or added


def _write_assistant(writer: _Writer, message: Fields, given: Mapping[str, Any]) -> None:
    content = given.get("content")
    text = "" if content is None else _as_text(content, message.at("content"))
    parts: list[Any] = [{"text": text}] if text.strip() else []
    for call in message.items("tool_calls"):
        kind = call.get("type") or "function"
        if kind == "function":
            parts.append({"functionCall": _function_call(call)})
        else:
            writer.warn(
                call.place, f"is left out; its type is {kind!r}, and Gemini takes only functions"
            )
    writer.add("model", parts or [{"text": ""}])


def _function_call(call: Fields) -> dict[str, Any]:
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
    return {"name": name, "args": args}


def _write_result(writer: _Writer, message: Fields, given: Mapping[str, Any]) -> None:
    for field in ("tool_call_id", "name"):
        if not message.get(field, str):
            role = given["role"]
            message.fail(field, f"is missing; a {role} message needs tool_call_id and name")
    content = given.get("content")
    _as_text(content, message.at("content"))  # sent as it is, so it must be JSON
    response = {"name": given["name"], "response": {"content": content}}
    writer.add("user", [{"functionResponse": response}])


def _write_request(writer: _Writer, message: Fields, given: Mapping[str, Any]) -> None:
    writer.warn(
        message.place,
        "is left out; a tool_request is only a note of ART, the call is in the assistant's message",
    )


ROLES: Final[Mapping[str, Callable[[_Writer, Fields, Mapping[str, Any]], None]]] = {
    "system": _write_system,
    "user": _write_user,
    "assistant": _write_assistant,
    "tool_request": _write_request,
    "tool_result": _write_result,
    "tool": _write_result,
}
"""Role → the function that writes such a message."""


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


GENERATION: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Any, str], Any]]]] = {
    "temperature": (("temperature",), _number),
    "maxOutputTokens": (("max_tokens", "maxOutputTokens"), _number),
    "topP": (("top_p", "topP"), _number),
    "topK": (("top_k", "topK"), _number),
    "stopSequences": (("stop", "stop_sequences", "stopSequences"), _strings),
}
"""A field of ``generationConfig`` → the names of its option, of which the first that is set is
used, and the function that reads its value. 0 is a set value.
"""

_KNOWN_OPTIONS: Final = (
    _CONTEXT_OPTIONS
    | {"tools", "gemini"}
    | {name for names, _ in GENERATION.values() for name in names}
)


def _generation_config(
    options: Mapping[str, Any], warn: Callable[[str, str], None]
) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for field, (names, read) in GENERATION.items():
        name = next((name for name in names if options.get(name) is not None), None)
        if name is not None:
            config[field] = read(options[name], f"options.{name}")
    gemini = options.get("gemini") or {}
    thinking = gemini.get("thinking") or {} if isinstance(gemini, Mapping) else None
    if not isinstance(thinking, Mapping):
        raise TranslationError(
            "options.gemini", "is not of the form {thinking: {includeThoughts, thinkingBudget}}"
        )
    budget = thinking.get("thinkingBudget")
    if thinking.get("includeThoughts"):
        config["thinkingConfig"] = {"includeThoughts": True}
        if budget is not None:
            config["thinkingConfig"]["thinkingBudget"] = _number(
                budget, "options.gemini.thinking.thinkingBudget"
            )
    elif budget is not None:
        warn(
            "options.gemini.thinking.thinkingBudget",
            "is left out; it has an effect only with includeThoughts",
        )
    return config


def _declarations(options: Fields, writer: _Writer) -> list[dict[str, Any]]:
    declarations = []
    for tool in options.items("tools"):
        name, description = tool.get("name"), tool.get("description")
        if not isinstance(name, str) or not name:
            tool.fail("name", "is missing; a tool must have a name")
        declaration = {"name": name, **({"description": description} if description else {})}
        schema = tool.get("inputSchema")
        if schema is not None:
            declaration["parameters"], lost = to_gemini_schema(schema, place=tool.at("inputSchema"))
            writer.warnings += lost
        for field in ("outputSchema", "examples"):
            if tool.get(field):
                writer.warn(
                    tool.at(field),
                    "is left out; a function is declared by name, description and parameters",
                )
        declarations.append(declaration)
    return declarations


def model_of(options: Mapping[str, Any], default: str = DEFAULT_MODEL) -> str:
    """The model to ask: ``model``, else the one that ``providerConfig`` names, else the default."""
    config = options.get("providerConfig")
    config = config if isinstance(config, Mapping) else {}
    adapter = config.get("adapterOptions")
    named = [
        options.get("model"),
        config.get("modelId"),
        adapter.get("model") if isinstance(adapter, Mapping) else None,
    ]
    return next((name for name in named if isinstance(name, str) and name), default)


def translate(prompt: Any, options: Mapping[str, Any], session: Session) -> GenerateRequest:
    """See `harness.dialects.dialect.RequestTranslator`."""
    if not isinstance(prompt, list | tuple):
        raise TranslationError("messages", "is not a list; a prompt is a list of messages")
    writer = _Writer()
    for number, message in enumerate(prompt):
        fields = Fields(message, f"messages[{number}]")
        ROLES[fields.choose("role", ROLES)](writer, fields, message)
    body: dict[str, Any] = {"contents": writer.finish()}
    declarations = _declarations(Fields(options, "options"), writer)
    if declarations:
        body["tools"] = [{"functionDeclarations": declarations}]
    config = _generation_config(options, writer.warn)
    if config:
        body["generationConfig"] = config
    for name in options:
        if name not in _KNOWN_OPTIONS:
            writer.warn(f"options.{name}", "is left out; Gemini has no such option")
    return GenerateRequest(body, model_of(options), tuple(writer.warnings))


def follow_up(prompt: Any, payloads: Sequence[Payload], then: Sequence[ToolOutcome] | str) -> Any:
    """The prompt, the text of the answer, and the user's next text. Calls are a declared loss, so
    there can be no outcomes.
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
)
