"""The request after an answer: the parts that go back, for every answer in the cassettes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import harness
from harness import Exchange, Session, ToolOutcome, TranslationError, TranslationWarning
from harness.dialects.unified_llm.request import follow_up
from harness.providers import PROVIDERS
from tests.support.unified_llm_prompts import HELLO, ask, call, turn

CASSETTES = Path(__file__).parents[3] / "cassettes"
INVALID = {"gemini-api/odd-calls#2", "vertex-ai/stray-pieces#4"}
"""Answers with a call whose arguments are not a JSON object."""


def generating() -> Iterator[tuple[str, Exchange]]:
    """The valid answers of generateContent; law 8 covers the other wires."""
    for path in sorted(CASSETTES.glob("*/*.yaml")):
        for number, exchange in enumerate(harness.load(path).exchanges, 1):
            provider = PROVIDERS.get(exchange.provider or "gemini-api")
            name = f"{path.parent.name}/{path.stem}#{number}"
            if (
                exchange.generates
                and provider
                and provider.vendor == "gemini"
                and not provider.streams_by_body
                and name not in INVALID
            ):
                yield name, exchange


def next_request(
    exchange: Exchange, session: Session | None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The answer's payloads and the next request, in which every call has a result."""
    payloads = harness.replay(exchange, session=session)
    calls = (
        sum(payload["type"] == "TOOL_CALL_END" for payload in payloads)
        if payloads[-1]["type"] == "FINISH"
        else 0
    )
    prompt = {"model": "gemini-3-pro-preview", "messages": [HELLO]}
    before = deepcopy(payloads)
    after = follow_up(prompt, payloads, [ToolOutcome({"n": number}) for number in range(calls)])
    assert payloads == before
    assert prompt == {"model": "gemini-3-pro-preview", "messages": [HELLO]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TranslationWarning)
        return payloads, harness.request(after, dialect="unified-llm", session=session)


WITH_CALLS = [
    pytest.param(exchange, id=name)
    for name, exchange in generating()
    if any(payload["type"] == "TOOL_CALL_END" for payload in harness.replay(exchange))
]


def test_an_invalid_call_does_not_go_back() -> None:
    exchange = harness.load(CASSETTES / "gemini-api/odd-calls.yaml").exchanges[1]
    with pytest.raises(TranslationError, match="is not a JSON object"):
        next_request(exchange, Session())


def test_there_are_cassettes_with_calls() -> None:
    assert len(WITH_CALLS) > 80


def recorded_calls(exchange: Exchange) -> list[dict[str, Any]]:
    """Name, id and signature of each whole call of candidate 0, from the events."""
    ended = {
        event["call"]: event["arguments"]
        for event in harness.replay(exchange, layer="events")
        if event["kind"] == "call_end"
    }
    starts = [
        event
        for event in harness.replay(exchange, layer="events")
        if event["kind"] == "call_start" and not event.get("candidate")
    ]
    return [
        {
            "name": start["name"],
            "id": start.get("id") or None,
            "args": ended[start["call"]],
            "signature": start.get("signature"),
        }
        for start in starts
        if start["call"] in ended
    ]


def sent_calls(body: dict[str, Any]) -> list[dict[str, Any]]:
    sent = [
        part for content in body["contents"] for part in content["parts"] if "functionCall" in part
    ]
    return [
        {
            "name": part["functionCall"]["name"],
            "id": part["functionCall"].get("id"),
            "args": part["functionCall"]["args"],
            "signature": part.get("thoughtSignature"),
        }
        for part in sent
    ]


@pytest.mark.parametrize("exchange", WITH_CALLS)
def test_every_call_of_an_answer_goes_back_complete(
    exchange: Exchange,
) -> None:
    session = Session()
    payloads, body = next_request(exchange, session)
    if payloads[-1]["type"] != "FINISH":
        assert sent_calls(body) == []
        return
    expected = recorded_calls(exchange)
    sent = sent_calls(body)
    assert [entry for entry in sent if entry in expected] == expected
    assert len(sent) == sum(payload["type"] == "TOOL_CALL_END" for payload in payloads)
    results = [part["functionResponse"] for part in body["contents"][-1]["parts"]]
    assert [(entry["name"], entry.get("id")) for entry in results] == [
        (entry["name"], entry["id"]) for entry in sent
    ]
    assert [entry["response"] for entry in results] == [
        {"n": number} for number in range(len(sent))
    ]


@pytest.mark.parametrize(
    "exchange", [pytest.param(exchange, id=name) for name, exchange in generating()]
)
def test_every_signature_goes_back_also_without_a_session(
    exchange: Exchange,
) -> None:
    payloads = harness.replay(exchange)
    answers = [payload["response"] for payload in payloads if payload["type"] == "FINISH"]
    if not answers:
        assert payloads[-1]["type"] == "ERROR"
        return
    _, body = next_request(exchange, None)
    of_the_answer = [
        event for event in harness.replay(exchange, layer="events") if not event.get("candidate")
    ]
    wholes = [
        event["raw"] if event["kind"] == "unknown" else {"thoughtSignature": event.get("signature")}
        for event in of_the_answer
    ]
    signed = [
        whole["thoughtSignature"]
        for whole in wholes
        if isinstance(whole, dict) and whole.get("thoughtSignature")
    ]
    assert [
        part["thoughtSignature"]
        for content in body["contents"]
        for part in content["parts"]
        if "thoughtSignature" in part
    ] == signed


def test_the_message_of_the_user_follows_the_answer() -> None:
    payloads = [{"type": "FINISH", "response": {"message": turn({"kind": "text", "text": "Hi"})}}]
    after = follow_up({"messages": [HELLO], "temperature": 1}, payloads, "And now?")
    assert after == {
        "messages": [
            HELLO,
            turn({"kind": "text", "text": "Hi"}),
            {"role": "user", "content": [{"kind": "text", "text": "And now?"}]},
        ],
        "temperature": 1,
    }


def test_an_answer_that_failed_has_no_message() -> None:
    after = follow_up({"messages": [HELLO]}, [{"type": "ERROR", "error": {}}], "Again")
    assert [message["role"] for message in after["messages"]] == ["user", "user"]


def test_each_call_has_one_outcome() -> None:
    payloads = [{"type": "FINISH", "response": {"message": turn(call("a"))}}]
    with pytest.raises(TranslationError, match="the answer has 1 calls, and 2 outcomes are given"):
        follow_up({"messages": [HELLO]}, payloads, [ToolOutcome(1), ToolOutcome(2)])
    after = follow_up({"messages": [HELLO]}, payloads, [ToolOutcome("no disk", failed=True)])
    assert json.dumps(ask(after)["contents"][-1]["parts"]) == json.dumps(
        [{"functionResponse": {"id": "a", "name": "search_file", "response": {"error": "no disk"}}}]
    )
