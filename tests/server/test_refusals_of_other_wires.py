"""The requests that the Messages API and OpenAI's two APIs refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from harness import load
from harness.cassettes import Exchange
from harness.providers import PROVIDERS, detect_provider, with_provider
from harness.server import Server, serve
from harness.server.refusals import BrokenRule, find_broken_rules, given_by
from tests.server.socket_client import tape
from tests.server.wires import exchange

CASSETTES: Final = Path(__file__).parents[2] / "cassettes"
MESSAGES, RESPONSES, CHAT = "/v1/messages", "/v1/responses", "/v1/chat/completions"
Body = dict[str, Any]

# -------------------------------------------------------------------- Messages

ASK: Final = {"role": "user", "content": "Oslo?"}
THOUGHT: Final = {"type": "thinking", "thinking": "Look.", "signature": "U0lH"}
USE: Final = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
OTHER_USE: Final = {**USE, "id": "toolu_2"}
RESULT: Final = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "8"}
HI: Final = {"type": "text", "text": "Hi"}
ENABLED: Final = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def said(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def sent(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def messages(*given: Body | None, **more: Any) -> Body:
    return {"model": "m", "max_tokens": 9, "messages": list(given), **more}


LOOP: Final = messages(ASK, said(THOUGHT, USE), sent(RESULT), **ENABLED)
MESSAGE: Final = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [THOUGHT, USE],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
MESSAGES_CASES: Final[dict[str, tuple[Body, str, Body]]] = {
    "messages-missing": (messages(), "messages: at least one message is required", messages(ASK)),
    "message-empty": (
        messages(sent(), said(HI), ASK),
        "messages.0: all messages must have non-empty content except for the optional final",
        messages(ASK, said()),
    ),
    "text-empty": (
        messages(sent(HI, {**HI, "text": ""})),
        "messages: text content blocks must be non-empty",
        messages(sent(HI)),
    ),
    "tool-use-twice": (
        messages(ASK, said(USE, USE), sent(RESULT)),
        "messages.1.content.1: `tool_use` ids must be unique",
        messages(ASK, said(USE), sent(RESULT), said(USE), sent(RESULT)),
    ),
    "tool-use-without-result": (
        messages(ASK, said(USE, OTHER_USE), sent(RESULT)),
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after:"
            " toolu_2. Each `tool_use` block must have a corresponding `tool_result` block in the"
            " next message."
        ),
        LOOP,
    ),
    "tool-result-without-use": (
        messages(ASK, said(HI), sent(RESULT)),
        (
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1."
            " Each `tool_result` block must have a corresponding `tool_use` block in the previous"
            " message."
        ),
        LOOP,
    ),
    "thinking-missing": (
        messages(ASK, said(USE), sent(RESULT), **ENABLED),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        messages(ASK, said(USE), sent(RESULT)),
    ),
    "thinking-changed": (
        messages(ASK, said({**THOUGHT, "thinking": "look."}, USE), sent(RESULT), **ENABLED),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        LOOP,
    ),
    "thinking-moved": (
        messages(ASK, said(THOUGHT, THOUGHT, USE), sent(RESULT), **ENABLED),
        (
            "messages.1.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant"
            " message cannot be modified."
        ),
        LOOP,
    ),
    "temperature-range": (
        messages(ASK, temperature=1.2),
        "temperature: range: 0..1",
        messages(ASK, temperature=1),
    ),
    "tool-name": (
        messages(ASK, tools=[{"name": "a.b", "input_schema": {"type": "object"}}]),
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        messages(ASK, tools=[{"name": "a-b", "input_schema": {"type": "object"}}]),
    ),
    "forced-with-thinking": (
        messages(ASK, tool_choice={"type": "any"}, **ENABLED),
        "Thinking may not be enabled when tool_choice forces tool use.",
        messages(ASK, tool_choice={"type": "auto"}, **ENABLED),
    ),
}
FURTHER_MESSAGES: Final = {
    "text before a result": (
        "tool-use-without-result",
        messages(ASK, said(USE), sent(HI, RESULT)),
    ),
    "a call at the end": ("tool-use-without-result", messages(ASK, said(USE))),
    "a result two messages later": (
        "tool-result-without-use",
        messages(ASK, said(USE), sent(RESULT), said(HI), sent(RESULT)),
    ),
    "a lost signature": (
        "thinking-changed",
        messages(ASK, said({**THOUGHT, "signature": ""}, HI), ASK),
    ),
    "a foreign signature in an old turn": (
        "thinking-changed",
        messages(ASK, said({**THOUGHT, "signature": "T1RIRVI="}, HI), ASK, said(HI), ASK),
    ),
}

# -------------------------------------------------------------------- Responses

QUESTION: Final = {"role": "user", "content": "Oslo?"}
REASONING: Final = {"id": "rs_1", "type": "reasoning", "summary": []}
CALL: Final = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "weather",
    "arguments": "{}",
}
OUTPUT: Final = {"type": "function_call_output", "call_id": "call_1", "output": "8"}
RESPONSE: Final = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "m",
    "output": [REASONING, CALL],
}


def given_items(*items: Body, **more: Any) -> Body:
    return {"model": "m", "input": list(items), **more}


STATELESS: Final = given_items(QUESTION, REASONING, CALL, OUTPUT)
INPUT: Final = {"param": "input", "code": None}
RESPONSES_CASES: Final[dict[str, tuple[str, Body, str, Body, Body]]] = {
    "previous-response-unknown": (
        RESPONSES,
        given_items(OUTPUT, previous_response_id="resp_2"),
        "Previous response with id 'resp_2' not found.",
        {"param": "previous_response_id", "code": "previous_response_not_found"},
        given_items(OUTPUT, previous_response_id="resp_1"),
    ),
    "output-without-call": (
        RESPONSES,
        given_items(QUESTION, OUTPUT),
        "No tool call found for function call output with call_id call_1.",
        INPUT,
        given_items({"type": "item_reference", "id": "fc_1"}, OUTPUT),
    ),
    "call-without-output": (
        RESPONSES,
        given_items(QUESTION, REASONING, CALL),
        "No tool output found for function call call_1.",
        INPUT,
        STATELESS,
    ),
    "reasoning-alone": (
        RESPONSES,
        given_items(QUESTION, REASONING, QUESTION),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        INPUT,
        STATELESS,
    ),
    "reasoning-missing": (
        RESPONSES,
        given_items(QUESTION, CALL, OUTPUT),
        (
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning'"
            " item: 'rs_1'."
        ),
        INPUT,
        given_items(QUESTION, {key: CALL[key] for key in CALL if key != "id"}, OUTPUT),
    ),
    "item-id-prefix": (
        RESPONSES,
        given_items(QUESTION, REASONING, {**CALL, "id": "call_1"}, OUTPUT),
        "Invalid 'input[2].id': 'call_1'. Expected an ID that begins with 'fc'.",
        {"param": "input[2].id", "code": "invalid_id_prefix"},
        STATELESS,
    ),
    "id-too-long": (
        RESPONSES,
        given_items(QUESTION, REASONING, {**CALL, "id": "fc_" + 62 * "x"}, OUTPUT),
        (
            "Invalid 'input[2].id': string too long. Expected a string with maximum length 64, but"
            " got a string with length 65 instead."
        ),
        {"param": "input[2].id", "code": "string_above_max_length"},
        given_items(QUESTION, REASONING, {**CALL, "id": "fc_" + 61 * "x"}, OUTPUT),
    ),
    "chat-messages-missing": (
        CHAT,
        {"model": "m", "messages": []},
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an",
        {"param": "messages", "code": "empty_array"},
        {"model": "m", "messages": [QUESTION]},
    ),
}
CHAT_CALLS: Final = {
    "role": "assistant",
    "tool_calls": [
        {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for name in ("call_1", "call_2")
    ],
}
TOOL: Final = {"role": "tool", "tool_call_id": "call_1", "content": "8"}
TOOLS: Final = (TOOL, {**TOOL, "tool_call_id": "call_2"})
CHATTED: Final = {"model": "m", "messages": [QUESTION, CHAT_CALLS, *TOOLS]}
OPENAI_CASES: Final = RESPONSES_CASES | {
    "tool-without-calls": (
        CHAT,
        {"model": "m", "messages": [QUESTION, TOOL]},
        (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding"
            " message with 'tool_calls'."
        ),
        {"param": "messages.[1].role", "code": None},
        CHATTED,
    ),
    "calls-without-tool": (
        CHAT,
        {"model": "m", "messages": [QUESTION, CHAT_CALLS, TOOL, QUESTION]},
        (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to"
            " each 'tool_call_id'. The following tool_call_ids did not have response messages:"
            " call_2"
        ),
        {"param": "messages.[3].role", "code": None},
        CHATTED,
    ),
}
FURTHER_OPENAI: Final = {
    "a custom call": (
        "call-without-output",
        RESPONSES,
        given_items({**CALL, "id": "ctc_1", "type": "custom_tool_call"}, OUTPUT, CALL, REASONING)
        | {"input": [REASONING, CALL, OUTPUT, {**CALL, "type": "custom_tool_call", "id": None}]},
    ),
    "a custom output for the call of a function": (
        "call-without-output",
        RESPONSES,
        given_items(
            *(QUESTION, REASONING, CALL, {**OUTPUT, "type": "custom_tool_call_output"}),
            {**CALL, "id": None, "type": "custom_tool_call", "input": ""},
        ),
    ),
    "the id of a message without content": (
        "item-id-prefix",
        RESPONSES,
        given_items(QUESTION, REASONING, {"role": "assistant", "id": "x", "content": []}),
    ),
    "the id of an instruction": (
        "item-id-prefix",
        RESPONSES,
        given_items({"role": "developer", "id": "x", "content": "Be short."}, QUESTION),
    ),
    "the call of a tool that the service runs": (
        "id-too-long",
        RESPONSES,
        given_items(QUESTION, {"type": "web_search_call", "id": "ws_" + 62 * "x"}),
    ),
    "another id": (
        "tool-without-calls",
        CHAT,
        {"model": "m", "messages": [QUESTION, CHAT_CALLS, *TOOLS, {**TOOL, "tool_call_id": "x"}]},
    ),
}

# -------------------------------------------------------------------- the tests


def recorded(path: str, body: Body, answer: Body) -> Exchange:
    return with_provider(exchange(path, body, json.dumps(answer).encode()))


TAPE: Final = tape(
    recorded(MESSAGES, messages(ASK), MESSAGE),
    recorded(RESPONSES, given_items(QUESTION), RESPONSE),
    recorded(CHAT, CHATTED, {"object": "chat.completion", "model": "m", "choices": []}),
)


def found(path: str, body: Any) -> list[BrokenRule]:
    sent_body = json.dumps(body).encode()
    identity = detect_provider("POST", f"http://localhost{path}", sent_body, b"")
    given = given_by(TAPE.exchanges)
    return [*find_broken_rules(sent_body, identity, lambda: given)]


def broken_rules(path: str, body: Any) -> list[str]:
    return [broken.rule.name for broken in found(path, body)]


BROKEN: Final = {
    **{name: (MESSAGES, body, kept) for name, (body, _, kept) in MESSAGES_CASES.items()},
    **{name: (path, body, kept) for name, (path, body, _, _, kept) in OPENAI_CASES.items()},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_request_breaks_exactly_one_rule(name: str) -> None:
    path, body, kept = BROKEN[name]
    assert (broken_rules(path, body), broken_rules(path, kept)) == ([name], [])


@pytest.mark.parametrize("case", [*FURTHER_MESSAGES, *FURTHER_OPENAI])
def test_a_rule_has_further_requests_that_break_it(case: str) -> None:
    if case in FURTHER_MESSAGES:
        name, body = FURTHER_MESSAGES[case]
        assert broken_rules(MESSAGES, body) == [name]
    else:
        name, path, body = FURTHER_OPENAI[case]
        assert broken_rules(path, body) == [name]


def test_without_a_served_response_each_previous_id_is_accepted() -> None:
    body = json.dumps(given_items(QUESTION, previous_response_id="resp_9")).encode()
    identity = detect_provider("POST", f"http://localhost{RESPONSES}", body, b"")
    assert [*find_broken_rules(body, identity, lambda: given_by(()))] == []
    assert broken_rules(RESPONSES, json.loads(body)) == ["previous-response-unknown"]


def test_a_place_counts_all_values_of_its_list() -> None:
    """A leading instruction and a value that is no message have an index too."""
    (twice,) = found(MESSAGES, messages(ASK, None, said(THOUGHT, USE, USE), sent(RESULT)))
    assert twice.message == "messages.2.content.2: `tool_use` ids must be unique"
    system = {"role": "system", "content": "Be short."}
    (lost,) = found(CHAT, {"model": "m", "messages": [system, QUESTION, CHAT_CALLS, TOOL]})
    assert (lost.message[-7:], lost.fields) == (" call_2", {"param": "messages.[4].role"})


def test_an_error_has_the_kind_of_a_call() -> None:
    custom = {"type": "custom_tool_call", "call_id": "call_2", "name": "f", "input": "a"}
    function = {**CALL, "id": None, "arguments": '{"input": "a"}'}
    broken = [rule for item in (custom, function) for rule in found(RESPONSES, given_items(item))]
    assert [rule.message for rule in broken] == [
        "No tool output found for custom tool call call_2.",
        "No tool output found for function call call_1.",
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"messages": 1, "input": 1},
        {"messages": [1, {"role": [], "content": [1, {"type": {}}], "tool_calls": {}}]},
        {"input": [1, {"type": [], "id": {}, "call_id": []}], "previous_response_id": {}},
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": []}]}]},
    ],
)
@pytest.mark.parametrize("path", [MESSAGES, RESPONSES, CHAT])
def test_odd_requests_are_checked_without_a_crash(path: str, body: Body) -> None:
    assert set(broken_rules(path, body)) <= BROKEN.keys()


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_recorded_requests_break_no_rule(provider: str) -> None:
    """The shipped second turns are correct, and the service answered them."""
    count = 0
    for path in sorted((CASSETTES / provider).glob("*.yaml")):
        exchanges = load(path).exchanges
        for item in exchanges:
            if item.request is None or item.status != 200:
                continue
            request = item.request
            identity = detect_provider(request.method, request.url, request.body, b"")
            assert [*find_broken_rules(request.body, identity, partial(given_by, exchanges))] == []
            count += identity.generates
    assert count > 60


@pytest.fixture(name="server")
def _server() -> Iterator[Server]:
    with serve(TAPE, match="path", pace="instant") as server:
        yield server


def post(server: Server, path: str, body: Body) -> httpx2.Response:
    return httpx2.post(server.base_url + path, json=body)


def test_the_messages_api_refuses_in_its_own_shape(server: Server) -> None:
    for name, (body, words, kept) in MESSAGES_CASES.items():
        response = post(server, MESSAGES, body)
        error = response.json()
        message = error["error"].pop("message")
        assert (response.status_code, error) == (
            400,
            {"type": "error", "error": {"type": "invalid_request_error"}},
        )
        assert message.startswith(words)
        assert response.headers["x-harness"] == f"refused by rule {name}"
        assert post(server, MESSAGES, kept).json() == MESSAGE
    server.behave(strictness="lenient")
    assert post(server, MESSAGES, messages()).status_code == 200
    assert "(rule messages-missing, " in server.warnings[-1]


def test_thinking_must_stay_between_the_tools_of_the_service() -> None:
    """A client that moves all thinking to the front changes the order of the answer."""
    other = {**THOUGHT, "thinking": "Now.", "signature": "VEVYVQ=="}
    tool = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    blocks: list[Body] = [THOUGHT, tool, found, other, USE]
    events: list[Body] = [{"type": "message_start", "message": {**MESSAGE, "content": []}}]
    for index, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    answer = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    streamed = with_provider(exchange(MESSAGES, messages(ASK, stream=True), answer.encode()))

    def names(*sent_back: Body) -> list[str]:
        body = json.dumps(messages(ASK, said(*sent_back), sent(RESULT), **ENABLED)).encode()
        identity = detect_provider("POST", f"http://localhost{MESSAGES}", body, b"")
        rules = find_broken_rules(body, identity, lambda: given_by([streamed]))
        return [broken.rule.name for broken in rules]

    assert names(*blocks) == []
    assert names(THOUGHT, other, tool, found, USE) == ["thinking-moved"]


def test_a_request_that_counts_tokens_is_refused_by_the_same_rules(server: Server) -> None:
    path = f"{MESSAGES}/count_tokens"
    assert post(server, path, messages(ASK)).json().keys() == {"input_tokens"}
    assert post(server, path, messages()).headers["x-harness"] == "refused by rule messages-missing"


def test_claude_on_vertex_ai_is_refused_in_the_shape_of_the_messages_api(server: Server) -> None:
    path = "/v1/projects/p/locations/us-east5/publishers/anthropic/models/m:streamRawPredict"
    body = {**messages(ASK, said(USE)), "anthropic_version": "vertex-2023-10-16"}
    response = post(server, path, body)
    assert (response.status_code, response.json()["type"]) == (400, "error")
    assert response.headers["x-harness"] == "refused by rule tool-use-without-result"


def test_the_apis_of_openai_refuse_in_their_own_shape(server: Server) -> None:
    for name, (path, body, words, fields, kept) in OPENAI_CASES.items():
        server.behave(strictness="strict" if name == "reasoning-missing" else "api")
        response = post(server, path, body)
        error = response.json()["error"]
        message = error.pop("message")
        assert (response.status_code, error) == (400, {"type": "invalid_request_error", **fields})
        assert message.startswith(words)
        assert response.headers["x-harness"] == f"refused by rule {name}"
        assert post(server, path, kept).status_code == 200


def test_every_rule_has_a_case_and_a_line_in_the_docs() -> None:
    page = (CASSETTES.parent / "docs" / "refused-requests.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \| \[.+\]\((https://.+)\) \|$", page, re.MULTILINE)
    rules = [
        (rule.name, rule.refused, rule.source)
        for provider in PROVIDERS.values()
        for rule in (provider.refusals.rules if provider.refusals else ())
    ]
    assert [row for row in rows if " | " not in row[1]] == rules
    assert sorted(BROKEN) == sorted(name for name, _, _ in rules)
