"""The reader of Anthropic's Messages API, beyond the cases of specs/anthropic-messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import to_builtins

from harness.cassettes import Exchange
from harness.facts import View
from harness.judging.reading import Reading
from harness.providers import PROVIDERS, Answer, Identity, detect_provider, with_provider
from harness.providers.anthropic.normalizer import MessagesNormalizer
from harness.providers.plain_events import gather_events
from harness.stream.framing import Frame
from tests.readers.messages import gather_messages
from tests.support.event_order import out_of_order

Json = Any
VERTEX = "https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models"


def read(*messages: Json, status: int = 200, end: Any = "complete") -> list[Json]:
    """The events of messages."""
    normalizer = PROVIDERS["anthropic"].normalizer(Answer(status, {}, "asked"))
    events = [event for message in messages for event in normalizer.feed(Frame(0, message))]
    return [to_builtins(event) for event in [*events, *normalizer.close(end)]]


def kinds(events: list[Json]) -> list[str]:
    names = [event["kind"] for event in events]
    assert out_of_order(names) is None
    return names


def begin(**more: Json) -> Json:
    return {
        "type": "message_start",
        "message": {"id": "msg_1", "model": "m", "content": [], **more},
    }


def start(index: int, kind: str, **block: Json) -> Json:
    return {
        "type": "content_block_start",
        "index": index,
        "content_block": {"type": kind, **block},
    }


def delta(index: int, kind: str, **fields: Json) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


def text(index: int, piece: str) -> Json:
    return delta(index, "text_delta", text=piece)


def piece(index: int, part: str) -> Json:
    return delta(index, "input_json_delta", partial_json=part)


CALL = start(0, "tool_use", id="toolu_1", name="f", input={})
OVERLAP = [
    begin(),
    CALL,
    piece(0, '{"a":'),
    start(1, "text", text=""),
    text(1, "Hi"),
    piece(0, "1}"),
    stop(1),
    stop(0),
]


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("https://api.anthropic.com/v1/messages", Identity("anthropic", True, True, "m")),
        ("https://api.anthropic.com/v1/messages?beta=true", Identity("anthropic", True, True, "m")),
        ("http://127.0.0.1/anthropic/v1/messages", Identity("anthropic", True, True, "m")),
        (f"{VERTEX}/claude-opus-5:rawPredict", Identity("anthropic", True, False, "claude-opus-5")),
        (f"{VERTEX}/c@20250219:streamRawPredict", Identity("anthropic", True, True, "c@20250219")),
        (f"{VERTEX}/count-tokens:rawPredict", Identity(None, False)),
        ("https://api.anthropic.com/v1/messages/count_tokens", Identity(None, False)),
        ("https://api.anthropic.com/v1/messages/batches", Identity(None, False)),
        ("https://api.openai.com/v1/threads/t/messages", Identity(None, False)),
    ],
)
def test_the_path_shows_the_provider(url: str, identity: Identity) -> None:
    assert detect_provider("POST", url, b'{"model": "m", "stream": true}', b"") == identity


@pytest.mark.parametrize(
    ("message", "is_known"),
    [
        (text(3, "x"), True),
        ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, True),
        ({"type": "message", "role": "assistant", "content": []}, True),
        ({"type": "error", "error": {"type": "api_error", "message": "m"}}, True),
        ({"type": "message", "role": "assistant", "content": "Hi"}, False),
        ({"type": "error", "error": "m"}, False),
        ({"type": "message_stop"}, False),
    ],
)
def test_any_message_of_a_body_shows_the_provider(message: Json, is_known: bool) -> None:
    identity = detect_provider("", "", b"", json.dumps(message).encode())
    assert (identity.provider == "anthropic") is is_known


def test_another_block_waits_for_the_end_of_the_open_call() -> None:
    events = read(*OVERLAP)
    assert kinds(events) == [
        *("start", "block_start", "call_start", "call_text", "call_text", "call_end"),
        *("block_end", "block_start", "text", "block_end"),
    ]
    assert events[5]["arguments"] == {"a": 1}


def test_a_cut_leaves_the_call_open_and_quotes_what_waited() -> None:
    events = read(*OVERLAP[:5], end="cut")
    assert kinds(events) == ["start", "block_start", "call_start", "call_text", "incomplete"]
    assert '"Hi"' in events[-1]["rest"]


def test_after_an_error_what_waited_is_unknown() -> None:
    events = read(*OVERLAP[:5], {"type": "error", "error": {"type": "api_error", "message": "m"}})
    assert kinds(events)[-3:] == ["error", "unknown", "unknown"]


def test_the_second_reader_agrees_about_blocks_that_overlap() -> None:
    body = b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in OVERLAP)
    facts = gather_messages(body)
    assert (facts.text, facts.calls) == ("Hi", [("f", {"a": 1})])
    assert facts.calls == View(gather_events(read(*OVERLAP))).calls
    assert gather_messages(body, interrupted=True).open_call is False
    cut = gather_messages(body.rpartition(b"data: ")[0], interrupted=True)
    assert (cut.text, cut.open_call) == ("", True)


def test_a_delta_for_a_block_that_is_not_open_is_unknown() -> None:
    late = text(0, "Hi")
    events = read(begin(), start(0, "text", text=""), stop(0), late, text(7, "x"))
    assert kinds(events) == ["start", "block_start", "block_end", "unknown", "unknown"]
    assert events[-2] == {"kind": "unknown", "where": "delta text_delta", "raw": late["delta"]}


@pytest.mark.parametrize(
    "message",
    [
        start(0, "hologram", frame="eA=="),
        delta(0, "hologram_delta", frame="eA=="),
        piece(0, "{}"),
        delta(0, "thinking_delta", thinking="no"),
        {"type": "message_heartbeat", "beat": 3},
        {"type": "message_start"},
        {"type": "message_delta"},
        {"type": "content_block_start", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": 5}},
        {"type": "message_delta", "delta": {}, "usage": [1]},
        {"type": "error"},
        {"beat": 3},
        [1],
        7,
    ],
)
def test_an_unknown_thing_becomes_an_unknown_event(message: Json) -> None:
    unknown = [
        event
        for event in read(begin(), start(0, "text", text=""), message)
        if event["kind"] == "unknown"
    ]
    assert unknown
    assert "eA==" not in json.dumps(message) or "eA==" in json.dumps(unknown)


def test_a_second_message_start_gives_the_new_id_and_closes_the_call() -> None:
    second = {"type": "message_start", "message": {"id": "msg_2", "model": "m", "content": []}}
    events = read(begin(), begin(), CALL, piece(0, "{}"), second, start(0, "text", text="Hi"))
    assert kinds(events) == [
        *("start", "block_start", "call_start", "call_text", "call_end", "metadata"),
        *("block_start", "text"),
    ]
    assert events[5]["raw"] == {"id": "msg_2"}


def test_a_ping_before_the_start_follows_the_start() -> None:
    assert kinds(read({"type": "ping"}, begin())) == ["start", "mark"]
    assert kinds(read({"type": "ping"})) == ["start", "mark"]
    error = {"type": "error", "error": {"type": "api_error", "message": "m"}}
    assert kinds(read({"type": "ping"}, error)) == ["error", "mark"]


def test_counts_of_a_message_delta_replace_those_of_the_start() -> None:
    events = read(
        begin(usage={"input_tokens": 9, "cache_read_input_tokens": 5, "output_tokens": 1}),
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 7}},
        {
            "type": "message_delta",
            "delta": {},
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": None,
                "cache_creation_input_tokens": 2,
                "output_tokens": 8,
                "output_tokens_details": {"thinking_tokens": 3},
            },
        },
    )
    usage = [{**event, "raw": 0} for event in events if event["kind"] == "usage"]
    assert usage == [
        {"kind": "usage", "raw": 0, "input": 14, "output": 1, "cached": 5},
        {"kind": "usage", "raw": 0, "output": 7},
        {"kind": "usage", "raw": 0, "input": 17, "output": 5, "reasoning": 3, "cache_write": 2},
    ]


def test_a_call_without_input_has_no_arguments() -> None:
    events = read(begin(), CALL, piece(0, ""), stop(0))
    assert kinds(events)[2:] == ["call_start", "call_end", "block_end"]
    assert events[3]["arguments"] == {}


@pytest.mark.parametrize("given", ['{"a', "[1]", "7"])
def test_input_that_is_no_object_is_an_invalid_call(given: str) -> None:
    (call,) = (
        event
        for event in read(begin(), CALL, piece(0, given), stop(0))
        if event["kind"] == "call_invalid"
    )
    assert call["text"] == given


def test_an_http_error_has_its_type_as_status() -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}
    (error,) = read(body, status=429)
    assert (error["code"], error["status"], error["message"]) == (429, "rate_limit_error", "slow")
    (plain,) = read({"detail": "no"}, status=404)
    assert (plain["kind"], plain["code"]) == ("error", 404)


@pytest.mark.parametrize(
    ("messages", "variants"),
    [
        ([begin(), start(0, "text", text=""), stop(0)], ["no event: lines"]),
        ([begin(), start(0, "text", text=""), stop(1)], ["events out of order", "no event: lines"]),
        ([begin(), begin()], ["events out of order", "no event: lines"]),
    ],
)
def test_variants_of_the_wire(messages: list[Json], variants: list[str]) -> None:
    body = b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages)
    exchange = with_provider(Exchange(None, 200, {}, ((None, body),), "complete"))
    assert [*Reading(exchange).variants] == variants


ENDED = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 1}}


def oddities(*messages: Json) -> list[tuple[str, int]]:
    """The name of each oddity, and the number of its message."""
    normalizer = MessagesNormalizer(Answer())
    for number, message in enumerate(messages):
        normalizer.feed(Frame(number, message))
    return [(oddity.name, oddity.place) for oddity in normalizer.oddities]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([begin(usage={}), {"type": "ping"}, CALL, {"type": "new"}, piece(0, "{}"), stop(0)], []),
        ([begin(usage={}), start(0, "text", text=""), text(0, "a"), stop(0), ENDED], []),
        ([CALL], [("content_block_start before message_start", 0)]),
        ([begin(usage={}), begin(usage={})], [("message_start between", 1)]),
        (
            [begin(usage={}), CALL, ENDED],
            [("message_delta in a block", 2), ("message_delta in a call", 2)],
        ),
        (
            [begin(usage={}), start(0, "text", text=""), text(1, "a")],
            [("content_block_delta of no open block", 2)],
        ),
        ([begin(usage={}), start(1, "text", text="")], [("index of content_block_start", 1)]),
        ([begin(usage=7)], [("message.usage", 0)]),
        ([begin(usage={"input_tokens": "7"})], [("usage.input_tokens", 0)]),
        ([begin(usage={}, content=[7])], [("content in message_start", 0), ("message.content", 0)]),
        ([begin(usage={}, stop_reason=7)], [("stop_reason", 0)]),
        ([begin(usage={}), start(0, "tool_use", id=7, input={})], [("tool_use.id", 1)]),
        ([begin(usage={}), CALL, piece(0, " ")], [("partial_json", 2)]),
        ([begin(usage={}), {"error": {"message": "no"}}], [("an error without its type", 1)]),
    ],
)
def test_oddities(messages: list[Json], expected: list[tuple[str, int]]) -> None:
    assert oddities(*messages) == expected


def test_an_overlap_of_blocks_is_odd() -> None:
    assert [name for name, _ in oddities(*OVERLAP)] == [
        "message.usage",
        "content_block_start in a block",
        "content_block_delta of another block",
        "content_block_stop between",
        "content_block_stop of another block",
    ]
