"""Adapters whose request the API refuses, in both turns of four wires: the aspect ``accepted``."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.adapters import Adapter, Output, RunOptions, SentRequest
from harness.adapters.adapter import FACTS
from harness.facts import Transcript
from harness.judging.aspect_run import JudgedExchange, plan_answers, plan_second_turns
from harness.judging.rows import Row
from harness.judging.run import run_plan
from harness.stream.exchange import Exchange, Request

from .histories import ASKED, WIRES, Body

GEMINI_PATH = "/v1beta/models/gemini-3-flash-preview:generateContent"
USER: Body = {"role": "user", "parts": [{"text": "Weather?"}]}
CALLED: Body = {
    "role": "model",
    "parts": [
        {"functionCall": {"name": "w", "args": {"city": "Oslo"}}, "thoughtSignature": "QUJD"}
    ],
}
GIVEN: Body = {
    "role": "user",
    "parts": [{"functionResponse": {"name": "w", "response": {"output": "result 1"}}}],
}


def gemini_exchange() -> Exchange:
    declared = [{"functionDeclarations": [{"name": "w", "description": "Weather."}]}]
    body = {"contents": [USER], "tools": declared}
    url = f"https://generativelanguage.googleapis.com{GEMINI_PATH}"
    answer = {"candidates": [{"content": CALLED, "finishReason": "STOP", "index": 0}]}
    reads = ((None, json.dumps(answer).encode()),)
    request = Request("POST", url, {}, json.dumps(body).encode())
    headers = {"content-type": ["application/json"]}
    return Exchange(
        *(request, 200, headers, reads, "complete"), provider="gemini-api", streamed=False
    )


def exchange_of(wire: str) -> Exchange:
    return gemini_exchange() if wire == "generateContent" else WIRES[wire].exchange


def bodies(wire: str) -> tuple[Body, Body]:
    """The faithful requests of both turns."""
    if wire == "generateContent":
        declared = [{"functionDeclarations": [{"name": "w", "description": "Weather."}]}]
        first: Body = {"contents": [USER], "tools": declared}
        second: Body = {**first, "contents": [USER, CALLED, GIVEN]}
    else:
        limit = {"max_tokens": 100} if wire == "messages" else {}
        field = WIRES[wire].field
        recorded = exchange_of(wire).request
        assert recorded is not None
        declared = json.loads(recorded.body)["tools"]
        first = {"model": "m", **limit, field: [ASKED], "tools": declared}
        second = {**first, field: [ASKED, *WIRES[wire].history]}
    return copy.deepcopy(first), copy.deepcopy(second)


@dataclass(frozen=True, slots=True)
class RefusedFault:
    """A client of a wire with one fault in the request of a turn. ``rule``: the rule that the
    request breaks; "" for a faithful client.
    """

    wire: str
    turn: int
    change: Callable[[Body], Any]
    rule: str

    @property
    def results(self) -> list[Row]:
        """The results of its two turns."""
        first, second = bodies(self.wire)
        self.change(first if self.turn == 1 else second)
        path = GEMINI_PATH if self.wire == "generateContent" else WIRES[self.wire].path
        asked = SentRequest(path, json.dumps(first).encode())

        def run(exchange: Exchange, options: RunOptions) -> Output:
            return Output([], transcript=Transcript(path=path), request=asked)

        def second_request(exchange: Exchange, options: RunOptions) -> bytes:
            return json.dumps(second).encode()

        adapter = Adapter(name="refused", model=FACTS, run=run, second_request=second_request)
        item = JudgedExchange(self.wire, 1, exchange_of(self.wire))
        return [
            *run_plan(plan_answers([item]), [adapter]),
            *run_plan(plan_second_turns([item]), [adapter]),
        ]


def unsigned(body: Body) -> None:
    del body["contents"][1]["parts"][0]["thoughtSignature"]


REFUSED: dict[str, RefusedFault] = {
    f"{wire}, turn {turn}: {name}": RefusedFault(wire, turn, change, rule)
    for wire, turn, name, change, rule in (
        ("generateContent", 1, "a content without parts", lambda body: body["contents"].append({"role": "user", "parts": []}), "content-empty"),
        ("generateContent", 2, "a call without its signature", unsigned, "call-unsigned"),
        ("messages", 1, "a temperature of another wire", lambda body: body.update(temperature=1.5), "temperature-range"),
        ("messages", 2, "a call without its result", lambda body: body["messages"][2]["content"].pop(), "tool-use-without-result"),
        ("responses", 1, "a result without its call", lambda body: body["input"].append({"type": "function_call_output", "call_id": "c", "output": "r"}), "output-without-call"),
        ("responses", 2, "a call without its result", lambda body: body["input"].pop(), "call-without-output"),
        ("responses", 2, "the id of a call at its item", lambda body: body["input"][5].update(id="call_a"), "item-id-prefix"),
        ("chat", 1, "a result without its call", lambda body: body["messages"].append({"role": "tool", "tool_call_id": "c", "content": "r"}), "tool-without-calls"),
        ("chat", 2, "a call without its result", lambda body: body["messages"].pop(), "calls-without-tool"),
    )
}  # fmt: skip
FAITHFUL = {
    wire: RefusedFault(wire, 1, lambda body: None, "") for wire in ("generateContent", *WIRES)
}
