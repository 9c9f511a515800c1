"""Reads the body of a request of the Interactions API.

The fields are those of https://ai.google.dev/gemini-api/docs/interactions-overview.
"""

from __future__ import annotations

import json
from typing import Any, Final

from harness.stream.json_codec import Json, objects_in
from harness.stream.prompt import (
    AnyPart,
    Call,
    Message,
    Native,
    Prompt,
    Reasoning,
    Result,
    Role,
    Thinking,
)

from ..gemini.tools import read_tools, requests_thoughts
from ..history import HistoryRules, instruction, opaque, texts_in, word

HISTORY: Final = HistoryRules(by_id=True)
_CONTENT_OF_RESULT: Final = ("type", "call_id", "name", "is_error")


def read_interaction(body: dict[str, Any]) -> Prompt:
    """Return the prompt of a request: its steps, tools and thoughts."""
    given = body.get("input")
    steps = given if isinstance(given, list) else [given]
    messages = []
    for index, step in enumerate(steps):
        role, parts = _step(step)
        messages.append(Message(role, parts, place=f"input[{index}]"))
    system = body.get("system_instruction")
    return Prompt(
        messages=tuple(messages),
        instructions=(instruction(system, "system_instruction"),) if system else (),
        model=word(body.get("model")) or None,
        tools=tuple(read_tools(body)),
        reasoning=Reasoning(shown=requests_thoughts(body)),
        streamed=body.get("stream") is True,
        continues=bool(body.get("previous_interaction_id")),
    )


def _step(step: Json) -> tuple[Role, tuple[AnyPart, ...]]:
    if not isinstance(step, dict):
        return "user", tuple(texts_in(step))
    signature = opaque(step.get("signature"))
    part: AnyPart
    match step.get("type"):
        case "thought":
            text = "".join(text.text for text in texts_in(step.get("summary")))
            part = Thinking(text, signature=signature)
        case "function_call":
            given = step.get("arguments") or {}
            arguments = given if isinstance(given, dict) else json.dumps(given)
            call_id, name = word(step.get("id")), word(step.get("name"))
            part = Call(call_id, name, arguments, call_id or None, signature=signature)
        case "function_result":
            call_id = word(step.get("call_id"))
            value = {name: step[name] for name in step if name not in _CONTENT_OF_RESULT}
            failed = step.get("is_error") is True
            name = word(step.get("name"))
            return "user", (Result(call_id, name, value, wire_id=call_id or None, failed=failed),)
        case "model_output":
            return "assistant", tuple(texts_in(step.get("content")))
        case str(kind) if kind.endswith(("_call", "_result")):
            part = Native(step, signature=signature)
        case "user_input" | None:
            role: Role = "assistant" if step.get("role") in ("model", "assistant") else "user"
            return role, tuple(texts_in(step.get("content")))
        case _:
            return "user", tuple(texts_in(objects_in([step])))
    return "assistant", (part,)
