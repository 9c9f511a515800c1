"""The requests that the Interactions API and the OpenAI-compatible endpoint refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from harness.server import Server, serve
from harness.server.offer import identify
from harness.server.refusals import MODEL_RULES, RULES, find_broken_rules, given_by
from tests.server.socket_client import tape
from tests.server.wires import (
    CALLING,
    CHAT,
    CHAT_CALLING,
    INTERACTIONS,
    MODEL,
    SIGNATURE,
    chat_call,
    exchange,
)

OTHER = "gemini-3.6-flash"
ASK: dict[str, Any] = {"type": "user_input", "content": [{"type": "text", "text": "Oslo?"}]}
THOUGHT: dict[str, Any] = {"type": "thought", "signature": SIGNATURE}
CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "61nzpsv4",
    "name": "get_weather",
    "arguments": {"city": "Oslo"},
}
RESULT: dict[str, Any] = {
    "type": "function_result",
    "call_id": "61nzpsv4",
    "name": "get_weather",
    "result": {"degrees": 8},
}
SAID: dict[str, Any] = {"type": "model_output", "content": [{"type": "text", "text": "8."}]}
CALLED = {
    "id": "v1_b",
    "object": "interaction",
    "model": OTHER,
    "status": "completed",
    "steps": [{"type": "thought", "signature": "T1RIRVI="}, SAID],
}


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: inner for name, inner in value.items() if name not in names}


def steps(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "input": [ASK, *items], "store": False, **more}


WHOLE = steps(THOUGHT, CALL, RESULT)
MISSING = "Function call is missing a thought_signature in functionCall parts."
COUNTS = "Please ensure that the number of function response parts is equal to the number of function call parts"
AFTER = "Please ensure that function response turn comes immediately after a function call turn."

USER: dict[str, Any] = {"role": "user", "content": "Oslo?"}
TOOL: dict[str, Any] = {"role": "tool", "tool_call_id": "call_297140", "content": "8"}
ANSWERED: dict[str, Any] = {"role": "assistant", "content": "8."}


def calling(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": list(calls)}


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "model": MODEL,
        "messages": [{"role": "system", "content": "Be short."}, *messages],
        **more,
    }


CHATTED = chat(USER, calling(chat_call()), TOOL)

INTERACTION_CASES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "model-or-agent": (
        {"input": "Hi", "model": MODEL, "agent": "deep-research"},
        "Exactly one of model and agent must be set.",
        {"input": "Hi", "agent": "deep-research"},
    ),
    "input-missing": (
        {"model": MODEL, "continuation_token": "t"},
        "input is required.",
        {"model": MODEL, "continuation_token": "t", "previous_interaction_id": "v1_b"},
    ),
    "turns-removed": (
        {"model": MODEL, "input": [{"role": "user", "content": "Hi"}]},
        "input[0]: Unknown parameter 'role'",
        {"model": MODEL, "input": "Hi"},
    ),
    "background-unstored": (
        {"model": MODEL, "input": "Hi", "background": True, "store": False},
        "background is not supported without store.",
        {"model": MODEL, "input": "Hi", "background": True},
    ),
    "previous-unknown": (
        {"model": MODEL, "input": "Hi", "previous_interaction_id": "v1_x"},
        "Interaction 'v1_x' not found.",
        {"model": MODEL, "input": "Hi", "previous_interaction_id": "v1_b"},
    ),
    "call-unsigned": (steps(CALL, RESULT), MISSING, WHOLE),
    "signature-damaged": (
        steps({**THOUGHT, "signature": "not base64!"}, CALL, RESULT),
        "Base64 decoding failed",
        WHOLE,
    ),
    "signature-unknown": (
        steps({**THOUGHT, "signature": "TkVXUw=="}, CALL, RESULT),
        "Invalid thought signature.",
        steps({**THOUGHT, "signature": "skip_thought_signature_validator"}, CALL, RESULT),
    ),
    "name-empty": (
        steps(THOUGHT, CALL, {**without(RESULT, "name"), "call_id": "other"}),
        "function_response.name: Name cannot be empty.",
        steps(THOUGHT, CALL, without(RESULT, "name")),
    ),
    "calls-first": (
        {**WHOLE, "input": [THOUGHT, CALL, RESULT]},
        "Please ensure that function call turn comes immediately after a user turn",
        WHOLE,
    ),
    "results-without-calls": (steps(RESULT), AFTER, WHOLE),
    "results-miscounted": (
        steps(THOUGHT, CALL, {**CALL, "id": "second"}, RESULT),
        COUNTS,
        steps(THOUGHT, CALL, {**CALL, "id": "second"}, RESULT, {**RESULT, "call_id": "second"}),
    ),
    "calls-without-results": (steps(THOUGHT, CALL, ASK), COUNTS, WHOLE),
    "ends-with-model": (
        steps(SAID),
        "Requests ending with a model turn are not supported.",
        steps(SAID, ASK),
    ),
    "signature-moved": (
        steps(THOUGHT, {**CALL, "name": "other"}, {**RESULT, "name": "other"}),
        "the thought signature belongs to another part",
        WHOLE,
    ),
    "signature-copied": (
        steps(THOUGHT, CALL, RESULT, THOUGHT, {**CALL, "id": "2"}, {**RESULT, "call_id": "2"}),
        "the thought signature is at 2 parts",
        WHOLE,
    ),
    "signature-of-another-model": (
        steps({"type": "thought", "signature": "T1RIRVI="}, SAID, ASK),
        f"Thought signature is not valid; it is from {OTHER}",
        steps(SAID, ASK),
    ),
    "first-call-unsigned": (
        steps(CALL, THOUGHT, {**CALL, "id": "2"}, RESULT, {**RESULT, "call_id": "2"}),
        MISSING,
        WHOLE,
    ),
}

CHAT_CASES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "contents-missing": (chat(), "contents is not specified", chat(USER)),
    "role-unknown": (
        chat({"role": "critic", "content": "No."}),
        "Please use a valid role",
        chat({**USER, "content": [{"type": "text", "text": "Hi"}]}, {"role": "", "content": "a"}),
    ),
    "content-empty": (
        chat(USER, {"role": "assistant", "content": None}, USER),
        "contents[1].parts: contents.parts must not be empty.",
        chat(USER, ANSWERED, USER),
    ),
    "name-empty": (
        chat(USER, calling(chat_call()), {**TOOL, "tool_call_id": "other"}),
        "function_response.name: Name cannot be empty.",
        CHATTED,
    ),
    "calls-first": (
        chat(calling(chat_call()), TOOL),
        "Please ensure that function call turn comes immediately after a user turn",
        CHATTED,
    ),
    "results-without-calls": (
        chat(USER, {**TOOL, "name": "get_weather"}),
        AFTER,
        CHATTED,
    ),
    "results-miscounted": (
        chat(USER, calling(chat_call(), chat_call(None, id="second")), TOOL),
        COUNTS,
        chat(
            USER,
            calling(chat_call(), chat_call(None, id="second")),
            TOOL,
            {**TOOL, "tool_call_id": "second"},
        ),
    ),
    "calls-without-results": (chat(USER, calling(chat_call()), USER), COUNTS, CHATTED),
    "ends-with-model": (
        chat(USER, ANSWERED),
        "Requests ending with a model turn are not supported.",
        chat(USER, ANSWERED, USER),
    ),
    "call-unsigned": (chat(USER, calling(chat_call(None)), TOOL), MISSING, CHATTED),
    "signature-damaged": (
        chat(USER, calling(chat_call("not base64!")), TOOL),
        "Base64 decoding failed",
        CHATTED,
    ),
    "signature-unknown": (
        chat(USER, calling(chat_call("TkVXUw==")), TOOL),
        "Invalid thought signature.",
        chat(USER, calling(chat_call("skip_thought_signature_validator")), TOOL),
    ),
    "first-call-unsigned": (
        chat(
            USER,
            calling(chat_call(None, id="second"), chat_call()),
            {**TOOL, "tool_call_id": "second"},
            TOOL,
        ),
        MISSING,
        CHATTED,
    ),
    "signature-moved": (
        chat(
            USER,
            {**ANSWERED, "extra_content": {"vertex": {"thought_signature": SIGNATURE}}},
            USER,
        ),
        "contents[1].parts[0]: the thought signature belongs to another part",
        CHATTED,
    ),
    "signature-copied": (
        chat(
            USER,
            calling(chat_call(), chat_call(id="second")),
            TOOL,
            {**TOOL, "tool_call_id": "second"},
        ),
        "the thought signature is at 2 parts",
        CHATTED,
    ),
    "signature-of-another-model": (
        chat(
            USER, {**ANSWERED, "extra_content": {"google": {"thought_signature": "T1RIRVI="}}}, USER
        ),
        f"Thought signature is not valid; it is from {OTHER}",
        chat(USER, ANSWERED, USER),
    ),
}
LEVELS = {rule.name: rule.level for rule in RULES}
STATUSES = {rule.name: rule.status for rule in RULES}
CODES = {400: "invalid_request", 404: "not_found"}
SIGNED_TEXT = {**ANSWERED, "extra_content": {"google": {"thought_signature": "T1RIRVI="}}}


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[Server]:
    """Answers every request of both wires and modes by path, unless it refuses it."""
    whole = {"choices": [{"finish_reason": "stop", "index": 0, "message": SIGNED_TEXT}]}
    plain = json.dumps({**whole, "id": "r", "object": "chat.completion"}).encode()
    unary = {"model": OTHER, "input": "x"}
    cassette = tape(
        exchange(INTERACTIONS, {"model": MODEL, "input": "x", "stream": True}, *CALLING),
        exchange(INTERACTIONS, unary, json.dumps(CALLED).encode()),
        exchange(INTERACTIONS, {**unary, "model": MODEL}, b'{"id":"v1_c","status":"completed"}'),
        exchange(INTERACTIONS, {"agent": "deep-research"}, b'{"id":"v1_d","status":"completed"}'),
        exchange(CHAT, {"model": MODEL, "messages": [USER], "stream": True}, *CHAT_CALLING),
        exchange(CHAT, {"model": OTHER, "messages": [USER]}, plain),
        exchange(CHAT, {"model": MODEL, "messages": [USER]}, b'{"choices":[]}'),
    )
    with serve(cassette, match="path", pace="instant") as server:
        yield server


def ask(server: Server, path: str, request: dict[str, Any]) -> httpx2.Response:
    return httpx2.post(server.base_url + path, json=request, headers={"x-goog-api-key": "none"})


def level_of(name: str) -> str:
    return "strict" if LEVELS[name] == "strict" else "api"


@pytest.mark.slow
@pytest.mark.parametrize("name", INTERACTION_CASES)
def test_the_interactions_api_refuses_in_its_own_shape(server: Server, name: str) -> None:
    broken, words, kept = INTERACTION_CASES[name]
    server.behave(strictness=level_of(name))
    response = ask(server, INTERACTIONS, broken)
    error = response.json()["error"]
    assert response.status_code == STATUSES[name]
    assert error.keys() == {"code", "message"}
    assert error["code"] == CODES[response.status_code]
    assert words in error["message"]
    assert response.headers["x-harness"] == f"refused by rule {name}"
    assert ask(server, INTERACTIONS, kept).status_code == 200
    server.behave(strictness="lenient")
    assert ask(server, INTERACTIONS, broken).status_code == 200
    assert f"(rule {name}, " in "".join(server.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAT_CASES)
def test_the_compatible_endpoint_refuses_in_its_own_shape(server: Server, name: str) -> None:
    broken, words, kept = CHAT_CASES[name]
    server.behave(strictness=level_of(name))
    response = ask(server, CHAT, broken)
    (wrapped,) = response.json()
    error = wrapped["error"]
    assert (response.status_code, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert words in error["message"]
    assert error["details"][0]["stackEntries"][0].startswith(f"rule {name}: ")
    assert ask(server, CHAT, kept).status_code == 200
    server.behave(strictness="lenient")
    assert ask(server, CHAT, broken).status_code == 200
    assert f"(rule {name}, " in "".join(server.warnings)


REFUSED = {"role": "assistant", "content": None, "refusal": "No."}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (chat(USER, REFUSED, USER), ["content-empty"]),
        (
            chat(USER, {**calling(chat_call()), "role": "assistantassistant"}, TOOL),
            ["role-unknown"],
        ),
    ],
    ids=["a refusal is no content", "calls of an unknown role"],
)
def test_rules_that_a_message_of_a_chat_breaks(body: dict[str, Any], expected: list[str]) -> None:
    data = json.dumps(body).encode()
    identity = identify("POST", CHAT, data)
    broken = find_broken_rules(data, identity, lambda: given_by(()))
    assert [each.rule.name for each in broken] == expected


def test_every_rule_of_a_wire_has_a_case() -> None:
    for wire, cases in (("interactions", INTERACTION_CASES), ("openai-compat", CHAT_CASES)):
        assert sorted(cases) == sorted(
            rule.name for rule in RULES if wire in rule.wires and rule not in MODEL_RULES
        )


@pytest.mark.slow
def test_results_of_a_stored_interaction_have_its_calls(server: Server) -> None:
    server.behave(strictness="api")
    stateful = {"model": MODEL, "previous_interaction_id": "v1_a"}
    assert ask(server, INTERACTIONS, {**stateful, "input": [RESULT]}).status_code == 200
    inside = {"type": "user_input", "content": [RESULT]}
    assert ask(server, INTERACTIONS, {**stateful, "input": [inside]}).status_code == 200
    twice = ask(server, INTERACTIONS, {**stateful, "input": [RESULT, RESULT]})
    assert COUNTS in twice.json()["error"]["message"]
    unknown = {**stateful, "previous_interaction_id": "v1_d", "input": [RESULT]}
    assert ask(server, INTERACTIONS, unknown).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/v1/interactions",
        "/gateway/v1beta/interactions",
        "/v1beta1/projects/p/locations/global/interactions",
    ],
)
def test_the_rules_hold_at_every_address_of_the_interactions_api(server: Server, path: str) -> None:
    server.behave(strictness="api")
    assert ask(server, path, steps(CALL, RESULT)).json()["error"]["code"] == "invalid_request"


def test_the_rules_hold_at_the_endpoint_of_vertex(server: Server) -> None:
    server.behave(strictness="api")
    path = "/v1/projects/p/locations/global/endpoints/openapi/chat/completions"
    request = {**CHAT_CASES["call-unsigned"][0], "model": f"google/{MODEL}"}
    assert MISSING in ask(server, path, request).json()[0]["error"]["message"]
    old = {**request, "model": "google/gemini-2.5-flash"}
    assert "No recorded exchange" in ask(server, path, old).json()[0]["error"]["message"]
