"""openai's library for Node streams the Responses API from `harness serve`, from recordings of it and
from those of Gemini.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness import load
from harness.server import serve
from tests.clients.test_clients import HERE
from tests.clients.test_wire_clients import COMPLETE, run
from tests.server.socket_client import tape
from tests.server.test_dialect_proxy import GEMINI, MODEL, conversation
from tests.server.test_openai_apis import DECLARED, outputs

CASSETTES = HERE.parents[1] / "cassettes" / "openai"


@pytest.mark.parametrize(
    ("name", "number", "end"),
    [
        ("responses-calls", 2, COMPLETE),
        ("responses-reasoning", 2, COMPLETE),
        ("responses-errors", 3, {"end": "error", "status": 429}),
    ],
)
def test_node_streams_responses(name: str, number: int, end: dict[str, Any]) -> None:
    exchange = load(CASSETTES / f"{name}.yaml").exchanges[number - 1]
    assert exchange.request is not None
    with serve(tape(exchange), pace="step", match="path") as server:
        asked = json.loads(exchange.request.body)
        events, ended = run("openai", "openai_responses.mjs", server, asked)
    lines = exchange.body.splitlines()
    recorded = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
    assert events == recorded
    assert ended.items() >= end.items()


def test_node_streams_two_responses_of_gemini() -> None:
    tools = [{"type": "function", **DECLARED}]
    about = {"model": MODEL, "tools": tools, "max_output_tokens": 100}
    asked: list[Any] = [{"role": "user", "content": "Oslo and Rome?"}]
    with serve(conversation(GEMINI), pace="step", dialect="unified-llm") as server:
        events, ended = run("openai", "openai_responses.mjs", server, {**about, "input": asked})
        items = events[-1]["response"]["output"]
        body = {**about, "input": [*asked, *items, *outputs()]}
        more, ended_again = run("openai", "openai_responses.mjs", server, body)
    calls = [event for event in events if event["type"] == "response.function_call_arguments.done"]
    assert [call["arguments"] for call in calls] == ['{"city":"Oslo"}', '{"city":"Rome"}']
    texts = (event["delta"] for event in more if event["type"] == "response.output_text.delta")
    assert ("".join(texts), ended, ended_again) == ("Oslo 4, Röm 19.", COMPLETE, COMPLETE)
