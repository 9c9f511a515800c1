"""What the adapter's own request does not ask for is not asked of the adapter."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapters.asked import Asked, SentRequest
from harness.adapters.at import Question, at_of, line_of, question_words
from harness.facts import ASPECTS, Finding, Transcript
from harness.judging.aspect_run import without_unrequested
from harness.judging.aspects import conditions_of, judge_exchange
from harness.judging.reading import Reading
from harness.providers import asked_features, server_tools
from harness.stream.exchange import Exchange, Request
from harness.stream.prompt import Prompt, ServerTool
from tests.adapters.shims import ASKS, EXCHANGE, URL, function_adapter

USER = {"contents": [{"role": "user", "parts": [{"text": "Hi?"}]}]}
FUNCTION: dict[str, Any] = {"type": "function", "name": "f", "parameters": {}}
SEARCH: dict[str, Any] = {"googleSearch": {}}
GROUNDED = {"groundingChunks": [{"web": {"uri": "https://example.org/a"}}]}
LOGS = {"chosenCandidates": [{"token": "Hi", "logProbability": -0.25}]}
SHIM = (
    ASKS.replace('{"contents": contents}', "BODY")
    + """
def replay(at):
    for message in ask(at.base_url, None):
        for candidate in message["candidates"]:
            yield {}, [Text(part["text"]) for part in candidate["content"]["parts"]]
            yield {}, [Finish(candidate["finishReason"])]
"""
)


def recorded(**members: Any) -> Exchange:
    """An answer with a grounding and log probabilities, to a request with these members."""
    candidate = {
        "content": {"parts": [{"text": "Hi"}]},
        "finishReason": "STOP",
        "groundingMetadata": GROUNDED,
        "logprobsResult": LOGS,
    }
    body = f"data: {json.dumps({'candidates': [candidate]})}\n\n".encode()
    request = Request("POST", URL, {}, json.dumps(USER | members).encode())
    return replace(EXCHANGE, request=request, reads=((None, body),))


def verdicts(folder: Path, exchange: Exchange, sent: dict[str, Any]) -> dict[str, str]:
    adapter = function_adapter(SHIM + f"BODY = {USER | sent!r}\n", folder, "serve: ")
    findings = judge_exchange(Reading(exchange), adapter).aspects
    adapter.close()
    return {aspect: finding.verdict for aspect, finding in findings.items()}


LOGPROBS = {"generationConfig": {"responseLogprobs": True}}
TWO = {"generationConfig": {"candidateCount": 2}}


@pytest.mark.parametrize(
    ("asked", "sent", "expected"),
    [
        ({"tools": [SEARCH]}, {}, ("kept", "not_asked", "lost")),
        ({"tools": [SEARCH]}, {"tools": [SEARCH]}, ("kept", "lost", "lost")),
        ({}, {}, ("kept", "lost", "lost")),
        (LOGPROBS, {}, ("kept", "lost", "not_asked")),
        (LOGPROBS, LOGPROBS, ("kept", "lost", "lost")),
        (TWO, {}, ("kept", "not_asked", "not_asked")),
    ],
)
def test_what_the_own_request_lacks_is_not_asked(
    asked: dict[str, Any], sent: dict[str, Any], expected: tuple[str, ...], tmp_path: Path
) -> None:
    found = verdicts(tmp_path, recorded(**asked), sent)
    assert tuple(found[name] for name in ("text", "grounding", "logprobs")) == expected


def test_the_tools_of_the_provider_are_offered_to_the_client() -> None:
    question = Question(recorded(tools=[SEARCH, {"functionDeclarations": []}]))
    assert at_of(question).server_tools == (SEARCH,)
    assert line_of(replace(question, base_url="http://x"), 1)["server_tools"] == (SEARCH,)
    assert at_of(Question(replace(EXCHANGE, request=None))).server_tools == ()


@pytest.mark.parametrize(
    ("provider", "tool"), [("gemini-api", SEARCH), ("interactions", {"type": "google_search"})]
)
def test_the_tools_of_a_question_are_offered_in_the_form_of_its_wire(
    provider: str, tool: dict[str, Any]
) -> None:
    search = ServerTool({}, "", "", "", "search")
    asked = Asked("q", Prompt(messages=(), tools=(search,)), provider, streamed=True)
    exchange = replace(EXCHANGE, request=None, provider=provider)
    question = Question(exchange, words=question_words(asked, "http://x"))
    assert at_of(question).server_tools == (tool,)


CITED = {"type": "document", "source": {}, "citations": {"enabled": True}}
FOUND = {"type": "search_result", "source": "x", "citations": {"enabled": True}}


@pytest.mark.parametrize(
    ("body", "features"),
    [
        ({"n": 2}, {"candidates"}),
        ({"n": 1}, set()),
        ({"request": {"tools": [{"codeExecution": {}}]}}, {"server_tools"}),
        ({"background": True, "include": ["message.output_text.logprobs"]}, {"background", "logprobs"}),
        ({"tools": [{"type": "image_generation", "partial_images": 2}]}, {"server_tools", "partial_images"}),
        ({"mcp_servers": [{"name": "x"}]}, {"server_tools"}),
        ({"tools": [{"type": "function", "name": "f"}, {"name": "g", "input_schema": {}}]}, set()),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, set()),
        ({"tools": [{"type": "custom", "name": "sql"}]}, {"custom_tools"}),
        ({"tools": [{"type": "custom", "custom": {"name": "sql"}}]}, {"custom_tools"}),
        ({"tools": [{"type": "custom", "name": "g", "input_schema": {}}]}, set()),
        ({"functions": [{"name": "f"}]}, {"functions"}),
        ({"modalities": ["text", "audio"], "audio": {"voice": "alloy"}}, {"audio"}),
        ({"context_management": {"edits": []}}, {"context_management"}),
        ({"messages": [{"role": "user", "content": [CITED]}]}, {"citations"}),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [FOUND]}]}]}, {"search_results", "citations"}),
        ({"messages": [{"role": "user", "content": [{"type": "document", "source": {}}]}]}, set()),
    ],
)  # fmt: skip
def test_the_features_of_a_request(body: dict[str, Any], features: set[str]) -> None:
    assert asked_features(json.dumps(body).encode()) == features
    assert asked_features(b"[]") == frozenset()
    assert server_tools(b"") == ()


def test_a_stored_answer_is_not_asked_of_a_client_that_asks_for_a_new_one() -> None:
    stored = Request("GET", "https://api.openai.com/v1/responses/resp_0?stream=true", {}, b"")
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}
    response = {"id": "resp_0", "object": "response", "status": "completed", "output": []}
    end = {"type": "response.completed", "response": response}
    body = "".join(f"data: {json.dumps(message)}\n\n" for message in (delta, end)).encode()
    exchange = replace(EXCHANGE, request=stored, reads=((None, body),), provider="openai")
    sent = SentRequest("/v1/responses", b'{"input": "Hi?"}')
    assert set(conditions_of(Reading(exchange), Transcript(), sent).unasked) == set(ASPECTS)
    findings = [Finding("text", "wrong"), Finding("accepted", "wrong")]
    second = without_unrequested(findings, exchange, sent.body)
    assert {finding.verdict for finding in second} == {"not_asked"}
    asks_the_same = replace(sent, body=b"")
    assert "text" not in conditions_of(Reading(exchange), Transcript(), asks_the_same).unasked


@pytest.mark.parametrize(
    ("asked", "sent", "not_asked"),
    [
        ({}, {}, {"server_tools"}),
        ({"tools": [FUNCTION]}, {"tools": [FUNCTION]}, {"server_tools"}),
        ({"tools": [FUNCTION, {"type": "local_shell"}]}, {}, set()),
        ({"tools": [SEARCH]}, {"tools": [SEARCH]}, set()),
        ({"tools": [SEARCH]}, {}, {"accepted", "server_tools"}),
        ({"mcp_servers": [{}]}, {"mcp_servers": [{}]}, set()),
        (LOGPROBS, {}, {"server_tools"}),
        (TWO, {}, {"accepted", "server_tools", "ids"}),
    ],
)
def test_the_second_request_lacks_what_the_first_did_not_ask_for(
    asked: dict[str, Any], sent: dict[str, Any], not_asked: set[str]
) -> None:
    findings = [Finding(name, "wrong") for name in ("accepted", "server_tools", "ids")]
    findings.append(Finding("text", "kept"))
    judged = without_unrequested(findings, recorded(**asked), json.dumps(sent).encode())
    assert {finding.subject for finding in judged if finding.verdict == "not_asked"} == not_asked
    assert judged[-1].verdict == "kept"
