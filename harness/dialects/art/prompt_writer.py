"""Writes a neutral prompt as an ArtStandardPrompt and its CallOptions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from harness.facts import losses_of_model
from harness.stream.generation import TranslationError
from harness.stream.prompt import Call, Function, Message, Prompt, Reasoning, Result, Text

from ..dialect import SCHEMA_LOSSES, Payload, PromptWriter
from .request import SETTINGS


def write(prompt: Prompt) -> tuple[list[Payload], Payload]:
    """Return the messages and the options; see `harness.dialects.dialect.PromptWriter`."""
    messages = [
        *({"role": "system", "content": each.text} for each in prompt.instructions),
        *(own for message in prompt.messages for own in _messages(message)),
    ]
    options: Payload = {"model": prompt.model}
    options |= {name: prompt.settings[name] for name in SETTINGS if name in prompt.settings}
    if tools := [_tool(tool) for tool in prompt.tools if isinstance(tool, Function)]:
        options["tools"] = tools
    if thinking := _thinking(prompt.reasoning):
        options["gemini"] = {"thinking": thinking}
    return messages, options


def _messages(message: Message) -> Iterator[Payload]:
    """Yield the messages of one turn: each result, then the texts with the calls."""
    texts: list[str] = []
    calls: list[Payload] = []
    for part in message.parts:
        match part:
            case Text():
                texts.append(part.text)
            case Call():
                function = {"name": part.name, "arguments": json.dumps(part.arguments)}
                calls.append({"id": part.any_id, "type": "function", "function": function})
            case Result() if part.parts is None and not part.failed:
                fields = {"tool_call_id": part.any_id, "name": part.name, "content": part.value}
                yield {"role": "tool", **fields}
            case _:
                raise TranslationError(part.place, "is no text, call or good result as JSON")
    if texts or calls:
        own = {"tool_calls": calls} if calls else {}
        yield {"role": message.role, "content": "\n\n".join(texts) or None, **own}


def _tool(tool: Function) -> Payload:
    schema = tool.schema.value if tool.schema else None
    fields = {"name": tool.name, "description": tool.description, "inputSchema": schema}
    return {name: value for name, value in fields.items() if value is not None}


def _thinking(reasoning: Reasoning | None) -> Payload:
    """Return the setting of thoughts; a budget has an effect only with thoughts."""
    if reasoning is None or (reasoning.budget is None and not reasoning.shown):
        return {}
    budget = {} if reasoning.budget is None else {"thinkingBudget": reasoning.budget}
    return {"includeThoughts": True, **budget}


WRITER: Final = PromptWriter(
    write,
    frozenset({
        *("system", "messages", "tools", "thinking.budget", "thinking.shown"),
        *(f"settings.{name}" for name in SETTINGS),
    }),
    losses_of_model(
        {
            **SCHEMA_LOSSES,
            "system": "the texts of the system are before the first text of the user",
            "signatures": "ART has no signatures",
            "accepted[call-unsigned]": "Gemini 3 refuses a history with calls without signatures",
            "other_signatures": "nor of texts and thoughts",
            "server_tools": "nor calls of the provider's tools",
            "accepted[results-split]": "Vertex AI refuses results of a turn in several contents",
        }
    ),
)  # fmt: skip
