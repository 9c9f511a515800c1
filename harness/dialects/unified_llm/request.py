"""Translates a unified-llm Request into a prompt, and makes the Request that follows an answer.

`harness.dialects.unified_llm.messages` reads the messages; here each other field has a function. A
wrong field is a `TranslationError` with its place. The older form of a request (``system``,
``input_schema``) is read too.

Source: https://github.com/strongdm/attractor/blob/main/unified-llm-spec.md (Request, Tool,
ToolChoice, ResponseFormat).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from harness.stream.fields import Fields, shown
from harness.stream.generation import ToolOutcome, TranslationError, outcomes_of
from harness.stream.json_codec import decode_json
from harness.stream.prompt import (
    AnswerFormat,
    Choice,
    Function,
    Instruction,
    Prompt,
    Reasoning,
    Schema,
    Text,
)
from harness.stream.session import Session

from ..dialect import Payload, RequestTranslator
from .messages import Conversation

PROVIDER: Final = "gemini"
"""The name of Gemini in the unified specification: in ``provider``, before a model's name, and in
``provider_options``.
"""

STORING: Final = "interactions"
"""The name in ``provider_options`` of the wire that can store answers."""

MODES: Final[tuple[Literal["auto", "none", "required", "named"], ...]] = (
    *("auto", "none", "required", "named"),
)
"""The words of a tool choice."""
EFFORTS: Final = ("low", "medium", "high")
SETTINGS: Final[Mapping[str, tuple[str, type]]] = {
    "temperature": ("temperature", float),
    "top_p": ("top_p", float),
    "max_tokens": ("max_tokens", int),
    "stop_sequences": ("stop", list),
}
"""Field of a Request → setting of a prompt, and its type."""
FORMATS: Final = ("text", "json", "json_schema")

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")


def translate(prompt: Any, options: Mapping[str, Any], session: Session) -> Prompt:
    """Return the prompt of a unified-llm Request; see
    `harness.dialects.dialect.RequestTranslator`.
    """
    if options:
        raise TranslationError("options", "unified-llm has none; put them into the Request")
    request = Fields(prompt, "")
    model, addressed = read_model(request)
    conversation = Conversation(session)
    system = request.get("system", str)
    conversation.read(request.need("messages", list))
    if not conversation.messages:
        request.fail("messages", "none of them has content that can be sent to Gemini")
    first = [Instruction((Text(system, place="system"),))] if system is not None else []
    tools = _functions(request)
    translated = Prompt(
        messages=tuple(conversation.messages),
        instructions=(*first, *conversation.instructions),
        model=model,
        addressed=addressed,
        tools=tools,
        choice=_choice(request, [tool.name for tool in tools]),
        settings=_settings(request),
        reasoning=_reasoning(request),
        format=_format(request),
        metadata=request.get("metadata", dict) or {},
        options=_options(request),
        unread=tuple(conversation.unread),
        warnings=tuple(conversation.warnings),
    )
    request.refuse_rest()
    return translated


def follow_up(
    prompt: Any, payloads: Sequence[Payload], then: Sequence[ToolOutcome] | str
) -> dict[str, Any]:
    """Return the Request after an answer: the answer's message, then a ``tool`` message for each
    outcome, or the user's next text.

    An answer that ended in an error has no message. If the user writes a text instead of giving
    results, each call has the outcome `NOT_RUN`. If the prompt asks to store its interactions, the
    next request continues from the id of the answer. Raises `TranslationError` unless there is one
    outcome for each call.
    """
    responses = [payload["response"] for payload in payloads if payload.get("type") == "FINISH"]
    answers = [response["message"] for response in responses]
    messages = [*prompt["messages"], *answers]
    if responses:
        prompt = _continue(prompt, responses[-1])
    calls = [
        part["tool_call"]["id"]
        for answer in answers
        for part in answer["content"]
        if part["kind"] == "tool_call"
    ]
    results = [
        tool_result(call_id, outcome.result, outcome.failed)
        for call_id, outcome in zip(calls, outcomes_of(len(calls), then), strict=True)
    ]
    message = {"role": "user", "content": [{"kind": "text", "text": then}]}
    user_turn = [message] if isinstance(then, str) else []
    return {**prompt, "messages": [*messages, *results, *user_turn]}


def _continue(prompt: Mapping[str, Any], response: Payload) -> Mapping[str, Any]:
    """Return the prompt with the id of the answer that it continues, if answers are stored."""
    options = prompt.get("provider_options") or {}
    storing = options.get(STORING)
    if not isinstance(storing, Mapping) or storing.get("store") is not True:
        return prompt
    storing = {**storing, "previous_interaction_id": response["id"]}
    return {**prompt, "provider_options": {**options, STORING: storing}}


def tool_result(call_id: str, content: Any, is_error: bool = False) -> dict[str, Any]:
    """Return the ``tool`` message for one outcome."""
    result = {
        "tool_call_id": call_id,
        "content": content,
        **({"is_error": True} if is_error else {}),
    }
    return {
        "role": "tool",
        "content": [{"kind": "tool_result", "tool_result": result}],
        "tool_call_id": call_id,
    }


def read_model(request: Fields) -> tuple[str | None, tuple[tuple[str, str, str], ...]]:
    """Return the model to ask, without the provider before it, None if none is named; and the
    providers that the Request names (`Prompt.addressed`).
    """
    provider, model = request.get("provider", str), request.get("model", str)
    addressed = []
    if model is not None and ":" in model:
        prefix, _, model = model.partition(":")
        if not prefix or not model:
            request.fail(
                "model",
                f"{prefix + ':' + model!r} has an empty {'name' if prefix else 'provider'}; write"
                f" {PROVIDER}:NAME",
            )
        addressed.append((prefix, "model", f"{prefix}:{model} is a model of another provider"))
    if provider is not None:
        addressed.append((provider, "provider", f"{shown(provider)} is another provider"))
    return model or None, tuple(addressed)


# -------------------------------------------------------------------- tools


def _functions(request: Fields) -> tuple[Function, ...]:
    tools = request.items("tools")
    functions = tuple(map(_function, tools))
    names = [function.name for function in functions]
    for tool, name in zip(tools, names, strict=True):
        if names.count(name) > 1:
            tool.fail("name", f"{name!r} is the name of two tools")
    return functions


def _function(tool: Fields) -> Function:
    name, description = tool.need("name", str), tool.get("description", str)
    if not _NAME.fullmatch(name):
        tool.fail(
            "name",
            f"{shown(name)} is not a valid name of a function: expected a letter or _, then up to"
            " 127 of A-Z a-z 0-9 _ . : -",
        )
    tool.get("execute")  # the application's own function
    key = tool.either("parameters", "input_schema")
    schema = tool.get(key, dict, str, bytes)
    if isinstance(schema, str | bytes):
        schema = _decode(tool, key, schema)
    tool.refuse_rest()
    return Function(
        name,
        description,
        None if schema is None else Schema(schema, tool.at(key)),
        place=tool.place,
    )


def _decode(tool: Fields, key: str, text: str | bytes) -> dict[str, Any]:
    """Return a schema that is given as JSON text."""
    try:
        schema = decode_json(
            text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        )
    except ValueError as error:
        tool.fail(key, f"is not JSON: {error}")
    if not isinstance(schema, dict):
        tool.fail(key, f"must be an object, not {shown(schema)}")
    return schema


def _choice(request: Fields, names: list[str]) -> Choice | None:
    choice = request.get("tool_choice", str, dict)
    if choice is None:
        return None
    form = Fields({"mode": choice} if isinstance(choice, str) else choice, "tool_choice")
    word, name = form.choose("mode", MODES), form.get("tool_name", str)
    mode = next(mode for mode in MODES if mode == word)
    form.refuse_rest()
    if (mode == "named") != (name is not None):
        form.fail(
            "tool_name",
            "is missing"
            if name is None
            else f"is not allowed with the mode {mode}, only with the mode named",
        )
    if name is not None and name not in names:
        form.fail(
            "tool_name", f"{name!r} is not one of the tools: {', '.join(names) or 'there are none'}"
        )
    if not names and mode == "required":
        request.fail("tool_choice", "requires a call, but there are no tools")
    return Choice(mode, name or None) if names else None


# -------------------------------------------------------------------- generation


def _settings(request: Fields) -> dict[str, Any]:
    taken = {name: request.get(key, kind) for key, (name, kind) in SETTINGS.items()}
    stops, limit = taken["stop"], taken["max_tokens"]
    if stops is not None and not all(isinstance(stop, str) for stop in stops):
        request.fail("stop_sequences", "is not a list of strings")
    if limit is not None and limit < 1:
        request.fail("max_tokens", f"{limit} leaves no room for an answer")
    return {name: value for name, value in taken.items() if value is not None}


def _reasoning(request: Fields) -> Reasoning | None:
    effort = request.may_choose("reasoning_effort", EFFORTS)
    return Reasoning(effort=effort) if effort else None


def _format(request: Fields) -> AnswerFormat | None:
    wanted = request.get("response_format", dict)
    if wanted is None:
        return None
    form = Fields(wanted, "response_format")
    kind, schema = form.choose("type", FORMATS), form.get("json_schema", dict)
    strict = form.get("strict", bool)
    form.refuse_rest()
    if (kind == "json_schema") != (schema is not None):
        form.fail(
            "json_schema",
            (
                "is missing"
                if schema is None
                else f"is not allowed with the type {kind}, only with json_schema"
            ),
        )
    if kind == "text":
        return None
    written = None if schema is None else Schema(schema, form.at("json_schema"))
    return AnswerFormat(written, strict=strict)


def _options(request: Fields) -> dict[str, Any]:
    """Return the options for single providers; those of Gemini must be an object."""
    options = request.get("provider_options", dict) or {}
    Fields(options, "provider_options").get(PROVIDER, dict)
    return dict(options)


REQUEST: Final = RequestTranslator(
    translate,
    follow_up,
    opening_prompt={
        "model": "gemini-x",
        "messages": [{"role": "user", "content": [{"kind": "text", "text": "Hello"}]}],
    },
    sent_back=frozenset({"call", "text", "thought", "other"}),
)
