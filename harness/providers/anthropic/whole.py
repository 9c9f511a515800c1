"""Makes the content of a whole answer, as the request after it has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.facts import arguments_of
from harness.stream.json_codec import Json, objects_in

_Block = dict[str, Any]


def blocks_of(messages: Iterable[Json]) -> list[_Block]:
    """Return the content blocks of an answer, as the official client joins them. A piece for a
    block that has not begun is left out.
    """
    blocks: dict[int, _Block] = {}
    inputs: dict[int, str] = {}
    for message in messages:
        match message:
            case {"type": "message", "content": list(content)}:
                return objects_in(content)
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                blocks[index] = dict(block)
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)} if (
                index in blocks
            ):
                _add(blocks[index], delta)
                inputs[index] = inputs.get(index, "") + str(delta.get("partial_json") or "")
    for index, text in inputs.items():
        if text:
            blocks[index]["input"] = arguments_of(text)
    return [*blocks.values()]


def _add(block: _Block, delta: dict[str, Any]) -> None:
    for name in ("text", "thinking"):
        if isinstance(delta.get(name), str):
            block[name] = str(block.get(name) or "") + delta[name]
    if "signature" in delta:
        block["signature"] = delta["signature"]
    if "citation" in delta:
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
