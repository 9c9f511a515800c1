"""The unified-llm client: a Response rebuilt from its stream events."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
from harness import Exchange
from harness.systems.unified_llm import (
    SDKError,
    StreamAccumulator,
    StreamError,
)
from tests.systems.unified_llm.loopback import RECORDED, answer


@pytest.mark.slow
@pytest.mark.parametrize(
    "exchange", [pytest.param(exchange, id=name) for name, exchange in RECORDED]
)
def test_the_accumulator_rebuilds_every_recorded_response(exchange: Exchange) -> None:
    events = harness.replay(exchange)
    accumulator = StreamAccumulator(events)
    if events[-1]["type"] == "ERROR":
        with pytest.raises(SDKError, match=re.escape(events[-1]["error"]["message"])):
            _ = accumulator.response
        return
    assert accumulator.response == events[-1]["response"]
    parts = events[-1]["response"]["message"]["content"]
    known = [part for part in parts if part["kind"] in ("text", "thinking", "tool_call")]
    empty = {
        **events[-1],
        "response": {**events[-1]["response"], "message": {"role": "assistant", "content": []}},
    }
    assert StreamAccumulator([*events[:-1], empty]).response.content == known, (
        "these parts are rebuilt without FINISH"
    )


def test_the_accumulator_separates_unknown_parts_from_other_facts() -> None:
    parts = [{"text": "a", "newThing": 1}, {"newThing": 1}, {"text": "b"}]
    exchange = answer(
        [{"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}],
        stream=True,
    )
    events = harness.replay(exchange, provider="gemini-api")
    assert [event["type"] for event in events].count("PROVIDER_EVENT") == 2
    rebuilt = StreamAccumulator(events).response
    assert [part["kind"] for part in rebuilt.content] == ["text", "provider", "text"]
    assert rebuilt == events[-1]["response"]


PARTS = st.sampled_from(
    [
        *(
            {"text": "a"},
            {"text": ""},
            {"text": "b", "thoughtSignature": "U0lH"},
            {"text": "", "thoughtSignature": "U0lI"},
        ),
        *(
            {"text": "t", "thought": True},
            {"text": "", "thought": True, "thoughtSignature": "U0lJ"},
        ),
        *(
            {"functionCall": {"name": "f", "args": {"x": 1}}},
            {"functionCall": {"id": "c", "name": "g"}, "thoughtSignature": "U0lK"},
        ),
        *(
            {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
            {"fileData": {"fileUri": "gs://b/f"}, "thoughtSignature": "U0lL"},
        ),
        *(
            {"inline_data": {"mime_type": "audio/wav", "data": "aGk="}},
            {"executableCode": {"code": "1", "language": "PYTHON"}},
        ),
        *(
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {}}},
        ),
        *(
            {"functionResponse": {"name": "f", "response": {"a": 1}}},
            {"newThing": 1},
            {"text": "c", "newThing": 1},
            {},
            {"newThing": {}},
        ),
    ]
)


@pytest.mark.slow
@given(
    st.lists(st.lists(PARTS, max_size=4), max_size=5), st.sampled_from([None, "STOP", "MAX_TOKENS"])
)
@settings(max_examples=200, deadline=None)
def test_the_accumulator_rebuilds_a_response_of_any_parts(
    frames: list[list[Any]], finish: str | None
) -> None:
    messages: list[Any] = [
        {"candidates": [{"content": {"role": "model", "parts": parts}}]} for parts in frames
    ]
    if finish:
        messages.append(
            {
                "candidates": [{"finishReason": finish}],
                "usageMetadata": {"promptTokenCount": 1},
                "newThing": 1,
            }
        )
    events = harness.replay(answer(messages, stream=True), provider="gemini-api")
    accumulator = StreamAccumulator(events)
    if events[-1]["type"] == "ERROR":  # nothing was understood
        with pytest.raises(StreamError):
            _ = accumulator.response
    else:
        assert accumulator.response == events[-1]["response"]


def test_the_accumulator_of_an_unfinished_stream() -> None:
    accumulator = StreamAccumulator(
        [
            {"type": "STREAM_START"},
            {"type": "TEXT_START"},
            {"type": "TEXT_DELTA", "delta": "Hi"},
            {"type": "TEXT_END"},
        ]
    )
    assert accumulator.text == "Hi"
    with pytest.raises(StreamError, match="has not ended"):
        _ = accumulator.response
