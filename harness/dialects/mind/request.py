"""Translates a prompt of mind, with the records of earlier answers, into a neutral prompt.

A prompt is ``{"prompt", "system_prompt"?, "history"?}``. ``history`` holds, in order, the program's
own records after the prompt, and ``user`` records for later texts of the user. Texts and calls are
messages of the model; results and texts of the user are messages of the user.

Records have no ids and no signatures. The replays of those answers put them into the session: its
last calls are those of the history, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.stream.fields import Fields
from harness.stream.generation import ToolOutcome, outcomes_of
from harness.stream.prompt import (
    AnyPart,
    Call,
    Function,
    Message,
    Prompt,
    Result,
    Role,
    Schema,
    Text,
)
from harness.stream.session import RememberedCall, Session

from ..dialect import Payload, RequestTranslator
from .tools import DECLARATIONS

DEFAULT_MODEL: Final = "gemini-3-flash-preview"
ACKNOWLEDGEMENT: Final = "ok"
"""The model's answer to the system prompt in the history."""

RECORDS: Final[Mapping[str, Role | None]] = {
    "assistant": "assistant",
    "tool_code": "assistant",
    "tool_result": "user",
    "user": "user",
    "result": None,
    "error": None,
}
"""A record of the history → the role of its message. ``result``, which repeats the texts, and
``error`` have no role.
"""


def translate(prompt: Any, options: Mapping[str, Any], session: Session) -> Prompt:
    """See `harness.dialects.dialect.RequestTranslator`. Options are ``model_name`` and
    ``allowed_tools``, the names of tools to declare.
    """
    given, chosen = Fields(prompt, ""), Fields(options, "options")
    text, system = given.need("prompt", str), given.get("system_prompt", str)
    records = given.items("history")
    given.refuse_rest()
    messages: list[Message] = []
    if system:
        messages += [
            Message("user", (Text(system, place="system_prompt"),)),
            Message("assistant", (Text(ACKNOWLEDGEMENT),)),
        ]
    messages.append(Message("user", (Text(text, place="prompt"),)))
    _History(records, session, messages).read()
    return Prompt(
        messages=tuple(messages),
        tools=_declared(chosen),
        model=chosen.get("model_name", str) or DEFAULT_MODEL,
    )


def _declared(options: Fields) -> tuple[Function, ...]:
    names = options.get("allowed_tools", list) or ()
    for name in names:
        if name not in DECLARATIONS:
            options.fail(
                "allowed_tools",
                f"there is no tool {name!r}; expected one of {', '.join(DECLARATIONS)}",
            )
    return tuple(
        Function(name, declaration["description"], Schema(declaration["parameters"]))
        for name, declaration in DECLARATIONS.items()
        if name in names
    )


class _History:
    """Reads the records of earlier turns into messages."""

    def __init__(
        self, records: Sequence[Fields], session: Session, messages: list[Message]
    ) -> None:
        self.records = [(record.choose("type", RECORDS), record) for record in records]
        self.session = session
        self.messages = messages
        # calls without a result, each with its record
        self.waiting: list[tuple[Payload, Call]] = []
        called = [index for index, (kind, _) in enumerate(self.records) if kind == "tool_code"]
        self.remembered = dict(zip(reversed(called), reversed(session.calls.items()), strict=False))

    def read(self) -> None:
        for index, (kind, record) in enumerate(self.records):
            role = RECORDS[kind]
            if role is None:
                continue
            part: AnyPart
            if kind == "tool_code":
                part = self._call(record, index)
            elif kind == "tool_result":
                part = self._result(record)
            else:
                part = Text(_text_of(record), place=record.place)
            self._add(role, part)

    def _add(self, role: Role, part: AnyPart) -> None:
        """Add a part to the message of its turn; pieces of the model's text become one part."""
        last = self.messages[-1]
        if last.role != role:
            self.messages.append(Message(role, (part,), place=part.place))
            return
        *before, piece = last.parts
        if role == "assistant" and isinstance(part, Text) and isinstance(piece, Text):
            parts = (*before, replace(piece, text=piece.text + part.text))
        else:
            parts = (*last.parts, part)
        self.messages[-1] = replace(last, parts=parts)

    def _call(self, record: Fields, index: int) -> Call:
        name, args = record.need("name", str), record.need("args", dict)
        call_id, known = self.remembered.get(index, ("", RememberedCall("")))
        if known.name != name:
            call_id, known = "", RememberedCall(name)
        call = Call(
            call_id or f"call_of_record_{index}",
            name,
            args,
            known.wire_id,
            "args",
            place=record.place,
            signature=self.session.opaque(known.signature),
        )
        self.waiting.append(({"name": name, "args": args}, call))
        return call

    def _result(self, record: Fields) -> Result:
        name = record.need("name", str)
        answered = {"name": name, "args": record.get("args")}
        pair = next((pair for pair in self.waiting if _answers(answered, pair[0])), None)
        if pair is None:
            record.fail("", f"no call of {name} with these arguments waits for a result")
        self.waiting.remove(pair)
        call = pair[1]
        return Result(call.id, name, record.get("result"), wire_id=call.wire_id, place=record.place)


def _answers(result: Payload, call: Payload) -> bool:
    return result.get("name") == call.get("name") and result.get("args") == call.get("args")


def _text_of(record: Fields) -> str:
    match record.get("message"):
        case {"content": [{"type": "text", "text": str(text)}]}:
            return text
    record.fail("message", "is not of the form {content: [{type: text, text: …}]}")


def say(text: str) -> Payload:
    """Return the record of a user's text after an answer."""
    return {"type": "user", "message": {"content": [{"type": "text", "text": text}]}}


def tool_result(call: Payload, outcome: ToolOutcome) -> Payload:
    """Return the ``tool_result`` record of a ``tool_code`` record, without its timestamp: an object
    as it is, any other value as ``result``.
    """
    if outcome.failed:
        result: Any = {"error": outcome.result}
    else:
        result = outcome.result if isinstance(outcome.result, dict) else {"result": outcome.result}
    return {"type": "tool_result", "name": call["name"], "args": call["args"], "result": result}


def waiting_calls(payloads: Sequence[Payload]) -> list[Payload]:
    """Return the ``tool_code`` records of an answer that have no ``tool_result`` there, in
    order.
    """
    waiting = [payload for payload in payloads if payload["type"] == "tool_code"]
    for payload in payloads:
        if payload["type"] == "tool_result":
            call = next((call for call in waiting if _answers(payload, call)), None)
            if call is not None:
                waiting.remove(call)
    return waiting


def follow_up(prompt: Any, payloads: Sequence[Payload], then: Sequence[ToolOutcome] | str) -> Any:
    """Return the prompt with the answer's records in its history, then the results of its calls or
    the user's next text. If the user writes a text instead of giving results, each call has the
    outcome `NOT_RUN`.
    """
    calls = waiting_calls(payloads)
    results = [
        tool_result(call, outcome)
        for call, outcome in zip(calls, outcomes_of(len(calls), then), strict=True)
    ]
    texts = [say(then)] if isinstance(then, str) else []
    return {**prompt, "history": [*prompt.get("history", ()), *payloads, *results, *texts]}


REQUEST: Final = RequestTranslator(
    translate,
    follow_up,
    opening_prompt={"prompt": "Hello"},
    sent_back=frozenset({"call"}),
    wire="generateContent",
)
