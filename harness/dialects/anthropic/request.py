"""Translates the body of ``POST /v1/messages`` into a Gemini request, and makes the body that
follows an answer.

Each field of the body has a function or a row of a table. A field without a counterpart in Gemini's
API gives a warning. The signatures, names and ids of earlier calls are in the session.

Sources: https://docs.anthropic.com/en/api/messages and https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from harness.stream.generation import (
    GenerateRequest,
    ToolOutcome,
    TranslationError,
    outcomes_of,
)
from harness.stream.json_codec import decode_json
from harness.stream.session import Session

from ..dialect import Payload, RequestTranslator
from ..fields import Fields, shown
from .contents import Contents
from .tools import declared_names, translate_choice, translate_tools, wire_names

SETTINGS: Final[Mapping[str, tuple[str, type]]] = {
    "max_tokens": ("maxOutputTokens", int),
    "temperature": ("temperature", float),
    "top_p": ("topP", float),
    "top_k": ("topK", int),
}
"""Field → field of ``generationConfig``, and its type. An absent field stays absent, so that the
model's default holds.
"""

SESSION_KEYS: Final = (
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "thread_id",
    "threadId",
)
"""Keys of ``metadata``; the first that is not empty names the session."""

THINKING: Final = {"enabled": True, "adaptive": True, "disabled": False}
"""``thinking.type`` → whether thoughts are to be shown."""

LEVELS: Final = ((1024, "LOW"), (8192, "MEDIUM"))
"""Largest budget → thinking level; HIGH above these."""


def translate(
    prompt: Any, options: Mapping[str, Any], session: Session, as_given: bool = False
) -> GenerateRequest:
    """The request that a Messages body asks for; see `harness.dialects.dialect.RequestTranslator`.

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
    contents = Contents(names, session, as_given)
    fields.need("messages", list)
    for message in fields.items("messages"):
        contents.add(message)
    if not contents.contents:
        raise TranslationError("messages", "there is nothing to send")
    body = {
        "contents": contents.contents,
        "systemInstruction": _system(fields),
        "tools": translate_tools(tools, names, as_given),
        "toolConfig": translate_choice(fields.inner("tool_choice"), names, declared),
        "generationConfig": _generation(fields, model or ""),
    }
    context = _session_id(fields)
    streamed = fields.get("stream", bool) is True
    fields.leave_rest()
    session.context = {**session.context, **context}
    for call_id in contents.strangers:
        session.reserve(call_id)
    session.own_names = {wire: own for own, wire in names.items() if wire != own}
    return GenerateRequest(
        {key: value for key, value in body.items() if value}, model, tuple(warnings), streamed
    )


def _used_names(fields: Fields) -> Iterator[str]:
    """Names of calls in the history; their tools may not be declared any more."""
    for message in fields.get("messages", list) or ():
        content = message.get("content") if isinstance(message, Mapping) else None
        for block in content if isinstance(content, list | tuple) else ():
            if isinstance(block, Mapping) and isinstance(block.get("name"), str):
                yield block["name"]


def _system(fields: Fields) -> Payload:
    """``systemInstruction``: all texts joined."""
    system = fields.get("system", str, list)
    if not isinstance(system, str):
        texts = []
        for block in fields.items("system"):
            block.choose("type", ("text",))
            texts.append(block.need("text", str))
            block.leave_rest()
        system = "".join(texts)
    return {"parts": [{"text": system}]} if system else {}


def _generation(fields: Fields, model: str) -> Payload:
    config = {
        wire: value
        for name, (wire, kind) in SETTINGS.items()
        if (value := fields.get(name, kind)) is not None
    }
    stops = list(fields.get("stop_sequences", list) or ())
    for index, stop in enumerate(stops):
        if not isinstance(stop, str):
            raise TranslationError(
                f"stop_sequences[{index}]", f"must be a string, not {shown(stop)}"
            )
    if stops:
        config["stopSequences"] = stops
    thinking = fields.inner("thinking")
    if thinking is not None:
        config["thinkingConfig"] = _thinking(thinking, model)
    output = fields.inner("output_config")
    if output is not None:
        config |= _output(output)
    return config


def _thinking(thinking: Fields, model: str) -> Payload:
    """``thinkingConfig``: for Gemini 3 a level, from the end of the model's name or the budget; for
    other models the budget.
    """
    shows = THINKING[thinking.choose("type", THINKING)]
    budget, display = (
        thinking.get("budget_tokens", int),
        thinking.get("display", str),
    )
    thinking.leave_rest()
    config: Payload = {"includeThoughts": shows and display != "omitted"}
    if shows and "gemini-3" in model:
        suffix = model.rpartition("-")[2].upper()
        if suffix in ("LOW", "MEDIUM", "HIGH"):
            config["thinkingLevel"] = suffix
        elif budget is not None:
            config["thinkingLevel"] = next(
                (level for most, level in LEVELS if budget <= most), "HIGH"
            )
    elif shows and budget is not None:
        config["thinkingBudget"] = budget
    return config


def _output(output: Fields) -> Payload:
    """Structured output: the schema as it is, since Gemini reads JSON Schema here."""
    shape = output.inner("format")
    output.leave_rest()
    if shape is None:
        return {}
    shape.choose("type", ("json_schema",))
    schema = shape.need("schema", dict)
    shape.leave_rest()
    return {"responseMimeType": "application/json", "responseJsonSchema": schema}


def _session_id(fields: Fields) -> dict[str, str]:
    metadata = fields.inner("metadata")
    if metadata is None:
        return {}
    ids = [value for key in SESSION_KEYS if (value := metadata.get(key))]
    metadata.leave_rest()
    return {"session_id": str(ids[0])} if ids else {}


def follow_up(prompt: Any, payloads: Sequence[Payload], then: Sequence[ToolOutcome] | str) -> Any:
    """The next body: the answer as the official client accumulates it, then the results of its
    calls or the user's next text.

    A result that is not text becomes JSON text. A block that an error interrupts is left out. If
    the user writes a text instead of giving results, each call has the outcome `NOT_RUN`.
    Raises `TranslationError` unless there is one outcome for each call.
    """
    answer = _accumulate(payloads)
    calls = [block["id"] for block in answer if block["type"] == "tool_use"]
    outcomes = outcomes_of(len(calls), then)
    content: Any = [_result(*pair) for pair in zip(calls, outcomes, strict=True)]
    if isinstance(then, str):
        content = [*content, {"type": "text", "text": then}] if calls else then
    added = [{"role": "assistant", "content": answer}] if answer else []
    added += [{"role": "user", "content": content}] if content else []
    return {**prompt, "messages": [*prompt["messages"], *added]}


def _accumulate(payloads: Sequence[Payload]) -> list[Payload]:
    """The content of the message, block by block:
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


def _result(call_id: str, outcome: ToolOutcome) -> Payload:
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
    as_given=partial(translate, as_given=True),
)
