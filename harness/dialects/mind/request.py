"""Translates a prompt of mind, with the records of earlier answers, into a Gemini request.

A prompt is ``{"prompt", "system_prompt"?, "history"?}``. ``history`` holds, in order, the program's
own records after the prompt, and ``user`` records for later texts of the user. Texts and calls are
contents of the model; results and texts of the user are contents of the user.

Records have no ids and no signatures. The replays of those answers put them into the session: its
last calls are those of the history, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.stream.generation import (
    GenerateRequest,
    ToolOutcome,
    outcomes_of,
)
from harness.stream.session import RememberedCall, Session

from ..dialect import Payload, RequestTranslator
from ..fields import Fields
from .tools import DECLARATIONS

DEFAULT_MODEL: Final = "gemini-3-flash-preview"
ACKNOWLEDGEMENT: Final = "ok"
"""The model's answer to the system prompt in the history."""

RECORDS: Final[Mapping[str, str | None]] = {
    "assistant": "model",
    "tool_code": "model",
    "tool_result": "user",
    "user": "user",
    "result": None,
    "error": None,
}
"""A record of the history → the role of its content. ``result``, which repeats the texts, and
``error`` have no role.
"""


def translate(prompt: Any, options: Mapping[str, Any], session: Session) -> GenerateRequest:
    """See `harness.dialects.dialect.RequestTranslator`. Options are ``model_name`` and
    ``allowed_tools``, the names of tools to declare.
    """
    given, chosen = Fields(prompt, ""), Fields(options, "options")
    text, system = given.need("prompt", str), given.get("system_prompt", str)
    records = given.items("history")
    given.refuse_rest()
    contents: list[dict[str, Any]] = []
    if system:
        contents += [
            _content("user", {"text": system}),
            _content("model", {"text": ACKNOWLEDGEMENT}),
        ]
    contents.append(_content("user", {"text": text}))
    _History(records, session, contents).write()
    body: dict[str, Any] = {"contents": contents}
    declared = _declared(chosen)
    if declared:
        body["tools"] = [{"functionDeclarations": declared}]
    return GenerateRequest(body, chosen.get("model_name", str) or DEFAULT_MODEL)


def _declared(options: Fields) -> list[dict[str, Any]]:
    names = options.get("allowed_tools", list) or ()
    for name in names:
        if name not in DECLARATIONS:
            options.fail(
                "allowed_tools",
                f"there is no tool {name!r}; expected one of {', '.join(DECLARATIONS)}",
            )
    return [{"name": name, **DECLARATIONS[name]} for name in DECLARATIONS if name in names]


class _History:
    """Writes the records of earlier turns into contents."""

    def __init__(
        self, records: Sequence[Fields], session: Session, contents: list[dict[str, Any]]
    ) -> None:
        self.records = [(record.choose("type", RECORDS), record) for record in records]
        self.contents = contents
        # calls without a result, each with its id on the wire
        self.waiting: list[tuple[Payload, str | None]] = []
        called = [index for index, (kind, _) in enumerate(self.records) if kind == "tool_code"]
        self.remembered = dict(
            zip(reversed(called), reversed(session.calls.values()), strict=False)
        )

    def write(self) -> None:
        for index, (kind, record) in enumerate(self.records):
            role = RECORDS[kind]
            if role is None:
                continue
            if kind == "tool_code":
                part = self._call(record, self.remembered.get(index))
            elif kind == "tool_result":
                part = self._result(record)
            else:
                part = {"text": _text_of(record)}
            self._add(role, part)

    def _add(self, role: str, part: dict[str, Any]) -> None:
        """Add a part to the content of its turn; pieces of the model's text become one part."""
        last = self.contents[-1]
        if last["role"] != role:
            self.contents.append(_content(role, part))
        elif role == "model" and "text" in part and "text" in last["parts"][-1]:
            last["parts"][-1] = {"text": last["parts"][-1]["text"] + part["text"]}
        else:
            last["parts"].append(part)

    def _call(self, record: Fields, remembered: RememberedCall | None) -> dict[str, Any]:
        call = {"name": record.need("name", str), "args": record.need("args", dict)}
        name = call["name"]
        known = remembered if remembered and remembered.name == name else RememberedCall(name)
        self.waiting.append((call, known.wire_id))
        part = {"functionCall": _with_id(known.wire_id, **call)}
        return part if known.signature is None else part | {"thoughtSignature": known.signature}

    def _result(self, record: Fields) -> dict[str, Any]:
        name = record.need("name", str)
        answered = {"name": name, "args": record.get("args")}
        pair = next((pair for pair in self.waiting if _answers(answered, pair[0])), None)
        if pair is None:
            record.fail("", f"no call of {name} with these arguments waits for a result")
        self.waiting.remove(pair)
        result = record.get("result")
        response = result if isinstance(result, dict) else {"result": result}
        return {"functionResponse": _with_id(pair[1], name=name, response=response)}


def _content(role: str, part: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": [part]}


def _with_id(wire_id: str | None, **fields: Any) -> dict[str, Any]:
    return {"id": wire_id, **fields} if wire_id else fields


def _answers(result: Payload, call: Payload) -> bool:
    return result.get("name") == call.get("name") and result.get("args") == call.get("args")


def _text_of(record: Fields) -> str:
    match record.get("message"):
        case {"content": [{"type": "text", "text": str(text)}]}:
            return text
    record.fail("message", "is not of the form {content: [{type: text, text: …}]}")


def say(text: str) -> Payload:
    """The record of a user's text after an answer."""
    return {"type": "user", "message": {"content": [{"type": "text", "text": text}]}}


def tool_result(call: Payload, outcome: ToolOutcome) -> Payload:
    """The ``tool_result`` record of a ``tool_code`` record, without its timestamp: an object as it
    is, any other value as ``result``.
    """
    if outcome.failed:
        result: Any = {"error": outcome.result}
    else:
        result = outcome.result if isinstance(outcome.result, dict) else {"result": outcome.result}
    return {"type": "tool_result", "name": call["name"], "args": call["args"], "result": result}


def waiting_calls(payloads: Sequence[Payload]) -> list[Payload]:
    """The ``tool_code`` records of an answer that have no ``tool_result`` there, in order."""
    waiting = [payload for payload in payloads if payload["type"] == "tool_code"]
    for payload in payloads:
        if payload["type"] == "tool_result":
            call = next((call for call in waiting if _answers(payload, call)), None)
            if call is not None:
                waiting.remove(call)
    return waiting


def follow_up(prompt: Any, payloads: Sequence[Payload], then: Sequence[ToolOutcome] | str) -> Any:
    """The prompt with the answer's records in its history, then the results of its calls or the
    user's next text. If the user writes a text instead of giving results, each call has the
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
)
