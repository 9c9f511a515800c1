"""Translates a ``RunAgentInput`` of AG-UI into a prompt.

Source: https://docs.ag-ui.com/spec/1.0. The messages of the agent, and its reasoning, that follow
each other are one message of the model. The results after them are one message of the user, in the
order of their calls. The input names no model; it is an option of the call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.stream.fields import Fields
from harness.stream.generation import ToolOutcome, outcomes_of
from harness.stream.json_codec import decode_object
from harness.stream.prompt import (
    AnyPart,
    Call,
    Function,
    Instruction,
    Media,
    Message,
    Opaque,
    Prompt,
    Redacted,
    Result,
    Role,
    Schema,
    Text,
    Thinking,
    media_kind,
)
from harness.stream.session import Session

from ..dialect import Payload, RequestTranslator
from .protocol import OWN

DEFAULT_MODEL: Final = "gemini-3.5-flash"
MEDIA: Final = ("image", "audio", "video", "document")
_SYSTEM: Final = ("system", "developer")
_LEFT_OUT: Final = {
    "state": "it is shared between the agent and its user",
    "forwardedProps": "the protocol does not say what it means",
    "resume": "no answer of a model interrupts a run",
}
"""A field of the input → why the model does not get it."""


class _Conversation:
    """Reads the messages of one input."""

    def __init__(self, session: Session, warnings: list[str], unread: list[str]) -> None:
        self.instructions: list[Instruction] = []
        self.messages: list[Message] = []
        self._session = session
        self._reports = warnings, unread
        self._calls: dict[str, Call] = {}

    def read(self, message: Fields) -> None:
        """Read the next message."""
        role = message.choose("role", ROLES)
        for name in ("id", "name"):
            message.get(name, str)
        ROLES[role](self, message)
        message.leave_rest()

    def _add(self, role: Role, parts: Sequence[AnyPart], message: Fields) -> None:
        """Add parts to the turn of the model, or as a message of their own."""
        last = self.messages[-1] if self.messages else None
        if role == "assistant" and last and last.role == role:
            self.messages[-1] = replace(last, parts=(*last.parts, *parts))
        else:
            self.messages.append(Message(role, tuple(parts), place=message.place))

    def system(self, message: Fields) -> None:
        text = Text(message.need("content", str), place=message.at("content"))
        if self.messages:
            self._add("system", [text], message)
        else:
            self.instructions.append(Instruction((text,), place=message.place))

    def user(self, message: Fields) -> None:
        self._add("user", [*self._content(message)], message)

    def assistant(self, message: Fields) -> None:
        text, place = message.get("content", str), message.at("content")
        signature = self._opaque(message)
        parts: list[AnyPart] = []
        if text or signature:
            refusal = _own(message).get("refusal") is True
            parts.append(Text(text or "", refusal, place=place, signature=signature))
        parts += map(self._call, message.items("toolCalls"))
        self._add("assistant", parts, message)

    def reasoning(self, message: Fields) -> None:
        text, signature = message.need("content", str), self._opaque(message)
        given = message.get("id", str) or ""
        wire_id = given if self._session.is_of_wire(given) else None
        if _own(message).get("redacted") is True:
            data = signature or Opaque("")
            self._add("assistant", [Redacted(data, wire_id, place=message.place)], message)
        else:
            thought = Thinking(text, wire_id, place=message.place, signature=signature)
            self._add("assistant", [thought], message)

    def tool(self, message: Fields) -> None:
        """Add a result to those of its turn."""
        call_id, error = message.need("toolCallId", str), message.get("error", str)
        call = self._calls.get(call_id) or self._remembered(call_id)
        if call is None:
            message.fail("toolCallId", f"no earlier call has the id {call_id!r}")
        content = [*self._content(message)]
        value, parts = None, tuple(part for part in content if isinstance(part, Text | Media))
        if all(isinstance(part, Text) for part in parts):
            value = error or "".join(part.text for part in parts if isinstance(part, Text))
        result = Result(
            call_id,
            call.name,
            value,
            None if value is not None else parts,
            call.wire_id,
            error is not None,
            place=message.place,
        )
        last = self.messages[-1] if self.messages else None
        results = [part for part in last.parts if isinstance(part, Result)] if last else []
        if last is None or len(results) < len(last.parts):
            self.messages.append(Message("user", (result,), place=message.place))
            return
        order = [*self._calls]
        results = sorted([*results, result], key=lambda each: order.index(each.id))
        self.messages[-1] = replace(last, parts=tuple(results))

    def _remembered(self, call_id: str) -> Call | None:
        known = self._session.calls.get(call_id)
        return Call(call_id, known.name, {}, known.wire_id) if known else None

    def _content(self, message: Fields) -> Iterator[AnyPart]:
        content = message.need("content", str, list)
        if isinstance(content, str):
            yield Text(content, place=message.at("content"))
            return
        for part in message.items("content"):
            kind = part.choose("type", ("text", *MEDIA))
            if kind == "text":
                yield Text(part.need("text", str), place=part.place)
            else:
                yield self._medium(part, kind)
            part.get("id", str)
            part.leave_rest()

    def _medium(self, part: Fields, kind: str) -> Media:
        source = Fields(part.need("source", dict), part.at("source"), *self._reports)
        form, value = source.choose("type", ("data", "url", "file")), source.need("value", str)
        media_type = source.get("mimeType", str)
        source.get("provider", str)
        source.leave_rest()
        return Media(
            media_kind(kind, media_type),
            media_type,
            value if form == "data" else None,
            None if form == "data" else value,
            place=part.place,
        )

    def _call(self, wire: Fields) -> Call:
        call_id, function = wire.need("id", str), wire.need("function", dict)
        wire.may_choose("type", ("function",))
        named = Fields(function, wire.at("function"), *self._reports)
        name, text = named.need("name", str), named.need("arguments", str)
        signature, known = self._opaque(wire), self._session.calls.get(call_id)
        if signature is None and known:
            signature = self._session.opaque(known.signature)
        arguments = decode_object(text) if text.strip() else {}
        call = Call(
            call_id,
            name,
            text if arguments is None else arguments,
            known.wire_id if known else call_id,
            place=wire.place,
            signature=signature,
        )
        wire.leave_rest()
        self._calls[call_id] = call
        return call

    def _opaque(self, fields: Fields) -> Opaque | None:
        return self._session.opaque(fields.get("encryptedValue", str))

    def activity(self, message: Fields) -> None:
        message.get("activityType", str)
        message.leave("content", "an activity is for the user's eyes")


ROLES: Final[Mapping[str, Callable[[_Conversation, Fields], None]]] = {
    **dict.fromkeys(_SYSTEM, _Conversation.system),
    "user": _Conversation.user,
    "assistant": _Conversation.assistant,
    "reasoning": _Conversation.reasoning,
    "tool": _Conversation.tool,
    "activity": _Conversation.activity,
}
"""Role → the reader of its messages."""


def _own(message: Fields) -> Mapping[str, Any]:
    """Return what this dialect has put into the metadata of an event."""
    own = (message.get("metadata", dict) or {}).get(OWN)
    return own if isinstance(own, dict) else {}


def translate(prompt: Any, options: Mapping[str, Any], session: Session) -> Prompt:
    """See `harness.dialects.dialect.RequestTranslator`. The option is ``model``."""
    warnings, unread = list[str](), list[str]()
    given = Fields(prompt, "", warnings, unread)
    chosen = Fields(options, "options", warnings, unread)
    for name in ("threadId", "runId", "parentRunId", "protocolVersion"):
        given.get(name, str)
    conversation = _Conversation(session, warnings, unread)
    for message in given.items("messages"):
        conversation.read(message)
    for item in given.items("context"):
        text = f"{item.need('description', str)}: {item.need('value', str)}"
        piece = Text(text, place=item.place)
        conversation.instructions.append(Instruction((piece,), place=item.place))
    tools = tuple(map(_function, given.items("tools")))
    for name, why in _LEFT_OUT.items():
        if given.get(name) not in (None, {}, [], ""):
            given.leave(name, why)
    model = chosen.get("model", str) or DEFAULT_MODEL
    given.leave_rest()
    chosen.refuse_rest()
    return Prompt(
        messages=tuple(conversation.messages),
        instructions=tuple(conversation.instructions),
        model=model,
        tools=tools,
        unread=tuple(unread),
        warnings=tuple(warnings),
    )


def _function(tool: Fields) -> Function:
    name, description = tool.need("name", str), tool.get("description", str)
    schema = tool.get("parameters", dict)
    return Function(
        name,
        description or None,
        None if schema is None else Schema(schema, tool.at("parameters")),
        place=tool.place,
    )


def follow_up(prompt: Any, payloads: Sequence[Payload], then: Sequence[ToolOutcome] | str) -> Any:
    """Return the input with the messages of the answer, as a client of the protocol keeps them, and
    the results of its calls or the user's next text.
    """
    messages = [*_messages(payloads)]
    results = {each["toolCallId"] for each in messages if each["role"] == "tool"}
    waiting = [
        call["id"]
        for message in messages
        for call in message.get("toolCalls", ())
        if call["id"] not in results
    ]
    outcomes = zip(waiting, outcomes_of(len(waiting), then), strict=True)
    messages += [tool_message(call_id, outcome) for call_id, outcome in outcomes]
    if isinstance(then, str):
        messages.append(_message("user", f"user_{len(prompt['messages'])}", content=then))
    return {**prompt, "messages": [*prompt["messages"], *messages]}


def tool_message(call_id: str, outcome: ToolOutcome) -> Payload:
    """Return the message of a result. Structured data is JSON text."""
    result = outcome.result
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    error = {"error": text} if outcome.failed else {}
    return _message("tool", f"result_{call_id}", content=text, toolCallId=call_id, **error)


def _message(role: str, message_id: str, **fields: Any) -> Payload:
    return {"id": message_id, "role": role, **fields}


def _messages(payloads: Sequence[Payload]) -> Iterator[Payload]:
    """Yield the messages of the events of a run, in order."""
    messages: dict[str, Payload] = {}
    calls: dict[str, Payload] = {}
    for event in payloads:
        marks = {"metadata": event["metadata"]} if event.get("metadata") else {}
        match event:
            case {"type": "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START", "messageId": name}:
                messages[name] = _message(event["role"], name, content="", **marks)
            case {"type": "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT", "delta": delta}:
                messages[event["messageId"]]["content"] += delta
            case {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name}:
                function = {"name": name, "arguments": ""}
                calls[call_id] = {"id": call_id, "type": "function", "function": function}
                holder = messages[[*messages][-1]] if messages else {}
                if holder.get("role") != "assistant":
                    holder = messages[call_id] = _message("assistant", f"message_{call_id}")
                holder.setdefault("toolCalls", []).append(calls[call_id])
            case {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta}:
                calls[call_id]["function"]["arguments"] += delta
            case {"type": "TOOL_CALL_RESULT", "toolCallId": call_id}:
                result = _message("tool", event["messageId"], content=event["content"], **marks)
                messages[event["messageId"]] = {**result, "toolCallId": call_id}
            case {"type": "REASONING_ENCRYPTED_VALUE", "entityId": name, "encryptedValue": value}:
                signed = calls if event["subtype"] == "tool-call" else messages
                if name in signed:  # the aspects judge what payloads of others lack
                    signed[name]["encryptedValue"] = value
    yield from messages.values()


REQUEST: Final = RequestTranslator(
    translate,
    follow_up,
    opening_prompt={
        "threadId": "thread",
        "runId": "run_0",
        "messages": [{"id": "user_0", "role": "user", "content": "Hello"}],
    },
    sent_back=frozenset({"call", "text", "thought"}),
)
