"""The events of single messages in the form of Chat Completions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import to_builtins

from harness.providers import PROVIDERS, Answer
from harness.stream.framing import Frame, frame_by_content
from tests.readers.chat import gather_compat
from tests.support.facts import losses
from tests.support.wire_answers import facts_of_body

PROVIDER = PROVIDERS["openai-compat"]


def stream(*messages: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(item).encode() + b"\n\n" for item in messages)


def chunk(delta: dict[str, Any], **choice: Any) -> dict[str, Any]:
    choices = [{"index": 0, "delta": delta, **choice}]
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": choices}


def events(body: bytes, end: Any = "complete") -> list[dict[str, Any]]:
    """The events of a body; the oracle agrees with them."""
    framer, normalizer = frame_by_content(), PROVIDER.normalizer(Answer())
    read = [
        event for frame in framer.feed(body) + framer.close() for event in normalizer.feed(frame)
    ]
    built = [to_builtins(event) for event in read + normalizer.close(end)]
    wire = facts_of_body(body, "openai-compat", interrupted=end == "cut")
    assert losses(wire, built, "events", interrupted=end == "cut") == []
    return built


def piece(index: int, text: str, **first: Any) -> dict[str, Any]:
    name = {"name": first.pop("name")} if first else {}
    return chunk(
        {"tool_calls": [{"index": index, **first, "function": {**name, "arguments": text}}]}
    )


def test_a_call_that_begins_inside_another_one_ends_after_it() -> None:
    body = stream(
        piece(0, '{"a":', id="c1", name="f"),
        piece(1, '{"b":', id="c2", name="g"),
        piece(0, "1}"),
        piece(1, "2}"),
    )
    ends = [event["arguments"] for event in events(body) if event["kind"] == "call_end"]
    assert ends == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"refusal": "No."}, [{"kind": "text", "text": "No.", "refusal": True}]),
        (
            {"thinking_blocks": ["x"]},
            [
                {
                    "kind": "unknown",
                    "where": "delta field thinking_blocks",
                    "raw": {"thinking_blocks": ["x"]},
                }
            ],
        ),
        (
            {
                "annotations": [
                    {"type": "url_citation", "url_citation": {"url": "https://x.example"}}
                ]
            },
            [
                {
                    "kind": "annotation",
                    "name": "citations",
                    "raw": {
                        "annotations": [
                            {"type": "url_citation", "url_citation": {"url": "https://x.example"}}
                        ]
                    },
                }
            ],
        ),
        (
            {"content": [1]},
            [{"kind": "unknown", "where": "delta field content", "raw": {"content": [1]}}],
        ),
        (
            {"audio": {"data": "AA=="}},
            [
                {
                    "kind": "media",
                    "mime_type": None,
                    "raw": {"data": "AA=="},
                    "data": "AA==",
                    "family": "audio",
                }
            ],
        ),
        (
            {"audio": {"id": "a", "transcript": "Hi"}},
            [
                {
                    "kind": "annotation",
                    "name": "part",
                    "raw": {"audio": {"id": "a", "transcript": "Hi"}},
                }
            ],
        ),
        (
            {"content": "Hi", "reasoning_content": "Hm", "reasoning": "Hm"},
            [{"kind": "reasoning", "text": "Hm"}, {"kind": "text", "text": "Hi"}],
        ),
        (
            {"reasoning_content": "Hm", "reasoning": "Ah"},
            [
                {"kind": "reasoning", "text": "Hm"},
                {"kind": "unknown", "where": "delta field reasoning", "raw": {"reasoning": "Ah"}},
            ],
        ),
        (
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "QQ==", "id": "r"}]},
            [
                {"kind": "reasoning", "text": "", "signature": "QQ==", "id": "r"},
                {
                    "kind": "annotation",
                    "name": "part",
                    "raw": {
                        "reasoning_details": [
                            {"type": "reasoning.encrypted", "data": "QQ==", "id": "r"}
                        ]
                    },
                },
            ],
        ),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
                    {"type": "text", "text": "Hi"},
                    {"type": "reference", "reference_ids": [1]},
                ]
            },
            [
                {"kind": "reasoning", "text": "Hm"},
                {"kind": "text", "text": "Hi"},
                {
                    "kind": "unknown",
                    "where": "content part",
                    "raw": {"type": "reference", "reference_ids": [1]},
                },
            ],
        ),
        (
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "c",
                        "type": "custom",
                        "custom": {"name": "sql", "input": "{1}"},
                    }
                ]
            },
            [
                {"kind": "call_start", "call": 1, "name": "sql", "id": "c"},
                {"kind": "call_piece", "call": 1, "path": "$.input", "value": "{1}", "more": True},
                {"kind": "call_end", "call": 1, "arguments": {"input": "{1}"}},
            ],
        ),
    ],
    ids=[
        *("refusal", "a field of another service", "citations", "list", "sound", "transcript"),
        *("reasoning", "two reasonings", "encrypted reasoning", "content as items"),
        "custom tool",
    ],
)
def test_the_events_of_a_delta(delta: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    framer, normalizer = frame_by_content(), PROVIDER.normalizer(Answer())
    frames = framer.feed(stream(chunk(delta)))
    read = [event for frame in frames for event in normalizer.feed(frame)] + normalizer.close()
    assert [to_builtins(event) for event in read][1:] == expected


def test_reasoning_tokens_are_taken_from_the_output() -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 8,
        "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 6},
    }
    (event,) = (
        event
        for event in events(stream({**chunk({}), "choices": [], "usage": usage}))
        if event["kind"] == "usage"
    )
    del event["raw"]
    assert event == {
        "kind": "usage",
        "input": 9,
        "output": 2,
        "reasoning": 6,
        "cached": 3,
        "total": 17,
        "cache_write": 2,
    }


def test_facts_of_the_answer_are_given_when_they_change() -> None:
    first, second = chunk({"content": "a"}), chunk({"content": "b"})
    again = second | {"system_fingerprint": "fp", "id": "chatcmpl-2"}
    kinds = [(event["kind"], event.get("name")) for event in events(stream(first, second, again))]
    assert kinds == [
        ("start", None),
        ("text", None),
        ("text", None),
        ("metadata", "id"),
        ("metadata", "system_fingerprint"),
        ("text", None),
    ]


def test_the_strict_decoder_gives_the_events_of_the_reader() -> None:
    body = stream(
        chunk({"role": "assistant", "content": "a"}),
        chunk({"content": "b"}),
        {**chunk({"content": "c"}), "usage": None, "obfuscation": "x"},
        chunk({"content": "d"}, finish_reason="stop"),
        {**chunk({}), "choices": []},
    )
    framer = frame_by_content()
    decoded, lazy = (PROVIDER.normalizer(Answer()) for _ in range(2))
    frames = framer.feed(body)
    assert all(type(frame.message) is bytes for frame in frames)
    fast = [event for frame in frames for event in lazy.feed(frame)]
    slow = [
        event
        for frame in frames
        for event in decoded.feed(Frame(frame.offset, frame.json, None, frame.at_ms))
    ]
    assert fast == slow


def test_a_call_whose_arguments_are_no_object_has_no_mark() -> None:
    body = stream(piece(0, "{}", id="c1", name="f"), piece(1, "no", id="c2", name="g"))
    facts = gather_compat(body)
    assert (facts.calls, facts.marks, facts.places) == ([("f", {})], [("c1", None)], [0])
    assert facts.invalid_calls == [("g", "no")]
