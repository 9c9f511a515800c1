"""openai's library for Node streams the Responses API from `harness serve`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness import load
from harness.server import serve
from tests.clients.test_clients import HERE
from tests.clients.test_wire_clients import COMPLETE, run
from tests.server.socket_client import tape

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
