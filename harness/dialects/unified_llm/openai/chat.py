"""Chat Completions: reads a request into a prompt, and writes an answer as one message or as
pieces.

Thoughts are in ``reasoning_content``, which several other servers have; OpenAI itself shows none.

Source: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.stream.fields import Fields
from harness.stream.prompt import Prompt
from harness.stream.session import Session

from ...dialect import Answers, Payload
from .ends import counts_of, error_of, failure, reason_of
from .prompts import (
    Form,
    arguments_text,
    call_part,
    choice_form,
    format_form,
    parts_of,
    plain_text,
    prompt_of,
    repeated,
    result_message,
    tool_form,
    with_reasoning,
)

_SETTINGS: Final = {"seed": int, "presence_penalty": float, "frequency_penalty": float}
"""The settings that a unified-llm Request does not have."""
_ROLES: Final = ("developer", "system", "user", "assistant", "tool")


def translate(sent: Any, answers: Answers, session: Session) -> Prompt:
    """Return the prompt of a request; see `HttpApi.translate`."""
    body = Fields(sent, "")
    if (body.get("n", int) or 1) > 1:
        body.fail("n", "can't be translated; the recorded answers have one choice")
    messages = [
        repeated(_message(message), answers.get(number))
        for number, message in enumerate(body.items("messages"))
    ]
    stop = body.get("stop", str, list)
    shape = body.inner("response_format")
    limit = body.get("max_completion_tokens", int)
    wanted = {
        "max_tokens": body.get("max_tokens", int) if limit is None else limit,
        "stop_sequences": [stop] if isinstance(stop, str) else stop,
        "tools": [tool_form(tool, tool.inner("function") or tool) for tool in body.items("tools")],
        "tool_choice": choice_form(body),
        "response_format": format_form(shape, shape and shape.inner("json_schema")),
    }
    prompt = prompt_of(body, messages, wanted, session)
    more = {name: body.get(name, kind) for name, kind in _SETTINGS.items()}
    given = {name: value for name, value in more.items() if value is not None}
    prompt = replace(prompt, settings={**prompt.settings, **given})
    return with_reasoning(prompt, body.get("reasoning_effort", str))


def _message(message: Fields) -> Form:
    role = message.choose("role", _ROLES)
    if role == "tool":
        return result_message(message.need("tool_call_id", str), parts_of(message))
    parts = parts_of(message)
    if role == "assistant":
        if refusal := message.get("refusal", str):
            parts.append({"kind": "text", "text": refusal, "refusal": True})
        for call in message.items("tool_calls"):
            function = Fields(call.need("function", dict), call.at("function"))
            parts.append(call_part(call.need("id", str), function))
    return {"role": role, "content": parts}


def turns(body: Any) -> list[tuple[bool, Any]]:
    """Return each message; see `HttpApi.turns`. One that the model wrote is compared by its text
    and its calls.
    """
    messages = body.get("messages") if isinstance(body, Mapping) else None
    return [
        (message.get("role") == "assistant", _plain(message))
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, Mapping)
    ]


def _plain(message: Mapping[str, Any]) -> Any:
    if message.get("role") == "assistant":
        text = plain_text(message.get("content")) + plain_text(message.get("refusal"))
        return ["assistant", text, message.get("tool_calls") or []]
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return [message.get("role"), content, message.get("tool_call_id")]


class CompletionWriter:
    """Writes one answer; see `harness.dialects.dialect.AnswerWriter`."""

    def __init__(self, body: Mapping[str, Any], name: str) -> None:
        self._about = {"id": f"chatcmpl-{name}", "created": 0, "model": body.get("model")}
        options = body.get("stream_options")
        self._counts = isinstance(options, Mapping) and options.get("include_usage") is True
        self._begun = False
        self._calls = -1
        self._streamed = False  # the arguments of the open call
        self._refusal = False

    def event(self, payload: Payload) -> bytes:
        frames = [json.dumps(chunk, ensure_ascii=False) for chunk in self._chunks(payload)]
        if payload["type"] in ("FINISH", "ERROR"):
            frames.append("[DONE]")
        written = "".join(f"data: {frame}\n\n" for frame in frames)
        return written.encode("utf-8", "backslashreplace")

    def _chunks(self, payload: Payload) -> list[Form]:
        match payload:
            case {"type": "TEXT_START"}:
                self._refusal = payload.get("refusal") is True
            case {"type": "TEXT_DELTA", "delta": text}:
                return [self._piece({"refusal" if self._refusal else "content": text})]
            case {"type": "REASONING_DELTA", "reasoning_delta": text}:
                return [self._piece({"reasoning_content": text})]
            case {"type": "TOOL_CALL_START", "tool_call": {"id": call_id, "name": name}}:
                self._calls, self._streamed = self._calls + 1, False
                function = {"name": name, "arguments": ""}
                return [self._call({"id": call_id, "type": "function", "function": function})]
            case {"type": "TOOL_CALL_DELTA", "delta": text}:
                self._streamed = True
                return [self._call({"function": {"arguments": text}})]
            case {"type": "TOOL_CALL_END", "tool_call": {"arguments": arguments}}:
                if not self._streamed:
                    return [self._call({"function": {"arguments": arguments_text(arguments)}})]
            case {"type": "FINISH" | "ERROR"}:
                return self._end(payload)
        return []

    def _call(self, call: Form) -> Form:
        return self._piece({"tool_calls": [{"index": self._calls, **call}]})

    def _piece(self, delta: Form, reason: str | None = None) -> Form:
        """Return one chunk. The first one has the role."""
        role = {} if self._begun else {"role": "assistant"}
        self._begun = True
        choice = {"index": 0, "delta": {**role, **delta}, "finish_reason": reason}
        return self._chunk([choice])

    def _chunk(self, choices: list[Form], **more: Any) -> Form:
        usage = {"usage": None} if self._counts else {}
        kind = {"object": "chat.completion.chunk"}
        return {**self._about, **kind, "choices": choices, **usage, **more}

    def _end(self, payload: Payload) -> list[Form]:
        if failed := failure([payload]):
            return [{"error": error_of(*failed)}]
        self._about["model"] = payload["response"]["model"] or self._about["model"]
        last = self._piece({}, reason_of(payload["finish_reason"]))
        if not self._counts or "usage" not in payload:
            return [last]
        return [last, self._chunk([], usage=_usage(payload["usage"]))]

    def whole(self, payloads: Sequence[Payload]) -> Form:
        finish = payloads[-1]
        message: Form = {"role": "assistant", "content": None, "refusal": None}
        for part in finish["response"]["message"]["content"]:
            match part:
                case {"kind": "text", "text": text}:
                    name = "refusal" if part.get("refusal") else "content"
                    message[name] = (message[name] or "") + text
                case {"kind": "thinking", "thinking": {"text": text}} if text:
                    message["reasoning_content"] = message.get("reasoning_content", "") + text
                case {"kind": "tool_call", "tool_call": call}:
                    function = {
                        "name": call["name"],
                        "arguments": arguments_text(call["arguments"]),
                    }
                    item = {"id": call["id"], "type": "function", "function": function}
                    message["tool_calls"] = [*message.get("tool_calls", ()), item]
        reason = reason_of(finish["finish_reason"])
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        usage = {"usage": _usage(finish["usage"])} if "usage" in finish else {}
        model = finish["response"]["model"] or self._about["model"]
        kind = {"object": "chat.completion", "model": model}
        return {**self._about, **kind, "choices": [choice], **usage}


def _usage(usage: Mapping[str, Any]) -> Form:
    given, cached, stored, written, reasoning, total = counts_of(usage)
    return {
        "prompt_tokens": given,
        "completion_tokens": written,
        "total_tokens": total,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": stored},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
