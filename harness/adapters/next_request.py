"""Writes the second request to a gateway, as an application that keeps the history itself: the
first request, the whole answer of the gateway, and the results of its calls.

A gateway may keep an opaque value of its upstream in any field of its answer, such as a signature
in ``extra_content``, ``reasoning_details`` or the id of a call. So the answer is sent back with all
its fields. The answer was read by the strict reader of its wire, which checked the types of the
fields that are used here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.facts import Call, arguments_of
from harness.stream.json_codec import Json

from .at import At

_Object = dict[str, Any]

_JOINED: Final = ("content", "refusal", "reasoning", "reasoning_content")
"""The fields of a delta of Chat Completions whose pieces are joined."""
_JOINED_IN_CALL: Final = ("id", "name", "arguments")
_JOINED_IN_DETAIL: Final = ("text", "summary")


@dataclass(frozen=True, slots=True)
class _Result:
    """The result of one call: a text, and the data of a PNG image in base64, or ""."""

    call: Call
    text: str
    image: str = ""

    @property
    def data_url(self) -> str:
        return f"data:image/png;base64,{self.image}"


def next_request(wire: str, body: _Object, answer: Sequence[Json], at: At) -> _Object:
    """Return the body of the request after ``answer``, which has the messages of a wire of `WIRES`.

    ``body`` is that of the first request. Every second result has an image too, if the wire has a
    place for it. After an answer without calls, the user's message `At.say` follows. Raises
    `Skipped` for an answer without content, and for one whose calls can't be answered on this wire.
    """
    return _WRITERS[wire](body, [message for message in answer if isinstance(message, dict)], at)


def _need_content(content: object, at: At) -> None:
    if not content:
        at.skip("the gateway's first answer has no content, so there is nothing to send back")


def _results(calls: Sequence[Call], at: At, *, media: bool = True, by_id: bool = True) -> list[Any]:
    """Return the results of calls, in order. ``by_id``: the wire names the call of a result only by
    its id.
    """
    results = []
    for number, call in enumerate(calls, 1):
        if by_id and not call.id:
            at.skip(f"the gateway gave the call of {call.name} no id, so it can't have a result")
        if media and number % 2 == 0:
            medium = at.result_media(call)
            image = base64.b64encode(medium.data).decode()
            results.append(_Result(call, medium.text, image))
        else:
            results.append(_Result(call, at.result(call)))
    return results


# -------------------------------------------------------------------- Gemini


def _gemini(body: _Object, messages: list[_Object], at: At) -> _Object:
    parts: list[_Object] = []
    for message in messages:
        for candidate in message.get("candidates") or []:
            if not candidate.get("index"):
                parts += (candidate.get("content") or {}).get("parts") or []
    _need_content(parts, at)
    called = [part["functionCall"] for part in parts if part.get("functionCall")]
    calls = [
        Call(call.get("id") or None, call.get("name") or "", call.get("args") or {})
        for call in called
    ]
    answers: list[_Object] = [
        {
            "functionResponse": {
                **({"id": result.call.id} if result.call.id else {}),
                "name": result.call.name,
                "response": {"result": result.text},
                **(_inline(result.image) if result.image else {}),
            }
        }
        for result in _results(calls, at, by_id=False)
    ]
    history = [
        {"role": "model", "parts": parts},
        {"role": "user", "parts": answers or [{"text": at.say}]},
    ]
    return {**body, "contents": [*body["contents"], *history]}


def _inline(image: str) -> _Object:
    return {"parts": [{"inlineData": {"mimeType": "image/png", "data": image}}]}


# -------------------------------------------------------------------- Anthropic Messages


def _anthropic(body: _Object, messages: list[_Object], at: At) -> _Object:
    from harness.providers.anthropic.whole import blocks_of  # only the wire that is judged

    blocks = blocks_of(messages)
    _need_content(blocks, at)
    calls = [
        Call(block.get("id") or None, block.get("name") or "", block.get("input"))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    content: list[_Object] = []
    for result in _results(calls, at):
        text: Any = result.text
        if result.image:
            source = {"type": "base64", "media_type": "image/png", "data": result.image}
            text = [{"type": "text", "text": text}, {"type": "image", "source": source}]
        content.append({"type": "tool_result", "tool_use_id": result.call.id, "content": text})
    history = [
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": content or at.say},
    ]
    return {**body, "messages": [*body["messages"], *history]}


# -------------------------------------------------------------------- Chat Completions


def _chat(body: _Object, messages: list[_Object], at: At) -> _Object:
    message = _chat_message(messages)
    _need_content(any(value for name, value in message.items() if name != "role"), at)
    if message.get("function_call"):
        at.skip("the gateway answered with function_call, whose result has no id")
    calls = []
    for wire in message.get("tool_calls") or []:
        function = wire["function"]
        arguments = function.get("arguments") or ""
        calls.append(Call(wire.get("id") or None, function.get("name") or "", arguments))
    history: list[_Object] = [
        {"role": "tool", "tool_call_id": result.call.id, "content": result.text}
        for result in _results(calls, at, media=False)
    ]
    history = history or [{"role": "user", "content": at.say}]
    return {**body, "messages": [*body["messages"], message, *history]}


def _chat_message(messages: list[_Object]) -> _Object:
    """Return the message of the first choice: whole, or joined from the deltas."""
    joined: _Object = {"role": "assistant", "content": None}
    calls: list[_Object] = []
    for message in messages:
        choices = message.get("choices") or []
        if choices and isinstance(choices[0].get("message"), dict):
            return dict(choices[0]["message"])
        for delta in (choice["delta"] for choice in choices if choice["index"] == 0):
            others = {name: value for name, value in delta.items() if name != "tool_calls"}
            _join(joined, others, _JOINED)
            for piece in delta.get("tool_calls") or []:
                index = piece.get("index", _continued(calls, piece))
                if index == len(calls):
                    calls.append({})
                same_id = piece.get("id") == calls[index].get("id")  # each piece may have it
                _join(calls[index], {**piece, "id": None} if same_id else piece, _JOINED_IN_CALL)
    for call in calls:
        call.pop("index", None)  # only a delta has it
    return {**joined, "tool_calls": calls} if calls else joined


def _continued(calls: Sequence[_Object], piece: _Object) -> int:
    """Return the index of the call that a piece without one continues: that with its id, else the
    last one; a new one if it has a name, because Gemini's whole calls have no index.
    """
    if (piece.get("function") or {}).get("name") or not calls:
        return len(calls)
    same = [at for at, call in enumerate(calls) if piece.get("id") in (None, call.get("id"))]
    return same[-1] if same else len(calls)


def _join(joined: _Object, delta: _Object, names: Sequence[str]) -> None:
    """Add a delta. The texts of ``names`` are joined; any other field has its last value."""
    for name, value in delta.items():
        known = joined.get(name)
        if value is None:
            joined.setdefault(name, None)
        elif name in names and isinstance(known, str) and isinstance(value, str):
            joined[name] = known + value
        elif isinstance(value, dict) and isinstance(known, dict):
            _join(known, value, names if name in ("function", "function_call") else ())
        elif isinstance(value, list):
            items = joined[name] = known if isinstance(known, list) else []
            for item in value:
                _add_item(items, item)
        else:
            joined[name] = value


def _add_item(items: list[Any], item: Json) -> None:
    """Add an item of a list, such as ``reasoning_details``. A piece of text belongs to the last
    item if both have the same type and index.
    """
    last = items[-1] if items else None
    if (
        isinstance(last, dict)
        and isinstance(item, dict)
        and any(isinstance(item.get(name), str) for name in _JOINED_IN_DETAIL)
        and (last.get("type"), last.get("index")) == (item.get("type"), item.get("index"))
    ):
        _join(last, item, _JOINED_IN_DETAIL)
    else:
        items.append(item)


# -------------------------------------------------------------------- Responses API


def _responses(body: _Object, messages: list[_Object], at: At) -> _Object:
    from harness.providers.openai.whole import following  # only the wire that is judged

    items = following(messages)["input"]
    _need_content(items, at)
    if any(item.get("type") == "custom_tool_call" for item in items):
        at.skip("the gateway answered with custom_tool_call, and the tools are functions")
    calls = [
        Call(item.get("call_id") or None, item.get("name") or "", item.get("arguments") or "")
        for item in items
        if item.get("type") == "function_call"
    ]
    history: list[_Object] = []
    for result in _results(calls, at):
        output: Any = result.text
        if result.image:
            image = {"type": "input_image", "image_url": result.data_url, "detail": "auto"}
            output = [{"type": "input_text", "text": output}, image]
        history.append(
            {"type": "function_call_output", "call_id": result.call.id, "output": output}
        )
    history = history or [{"role": "user", "content": at.say}]
    return {**body, "input": [*body["input"], *items, *history]}


# -------------------------------------------------------------------- Interactions API


def _interactions(body: _Object, messages: list[_Object], at: At) -> _Object:
    steps = _steps(messages)
    _need_content(steps, at)
    calls = [
        Call(step.get("id") or None, step.get("name") or "", step.get("arguments") or {})
        for step in steps
        if step.get("type") == "function_call"
    ]
    history: list[_Object] = []
    for result in _results(calls, at):
        value: Any = result.text
        if result.image:
            image = {"type": "image", "data": result.image, "mime_type": "image/png"}
            value = [{"type": "text", "text": value}, image]
        named = {"call_id": result.call.id, "name": result.call.name}
        history.append({"type": "function_result", **named, "result": value})
    say = {"type": "user_input", "content": [{"type": "text", "text": at.say}]}
    return {**body, "input": [*body["input"], *steps, *(history or [say])]}


def _steps(messages: list[_Object]) -> list[_Object]:
    """Return the steps of an answer: of its events, or of the whole interaction."""
    steps: list[_Object] = []
    whole: list[_Object] = []
    pieces = ""
    for message in messages:
        match message:
            case {"event_type": "step.start", "step": dict(step)}:
                steps.append(dict(step))
                pieces = ""
            case {"event_type": "step.delta", "delta": dict(delta)}:
                if delta.get("type") == "arguments_delta":
                    pieces += delta.get("arguments") or ""
                    steps[-1]["arguments"] = arguments_of(pieces)
                else:
                    _add_delta(steps[-1], delta)
            case {"steps": [*given]} | {"interaction": {"steps": [*given]}}:
                whole = given or whole
    return steps or whole


def _add_delta(step: _Object, delta: _Object) -> None:
    match delta:
        case {"type": "thought_signature", "signature": signature}:
            step["signature"] = signature or step.get("signature")
        case {"type": "thought_summary", "content": content}:
            step["summary"] = [*(step.get("summary") or []), content]
        case {"type": "text", "text": str(text)}:
            content = list(step.get("content") or [])
            if content and content[-1].get("type") == "text":
                content[-1] = {**content[-1], "text": content[-1].get("text", "") + text}
            else:
                content.append(delta)
            step["content"] = content
        case {"type": "image" | "audio" | "video" | "document"}:
            step["content"] = [*(step.get("content") or []), delta]
        case {"type": str(kind)} if kind == step.get(
            "type"
        ):  # a server tool's whole call or result
            step.update(delta)


_WRITERS: Final[Mapping[str, Callable[[_Object, list[_Object], At], _Object]]] = {
    "gemini": _gemini,
    "anthropic-messages": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "interactions": _interactions,
}
