"""The Messages stream of any legal events: its order and its content."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings

from harness.dialects.anthropic import DIALECT as ANTHROPIC
from harness.stream import events as ev
from harness.stream.session import Session
from tests.support.legal_events import PARTS, carried, legal_events

from .test_response import translate

Payload = dict[str, Any]


def deltas(payloads: list[Payload], kind: str, key: str) -> list[str]:
    return [
        p["delta"][key]
        for p in payloads
        if p["type"] == "content_block_delta" and p["delta"]["type"] == kind
    ]


def test_every_kind_has_a_strategy() -> None:
    assert PARTS.keys() == ev.KINDS.keys()


def invalid_calls(events: list[ev.Event]) -> list[ev.CallStart]:
    """The calls of the answer whose arguments are no JSON object."""
    calls = []
    started = ev.CallStart(0, "")
    for event in events:
        if isinstance(event, ev.CallStart):
            started = event
        elif isinstance(event, ev.CallInvalid) and started.candidate <= 0:
            calls.append(started)
    return calls


@pytest.mark.slow
@given(legal_events())
@settings(max_examples=300, deadline=None)
def test_payloads_of_legal_events_walk_the_order_table(events: list[ev.Event]) -> None:
    payloads = translate(*events)
    state = "fresh"
    for payload in payloads:
        state = ANTHROPIC.order[state][ANTHROPIC.label(payload)]
    assert state in ANTHROPIC.final
    assert [p["index"] for p in payloads if p["type"] == "content_block_start"] == list(
        range(sum(p["type"] == "content_block_start" for p in payloads))
    )
    open_index = -1
    for payload in payloads:
        open_index += payload["type"] == "content_block_start"
        assert payload.get("index", open_index) == open_index
    broken = any(isinstance(event, (ev.Error, ev.Incomplete)) for event in events) or (
        invalid_calls(events) != []
    )
    reasons = [
        event.reason for event in events if isinstance(event, ev.Finish) and event.candidate <= 0
    ]
    if broken:
        assert payloads[-1]["type"] == "error"
    elif reasons and reasons[-1] not in ("malformed", "other", "failed"):
        assert payloads[-1]["type"] == "message_stop"


AFTER_AN_ERROR = [ev.CallStart(1, ""), ev.Error("", None), ev.CallInvalid(1, "")]
"""A call that becomes invalid after the end of its answer."""
OF_ANOTHER = [ev.CallStart(1, ""), ev.CallEnd(1, {}), ev.CallStart(2, "", None, None, 1)]
OF_ANOTHER += [ev.CallInvalid(2, "")]
"""An invalid call of another candidate, after a call of the answer."""


@pytest.mark.slow
@given(legal_events())
@example(AFTER_AN_ERROR)
@example(OF_ANOTHER)
@settings(max_examples=300, deadline=None)
def test_everything_of_legal_events_is_carried(
    events: list[ev.Event],
) -> None:
    session = Session()
    payloads = translate(*events, session=session)
    answer = carried(events)
    texts, signatures, names = [], [], []
    invalid = invalid_calls(answer)
    for event in answer:
        match event:
            case ev.Text(text=piece):
                texts.append(piece)
            case ev.NamelessCall(payload={"z": 1}, raw=piece):
                texts.append(piece)
            case ev.NamelessCall():
                names.append("TodoWrite")
            case ev.CallStart(name=name) if all(event is not call for call in invalid):
                names.append(name)
        if not isinstance(event, ev.ToolResult) and getattr(event, "signature", None):
            signatures.append(event.signature)  # type: ignore[attr-defined]  # the line above requested it
    assert "".join(deltas(payloads, "text_delta", "text")) == "".join(texts)
    thoughts = [event.text for event in answer if isinstance(event, ev.Reasoning)]
    assert "".join(deltas(payloads, "thinking_delta", "thinking")) == "".join(thoughts)
    blocks = [p["content_block"] for p in payloads if p["type"] == "content_block_start"]
    assert [block["name"] for block in blocks if block["type"] == "tool_use"] == names
    redacted = [block["data"] for block in blocks if block["type"] == "redacted_thinking"]
    remembered = [call.signature for call in session.calls.values() if call.signature]
    written = deltas(payloads, "signature_delta", "signature")
    assert sorted(written + redacted + remembered) == sorted(signatures)
