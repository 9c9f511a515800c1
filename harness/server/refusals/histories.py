"""Converts the history of a request on Gemini's other wires to the contents of a generate request.

The Interactions API and the OpenAI-compatible endpoint use the same models, so the same rules apply
to their histories. The signature of a thought step is added to the next call
(https://ai.google.dev/gemini-api/docs/interactions), the signature of a tool call is in its
``extra_content`` (https://ai.google.dev/gemini-api/docs/openai).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from harness.providers import PROVIDERS
from harness.stream.json_codec import decode_json

from .values import as_dict, as_list

GeminiContent = dict[str, Any]
Stored = Mapping[str, Sequence[GeminiContent]]
"""Id of an interaction → its contents."""

_RESULT: Final = "function_result"


def interaction_request(sent: dict[str, Any], stored: Stored) -> dict[str, Any]:
    """Return the canonical generate request for a request of the Interactions API."""
    previous = sent.get("previous_interaction_id")
    before = stored.get(previous, ()) if type(previous) is str and sent.get("input") else ()
    if before:
        before = [{"role": "user", "parts": [{"text": ""}]}, *before]
    contents = step_contents([*_steps(sent.get("input"))], before)
    if previous and not before:
        # Only Google's server has this history, so its calls are unknown.
        contents = [
            {**content, "parts": parts}
            for content in contents
            if (parts := [part for part in content["parts"] if "functionResponse" not in part])
        ]
    return _canonical(contents)


def step_contents(
    steps: Sequence[dict[str, Any]], before: Sequence[GeminiContent] = ()
) -> list[GeminiContent]:
    """Return the contents of a previous interaction, and after them those of the steps."""
    contents = [*before]
    names = {
        str(call.get("id")): call.get("name")
        for content in before
        for part in content["parts"]
        if (call := part.get("functionCall"))
    } | {
        str(step.get("id")): step.get("name")
        for step in steps
        if step.get("type") == "function_call"
    }
    signature: str | None = None
    for step in steps:
        role = "user" if step.get("type") in ("user_input", _RESULT) else "model"
        if signature and step.get("type") != "function_call":
            _add(contents, "model", [_thought(signature)])
            signature = None
        match step:
            case {"type": "thought"}:
                signature = step.get("signature") or None
                parts = []
            case {"type": "function_call"}:
                call = {"name": step.get("name"), "args": step.get("arguments") or {}}
                signed = signature or step.get("signature")
                mark = {"thoughtSignature": signed} if signed else {}
                parts = [{"functionCall": {"id": step.get("id"), **call}, **mark}]
                signature = None
            case {"type": "function_result"}:
                name = step.get("name") or names.get(str(step.get("call_id")))
                parts = [_result(step.get("call_id"), name, step.get("result"))]
            case _:
                parts = [*map(_part, as_list(step.get("content")))]
        _add(contents, role, parts)
    if signature:
        _add(contents, "model", [_thought(signature)])
    return contents


def _steps(given: Any) -> Iterator[dict[str, Any]]:
    """Yield the steps of an input: a text, a content, or a list of contents and steps. Results
    inside a content of the user are steps too.
    """
    for item in given if type(given) is list else [given]:
        match item:
            case {"type": "user_input", "content": list(content)}:
                results = [part for part in content if as_dict(part).get("type") == _RESULT]
                yield from results
                if len(results) < len(content):
                    yield item
            case str() | {"type": "text" | "image" | "audio" | "video" | "document"}:
                yield {"type": "user_input", "content": [item]}
            case dict():
                yield item


def chat_request(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the canonical generate request for a request of the OpenAI-compatible endpoint."""
    return _canonical(chat_contents(map(as_dict, as_list(sent.get("messages")))))


def chat_contents(messages: Iterable[dict[str, Any]]) -> list[GeminiContent]:
    """Return the contents of a conversation, one for each message, without instructions."""
    contents: list[GeminiContent] = []
    names: dict[str, Any] = {}
    for message in messages:
        match message.get("role"):
            case "system" | "developer":
                continue
            case "tool" | "function":
                role = "user"
                name = message.get("name") or names.get(str(message.get("tool_call_id")))
                parts = [_result(message.get("tool_call_id"), name, message.get("content"))]
            case other:
                role = "model" if other == "assistant" else str(other)
                calls = [as_dict(call) for call in as_list(message.get("tool_calls"))]
                parts = [*_texts(message), *map(_call, calls)]
                names |= {
                    str(call.get("id")): as_dict(call.get("function")).get("name") for call in calls
                }
        contents.append({"role": role, "parts": parts})
    return contents


def _texts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    items = content if type(content) is list else [] if content is None else [content]
    parts = [*map(_part, items)]
    if signature := _signature(message):
        parts = parts or [{"text": ""}]
        parts[-1]["thoughtSignature"] = signature
    return parts


def _part(content: Any) -> dict[str, Any]:
    """Return a text part. Other content becomes media without data: the rules do not read it."""
    text = content if type(content) is str else as_dict(content).get("text")
    return {"text": text} if type(text) is str else {"inlineData": {}}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = as_dict(call.get("function"))
    try:
        args = decode_json(str(function.get("arguments") or "{}").encode())
    except ValueError:
        args = {}
    part: dict[str, Any] = {
        "functionCall": {"id": call.get("id"), "name": function.get("name"), "args": args}
    }
    if signature := _signature(call):
        part["thoughtSignature"] = signature
    return part


def _signature(holder: dict[str, Any]) -> Any:
    extra = as_dict(holder.get("extra_content"))
    given = [as_dict(extra.get(name)).get("thought_signature") for name in ("google", "vertex")]
    return next(filter(None, given), None)


def _result(call_id: Any, name: Any, value: Any) -> dict[str, Any]:
    response = value if type(value) is dict else {"result": value}
    return {"functionResponse": {"id": call_id, "name": name or "", "response": response}}


def _thought(signature: str) -> dict[str, Any]:
    return {"text": "", "thought": True, "thoughtSignature": signature}


def _add(contents: list[GeminiContent], role: str, parts: list[dict[str, Any]]) -> None:
    """Add parts; consecutive parts of one role become one content."""
    if contents and contents[-1]["role"] == role:
        contents[-1] = {"role": role, "parts": [*contents[-1]["parts"], *parts]}
    elif parts:
        contents.append({"role": role, "parts": parts})


def _canonical(contents: list[GeminiContent]) -> dict[str, Any]:
    request: dict[str, Any] = PROVIDERS["gemini-api"].canonical({"contents": contents})
    return request
