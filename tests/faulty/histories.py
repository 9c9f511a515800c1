"""Faults of the request after an answer, on Anthropic's wire and on OpenAI's two.

A client keeps the history of one answer, with one change. Each change is one that public clients
make, or that the service refuses.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.adapters import Adapter, Output, RunOptions
from harness.adapters.adapter import FACTS
from harness.facts import Transcript
from harness.judging.aspect_run import JudgedExchange, plan_second_turns
from harness.judging.rows import Row
from harness.judging.run import run_plan
from harness.stream.exchange import Exchange, Request

from .faults import Fault

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
    """An answer to `ASKED`, and the messages or items that follow it in a faithful request."""

    provider: str
    path: str
    answer: Body
    history: list[Body]

    @property
    def field(self) -> str:
        """The field of the history."""
        return "input" if self.path.endswith("responses") else "messages"

    def request(self, *history: Body) -> bytes:
        """The body of a request, which declares the function and the provider's tool."""
        declared = {"name": "w", "input_schema": {}, "parameters": {}}
        tool: Body = {"type": "custom", **declared}
        if self.provider == "openai":
            tool = {"type": "function", **declared, "function": declared}
        search = {"type": "web_search_20250305", "name": "web_search"}
        body = {"model": "m", self.field: [ASKED, *history], "tools": [tool, search]}
        return json.dumps(body).encode()

    @property
    def exchange(self) -> Exchange:
        """The answer as a recording."""
        request = Request("POST", f"https://api.example{self.path}", {}, self.request())
        reads = ((None, json.dumps(self.answer).encode()),)
        headers = {"content-type": ["application/json"]}
        return Exchange(
            *(request, 200, headers, reads, "complete"), provider=self.provider, streamed=False
        )


WIRES = {
    "messages": Wire(
        "anthropic",
        "/v1/messages",
        MESSAGE,
        [{"role": "assistant", "content": BLOCKS}, {"role": "user", "content": BLOCK_RESULTS}],
    ),
    "responses": Wire("openai", "/v1/responses", RESPONSE, [*ITEMS, *OUTPUTS]),
    "chat": Wire("openai", "/v1/chat/completions", COMPLETION, [CHAT, *TOOLS]),
}


@dataclass(frozen=True, slots=True)
class HistoryFault(Fault):
    """A client of a wire (`dialect`) with one fault in its second request. ``aspect`` and
    ``reason``: those of the finding.
    """

    change: Change = lambda history: None
    aspect: str = ""
    reason: str = ""

    @property
    def adapter(self) -> Adapter:
        """The fault as an adapter under test."""
        wire = WIRES[self.dialect]

        def second_request(exchange: Exchange, options: RunOptions) -> bytes:
            history = copy.deepcopy(wire.history)
            self.change(history)
            return wire.request(*history)

        return Adapter(name=self.name, model=FACTS, run=_silent, second_request=second_request)

    @property
    def result(self) -> Row:
        """The result of its second turn."""
        item = JudgedExchange(self.dialect, 1, WIRES[self.dialect].exchange)
        [result] = run_plan(plan_second_turns([item]), [self.adapter])
        return result


def _silent(exchange: Exchange, options: RunOptions) -> Output:
    return Output.of_transcript(Transcript())


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


HISTORY_FAULTS = {
    f"{wire}: {name}": HistoryFault(wire, name, name, change, aspect, reason)
    for wire, name, change, aspect, reason in FAULTS
}
