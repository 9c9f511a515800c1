"""The client of the shims for AG-UI: the messages of the next run, as an application sends them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final, NoReturn

import pytest
from ag_ui.core import Event, RunAgentInput
from pydantic import TypeAdapter

from harness.facts import Call
from harness.stream.exchange import Exchange
from harness.stream.session import Tool

CLIENT = Path(__file__).parents[2] / "examples" / "adapters" / "ag_ui_client.py"
EVENT: Final[TypeAdapter[Any]] = TypeAdapter(Event)
HI = {"id": "u", "role": "user", "content": "Hi"}


@pytest.fixture(scope="module")
def client() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ag_ui_client", CLIENT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def text(message: str, *deltas: str) -> list[dict[str, Any]]:
    return [
        event("TEXT_MESSAGE_START", messageId=message, role="assistant"),
        *(event("TEXT_MESSAGE_CONTENT", messageId=message, delta=delta) for delta in deltas),
        event("TEXT_MESSAGE_END", messageId=message),
    ]


def call(item: str, *deltas: str, name: str = "f", **parent: str) -> list[dict[str, Any]]:
    return [
        event("TOOL_CALL_START", toolCallId=item, toolCallName=name, **parent),
        *(event("TOOL_CALL_ARGS", toolCallId=item, delta=delta) for delta in deltas),
        event("TOOL_CALL_END", toolCallId=item),
    ]


def sent_call(item: str, arguments: str, name: str = "f", **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": item, "type": "function", "function": function, **more}


def result_of(call: Call) -> str:
    return f"{call.name}({call.arguments}) of {call.id}"


def next_messages(client: ModuleType, *events: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages after the user's, in the run after these events."""
    at = SimpleNamespace(result=result_of, say="Go on.")
    messages: list[dict[str, Any]] = client.next_messages(
        [HI], [*map(EVENT.validate_python, events)], at
    )
    assert messages[0] == HI
    return messages[1:]


NEXT = {"id": "next", "role": "user", "content": "Go on."}


def result(item: str, content: str, message: str = "result-0") -> dict[str, Any]:
    return {"id": message, "role": "tool", "toolCallId": item, "content": content}


@pytest.mark.parametrize(
    ("events", "messages"),
    [
        (
            text("m", "I ", "look."),
            [{"id": "m", "role": "assistant", "content": "I look."}, NEXT],
        ),
        (
            [
                event("REASONING_MESSAGE_START", messageId="t", role="reasoning"),
                event("REASONING_MESSAGE_CONTENT", messageId="t", delta="Hm."),
                event("REASONING_MESSAGE_END", messageId="t"),
                event(
                    "REASONING_ENCRYPTED_VALUE", subtype="message", entityId="t", encryptedValue="S"
                ),
            ],
            [{"id": "t", "role": "reasoning", "content": "Hm.", "encryptedValue": "S"}, NEXT],
        ),
        (
            [
                *text("m", "I look."),
                *call("c", '{"a"', ": 1}", parentMessageId="m"),
                *call("d", "{}", name="g", parentMessageId="m"),
                event(
                    "REASONING_ENCRYPTED_VALUE",
                    subtype="tool-call",
                    entityId="c",
                    encryptedValue="S",
                ),
            ],
            [
                {
                    "id": "m",
                    "role": "assistant",
                    "content": "I look.",
                    "toolCalls": [
                        sent_call("c", '{"a": 1}', encryptedValue="S"),
                        sent_call("d", "{}", "g"),
                    ],
                },
                result("c", 'f({"a": 1}) of c'),
                result("d", "g({}) of d", "result-1"),
            ],
        ),
        (
            call("c", "{}"),
            [
                {"id": "c", "role": "assistant", "toolCalls": [sent_call("c", "{}")]},
                result("c", "f({}) of c"),
            ],
        ),
        (
            [*call("c", "{}"), *call("c", "{}", name="g")],
            [
                {"id": "c", "role": "assistant", "toolCalls": [sent_call("c", "{}{}", "g")]},
                result("c", "g({}{}) of c"),
            ],
        ),
        (
            [
                *call("c", "{}"),
                *text("m", "Done."),
                event("TOOL_CALL_RESULT", messageId="r", toolCallId="c", content="4 °C"),
            ],
            [
                {"id": "c", "role": "assistant", "toolCalls": [sent_call("c", "{}")]},
                result("c", "4 °C", "r"),
                {"id": "m", "role": "assistant", "content": "Done."},
                NEXT,
            ],
        ),
        (
            [
                *text("m", "Hello", "!"),
                *text("gone", "Draft"),
                event(
                    "MESSAGES_SNAPSHOT",
                    messages=[
                        HI,
                        {"id": "m", "role": "assistant", "content": "Hello."},
                        {"id": "n", "role": "assistant", "content": "Bye."},
                    ],
                ),
            ],
            [
                {"id": "m", "role": "assistant", "content": "Hello."},
                {"id": "n", "role": "assistant", "content": "Bye."},
                NEXT,
            ],
        ),
    ],
    ids=["text", "reasoning", "calls", "no parent", "one id", "a result", "a snapshot"],
)
def test_the_messages_of_the_next_run(
    client: ModuleType, events: list[dict[str, Any]], messages: list[dict[str, Any]]
) -> None:
    assert next_messages(client, *events) == messages


def test_metadata_is_kept_at_its_message_and_its_call(client: ModuleType) -> None:
    said = [{**item, "metadata": {"a": number}} for number, item in enumerate(text("m", "Hi"))]
    called = [{**item, "metadata": {"b": 1}} for item in call("c", parentMessageId="m")]
    answer, _ = next_messages(client, *said, *called)
    assert answer["metadata"] == {"a": 2}
    assert answer["toolCalls"] == [sent_call("c", "", metadata={"b": 1})]


def test_the_tools_are_those_of_the_recording_and_of_its_calls(client: ModuleType) -> None:
    part = b'{"functionCall": {"name": "read_clock", "args": {}}}'
    body = b'data: {"candidates": [{"content": {"parts": [%s]}}]}\n\n' % part
    exchange = Exchange(None, 200, {}, ((None, body),), "complete", provider="gemini-api")
    declared = Tool("get_weather", {"type": "object"}, "Weather.")
    tools = client.tools_of(SimpleNamespace(tools=[declared], exchange=exchange))
    assert [(tool.name, tool.description, tool.parameters) for tool in tools] == [
        ("get_weather", "Weather.", {"type": "object"}),
        ("read_clock", "", {}),
    ]


def skip(reason: str) -> NoReturn:
    raise ValueError(reason)


def asked(client: ModuleType, *messages: dict[str, Any], system: str = "") -> list[dict[str, Any]]:
    """The messages of a question, without their ids; the protocol has their form."""
    at = SimpleNamespace(stream=True, messages=messages, system=system, skip=skip)
    at.exchange = SimpleNamespace(provider="gemini-api")
    made: list[dict[str, Any]] = client.messages_of(at)
    RunAgentInput.model_validate({"thread_id": "t", "run_id": "r", "messages": made, "tools": []})
    return [{name: value for name, value in each.items() if name != "id"} for each in made]


def test_the_messages_of_a_question(client: ModuleType) -> None:
    call = {"id": "c", "name": "f", "arguments": {"n": 1}}
    image = {"image": {"type": "image/png", "data": "AAAA"}}
    results = [
        {"call": "c", "name": "f", "value": {"n": 1}},
        {"call": "d", "name": "f", "value": "no", "failed": True},
        {"call": "e", "name": "f", "parts": ["a", image]},
    ]
    source = {"type": "data", "value": "AAAA", "mimeType": "image/png"}
    parts = [{"type": "text", "text": "a"}, {"type": "image", "source": source}]
    assert asked(
        client,
        {"user": ["a", image]},
        {"model": [{"thought": "Hm."}, "b", {"call": call}]},
        {"results": results},
        {"system": "Brief."},
        system="You help.",
    ) == [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": parts},
        {"role": "reasoning", "content": "Hm."},
        {"role": "assistant", "content": "b", "toolCalls": [sent_call("c", '{"n": 1}')]},
        {"role": "tool", "toolCallId": "c", "content": '{"n": 1}'},
        {"role": "tool", "toolCallId": "d", "content": "no", "error": "no"},
        {"role": "tool", "toolCallId": "e", "content": parts},
        {"role": "system", "content": "Brief."},
    ]


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"call": {"id": "c", "name": "f", "arguments": {}, "signature": "QUJD"}}, "signatures"),
        ({"thought": "Hm.", "signature": "QUJD"}, "signatures"),
    ],
)
def test_a_signature_of_a_question_is_not_asked(
    client: ModuleType, part: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        asked(client, {"model": [part]})


def test_a_detail_of_a_medium_is_not_asked(client: ModuleType) -> None:
    medium = {"image": {"type": "image/png", "data": "AAAA", "detail": "high"}}
    with pytest.raises(ValueError, match="no resolution"):
        asked(client, {"user": [medium]})
