"""The request after an answer on Anthropic's wire and on OpenAI's two: a faithful one is kept, and
each planted fault is red by its own aspect.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from harness.facts import Facts, Finding
from harness.providers.oracle import gather_messages, gather_openai
from tests.support.second_turn import judge_second_turn

Body = dict[str, Any]
Change = Callable[[list[Any]], Any]

SEARCH = {"url": "https://a.example", "title": "A", "encrypted_content": "c2VhcmNo"}
BLOCKS: list[Body] = [
    {"type": "thinking", "thinking": "Hm.", "signature": "QUJD"},
    {"type": "text", "text": "I look."},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "Oslo"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "s1",
        "content": [{"type": "web_search_result", **SEARCH}],
    },
    {"type": "thinking", "thinking": "So.", "signature": "REVG"},
    {"type": "tool_use", "id": "toolu_a", "name": "w", "input": {"city": "Oslo"}},
    {"type": "tool_use", "id": "toolu_b", "name": "w", "input": {"city": "Bern"}},
]
MESSAGE: Body = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "model": "claude-opus-5",
    "content": BLOCKS,
    "stop_reason": "tool_use",
    "usage": {"output_tokens": 1},
}
BLOCK_RESULTS: list[Body] = [
    {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": f"result {number}"}
    for number, name in enumerate("ab", 1)
]


def arguments(city: str) -> str:
    return json.dumps({"city": city})


def item(name: str, city: str) -> Body:
    called = {"call_id": f"call_{name}", "name": "w", "arguments": arguments(city)}
    return {"type": "function_call", "id": f"fc_{name}", **called}


def said(text: str) -> Body:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "id": "msg_1", "content": content}


ITEMS: list[Body] = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "encrypted_content": "gAAAone",
        "summary": [{"type": "summary_text", "text": "Hm."}],
    },
    said("I look."),
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "Oslo today"},
    },
    {"type": "reasoning", "id": "rs_2", "encrypted_content": "gAAAtwo", "summary": []},
    item("a", "Oslo"),
    item("b", "Bern"),
]
RESPONSE: Body = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "gpt-5.6",
    "output": ITEMS,
}
OUTPUTS: list[Body] = [
    {"type": "function_call_output", "call_id": f"call_{name}", "output": f"result {number}"}
    for number, name in enumerate("ab", 1)
]


def call(name: str, city: str) -> Body:
    function = {"name": "w", "arguments": arguments(city)}
    return {"id": f"call_{name}", "type": "function", "function": function}


CHAT: Body = {
    "role": "assistant",
    "content": "I look.",
    "tool_calls": [call("a", "Oslo"), call("b", "Bern")],
}
COMPLETION: Body = {
    "object": "chat.completion",
    "model": "gpt-5.6",
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": CHAT}],
}
TOOLS: list[Body] = [
    {"role": "tool", "tool_call_id": f"call_{name}", "content": f"result {number}"}
    for number, name in enumerate("ab", 1)
]
ASKED: Body = {"role": "user", "content": "Weather?"}


class Wire(NamedTuple):
    """An answer, and the messages or items that follow the prompt in a faithful request."""

    provider: str
    answer: Facts
    history: list[Body]

    def findings(self, change: Change) -> dict[str, Finding]:
        """The findings of a request with a changed history."""
        history = copy.deepcopy(self.history)
        change(history)
        field = "input" if self.history[0].get("type") == "reasoning" else "messages"
        body = {field: [ASKED, *history]}
        found = judge_second_turn(self.answer, body, self.provider, given=[True, True])
        return {str(aspect): finding for aspect, finding in found.items()}


WIRES = {
    "messages": Wire(
        "anthropic",
        gather_messages(json.dumps(MESSAGE).encode()),
        [{"role": "assistant", "content": BLOCKS}, {"role": "user", "content": BLOCK_RESULTS}],
    ),
    "responses": Wire("openai", gather_openai(json.dumps(RESPONSE).encode()), [*ITEMS, *OUTPUTS]),
    "chat": Wire("openai", gather_openai(json.dumps(COMPLETION).encode()), [CHAT, *TOOLS]),
}


def blocks(change: Change) -> Change:
    """The change of the assistant's blocks."""
    return lambda history: change(history[0]["content"])


def results(change: Change) -> Change:
    """The change of the blocks with results."""
    return lambda history: change(history[1]["content"])


def swapped(holder: list[Any], one: int, other: int, field: str) -> None:
    left, right = holder[one], holder[other]
    left[field], right[field] = right[field], left[field]


FAULTS: list[tuple[str, str, Change, str, str]] = [
    *(
        ("messages", name, blocks(change), aspect, reason)
        for name, change, aspect, reason in (
            ("signature lost", lambda sent: sent[0].pop("signature"), "other_signatures", "other-not-sent"),
            ("signature changed", lambda sent: sent[0].update(signature="REVM"), "other_signatures", "other-not-sent"),
            ("thinking lost", lambda sent: sent.pop(4), "other_signatures", "other-not-sent"),
            ("thinking twice", lambda sent: sent.insert(0, sent[0]), "other_signatures", "other-twice"),
            ("signatures swapped", lambda sent: swapped(sent, 0, 4, "signature"), "other_signatures", "signed-thought-changed"),
            ("thinking changed", lambda sent: sent[4].update(thinking="So!"), "other_signatures", "signed-thought-changed"),
            ("thinking behind the calls", lambda sent: sent.append(sent.pop(4)), "other_signatures", "signature-beyond-call"),
            ("thinking before the text", lambda sent: sent.insert(1, sent.pop(4)), "other_signatures", "signature-beyond-text"),
            ("thinking in another order", lambda sent: sent.insert(0, sent.pop(4)), "other_signatures", "signatures-in-other-order"),
            ("text behind the calls", lambda sent: sent.append(sent.pop(1)), "text", "text-beyond-call"),
            ("text lost", lambda sent: sent.pop(1), "text", "sent-text"),
            ("server tool lost", lambda sent: sent.pop(2), "server_tools", "tool-not-sent"),
            ("result of a server tool lost", lambda sent: sent.pop(3), "server_tools", "tool-not-sent"),
            ("encrypted content lost", lambda sent: sent[3]["content"][0].pop("encrypted_content"), "server_tools", "tool-not-sent"),
            ("id changed", lambda sent: sent[5].update(id="toolu_c"), "ids", "id-changed"),
            ("ids swapped", lambda sent: swapped(sent, 5, 6, "id"), "ids", "id-changed"),
            ("input as a text", lambda sent: sent[5].update(input=arguments("Oslo")), "calls", "arguments-of-another-type"),
            ("call left out", lambda sent: sent.pop(6), "calls", "call-not-sent"),
            ("call twice", lambda sent: sent.append(sent[6]), "calls", "call-sent-twice"),
        )
    ),
    *(
        ("messages", name, results(change), "results", reason)
        for name, change, reason in (
            ("result shortened", lambda sent: sent[0].update(content="resu…"), "result-text-changed"),
            ("result empty", lambda sent: sent[0].update(content=""), "result-text-not-sent"),
            ("results swapped", lambda sent: swapped(sent, 0, 1, "content"), "result-text-of-another"),
            ("result as an error", lambda sent: sent[1].update(is_error=True), "result-failed"),
            ("result lost", lambda sent: sent.pop(), "results"),
        )
    ),
    *(
        ("responses", name, change, aspect, reason)
        for name, change, aspect, reason in (
            ("reasoning lost", lambda sent: sent[0].pop("encrypted_content"), "other_signatures", "other-not-sent"),
            ("reasoning changed", lambda sent: sent[0].update(encrypted_content="gAAAonf"), "other_signatures", "other-not-sent"),
            ("reasoning dropped before its call", lambda sent: sent.pop(3), "other_signatures", "other-not-sent"),
            ("reasoning twice", lambda sent: sent.insert(0, sent[0]), "other_signatures", "other-twice"),
            ("reasoning behind the calls", lambda sent: sent.insert(6, sent.pop(3)), "other_signatures", "signature-beyond-call"),
            ("reasoning before the text", lambda sent: sent.insert(1, sent.pop(3)), "other_signatures", "signature-beyond-text"),
            ("reasoning swapped", lambda sent: swapped(sent, 0, 3, "encrypted_content"), "other_signatures", "signatures-in-other-order"),
            ("text behind the calls", lambda sent: sent.insert(5, sent.pop(1)), "text", "text-beyond-call"),
            ("text lost", lambda sent: sent.pop(1), "text", "sent-text"),
            ("server tool lost", lambda sent: sent.pop(2), "server_tools", "tool-not-sent"),
            ("id of the item in place of that of the call", lambda sent: (sent[4].update(call_id="fc_a"), sent[6].update(call_id="fc_a")), "ids", "id-changed"),
            ("ids swapped", lambda sent: swapped(sent, 4, 5, "call_id"), "ids", "id-changed"),
            ("arguments as an object", lambda sent: sent[4].update(arguments={"city": "Oslo"}), "calls", "arguments-of-another-type"),
            ("arguments as a text in a text", lambda sent: sent[4].update(arguments=json.dumps(arguments("Oslo"))), "calls", "arguments-of-another-type"),
            ("call left out", lambda sent: sent.pop(5), "calls", "call-not-sent"),
            ("call twice", lambda sent: sent.insert(5, sent[4]), "calls", "call-sent-twice"),
            ("result shortened", lambda sent: sent[6].update(output="resu…"), "results", "result-text-changed"),
            ("result empty", lambda sent: sent[6].update(output=""), "results", "result-text-not-sent"),
            ("results swapped", lambda sent: swapped(sent, 6, 7, "output"), "results", "result-text-of-another"),
            ("result lost", lambda sent: sent.pop(), "results", "results"),
        )
    ),
    *(
        ("chat", name, change, aspect, reason)
        for name, change, aspect, reason in (
            ("text lost", lambda sent: sent[0].update(content=None), "text", "sent-text"),
            ("id changed", lambda sent: (sent[0]["tool_calls"][0].update(id="call_c"), sent[1].update(tool_call_id="call_c")), "ids", "id-changed"),
            ("ids swapped", lambda sent: swapped(sent[0]["tool_calls"], 0, 1, "id"), "ids", "id-changed"),
            ("arguments as an object", lambda sent: sent[0]["tool_calls"][0]["function"].update(arguments={"city": "Oslo"}), "calls", "arguments-of-another-type"),
            ("call left out", lambda sent: sent[0]["tool_calls"].pop(), "calls", "call-not-sent"),
            ("call twice", lambda sent: sent[0]["tool_calls"].append(sent[0]["tool_calls"][0]), "calls", "call-sent-twice"),
            ("result shortened", lambda sent: sent[1].update(content="resu…"), "results", "result-text-changed"),
            ("result empty", lambda sent: sent[1].update(content=""), "results", "result-text-not-sent"),
            ("results swapped", lambda sent: swapped(sent, 1, 2, "content"), "results", "result-text-of-another"),
            ("result lost", lambda sent: sent.pop(), "results", "results"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("wire", WIRES)
def test_a_faithful_history_is_kept(wire: str) -> None:
    findings = WIRES[wire].findings(lambda history: None)
    assert {finding.verdict for finding in findings.values()} == {"kept"}
    assert findings.keys() >= {"calls", "ids", "results", "text"}


@pytest.mark.parametrize(
    ("wire", "change", "aspect", "reason"),
    [(wire, change, aspect, reason) for wire, _, change, aspect, reason in FAULTS],
    ids=[f"{wire}: {name}" for wire, name, *_ in FAULTS],
)
def test_each_fault_is_red_by_its_own_aspect(
    wire: str, change: Change, aspect: str, reason: str
) -> None:
    red = {name: one for name, one in WIRES[wire].findings(change).items() if one.red}
    assert red[aspect].reason == reason, red
    assert len(red) <= 2, red


def test_texts_of_a_message_of_chat_may_be_parts_beside_its_calls() -> None:
    def in_parts(history: list[Body]) -> None:
        history[0]["content"] = [{"type": "text", "text": "I "}, {"type": "text", "text": "look."}]

    assert not any(finding.red for finding in WIRES["chat"].findings(in_parts).values())


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ([], {"previous_response_id": "resp_1"}),
        ([{"type": "item_reference", "id": "rs_1"}, {"type": "item_reference", "id": "fc_a"}], {}),
    ],
    ids=["a stored response", "stored items"],
)
def test_only_results_follow_a_stored_response(more: list[Body], kept: Body) -> None:
    for outputs, red in ((OUTPUTS, set()), (OUTPUTS[:1], {"results"})):
        body = {**kept, "input": [*more, *outputs]}
        findings = judge_second_turn(WIRES["responses"].answer, body, "openai", given=[True, True])
        assert {str(name) for name, finding in findings.items() if finding.red} == red
