"""More faults of the proxy of `anthropic`, most of them in its requests.

The others are in `requests`, `anthropic` and `tool_code`.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from itertools import count

from harness.stream.generation import GenerateRequest
from harness.stream.session import RememberedCall, Session

from .pipeline import Items, Json, Table
from .requests import Body, messages_with, of_asked, of_body, of_prompt, parts, schemas

PROXY = Table("anthropic")
KNOWN_BLOCKS = ("text", "thinking", "tool_use", "tool_result", "image")
KNOWN_IN_RESULTS = ("text", "image")


# Around an answer


@PROXY.payloads
def done_after_the_end(payloads: Items) -> Items:
    """An event that the protocol does not have follows message_stop, here after an answer that was
    too long (both states).
    """
    stopped = [
        payload["delta"]["stop_reason"]
        for payload in payloads
        if payload["type"] == "message_delta"
    ]
    return [*payloads, {"type": "done"}] if stopped == ["max_tokens"] else payloads


@PROXY.payloads
def ping_after_the_start(payloads: Items) -> Items:
    """An invented ping follows message_start, here before thoughts (both states)."""
    thinks = len(payloads) > 1 and payloads[1].get("content_block", {}).get("type") == "thinking"
    return [payloads[0], {"type": "ping"}, *payloads[1:]] if thinks else payloads


chance = count(0x2545F491)


@PROXY.payloads
def ids_by_chance(payloads: Items) -> Items:
    """A call without an id gets one from the time and a random number, so no recording replays to
    the same events (both states).
    """
    for payload in payloads:
        block = payload.get("content_block", {})
        if block.get("type") == "tool_use" and re.fullmatch("toolu_[0-9]+", block["id"]):
            block["id"] = f"toolu_1768435200000_{next(chance):08x}"
    return payloads


# Names and ids


def declarations(body: Body) -> list[Body]:
    """The declared functions of a request."""
    return [
        function
        for tool in body.get("request", body).get("tools", [])
        for function in tool.get("functionDeclarations", [])
    ]


@of_asked("anthropic")
def names_are_not_mapped_back(
    asked: GenerateRequest, prompt: Json, session: Session
) -> GenerateRequest:
    """A call has the name that was sent to Gemini, which the caller's tool does not have (both
    states).
    """
    session.own_names = {}
    return asked


@of_body("anthropic")
def names_become_alike(body: Body) -> None:
    """Two tools whose names differ only in characters that Gemini does not accept are declared
    under one name (both states).
    """
    for tool in body.get("tools", []):
        for declaration in tool["functionDeclarations"]:
            declaration["name"] = re.sub(r"(?<=[a-z])_[2-9]$", "", declaration["name"])


@of_asked("anthropic")
def letters_stay(asked: GenerateRequest, prompt: Json, session: Session) -> GenerateRequest:
    """Letters of any alphabet stay in the name of a tool, which Gemini refuses (both states)."""
    declared = declarations(asked.body)
    for tool, declaration in zip(prompt.get("tools") or [], declared, strict=False):
        if not tool["name"].isascii():
            declaration["name"] = re.sub(r"[^\w.:-]", "_", tool["name"])
    return asked


@of_prompt("anthropic")
def results_of_no_call_are_sent(prompt: Json, options: Json) -> None:
    """A result without a call is sent as the result of an "unknown_function" (both states)."""
    known = {block.get("id") for block in blocks(prompt, "assistant")}
    for at, message in enumerate(list(messages_with(prompt.get("messages"), "user"))):
        for block in blocks_of(message):
            if (
                at == 1
                and block.get("type") == "tool_result"
                and block.get("tool_use_id") not in known
            ):
                call: Body = {
                    "type": "tool_use",
                    "id": block.get("tool_use_id"),
                    "name": "unknown_function",
                    "input": {},
                }
                prompt["messages"].insert(
                    prompt["messages"].index(message), {"role": "assistant", "content": [call]}
                )


@of_body("anthropic")
def missing_ids_are_made_up(body: Body) -> None:
    """A call without an id on the wire goes back with a counted id, and so does its result (a piece
    of the later version).
    """
    for kind in ("functionCall", "functionResponse"):
        for number, part in enumerate(
            (part for part in parts(body, kind) if "id" not in part[kind]), 1
        ):
            part[kind]["id"] = f"tool-call-{number}"


def blocks_of(message: Json) -> list[Body]:
    content = message.get("content")
    return (
        [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    )


def blocks(prompt: Json, *roles: str) -> Iterator[Body]:
    for message in messages_with(prompt.get("messages"), *roles):
        yield from blocks_of(message)


# Messages


@of_prompt("anthropic")
def any_role_is_the_model(prompt: Json, options: Json) -> None:
    """Every role other than the user's becomes the model's (both states)."""
    for message in prompt.get("messages") if isinstance(prompt.get("messages"), list) else []:
        if (
            isinstance(message, dict)
            and isinstance(message.get("role"), str)
            and message["role"] != "user"
        ):
            message["role"] = "assistant"


@of_prompt("anthropic")
def unknown_blocks_are_json(prompt: Json, options: Json) -> None:
    """A block of an unknown type is sent to the model as its JSON text (both states)."""
    for block in list(blocks(prompt, "user", "assistant")):
        if isinstance(block.get("type"), str) and block["type"] not in KNOWN_BLOCKS:
            text = json.dumps(block)
            block.clear()
            block.update(type="text", text=text)


@of_prompt("anthropic")
def unknown_blocks_of_results_are_python(prompt: Json, options: Json) -> None:
    """A block of an unknown type in a result is sent to the model as the text of a Python object
    (both states).
    """
    for block in blocks(prompt, "user"):
        for inner in blocks_of(block):
            if block.get("type") == "tool_result" and inner.get("type") not in KNOWN_IN_RESULTS:
                text = str(inner)
                inner.clear()
                inner.update(type="text", text=text)


@of_body("anthropic")
def files_of_results_are_text(body: Body) -> None:
    """An image from a tool is put into the text of its result, where no model can see it (both
    states).
    """
    for part in parts(body, "functionResponse"):
        response = part["functionResponse"]
        files = {f"file_{number}": file for number, file in enumerate(response.pop("parts", []), 1)}
        for key, items in response["response"].items():
            if isinstance(items, list):
                response["response"][key] = [files.get(item.get("$ref"), item) for item in items]


@of_prompt("anthropic")
def malformed_text_is_mended(prompt: Json, options: Json) -> None:
    """A text that is not a string is sent as something else instead of being refused (the later
    state).
    """
    for block in blocks(prompt, "user", "assistant"):
        if block.get("type") == "text" and not isinstance(block.get("text"), str):
            inner = block.get("text")
            block["text"] = str(inner.get("text", "")) if isinstance(inner, dict) else ""


@of_body("anthropic")
def unsigned_thoughts_are_dropped(body: Body) -> None:
    """An unsigned thought is dropped without a warning (the first version, for some models)."""
    for content in body.get("contents", []):
        content["parts"] = [
            part
            for part in content["parts"]
            if not part.get("thought") or "thoughtSignature" in part
        ]
    body["contents"] = [content for content in body["contents"] if content["parts"]]


@of_body("anthropic")
def signatures_of_earlier_steps_expire(body: Body) -> None:
    """A signature that is older than half an hour is not sent, here for any step but the last, and
    the API refuses the request (both states).
    """
    models = [content for content in body.get("contents", []) if content["role"] == "model"]
    for content in models[:-1]:
        for part in content["parts"]:
            if "functionCall" in part:
                part.pop("thoughtSignature", None)


class NeverForgets(OrderedDict[str, RememberedCall]):
    """Calls that are never deleted."""

    def popitem(self, last: bool = True) -> tuple[str, RememberedCall]:
        return "", RememberedCall("")


@of_asked("anthropic")
def nothing_is_forgotten(asked: GenerateRequest, prompt: Json, session: Session) -> GenerateRequest:
    """The cache of signatures is unbounded: when it is full, only expired ones are removed, and the
    new one is added anyway (both states).
    """
    session.calls = NeverForgets(session.calls)
    return asked


@of_body("anthropic")
def history_is_recovered(body: Body) -> None:
    """If no thought is before results, invented messages are put after them, and thoughts are lost
    (the later version).
    """
    contents = body.get("contents", [])
    results = (
        [part for part in contents[-1]["parts"] if "functionResponse" in part] if contents else []
    )
    if results and not any(
        part.get("thought") for content in contents for part in content["parts"]
    ):
        words = (
            "[Tool execution completed.]"
            if len(results) == 1
            else f"[{len(results)} tool executions completed.]"
        )
        body["contents"] += [
            {"role": "model", "parts": [{"text": words}]},
            {"role": "user", "parts": [{"text": "[Continue]"}]},
        ]


# Schemas


@of_prompt("anthropic")
def numbers_of_an_enum_are_texts(prompt: Json, options: Json) -> None:
    """An argument with an enum of numbers is declared as text, and the tool gets text (both
    states).
    """
    for schema in schemas(prompt.get("tools") or []):
        values = schema.get("enum")
        if schema.get("type") in ("integer", "number") and isinstance(values, list):
            schema |= {"type": "string", "enum": [str(value) for value in values]}


@of_body("anthropic")
def type_lists_stay(body: Body) -> None:
    """An argument that may be null keeps its list of types, which the API refuses (both states)."""
    for schema in schemas(body.get("tools")):
        if schema.get("nullable") is True and isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "NULL"]
            del schema["nullable"]


@of_body("anthropic")
def placeholders_inside(body: Body) -> None:
    """An object inside the arguments without named fields gets a useless required field (both
    states).
    """
    for tool in body.get("tools", []):
        for declaration in tool["functionDeclarations"]:
            for field in (declaration.get("parameters") or {}).get("properties", {}).values():
                if field.get("type") == "OBJECT" and not field.get("properties"):
                    field |= {
                        "properties": {"_placeholder": {"type": "BOOLEAN"}},
                        "required": ["_placeholder"],
                    }


@of_asked("anthropic")
def keywords_that_the_api_refuses(
    asked: GenerateRequest, prompt: Json, session: Session
) -> GenerateRequest:
    """``multipleOf`` and ``uniqueItems`` are sent, which Gemini's Schema does not have (both
    states).
    """
    declared = declarations(asked.body)
    for tool, declaration in zip(prompt.get("tools") or [], declared, strict=False):
        fields = (declaration.get("parameters") or {}).get("properties", {})
        for name, field in (tool["input_schema"].get("properties") or {}).items():
            kept = {
                word: field[word]
                for word in ("multipleOf", "uniqueItems")
                if isinstance(field, dict) and word in field
            }
            fields.get(name, {}).update(kept)
    return asked
