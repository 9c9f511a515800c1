"""Payloads of event models and a short form of findings, for the tests of this folder."""

from __future__ import annotations

import random
from typing import Any

from harness.specs.matching import compare

Json = Any
Payloads = list[dict[str, Json]]


def findings(expected: Json, actual: Json) -> list[tuple[str, str]]:
    """The findings as path and kind."""
    return [(mismatch.path, mismatch.kind) for mismatch in compare(expected, actual)]


def deltas(*texts: str) -> Payloads:
    return [{"type": "TEXT_DELTA", "delta": text, "text_id": "text_1"} for text in texts]


def words(count: int) -> Payloads:
    return deltas(*(f"word {number} " for number in range(count)))


def block(index: int, text: str, tool: int | None = None) -> Payloads:
    content = (
        {"type": "tool_use", "id": f"toolu_{tool}", "name": "f", "input": {}}
        if tool
        else {"type": "text", "text": ""}
    )
    delta = (
        {"type": "input_json_delta", "partial_json": text}
        if tool
        else {"type": "text_delta", "text": text}
    )
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]


def message(blocks: list[tuple[str, bool]]) -> Payloads:
    """A message of the anthropic dialect: for each block, its text and whether it is a tool call."""
    payloads: Payloads = [{"type": "message_start", "message": {"id": "msg_1"}}]
    tools = 0
    for index, (text, is_tool) in enumerate(blocks):
        tools += is_tool
        payloads += block(index, text, tools if is_tool else None)
    return [
        *payloads,
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


def shuffled(items: list[Json]) -> list[Json]:
    return random.Random(1).sample(items, len(items))
