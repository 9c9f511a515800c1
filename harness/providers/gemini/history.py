"""Reads the body of a request of generateContent, bare or in the envelope of Code Assist.

The fields are those of https://ai.google.dev/api/caching#Content, in either spelling.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.stream.json_codec import Json, objects_in
from harness.stream.prompt import (
    AnyPart,
    Call,
    Message,
    Native,
    Opaque,
    Prompt,
    Reasoning,
    Result,
    Role,
    Text,
    Thinking,
)

from ..history import instruction, opaque, word
from .fields import SpelledFields, spellings
from .tools import read_tools, requests_thoughts

_REQUEST = spellings("request systemInstruction")
_PART = spellings("text thought thoughtSignature functionCall functionResponse")


def read_contents(body: dict[str, Any]) -> Prompt:
    """Return the prompt of a request: its contents, tools and thoughts."""
    inner = body["request"] if isinstance(body.get("request"), dict) else body
    messages = []
    for index, content in enumerate(objects_in(inner.get("contents"))):
        is_model = content.get("role") == "model"
        parts = tuple(
            part for item in objects_in(content.get("parts")) for part in _parts(item, is_model)
        )
        role: Role = "assistant" if is_model else "user"
        messages.append(Message(role, parts, place=f"contents[{index}]"))
    system = SpelledFields(inner, _REQUEST).take("systemInstruction")
    if isinstance(system, dict):
        system = system.get("parts")
    return Prompt(
        messages=tuple(messages),
        instructions=(instruction(system, "systemInstruction"),) if system else (),
        model=word(body.get("model")) or None,
        tools=tuple(read_tools(inner)),
        reasoning=Reasoning(shown=requests_thoughts(inner)),
    )


def _parts(part: dict[str, Any], is_model: bool) -> Iterator[AnyPart]:
    fields = SpelledFields(part, _PART)
    signed, thought = fields.take("thoughtSignature"), fields.take("thought")
    signature = None if signed is None else Opaque(str(signed))
    call, text = fields.take("functionCall", dict), fields.take("text", str)
    result = None if is_model else fields.take("functionResponse", dict)
    if call is not None:
        given = call.get("args") or {}
        arguments = given if isinstance(given, dict) else json.dumps(given)
        name, call_id = word(call.get("name")), word(call.get("id"))
        yield Call(call_id, name, arguments, call_id or None, signature=opaque(signed))
        signature = None
    if result is not None:
        yield _result(result)
    if text is not None:
        kind = Thinking if thought is True else Text
        yield kind(text, signature=signature)
        signature = None
    if rest := dict(fields.left()):
        yield Native(rest, signature=signature)
    elif signature is not None:
        yield Text("", signature=signature)


def _result(result: dict[str, Json]) -> Result:
    value = {key: item for key, item in result.items() if key not in ("name", "id")}
    response = result.get("response")
    failed = isinstance(response, dict) and bool(response.get("error"))
    call_id, name = word(result.get("id")), word(result.get("name"))
    return Result(call_id, name, value, wire_id=call_id or None, failed=failed)
