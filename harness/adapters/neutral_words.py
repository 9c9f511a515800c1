"""Says a prompt in neutral words, as JSON data: what ``at`` and the line of a program have.

The words are those of the questions; the page docs/what-is-asked.md describes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from harness.providers import json_schema
from harness.stream.prompt import (
    AnyPart,
    Call,
    Function,
    Media,
    Message,
    Prompt,
    Result,
    ServerTool,
    Text,
    Thinking,
)
from harness.stream.sample_media import address_of

Words = dict[str, Any]

NAMES: Final = (
    *("system", "messages", "tools", "choice", "output", "settings", "thinking", "google"),
)
"""The values of a prompt."""
_ROLES: Final = {"user": "user", "assistant": "model", "system": "system"}


def words_of(prompt: Prompt, base_url: str = "") -> Words:
    """Return the values of `NAMES`. A value that the prompt does not have is empty, and ``choice``
    and ``output`` are None. ``base_url``: the address at which media are served.
    """
    return {
        "system": "\n\n".join(text for each in prompt.instructions if (text := each.text)),
        "messages": [words for each in prompt.messages for words in _message(each, base_url)],
        "tools": [_tool(tool) for tool in prompt.tools],
        "choice": _choice(prompt),
        "output": _output(prompt),
        "settings": dict(prompt.settings),
        "thinking": _thinking(prompt),
        "google": dict(prompt.google),
    }


def with_addresses(prompt: Prompt, base_url: str) -> Prompt:
    """Return the prompt with the real addresses of its media."""

    def addressed(part: Any) -> Any:
        if isinstance(part, Result) and part.parts:
            return replace(part, parts=tuple(map(addressed, part.parts)))
        url = part.url if isinstance(part, Media) else None
        return replace(part, url=address_of(url, base_url)) if url else part

    messages = (
        replace(message, parts=tuple(map(addressed, message.parts))) for message in prompt.messages
    )
    return replace(prompt, messages=tuple(messages))


def with_json_schemas(prompt: Prompt) -> Prompt:
    """Return the prompt for a wire with two forms of schemas, which then gets JSON Schema."""
    tools = (
        replace(tool, schema=replace(tool.schema, exact=True))
        if isinstance(tool, Function) and tool.schema
        else tool
        for tool in prompt.tools
    )
    return replace(prompt, tools=tuple(tools))


def _message(message: Message, base_url: str) -> Iterator[Words]:
    """Yield the words of a message; results are a message of their own."""
    if message.role == "system":
        yield {"system": "".join(part.text for part in message.parts if isinstance(part, Text))}
        return
    results = [_result(part, base_url) for part in message.parts if isinstance(part, Result)]
    if results:
        yield {"results": results}
    parts = [
        words
        for part in message.parts
        if not isinstance(part, Result) and (words := _part(part, base_url)) is not None
    ]
    if parts or not results:
        yield {_ROLES[message.role]: parts}


def _part(part: AnyPart, base_url: str) -> Any:
    """Return the words of a part; None for a part that only its maker can read."""
    signature = {"signature": part.signature.value} if part.signature else {}
    match part:
        case Text(text=text):
            return text
        case Thinking(text=text):
            origin = part.signature.origin if part.signature else None
            maker = {"maker": origin.vendor} if origin else {}
            return {"thought": text, **signature, **maker}
        case Call():
            words = {"id": part.wire_id or part.id, "name": part.name, "arguments": part.arguments}
            return {"call": {**words, **signature}}
        case Media():
            return _medium(part, base_url)
    return None


def _medium(medium: Media, base_url: str) -> Words:
    kind = "file" if medium.kind == "document" else medium.kind
    fields = {
        "data": medium.data,
        "url": address_of(medium.url, base_url) if medium.url else None,
        "type": medium.media_type,
        "name": medium.name,
        "detail": medium.detail,
        "start": medium.start_s,
        "end": medium.end_s,
        "fps": medium.fps,
    }
    return {kind: {name: value for name, value in fields.items() if value is not None}}


def _result(result: Result, base_url: str) -> Words:
    words: Words = {"call": result.wire_id or result.id, "name": result.name}
    if result.parts is None:
        words["value"] = result.value
    else:
        words["parts"] = [_part(part, base_url) for part in result.parts]
    return {**words, "failed": True} if result.failed else words


def _tool(tool: Function | ServerTool) -> Words:
    if isinstance(tool, ServerTool):
        return {"provider": tool.kind} if tool.kind else {"provider": "", "raw": dict(tool.raw)}
    schema = json_schema(dict(tool.schema.value)) if tool.schema else None
    words = {"name": tool.name, "description": tool.description or "", "parameters": schema}
    return words if tool.strict is None else {**words, "strict": tool.strict}


def _choice(prompt: Prompt) -> Any:
    if prompt.choice is None:
        return None
    return {"name": prompt.choice.name} if prompt.choice.name else prompt.choice.mode


def _output(prompt: Prompt) -> Any:
    if prompt.format is None:
        return None
    if prompt.format.schema is None:
        return "json"
    schema = json_schema(dict(prompt.format.schema.value))
    return {"name": prompt.format.name or "answer", "schema": schema}


def _thinking(prompt: Prompt) -> Words:
    given = prompt.reasoning
    fields = ("effort", "budget", "mode", "shown") if given else ()
    values = {name: getattr(given, name) for name in fields}
    return {name: value for name, value in values.items() if value is not None}
