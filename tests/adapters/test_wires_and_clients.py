"""The official clients are the referees of the strict readers: every stream that a reader accepts
is the same message for the client of that wire.

The streams are those of our own dialect, of the recordings, and of a small writer, with mutations.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from harness.adapters import ADAPTERS, AdapterError, RunOptions
from harness.adapters.reply import Reply
from harness.adapters.wires import read_reply
from harness.cassettes.load import load
from harness.facts import (
    Call,
    Entry,
    Error,
    Finish,
    Text,
    Thought,
    Usage,
    counts_of,
)
from harness.pipeline.replay import ReplayError, choose_provider, is_answer
from harness.project.suite import CASSETTES
from harness.providers import PROVIDERS
from harness.providers.openai.facts import count_responses
from harness.providers.openai_compat.facts import count_chat
from harness.stream.exchange import Exchange
from harness.stream.framing import frames_of_body
from harness.stream.json_codec import same_json
from tests.support.need import need
from tests.support.statements import stated_facts

pytestmark = [
    pytest.mark.slow,
    # the clients keep values of other types, and pydantic warns when they are written
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
]

Events = list[dict[str, Any]]
Message = tuple[str, str, list[tuple[str | None, str, Any]], str | None, Usage | None]
"""The text, the thoughts, the calls, the finish reason and the usage."""

CHANGED: Final = 500
"""The number of streams with a random change: about a hundred for each kind of change."""
CHUNK: Final = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "m",
}


def read(wire: str, body: bytes) -> Reply:
    """The reply with the facts of a body that an adapter wrote."""
    reply = Reply()
    reply.add(Entry(body.decode()))
    read_reply(reply, wire, streamed=True)
    return reply


def message_of(reply: Reply) -> Message:
    facts = [fact for entry in reply.entries for fact in entry.facts]
    calls = [(call.id, call.name or "", call.arguments) for call in facts if isinstance(call, Call)]
    return (
        "".join(fact.text for fact in facts if isinstance(fact, Text)),
        "".join(fact.text for fact in facts if isinstance(fact, Thought)),
        calls,
        next((fact.raw for fact in facts if isinstance(fact, Finish)), None),
        next((fact for fact in facts if isinstance(fact, Usage)), None),
    )


def sse(events: Events, *, named: bool = False) -> bytes:
    return b"".join(
        (f"event: {event.get('type')}\n" if named else "").encode()
        + f"data: {json.dumps(event)}\n\n".encode()
        for event in events
    )


def answers() -> Iterator[Exchange]:
    """The answers of the shipped cassettes."""
    for path in sorted(Path(CASSETTES).rglob("*.yaml")):
        for exchange in load(path).exchanges:
            if is_answer(exchange, choose_provider(exchange, None)):
                yield exchange


# The referees


@pytest.fixture(name="openai_message", scope="module")
def _openai_message() -> Callable[[bytes], Message]:
    need("clients", find_spec("openai"), "openai is not installed")
    import httpx2
    import openai

    body = b""
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    )
    client = openai.OpenAI(
        api_key="none", max_retries=0, http_client=httpx2.Client(transport=transport)
    )

    def ask(given: bytes) -> Message:
        nonlocal body
        body = given
        with client.chat.completions.stream(model="m", messages=[]) as stream:
            completion = stream.get_final_completion()
        if not completion.choices:
            return "", "", [], None, _chat_usage(completion)
        choice = completion.choices[0]
        message = choice.message
        extra = message.model_extra or {}
        functions: list[Any] = [(None, message.function_call)] if message.function_call else []
        functions += [(call.id, call.function) for call in message.tool_calls or ()]
        return (
            (message.content or "") + (message.refusal or ""),
            extra.get("reasoning_content") or extra.get("reasoning") or "",
            [
                (call_id or None, function.name or "", function.arguments or "")
                for call_id, function in functions
            ],
            choice.finish_reason,
            _chat_usage(completion),
        )

    return ask


def _chat_usage(completion: Any) -> Usage | None:
    return _only_usage(count_chat(completion.usage.to_dict()) if completion.usage else {})


def _only_usage(counts: dict[str, int]) -> Usage | None:
    stated = counts_of(counts)
    return Usage(**stated) if stated else None


@pytest.fixture(name="anthropic_message", scope="module")
def _anthropic_message() -> Callable[[bytes], Message]:
    need("clients", find_spec("anthropic"), "anthropic is not installed")
    import anthropic
    import httpx2

    body = b""
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    )
    client = anthropic.Anthropic(
        api_key="none", max_retries=0, http_client=httpx2.Client(transport=transport)
    )

    def ask(given: bytes) -> Message:
        nonlocal body
        body = given
        with client.messages.stream(model="m", max_tokens=1, messages=[]) as stream:
            message = stream.get_final_message()
        blocks: list[dict[str, Any]] = [block.to_dict() for block in message.content]
        counts = {
            name: count for name, count in message.usage.to_dict().items() if type(count) is int
        }
        return (
            "".join(block["text"] for block in blocks if block["type"] == "text"),
            "".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
            [
                (block.get("id") or None, block.get("name") or "", block["input"])
                for block in blocks
                if block["type"] == "tool_use"
            ],
            message.stop_reason or None,
            _only_usage(counts),
        )

    return ask


@pytest.fixture(name="openai_response", scope="module")
def _openai_response() -> Callable[[bytes], Message]:
    need("clients", find_spec("openai"), "openai is not installed")
    import httpx2
    import openai

    body = b""
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    )
    client = openai.OpenAI(
        api_key="none", max_retries=0, http_client=httpx2.Client(transport=transport)
    )

    def ask(given: bytes) -> Message:
        nonlocal body
        body = given
        events: Events = []
        with client.responses.stream(model="m", input="Hi") as stream:
            events += [event.to_dict() for event in stream]
        for event in events:
            error = event if event["type"] == "error" else event.get("response", {}).get("error")
            if error:
                raise RuntimeError(error)
            if event["type"] in ("response.completed", "response.incomplete", "response.failed"):
                return _message_of_response(event["response"])
        return _message_of_events(events)

    return ask


def _message_of_events(events: Events) -> Message:
    """The content of a stream that has no last event."""
    parts: dict[str, dict[tuple[Any, ...], str]] = {
        name: {} for name in ("output_text", "refusal", "reasoning_text", "reasoning_summary_text")
    }
    for event in events:
        name, _, step = event["type"].removeprefix("response.").rpartition(".")
        if name in parts:
            place = tuple(event.get(f"{each}_index") for each in ("output", "content", "summary"))
            if step == "delta":
                parts[name][place] = parts[name].get(place, "") + event["delta"]
            else:  # a part without pieces
                parts[name].setdefault(place, event.get("text") or event.get("refusal") or "")
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    calls = _message_of_response({"output": done})[2]
    text, refusal, thought, summary = ("".join(texts.values()) for texts in parts.values())
    return text + refusal, summary + thought, calls, None, None


def _message_of_response(response: dict[str, Any]) -> Message:
    items = response.get("output") or []
    texts = [part for item in items if item["type"] == "message" for part in item["content"]]
    reasoning = [item for item in items if item["type"] == "reasoning"]
    thoughts = [
        part
        for item in reasoning
        for part in (*(item.get("summary") or ()), *(item.get("content") or ()))
    ]
    calls: list[tuple[str | None, str, Any]] = [
        (item.get("call_id") or None, item["name"], item.get("arguments") or "{}")
        for item in items
        if item["type"] == "function_call"
    ]
    counts = count_responses(response.get("usage") or {})
    details = response.get("incomplete_details") or {}
    status = response.get("status")
    reason = details.get("reason") if status == "incomplete" else None
    return (
        "".join(part.get("text", part.get("refusal", "")) for part in texts),
        "".join(part.get("text") or "" for part in thoughts),
        calls,
        (reason or status or None) if status not in ("in_progress", "queued") else None,
        _only_usage(counts),
    )


def same_calls(ours: Sequence[Any], theirs: Sequence[Any], *, ended: bool) -> bool:
    """Whether two lists of calls are equal. An answer without a reason may end inside a call, which
    is then no fact; the client still has it.
    """
    parsed = [(call_id, name, _value(arguments)) for call_id, name, arguments in theirs]
    ours = [(call_id, name, _value(arguments)) for call_id, name, arguments in ours]
    if len(ours) == len(parsed):  # the client makes an object of a text that is none
        ours = [
            there if isinstance(here[2], str) and here[:2] == there[:2] else here
            for here, there in zip(ours, parsed, strict=True)
        ]
    if not ended:
        parsed = [call for call in parsed if call in ours]
    return same_json(json.loads(json.dumps(ours)), json.loads(json.dumps(parsed)))


def _value(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def check(wire: str, body: bytes, ask: Callable[[bytes], Message]) -> bool:
    """Compare the reader with the client; returns whether the reader accepts the stream."""
    reply = read(wire, body)
    if reply.raised is not None:
        return False
    failed = any(isinstance(fact, Error) for entry in reply.entries for fact in entry.facts)
    try:
        theirs = ask(body)
    except Exception:  # each client has its own exceptions, and raises those of its libraries too
        calls = message_of(reply)[2]
        passed_on = any(isinstance(_value(arguments), str) for *_, arguments in calls)
        if failed or not reply.entries or passed_on:  # a client raises for text that is no JSON
            return True
        raise
    assert not failed, body.decode()[:3000]
    ours = message_of(reply)
    ended = ours[3] is not None
    assert (*ours[:2], *ours[3:]) == (*theirs[:2], *theirs[3:]), body.decode()[:3000]
    assert same_calls(ours[2], theirs[2], ended=ended), (ours[2], theirs[2], body.decode()[:3000])
    return True


# The streams


def recorded_chats() -> Iterator[Events]:
    for exchange in answers():
        if choose_provider(exchange, None) == "openai-compat":
            messages = [frame.json for frame in frames_of_body(exchange.body)]
            if all(isinstance(message, dict) for message in messages):
                yield messages


def written_chats(random: random.Random) -> Iterator[Events]:
    """The answers of all other wires, as a server of Chat Completions would send them."""
    for exchange in answers():
        name = choose_provider(exchange, None)
        if name == "openai-compat":
            continue
        facts = stated_facts(PROVIDERS[name].facts(exchange))
        yield chat_of(facts, random)


def chat_of(facts: Sequence[Any], random: random.Random) -> Events:
    deltas: Events = [{"role": "assistant", "content": ""}]
    number, finish, usage = 0, None, None
    for fact in facts:
        match fact:
            case Thought():
                deltas += [{"reasoning_content": piece} for piece in pieces(fact.text, random)]
            case Text():
                deltas += [{"content": piece} for piece in pieces(fact.text, random)]
            case Call():
                text = json.dumps(fact.arguments)
                first, *rest = pieces(text, random)
                function = {"name": fact.name, "arguments": first}
                call = {"index": number, "id": fact.id or f"c{number}", "type": "function"}
                deltas.append({"tool_calls": [{**call, "function": function}]})
                deltas += [
                    {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}
                    for piece in rest
                ]
                number += 1
            case Finish():
                finish = "tool_calls" if number else "stop"
            case Usage():
                usage = {
                    "prompt_tokens": fact.input or 0,
                    "completion_tokens": fact.output or 0,
                    "total_tokens": fact.total or 0,
                }
    chunks = [{**CHUNK, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if finish:
        chunks.append({**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [*chunks, {**CHUNK, "choices": [], "usage": usage}] if usage else chunks


def pieces(text: str, random: random.Random) -> list[str]:
    """The text in at most three pieces."""
    cuts = sorted(random.randrange(len(text) + 1) for _ in range(2))
    return [text[: cuts[0]], text[cuts[0] : cuts[1]], text[cuts[1] :]]


def claude_streams() -> Iterator[Events]:
    """What our dialect writes for every answer, without its own events for what Claude never sends;
    the client ignores them, and the reader says so.
    """
    adapter = ADAPTERS["anthropic"]
    for exchange in answers():
        try:
            items = adapter.run(exchange, RunOptions()).items
        except (ReplayError, AdapterError):
            continue
        yield [event for event in items if event["type"] != "unknown"]


def mutated(events: Events, random: random.Random) -> Events:
    """The events with one random change of one random event."""
    events = copy.deepcopy(events)
    at = random.randrange(len(events))
    change = random.choice(["drop", "twice", "swap", "value", "value", "value", "value"])
    if change == "drop":
        del events[at]
    elif change == "twice":
        events.insert(at, copy.deepcopy(events[at]))
    elif change == "swap":
        other = random.randrange(len(events))
        events[at], events[other] = events[other], events[at]
    else:
        places = list(_places(events[at]))
        holder, key = random.choice(places)
        new: Any = random.choice([None, 0, 1, 2, -1, True, "", "x", {}, [], "missing"])
        if new == "missing" and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = new
    return events


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


def recorded_responses() -> Iterator[Events]:
    for exchange in answers():
        if choose_provider(exchange, None) == "openai" and exchange.status == 200:
            messages = [frame.json for frame in frames_of_body(exchange.body)]
            kinds = [message.get("type") for message in messages if isinstance(message, dict)]
            if kinds[:1] == ["response.created"] and len(kinds) == len(messages):
                yield messages


def test_the_client_makes_the_same_response_of_events(
    openai_response: Callable[[bytes], Message],
) -> None:
    rng = random.Random(1)  # seeded: the streams are the same in each run
    streams = [
        events
        for events in recorded_responses()
        if not any(event.get("item", {}).get("type") == "custom_tool_call" for event in events)
    ]
    accepted = [check("openai-responses", sse(events), openai_response) for events in streams]
    assert sum(accepted) > 30
    changed = [
        check("openai-responses", sse(mutated(rng.choice(streams), rng)), openai_response)
        for _ in range(CHANGED)
    ]
    assert CHANGED / 5 < sum(changed) < CHANGED


def test_the_client_makes_the_same_message_of_chunks(
    openai_message: Callable[[bytes], Message],
) -> None:
    rng = random.Random(1)  # seeded: the streams are the same in each run
    written = list(written_chats(rng))
    recorded = list(recorded_chats())
    accepted = [check("openai-chat", sse(chunks), openai_message) for chunks in written]
    assert all(accepted)
    assert len(accepted) > 300
    taken = [check("openai-chat", sse(chunks), openai_message) for chunks in recorded if chunks]
    assert sum(taken) > 5
    streams = [chunks for chunks in (*written, *recorded) if chunks]
    changed = [
        check("openai-chat", sse(mutated(rng.choice(streams), rng)), openai_message)
        for _ in range(CHANGED)
    ]
    assert CHANGED / 5 < sum(changed) < CHANGED


def test_the_client_makes_the_same_message_of_events(
    anthropic_message: Callable[[bytes], Message],
) -> None:
    rng = random.Random(1)  # seeded: the streams are the same in each run
    streams = [events for events in claude_streams() if events]
    accepted = [
        check("anthropic-messages", sse(events, named=True), anthropic_message)
        for events in streams
    ]
    assert all(accepted)
    assert len(accepted) > 600
    changed = [
        check(
            "anthropic-messages",
            sse(mutated(rng.choice(streams), rng), named=True),
            anthropic_message,
        )
        for _ in range(CHANGED)
    ]
    assert CHANGED / 5 < sum(changed) < CHANGED
