"""Reads the contents of a request for any wire, and returns them in the form of generateContent.

On the other wires a conversation is a list of steps
(https://ai.google.dev/gemini-api/docs/interactions-overview), of items
(https://platform.openai.com/docs/api-reference/responses/create) or of messages
(https://ai.google.dev/gemini-api/docs/openai), whose content may be blocks
(https://platform.claude.com/docs/en/api/messages). Each becomes one content.
"""

from __future__ import annotations

from typing import Any

from harness.facts import arguments_of
from harness.stream.json_codec import Json

GeminiContent = dict[str, Any]


def sent_contents(body: Json) -> list[GeminiContent]:
    """Return the contents of a request; bare, or in the envelope of Code Assist."""
    inner = body.get("request") if isinstance(body.get("request"), dict) else body
    steps, messages = inner.get("input"), inner.get("messages")
    if isinstance(steps, list) and any(map(_is_item, steps)):
        called = _names(
            [
                {"tool_calls": [{"id": step.get("call_id"), "function": step}]}
                for step in steps
                if isinstance(step, dict) and step.get("name")
            ]
        )
        return [_of_item(item, called) for item in steps if isinstance(item, dict)]
    if steps is not None:
        return [_of_step(step) for step in (steps if isinstance(steps, list) else [steps])]
    if isinstance(messages, list):
        names = _names(messages)  # a message with a result does not have the name
        return [_of_message(message, names) for message in messages if isinstance(message, dict)]
    contents = inner.get("contents")
    return [content for content in contents or [] if isinstance(content, dict)]


def names_calls_by_id(body: Json) -> bool:
    """Return whether every call and result of the request must have an id, even if the answer gave
    none.
    """
    return isinstance(body, dict) and bool(body.keys() & {"input", "messages"})


def _is_item(step: Json) -> bool:
    """Return whether an element of ``input`` is an item of the Responses API and not a step."""
    return isinstance(step, dict) and ("role" in step or step.get("type") in _ITEMS)


_ITEMS = (
    *("message", "reasoning", "function_call_output", "custom_tool_call_output"),
    "custom_tool_call",
)


def _of_item(item: GeminiContent, names: dict[str, list[str]]) -> GeminiContent:
    """Return the content of one item of the Responses API."""
    signature = None
    match item:
        case {"type": "reasoning"}:
            texts = [_text(part) for part in item.get("summary") or []]
            part: GeminiContent = {"text": "".join(texts), "thought": True}
            signature = item.get("encrypted_content")
        case {"type": "function_call"}:
            arguments = arguments_of(item.get("arguments") or "")
            part = {"functionCall": {"id": item.get("call_id"), "name": item.get("name")}}
            part["functionCall"]["args"] = arguments
        case {"type": "custom_tool_call"}:
            call = {"id": item.get("call_id"), "name": item.get("name")}
            part = {"functionCall": {**call, "args": {"input": item.get("input")}}}
        case {"type": "function_call_output" | "custom_tool_call_output"}:
            call_id = item.get("call_id")
            named = names.get(str(call_id), [""])
            name = named.pop(0) if len(named) > 1 else named[0]
            result = {"id": call_id, "name": name, "response": item.get("output")}
            return {"role": "user", "parts": [{"functionResponse": result}]}
        case {"role": "assistant"}:
            content = item.get("content")
            pieces = content if isinstance(content, list) else [{"text": content}]
            texts = [_text(piece) or str(piece.get("refusal") or "") for piece in pieces]
            return {"role": "model", "parts": [{"text": text} for text in texts]}
        case {"role": str(role)}:
            return {"role": role, "parts": []}
        case _:
            part = {"toolCall": {key: item[key] for key in item if key != "type"}}
            signature = item.get("encrypted_content")
    return {"role": "model", "parts": [{**part, "thoughtSignature": signature or None}]}


def _of_step(step: Json) -> GeminiContent:
    match step:
        case {"type": "thought"}:
            texts = [_text(item) for item in step.get("summary") or []]
            part: GeminiContent = {"text": "".join(texts), "thought": True}
        case {"type": "function_call"}:
            call = {"id": step.get("id"), "name": step.get("name"), "args": step.get("arguments")}
            part = {"functionCall": call}
        case {"type": "function_result"}:
            result = {"id": step.get("call_id"), "name": step.get("name"), "response": step}
            return {"role": "user", "parts": [{"functionResponse": result}]}
        case {"type": "model_output"}:
            parts = [{"text": _text(item)} for item in step.get("content") or []]
            return {"role": "model", "parts": parts}
        case {"type": str(kind)} if kind.endswith(("_call", "_result")):
            part = {"toolCall": {key: step[key] for key in step if key != "type"}}
        case _:
            return {"role": "user", "parts": []}
    return {"role": "model", "parts": [{**part, "thoughtSignature": step.get("signature") or None}]}


def _of_message(message: GeminiContent, names: dict[str, list[str]]) -> GeminiContent:
    content, role = message.get("content"), message.get("role")
    if isinstance(content, list) and _has_blocks(message):
        blocks = [_of_block(block, names) for block in content if isinstance(block, dict)]
        return {"role": "model" if role == "assistant" else str(role), "parts": blocks}
    if role == "tool":
        call_id = message.get("tool_call_id")
        named = names.get(str(call_id), [""])
        name = named.pop(0) if len(named) > 1 else named[0]
        result = {"id": call_id, "name": name, "response": content}
        return {"role": "user", "parts": [{"functionResponse": result}]}
    if role != "assistant":
        return {"role": str(role), "parts": []}
    signature = _signature(message)
    parts: list[GeminiContent] = []
    if isinstance(content, str) or signature:
        parts = [{**part, "thoughtSignature": None} for part in _tagged(str(content or ""))]
        parts[-1]["thoughtSignature"] = signature
    for detail in message.get("reasoning_details") or []:
        text = detail.get("text") or detail.get("summary") or ""
        secret = detail.get("signature") or detail.get("data")
        parts.insert(0, {"text": text, "thought": True, "thoughtSignature": secret})
    for call in message.get("tool_calls") or []:
        function = call.get("function") or call.get("custom") or {}
        called = {"id": call.get("id"), "name": function.get("name")}
        called["args"] = (
            {"input": function["input"]}
            if "input" in function
            else arguments_of(function.get("arguments") or "")
        )
        parts.append({"functionCall": called, "thoughtSignature": _signature(call)})
    return {"role": "model", "parts": parts}


def _has_blocks(message: GeminiContent) -> bool:
    """Return whether the content is the blocks of a Messages request. A user's items of Chat
    Completions have other types, except text.
    """
    kinds = {str(item.get("type")) for item in message["content"] if isinstance(item, dict)}
    return message.get("role") == "assistant" or "tool_result" in kinds


def _of_block(block: GeminiContent, names: dict[str, list[str]]) -> GeminiContent:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"text": text}
        case {"type": "thinking"}:
            signature = block.get("signature") or None
            text = str(block.get("thinking") or "")
            return {"text": text, "thought": True, "thoughtSignature": signature}
        case {"type": "redacted_thinking"}:
            return {"text": "", "thought": True, "thoughtSignature": block.get("data")}
        case {"type": "tool_use"}:
            call = {"id": block.get("id"), "name": block.get("name"), "args": block.get("input")}
            return {"functionCall": call}
        case {"type": "tool_result"}:
            call_id = block.get("tool_use_id")
            named = names.get(str(call_id), [""])
            result = {"id": call_id, "name": named[0], "response": block.get("content")}
            return {"functionResponse": result}
        case {"type": str(kind)} if kind.endswith(("_tool_use", "_tool_result")):
            return {"toolCall": {key: value for key, value in block.items() if key != "type"}}
    return {}


def _tagged(text: str) -> list[GeminiContent]:
    """Return the thoughts and the text of a message; thoughts are between tags."""
    parts: list[GeminiContent] = []
    for number, piece in enumerate(text.split("<thought>")):
        thought, _, rest = piece.rpartition("</thought>") if number else ("", "", piece)
        parts += [{"text": thought, "thought": True}] if thought else []
        parts.append({"text": rest})
    return parts


def _signature(holder: GeminiContent) -> Json:
    """Return the signature in ``extra_content`` of a call or a message; Vertex AI has its own key.
    Older answers had it beside the content, so it may be sent back there.
    """
    extra = holder.get("extra_content") or {}
    own = extra.get("google") or extra.get("vertex") or {}
    return own.get("thought_signature") or holder.get("thought_signature")


def _names(messages: list[Json]) -> dict[str, list[str]]:
    """Return the names of the calls with each id, in order."""
    names: dict[str, list[str]] = {}
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                names.setdefault(str(block.get("id")), []).append(str(block.get("name")))
        for call in (message.get("tool_calls") or []) if isinstance(message, dict) else ():
            name = (call.get("function") or {}).get("name") or ""
            names.setdefault(str(call.get("id")), []).append(str(name))
    return names


def _text(item: Json) -> str:
    text = item.get("text") if isinstance(item, dict) else None
    return text if isinstance(text, str) else ""
