"""The Responses API: reads a request into a prompt, and writes an answer as a response or as its
events.

Source: https://platform.openai.com/docs/api-reference/responses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from harness.stream.fields import Fields, shown
from harness.stream.generation import TranslationError
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

_OF_MODEL: Final = ("function_call", "reasoning")
"""The items of an answer, beside its messages."""
_ECHOED: Final[Mapping[str, Any]] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}
"""The fields of a request that a response repeats, and their defaults."""
_INCOMPLETE: Final = {"length": "max_output_tokens"}
"""Finish reason → the reason of an incomplete response, if it is another word."""


def translate(sent: Any, answers: Answers, session: Session) -> Prompt:
    """Return the prompt of a request; see `HttpApi.translate`."""
    body = Fields(sent, "")
    instructions = body.get("instructions", str)
    messages: list[Form] = [{"role": "system", "content": instructions}] if instructions else []
    for number, (of_model, items) in enumerate(_groups(body.get("input", str, list))):
        read = [Fields(item, f"input[{index}]") for index, item in items]
        if of_model:
            parts = [part for item in read for part in _answer_parts(item)]
            message = {"role": "assistant", "content": parts}
            messages.append(repeated(message, answers.get(number)))
        else:
            messages += map(_message, read)
    text, reasoning = body.inner("text"), body.inner("reasoning")
    shape = text.inner("format") if text else None
    wanted = {
        "max_tokens": body.get("max_output_tokens", int),
        "tools": [tool_form(tool, tool) for tool in body.items("tools")],
        "tool_choice": choice_form(body),
        "response_format": format_form(shape, shape),
    }
    prompt = prompt_of(body, messages, wanted, session)
    if reasoning is None:
        return prompt
    are_shown = True if reasoning.get("summary", str) else None
    return with_reasoning(prompt, reasoning.get("effort", str), are_shown)


def _groups(given: Any) -> Iterator[tuple[bool, list[tuple[int, Any]]]]:
    """Yield each turn with its numbered items: those of one answer together, any other alone."""
    answer: list[tuple[int, Any]] = []
    for index, item in enumerate(_items(given)):
        if isinstance(item, Mapping) and (
            item.get("type") in _OF_MODEL or item.get("role") == "assistant"
        ):
            answer.append((index, item))
            continue
        if answer:
            yield True, answer
            answer = []
        yield False, [(index, item)]
    if answer:
        yield True, answer


def _items(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [{"role": "user", "content": given}]


def _answer_parts(item: Fields) -> list[Form]:
    match item.get("type", str):
        case "function_call":
            return [call_part(item.need("call_id", str), item)]
        case "reasoning":
            text = "".join(part.need("text", str) for part in item.items("summary"))
            secret = item.get("encrypted_content", str)
            signed = {"signature": secret} if secret else {}
            return [{"kind": "thinking", "thinking": {"text": text, **signed}}]
    return parts_of(item)


def _message(item: Fields) -> Form:
    match item.get("type", str):
        case "function_call_output":
            return result_message(item.need("call_id", str), parts_of(item, "output"))
        case "message" | None:
            role = item.choose("role", ("user", "system", "developer"))
            return {"role": role, "content": parts_of(item)}
        case kind:
            item.fail("type", f"{shown(kind)} can't be translated")


def turns(body: Any) -> list[tuple[bool, Any]]:
    """Return each turn; see `HttpApi.turns`. One that the model wrote is compared by its texts and
    its calls.
    """
    if not isinstance(body, Mapping):
        return []
    return [
        (of_model, _plain_answer(items) if of_model else _plain(items[0][1]))
        for of_model, items in _groups(body.get("input"))
    ]


def _plain_answer(items: list[tuple[int, Any]]) -> Any:
    return [
        "assistant",
        "".join(plain_text(item.get("content")) for _, item in items if "role" in item),
        [
            [item.get(key) for key in ("call_id", "name", "arguments")]
            for _, item in items
            if item.get("type") == "function_call"
        ],
    ]


def _plain(item: Any) -> Any:
    if isinstance(item, Mapping) and item.get("type") in (None, "message"):
        content = item.get("content")
        if isinstance(content, str):
            content = [{"type": "input_text", "text": content}]
        return [item.get("role"), content]
    return item


def resume(body: Any, stored: Mapping[str, Any]) -> Any:
    """Return the request with the items of the response that it continues; see `HttpApi.resume`."""
    previous = body.get("previous_response_id") if isinstance(body, Mapping) else None
    if previous is None:
        return body
    if not isinstance(previous, str) or previous not in stored:
        raise TranslationError("", f"Previous response with id {previous!r} not found.")
    return {**body, "input": [*stored[previous], *_items(body.get("input"))]}


def store(body: Any, response: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return the id of a response, and its items with those before it; see `HttpApi.store`."""
    if body.get("store") is False:
        return None
    return response["id"], [*_items(body.get("input")), *response["output"]]


class ResponseWriter:
    """Writes one answer; see `harness.dialects.dialect.AnswerWriter`. A text or thought without a
    piece has no item, unless it is a signed thought: ``encrypted_content`` has that signature.
    """

    def __init__(self, body: Mapping[str, Any], name: str) -> None:
        echo = {key: body.get(key, default) for key, default in _ECHOED.items()}
        about = {"id": f"resp_{name}", "object": "response", "created_at": 0}
        state = {"status": "in_progress", "error": None, "incomplete_details": None, "usage": None}
        self._response: Form = {**about, **state, "model": body.get("model"), **echo, "output": []}
        self._name = name
        self._sent = 0
        self._item: Form | None = None  # the open item, as it is at its end
        self._streamed = False  # the arguments of the open call
        self._refusal = False

    def event(self, payload: Payload) -> bytes:
        written = (
            f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
            for event in self._events(payload)
        )
        return "".join(written).encode("utf-8", "backslashreplace")

    def whole(self, payloads: Sequence[Payload]) -> Form:
        events = [event for payload in payloads for event in self._events(payload)]
        response: Form = events[-1]["response"]
        return response

    def _events(self, payload: Payload) -> Iterator[Form]:
        match payload:
            case {"type": "STREAM_START"}:
                yield self._event("response.created", response=self._response)
                yield self._event("response.in_progress", response=self._response)
            case {"type": "TEXT_START"}:
                self._refusal = payload.get("refusal") is True
            case {"type": "TEXT_DELTA", "delta": text}:
                yield from self._text(text)
            case {"type": "TEXT_END"} if self._item:
                yield from self._end_text(self._item)
            case {"type": "REASONING_DELTA", "reasoning_delta": text}:
                yield from self._thought(text)
            case {"type": "REASONING_END"}:
                yield from self._end_thought(payload)
            case {"type": "TOOL_CALL_START", "tool_call": {"id": call_id, "name": name}}:
                self._streamed = False
                call = {"status": "in_progress", "call_id": call_id, "name": name, "arguments": ""}
                yield self._begin("fc", "function_call", call)
            case {"type": "TOOL_CALL_DELTA", "delta": text}:
                self._streamed = True
                yield self._arguments(text)
            case {"type": "TOOL_CALL_END", "tool_call": {"arguments": arguments}}:
                yield from self._end_call(arguments)
            case {"type": "FINISH" | "ERROR"}:
                yield from self._end(payload)

    def _event(self, kind: str, **fields: Any) -> Form:
        self._sent += 1
        return {"type": kind, "sequence_number": self._sent - 1, **deepcopy(fields)}

    def _in_item(self, kind: str, **fields: Any) -> Form:
        """Return an event of the open item."""
        assert self._item is not None, "the payloads have an order"
        place = {"item_id": self._item["id"], "output_index": len(self._response["output"])}
        return self._event(f"response.{kind}", **place, **fields)

    def _begin(self, prefix: str, kind: str, fields: Form) -> Form:
        index = len(self._response["output"])
        self._item = {"id": f"{prefix}_{self._name}_{index}", "type": kind, **fields}
        return self._event("response.output_item.added", output_index=index, item=self._item)

    def _done(self) -> Form:
        item, index = self._item, len(self._response["output"])
        self._response["output"].append(item)
        self._item = None
        return self._event("response.output_item.done", output_index=index, item=item)

    # ---------------------------------------------------------------- texts and thoughts

    def _text(self, text: str) -> Iterator[Form]:
        kind, name = ("refusal", "refusal") if self._refusal else ("output_text", "text")
        if self._item is None:
            yield self._begin(
                "msg", "message", {"status": "in_progress", "role": "assistant", "content": []}
            )
            empty = {"type": kind, name: "", **({} if self._refusal else _NO_NOTES)}
            yield self._in_item("content_part.added", content_index=0, part=empty)
            assert self._item is not None, "an item has begun"
            self._item["content"] = [empty]
        self._item["content"][0][name] += text
        more: Form = {} if self._refusal else {"logprobs": []}
        yield self._in_item(f"{kind}.delta", content_index=0, delta=text, **more)

    def _end_text(self, item: Form) -> Iterator[Form]:
        part = item["content"][0]
        fields: Form = {"refusal": part["refusal"]} if self._refusal else {"text": part["text"]}
        if not self._refusal:
            fields["logprobs"] = []
        yield self._in_item(f"{part['type']}.done", content_index=0, **fields)
        yield self._in_item("content_part.done", content_index=0, part=part)
        item["status"] = "completed"
        yield self._done()

    def _thought(self, text: str) -> Iterator[Form]:
        if self._item is None:
            yield self._begin("rs", "reasoning", {"summary": []})
            empty = {"type": "summary_text", "text": ""}
            yield self._in_item("reasoning_summary_part.added", summary_index=0, part=empty)
            assert self._item is not None, "an item has begun"
            self._item["summary"] = [empty]
        self._item["summary"][0]["text"] += text
        yield self._in_item("reasoning_summary_text.delta", summary_index=0, delta=text)

    def _end_thought(self, payload: Payload) -> Iterator[Form]:
        secret = payload.get("signature")
        if self._item is not None:
            (part,) = self._item["summary"]
            text = part["text"]
            yield self._in_item("reasoning_summary_text.done", summary_index=0, text=text)
            yield self._in_item("reasoning_summary_part.done", summary_index=0, part=part)
        elif isinstance(secret, str):
            yield self._begin("rs", "reasoning", {"summary": []})
        if self._item is not None:
            if isinstance(secret, str):
                self._item["encrypted_content"] = secret
            yield self._done()

    # ---------------------------------------------------------------- calls

    def _arguments(self, text: str) -> Form:
        assert self._item is not None, "a piece of arguments belongs to a call"
        self._item["arguments"] += text
        return self._in_item("function_call_arguments.delta", delta=text)

    def _end_call(self, arguments: Any) -> Iterator[Form]:
        if not self._streamed:
            yield self._arguments(arguments_text(arguments))
        assert self._item is not None, "the end of a call follows its start"
        if isinstance(
            arguments, str
        ):  # no JSON object: the item never ends, and the response fails
            self._response["output"].append({**self._item, "status": "incomplete"})
            self._item = None
            return
        text = self._item["arguments"]
        yield self._in_item("function_call_arguments.done", arguments=text)
        self._item["status"] = "completed"
        yield self._done()

    # ---------------------------------------------------------------- the end

    def _end(self, payload: Payload) -> Iterator[Form]:
        response = self._response
        if "response" in payload:
            response["model"] = payload["response"]["model"] or response["model"]
        if "usage" in payload:
            response["usage"] = _usage(payload["usage"])
        if failed := failure([payload]):
            error = error_of(*failed)
            yield self._event("error", error=error)
            code = error["code"] or "server_error"
            response |= {"status": "failed", "error": {"code": code, "message": error["message"]}}
            yield self._event("response.failed", response=response)
            return
        reason = reason_of(payload["finish_reason"])
        status = "completed" if reason in ("stop", "tool_calls") else "incomplete"
        response["status"] = status
        if status == "incomplete":
            response["incomplete_details"] = {"reason": _INCOMPLETE.get(reason, reason)}
        yield self._event(f"response.{status}", response=response)


_NO_NOTES: Final[Mapping[str, Any]] = {"annotations": [], "logprobs": []}
"""The fields of a text that translated answers do not have."""


def _usage(usage: Mapping[str, Any]) -> Form:
    given, cached, stored, written, reasoning, total = counts_of(usage)
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": stored},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": total,
    }
