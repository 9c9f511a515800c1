"""The common part of the requests of OpenAI's two APIs: contents, tools, settings, and the answers
that a conversation repeats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.stream.fields import Fields, shown
from harness.stream.json_codec import decode_json, objects_in, same_json
from harness.stream.prompt import Prompt, Reasoning
from harness.stream.session import Session

from ...dialect import Payload
from .. import request

Form = dict[str, Any]
"""A part or message of a unified-llm Request."""

_EFFORTS: Final = {"minimal": "low", "xhigh": "high", "max": "high"}
"""An effort that other providers do not have → the nearest one."""


def prompt_of(body: Fields, messages: Sequence[Form], wanted: Form, session: Session) -> Prompt:
    """Return the prompt of a request with these messages, and the other fields of a unified-llm
    Request.
    """
    asked = {
        "model": body.need("model", str),
        "messages": [*messages],
        "temperature": body.get("temperature", float),
        "top_p": body.get("top_p", float),
        **wanted,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return request.translate(given, {}, session)


def with_reasoning(prompt: Prompt, effort: str | None, are_shown: bool | None = None) -> Prompt:
    """Return the prompt with an effort, and with a wish to see the thoughts."""
    if effort is None and are_shown is None:
        return prompt
    mode: Any = "off" if effort == "none" else None
    word = None if mode else _EFFORTS.get(effort or "", effort)
    return replace(prompt, reasoning=Reasoning(mode, word, shown=are_shown))


# -------------------------------------------------------------------- contents


def parts_of(item: Fields, key: str = "content") -> list[Form]:
    """Read the parts of a content, which is a text or a list of parts; none if it is absent."""
    content = item.get(key, str, list)
    if isinstance(content, str):
        return [{"kind": "text", "text": content}] if content else []
    return [_part(part) for part in item.items(key)]


def _part(part: Fields) -> Form:
    kind = part.need("type", str)
    if kind not in _PARTS:
        part.fail("type", f"{shown(kind)} can't be translated; expected one of {', '.join(_PARTS)}")
    return _PARTS[kind](part)


def _text(part: Fields) -> Form:
    return {"kind": "text", "text": part.need("text", str)}


def _refusal(part: Fields) -> Form:
    return {"kind": "text", "text": part.need("refusal", str), "refusal": True}


def _image(part: Fields) -> Form:
    """Read an image. One of Responses has its fields in the part, one of Chat in an object."""
    url = part.need("image_url", str, dict)
    holder = part if isinstance(url, str) else part.inner("image_url")
    assert holder is not None, "the field is an object"
    fields = {"url": url if isinstance(url, str) else holder.need("url", str)}
    detail = holder.get("detail", str)
    return {"kind": "image", "image": {**fields, **({"detail": detail} if detail else {})}}


def _audio(part: Fields) -> Form:
    sound = Fields(part.need("input_audio", dict), part.at("input_audio"))
    media_type = f"audio/{sound.need('format', str)}"
    return {"kind": "audio", "audio": {"data": sound.need("data", str), "media_type": media_type}}


def _file(part: Fields) -> Form:
    """Read a file. One of Responses has its data in the part, one of Chat in an object."""
    holder = part.inner("file") or part
    url = holder.get("file_data", str) or holder.get("file_url", str)
    if url is None:
        holder.fail("file_id", "can't be translated; give the data or the URL of the file")
    name = holder.get("filename", str)
    return {"kind": "document", "document": {"url": url, **({"file_name": name} if name else {})}}


_PARTS: Final[Mapping[str, Callable[[Fields], Form]]] = {
    **dict.fromkeys(("text", "input_text", "output_text"), _text),
    "refusal": _refusal,
    **dict.fromkeys(("image_url", "input_image"), _image),
    "input_audio": _audio,
    **dict.fromkeys(("file", "input_file"), _file),
}
"""The type of a part in either API → its reader."""


def call_part(call_id: str, function: Fields) -> Form:
    """Return a call; ``function`` has its name, and its arguments as the text of an object."""
    arguments = function.get("arguments", str) or "{}"
    call = {"id": call_id, "name": function.need("name", str), "arguments": arguments}
    return {"kind": "tool_call", "tool_call": call}


def result_message(call_id: str, parts: Sequence[Form]) -> Form:
    """Return the message with the result of a call. These APIs have results as text; the text of a
    JSON object is the object.
    """
    content = "".join(part["text"] for part in parts if part["kind"] == "text")
    result = {"tool_call_id": call_id, "content": _object_or_text(content)}
    for part in parts:
        if part["kind"] == "image" and part["image"]["url"].startswith("data:"):
            media_type, _, data = part["image"]["url"].removeprefix("data:").partition(";base64,")
            result |= {"image_data": data, "image_media_type": media_type}
    part = {"kind": "tool_result", "tool_result": result}
    return {"role": "tool", "content": [part], "tool_call_id": call_id}


def _object_or_text(text: str) -> Any:
    try:
        value = decode_json(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


# -------------------------------------------------------------------- answers in a history


def repeated(message: Form, payloads: Sequence[Payload] | None) -> Form:
    """Return the message of an answer of this server, if a message of a history repeats it: the
    client could not keep its signatures and its other parts. Any other message stays unchanged.
    """
    match payloads[-1] if payloads else None:
        case {"type": "FINISH", "response": {"message": dict(answer)}}:
            if same_json(_shown_content(answer), _shown_content(message)):
                return answer
    return message


def _shown_content(message: Form) -> Form:
    """Return the content of a message that every client keeps."""
    texts = [part["text"] for part in message["content"] if part["kind"] == "text"]
    calls = [part["tool_call"] for part in message["content"] if part["kind"] == "tool_call"]
    return {
        "text": "".join(texts),
        "calls": [
            {**call, "arguments": _decoded(call["arguments"])}
            for call in ({key: call[key] for key in ("id", "name", "arguments")} for call in calls)
        ],
    }


def _decoded(arguments: Any) -> Any:
    return _object_or_text(arguments) if isinstance(arguments, str) else arguments


def arguments_text(arguments: Any) -> str:
    """Return the arguments of a call as text."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def plain_text(content: Any) -> str:
    """Return the texts of a content of either API, joined. Every value is accepted."""
    if isinstance(content, str):
        return content
    parts = objects_in(content)
    texts = (part.get("text") or part.get("refusal") for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


# -------------------------------------------------------------------- tools and settings


def tool_form(tool: Fields, function: Fields) -> Form:
    """Read a function of the application; ``function`` has its name and schema."""
    if (kind := tool.get("type", str)) != "function":
        tool.fail("type", f"{shown(kind)} can't be translated; expected function")
    fields = {
        "name": function.need("name", str),
        "description": function.get("description", str),
        "parameters": function.get("parameters", dict),
    }
    return {name: value for name, value in fields.items() if value is not None}


def choice_form(body: Fields) -> Form | None:
    """Read the choice of tools: a word, or an object that names one function."""
    choice = body.get("tool_choice", str, dict)
    if choice is None or isinstance(choice, str):
        return None if choice is None else {"mode": choice}
    form = Fields(choice, "tool_choice")
    if (kind := form.need("type", str)) != "function":
        form.fail("type", f"{shown(kind)} can't be translated; expected function")
    holder = form.inner("function") or form
    return {"mode": "named", "tool_name": holder.need("name", str)}


def format_form(shape: Fields | None, schema: Fields | None) -> Form | None:
    """Read the form of a structured answer. ``schema`` has the schema, if there is one."""
    match shape and shape.get("type", str):
        case "json_object":
            return {"type": "json"}
        case "json_schema" if schema is not None:
            strict = schema.get("strict", bool)
            marks = {} if strict is None else {"strict": strict}
            return {"type": "json_schema", "json_schema": schema.need("schema", dict), **marks}
    return None
