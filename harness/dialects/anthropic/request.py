"""Translates the body of ``POST /v1/messages`` into a prompt, and makes the body that follows an
answer.

Each field of the body has a function or a row of a table. The other fields are only for the wire of
the Messages API itself. The signatures, names and ids of earlier calls are in the session.

Source: https://docs.anthropic.com/en/api/messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from harness.stream.fields import Fields, shown
from harness.stream.generation import ToolOutcome, TranslationError, outcomes_of
from harness.stream.json_codec import decode_json
from harness.stream.prompt import AnswerFormat, Instruction, Prompt, Reasoning, Schema, Text
from harness.stream.session import Session

from ..dialect import Payload, RequestTranslator
from .contents import Contents
from .tools import HOME, declared_names, translate_choice, translate_tools, wire_names

SETTINGS: Final[Mapping[str, type]] = {
    "max_tokens": int,
    "temperature": float,
    "top_p": float,
    "top_k": int,
}
"""Setting → its type. An absent field stays absent, so that the model's default holds."""

SESSION_KEYS: Final = (
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "thread_id",
    "threadId",
)
"""Keys of ``metadata``; the first that is not empty names the session."""

THINKING: Final[Mapping[str, Literal["on", "adaptive", "off"]]] = {
    "enabled": "on",
    "adaptive": "adaptive",
    "disabled": "off",
}
"""``thinking.type`` → mode of the reasoning."""

EFFORTS: Final = ("low", "medium", "high")
"""The efforts that other wires have too."""

LEVELS: Final = ((1024, "low"), (8192, "medium"))
"""Largest budget → effort, for models that have only levels; high above these."""


def translate(prompt: Any, options: Mapping[str, Any], session: Session) -> Prompt:
    """Return the prompt of a Messages body; see `harness.dialects.dialect.RequestTranslator`.

    The session learns the conversation's id (``context["session_id"]``, from ``metadata``), which
    tool names were changed (``own_names``) and which ids the history has already, unless the prompt
    is refused.
    """
    if options:
        raise TranslationError("options", "a Messages request has none; put them into its body")
    warnings: list[str] = []
    fields = Fields(prompt, "", warnings)
    model = fields.get("model", str)
    tools = fields.items("tools")
    declared = declared_names(tools)
    names = wire_names([*declared, *_used_names(fields)])
    contents = Contents(names, session)
    fields.need("messages", list)
    for message in fields.items("messages"):
        contents.add(message)
    if not contents.messages:
        raise TranslationError("messages", "there is nothing to send")
    instructions = _system(fields)
    functions = translate_tools(tools, names)
    choice = translate_choice(fields.inner("tool_choice"), names, declared)
    settings = _settings(fields)
    thinking = fields.inner("thinking")
    reasoning = None if thinking is None else _thinking(thinking, model or "")
    more: dict[str, Any] = {}
    shape, effort = _output(fields, more)
    if effort:
        reasoning = replace(reasoning or Reasoning(), effort=effort)
    context = _session_id(fields, more)
    streamed = fields.get("stream", bool) is True
    more |= fields.rest()
    session.context = {**session.context, **context}
    for call_id in contents.strangers:
        session.reserve(call_id)
    session.own_names = {wire: own for own, wire in names.items() if wire != own}
    return Prompt(
        messages=tuple(contents.messages),
        instructions=instructions,
        model=model,
        tools=functions,
        choice=choice,
        format=shape,
        settings=settings,
        reasoning=reasoning,
        home=HOME,
        more=more,
        unread=tuple(fields.unread),
        streamed=streamed,
        warnings=tuple(warnings),
    )


def _used_names(fields: Fields) -> Iterator[str]:
    """Yield the names of calls in the history; their tools may not be declared any more."""
    for message in fields.get("messages", list) or ():
        content = message.get("content") if isinstance(message, Mapping) else None
        for block in content if isinstance(content, list | tuple) else ():
            if isinstance(block, Mapping) and isinstance(block.get("name"), str):
                yield block["name"]


def _system(fields: Fields) -> tuple[Instruction, ...]:
    """Return one instruction with all texts; none if they are empty."""
    system = fields.get("system", str, list)
    if isinstance(system, str):
        pieces = [Text(system, place="system")]
    else:
        pieces = []
        for block in fields.items("system"):
            block.choose("type", ("text",))
            pieces.append(
                Text(
                    block.need("text", str),
                    place=block.place,
                    cache=block.get("cache_control", dict),
                )
            )
            block.leave_rest()
    instruction = Instruction(tuple(pieces))
    return (instruction,) if instruction.text else ()


def _settings(fields: Fields) -> Payload:
    settings = {
        name: value
        for name, kind in SETTINGS.items()
        if (value := fields.get(name, kind)) is not None
    }
    stops = list(fields.get("stop_sequences", list) or ())
    for index, stop in enumerate(stops):
        if not isinstance(stop, str):
            raise TranslationError(
                f"stop_sequences[{index}]", f"must be a string, not {shown(stop)}"
            )
    return {**settings, "stop": stops} if stops else settings


def _thinking(thinking: Fields, model: str) -> Reasoning:
    """Return how much the model thinks: for Gemini 3, which has only levels, also an effort, from
    the end of the model's name or the budget.
    """
    mode = THINKING[thinking.choose("type", THINKING)]
    budget, display = (
        thinking.get("budget_tokens", int),
        thinking.get("display", str),
    )
    thinking.leave_rest()
    effort = None
    if mode != "off" and "gemini-3" in model:
        suffix = model.rpartition("-")[2].lower()
        if suffix in EFFORTS:
            effort = suffix
        elif budget is not None:
            effort = next((level for most, level in LEVELS if budget <= most), "high")
    return Reasoning(mode, effort, budget, mode != "off" and display != "omitted")


def _output(fields: Fields, more: Payload) -> tuple[AnswerFormat | None, str | None]:
    """Return the form of structured output and the effort. An effort that other wires do not have,
    such as ``max``, is a field of this wire only, and goes into ``more``.
    """
    output = fields.inner("output_config")
    if output is None:
        return None, None
    shape, rest = output.inner("format"), output.rest()
    effort = rest.pop("effort") if rest.get("effort") in EFFORTS else None
    more |= {f"output_config.{key}": value for key, value in rest.items()}
    if shape is None:
        return None, effort
    shape.choose("type", ("json_schema",))
    schema = shape.need("schema", dict)
    shape.leave_rest()
    return AnswerFormat(Schema(schema, shape.at("schema"), exact=True)), effort


def _session_id(fields: Fields, more: Payload) -> dict[str, str]:
    """Return the id of the conversation, if the metadata name one. The metadata are a field of this
    wire only.
    """
    metadata = fields.inner("metadata")
    if metadata is None:
        return {}
    ids = [value for key in SESSION_KEYS if (value := metadata.get(key))]
    more |= {f"metadata.{key}": value for key, value in metadata.rest().items()}
    return {"session_id": str(ids[0])} if ids else {}


def follow_up(prompt: Any, payloads: Sequence[Payload], then: Sequence[ToolOutcome] | str) -> Any:
    """Return the next body: the answer as the official client accumulates it, then the results of
    its calls or the user's next text.

    A result that is not text becomes JSON text. A block that an error interrupts is left out. If
    the user writes a text instead of giving results, each call has the outcome `NOT_RUN`. Raises
    `TranslationError` unless there is one outcome for each call.
    """
    answer = _accumulate(payloads)
    calls = [block["id"] for block in answer if block["type"] == "tool_use"]
    outcomes = outcomes_of(len(calls), then)
    content: Any = [result_block(*pair) for pair in zip(calls, outcomes, strict=True)]
    if isinstance(then, str):
        content = [*content, {"type": "text", "text": then}] if calls else then
    added = [{"role": "assistant", "content": answer}] if answer else []
    added += [{"role": "user", "content": content}] if content else []
    return {**prompt, "messages": [*prompt["messages"], *added]}


def _accumulate(payloads: Sequence[Payload]) -> list[Payload]:
    """Return the content of the message, block by block:
    https://docs.anthropic.com/en/docs/build-with-claude/streaming.
    """
    whole: list[Payload] = []
    block: Payload = {}
    arguments = ""
    for payload in payloads:
        match payload:
            case {"type": "content_block_start", "content_block": begun}:
                block, arguments = dict(begun), ""
            case {
                "type": "content_block_delta",
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }:
                arguments += piece
            case {
                "type": "content_block_delta",
                "delta": {"type": "signature_delta", "signature": signature},
            }:
                if block.get("type") == "thinking":  # the client drops it in other blocks
                    block["signature"] = signature
            case {
                "type": "content_block_delta",
                "delta": {"type": "text_delta" | "thinking_delta" as kind, **piece},
            }:
                key = kind.removesuffix("_delta")
                block[key] += piece[key]
            case {"type": "content_block_stop"}:
                whole.append(
                    {**block, "input": _arguments(arguments)}
                    if block["type"] == "tool_use"
                    else block
                )
    return whole


def _arguments(text: str) -> Any:
    try:
        return decode_json(text.encode()) if text else {}
    except ValueError:
        raise TranslationError(
            "", f"the answer has a call whose arguments are not JSON: {shown(text)}"
        ) from None


def result_block(call_id: str, outcome: ToolOutcome) -> Payload:
    """Return the block of a result; one that is not text becomes JSON text."""
    text = (
        outcome.result
        if isinstance(outcome.result, str)
        else json.dumps(outcome.result, ensure_ascii=False)
    )
    failed = {"is_error": True} if outcome.failed else {}
    return {"type": "tool_result", "tool_use_id": call_id, "content": text, **failed}


REQUEST: Final = RequestTranslator(
    translate,
    follow_up,
    opening_prompt={
        "model": "gemini-x",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "Hello"}],
    },
    sent_back=frozenset({"call", "text", "thought"}),
)
