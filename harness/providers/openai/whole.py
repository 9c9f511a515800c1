"""Makes the items of a whole answer of the Responses API, as the request after it has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.stream.json_codec import Json, objects_in


def following(messages: Iterable[Json]) -> dict[str, Any]:
    """Return a body with the items of an answer as its input: those of the last response, or those
    of the stream if it has none. It also names the response.
    """
    done: dict[int, dict[str, Any]] = {}
    output: list[dict[str, Any]] = []
    name: Json = None
    for message in messages:
        match message:
            case {
                "type": "response.output_item.done",
                "output_index": int(index),
                "item": dict(item),
            }:
                done[index] = item
            case {"response": dict(response)} | {"object": "response", **response}:
                name = response.get("id")
                output = objects_in(response.get("output")) or output
    items = output or [done[index] for index in sorted(done)]
    return {"input": items, "previous_response_id": name}
