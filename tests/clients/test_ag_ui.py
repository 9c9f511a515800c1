"""`@ag-ui/client` is the referee of the strict reader of AG-UI: both accept the same streams, and
read the same answers. The streams are those of our own dialect and of two small writers, whole and
with random faults.
"""

from __future__ import annotations

import copy
import json
import random
import subprocess
from collections.abc import Sequence
from typing import Any, Final

import pytest

import harness
from harness.adapters.reply import Reply
from harness.adapters.wires import read_reply
from harness.cassettes.load import load
from harness.facts import Call, Entry, Error, Text, Thought
from harness.project.suite import CASSETTES
from tests.clients.test_clients import HERE, need_node

Events = list[dict[str, Any]]

RUN: Final = {"threadId": "t", "runId": "r"}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


CHUNKED: Final[Events] = [
    event("RUN_STARTED", **RUN),
    event("REASONING_START", messageId="s"),
    event("REASONING_MESSAGE_CHUNK", messageId="h", delta="hm"),
    event("REASONING_MESSAGE_CHUNK", delta="!"),
    event("REASONING_END", messageId="s"),
    event("TEXT_MESSAGE_CHUNK", messageId="m", role="assistant", delta="Hel"),
    event("RAW", event={"x": 1}),
    event("TEXT_MESSAGE_CHUNK", delta="lo"),
    event("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="f", parentMessageId="m", delta="{"),
    event("TOOL_CALL_CHUNK", toolCallId="c", delta="}"),
    event("TOOL_CALL_CHUNK", toolCallId="d", toolCallName="g", delta="{}"),
    event("RUN_FINISHED", **RUN),
    event("RUN_STARTED", **RUN),
    event("TEXT_MESSAGE_CHUNK", messageId="n", delta="Bye"),
    event("RUN_ERROR", message="no", code="503"),
]
NESTED: Final[Events] = [
    event("RUN_STARTED", **RUN, protocolVersion="1.0"),
    event("STEP_STARTED", stepName="a"),
    event("SUBAGENT_STARTED", subagentRunId="s1", name="helper"),
    event("STEP_STARTED", stepName="a", subagentRunId="s1"),
    event("TEXT_MESSAGE_START", messageId="m", role="assistant", subagentRunId="s1"),
    event("TEXT_MESSAGE_CHUNK", messageId="n", delta="A"),
    event("TEXT_MESSAGE_CONTENT", messageId="m", delta="B", subagentRunId="s1"),
    event("TEXT_MESSAGE_END", messageId="m", subagentRunId="s1"),
    event("TOOL_CALL_START", toolCallId="c", toolCallName="f", parentMessageId="m"),
    event("TOOL_CALL_ARGS", toolCallId="c", delta='{"a": 1}'),
    event("TOOL_CALL_END", toolCallId="c"),
    event("REASONING_ENCRYPTED_VALUE", subtype="tool-call", entityId="c", encryptedValue="S"),
    event("TOOL_CALL_RESULT", toolCallId="c", messageId="r1", content="done", role="tool"),
    event("ACTIVITY_SNAPSHOT", messageId="p", activityType="plan", content={"n": 1}),
    event("ACTIVITY_DELTA", messageId="p", activityType="plan", patch=[]),
    event("STATE_SNAPSHOT", snapshot={"n": 1}),
    event("STATE_DELTA", delta=[{"op": "add", "path": "/m", "value": 2}]),
    event("CUSTOM", name="n", value=None),
    event("STEP_FINISHED", stepName="a", subagentRunId="s1"),
    event("SUBAGENT_FINISHED", subagentRunId="s1"),
    event("STEP_FINISHED", stepName="a"),
    event("RUN_FINISHED", **RUN, outcome={"type": "cancelled"}, usage=[{"inputTokens": 3}]),
]


def own(*names: str) -> list[Events]:
    """The events of our dialect for recordings."""
    return [
        harness.replay(exchange, dialect="ag-ui")
        for name in names
        for exchange in load(CASSETTES / f"{name}.yaml").exchanges
    ]


def faulty(events: Events, random: random.Random) -> Events:
    """The events with one fault."""
    events = copy.deepcopy(events)
    at = random.randrange(len(events))
    chosen = events[at]
    field = random.choice([*chosen])
    match random.randrange(8):
        case 0:
            del events[at]
        case 1:
            events.insert(at, copy.deepcopy(chosen))
        case 2:
            other = random.randrange(len(events))
            events[at], events[other] = events[other], chosen
        case 3:
            del chosen[field]
        case 4:
            chosen[field] = random.choice([None, 1, "x", [], {}, True])
        case 5:
            chosen["subagentRunId"] = random.choice(["s1", "s2", ""])
        case 6:
            chosen["unknownField"] = 1
        case 7:
            del events[random.randrange(at, len(events)) :]
    return events or [event("RUN_STARTED", **RUN)]


def body(events: Sequence[Any]) -> str:
    return "".join(f"data: {json.dumps(item)}\n\n" for item in events)


def by_client(bodies: Sequence[str]) -> list[dict[str, Any]]:
    program = need_node("@ag-ui/client")
    lines = "".join(f"{json.dumps(item)}\n" for item in bodies)
    done = subprocess.run(
        [program, str(HERE / "ag_ui.mjs")], input=lines, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def by_reader(text: str) -> Reply:
    reply = Reply()
    reply.add(Entry(text))
    read_reply(reply, "ag-ui", streamed=True)
    return reply


def is_read(seen: dict[str, Any]) -> bool:
    """Whether the client read the whole stream, without dropping an event."""
    return seen["refusal"] is None and not any("Dropping" in text for text in seen["dropped"])


def answer_of_client(seen: dict[str, Any]) -> tuple[str, str, list[Any], str | None]:
    """The answer; a call with its result is not one for the client."""
    answers = [message for message in seen["messages"] if message["role"] == "assistant"]
    answered = {message.get("toolCallId") for message in seen["messages"] if not seen["error"]}
    calls = [
        call
        for message in answers
        for call in message.get("toolCalls", ())
        if call["id"] not in answered
    ]
    thoughts = [message for message in seen["messages"] if message["role"] == "reasoning"]
    return (
        "".join(sorted(message.get("content") or "" for message in answers)),
        "".join(sorted(message["content"] for message in thoughts)),
        sorted(
            (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls
        ),
        seen["error"],
    )


def answer_of_reader(reply: Reply) -> tuple[str, str, list[Any], str | None]:
    """The facts; the client orders texts by message, so only their characters are compared."""
    facts = [fact for entry in reply.entries for fact in entry.facts]
    errors = [fact.message for fact in facts if isinstance(fact, Error)]
    return (
        "".join(fact.text for fact in facts if isinstance(fact, Text)),
        "".join(fact.text for fact in facts if isinstance(fact, Thought)),
        sorted((call.id, call.name, call.arguments) for call in facts if isinstance(call, Call)),
        errors[-1] if errors else None,
    )


@pytest.mark.slow
def test_the_client_reads_what_our_dialect_writes() -> None:
    streams = own("gemini-api/parallel-calls", "gemini-api/thoughts", "gemini-api/stream-errors")
    streams += [CHUNKED, NESTED]
    for events, seen in zip(streams, by_client([*map(body, streams)]), strict=True):
        assert is_read(seen), (seen, events)
        assert seen["dropped"] == []
        reply = by_reader(body(events))
        assert reply.raised is None
        expected, given = answer_of_client(seen), answer_of_reader(reply)
        assert expected[2:] == given[2:]
        assert [*map(sorted, expected[:2])] == [*map(sorted, given[:2])]


IGNORED = "hello\n\n"
"""Text outside of any field of a server-sent event."""


@pytest.mark.slow
def test_the_reader_refuses_what_the_client_refuses() -> None:
    chance = random.Random(35)
    sources = [
        *own("gemini-api/signatures-calls", "interactions/thoughts"),
        CHUNKED,
        NESTED,
        NESTED,
    ]
    bodies = [body(faulty(chance.choice(sources), chance)) for _ in range(600)]
    bodies += [
        "data: {\r\n\r\n",
        "data: 1\n\n",
        'data: {"type": ""}\n\n',
        "data: {\n\n",
        IGNORED,
    ]
    refused = 0
    for text, seen in zip(bodies, by_client(bodies), strict=True):
        reply = by_reader(text)
        if text == IGNORED:
            assert reply.raised is not None  # text that a client ignores is lost
        elif is_read(seen):
            assert reply.raised is None, (reply.raised, text)
        else:
            refused += 1
            assert reply.raised is not None, (seen, text)
    assert refused > 150
