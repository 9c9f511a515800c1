"""The words for what several event models have no place for."""

from __future__ import annotations

from typing import Final

BESIDE_CONTENT: Final = {
    "media": "images, sounds and files",
    "code": "code that the server runs, and its output",
    "grounding": "grounding metadata",
    "citations": "citation metadata",
    "urls": "the pages that were fetched for the URL context",
    "candidates": "every candidate but the first",
    "response_id": "the id of the response",
    "logprobs": "log probabilities",
    "safety_ratings": "safety ratings",
    "fields": "fields and objects of the wire that no other name covers",
    "refusal": "that a text is the model's refusal",
}
"""The losses of most event models: other content than text and calls, and what is beside it."""
_OTHERS: Final = {
    "text[damaged]": "undamaged text beside damaged pieces",
    "ids": "ids of calls",
    "thoughts": "thoughts",
    "signatures": "thought signatures",
    "usage": "token counts",
    "billing": "the service tier and the traffic type",
    "server_tools": "calls of tools that the server runs, and their results",
    "finish_message": "the text beside a finish reason or a block reason",
    "model": "the model that answered",
    "create_time": "the time of the response",
    "trace_id": "the trace id of Code Assist",
    "credits": "credits consumed and left",
    "usage_details": "token counts by kind of content and of service",
    "blocks": "the boundaries of steps, blocks and items, with their indexes and ids",
}


def usual_losses(names: str) -> dict[str, str]:
    """Return the losses with these names, and their meanings."""
    return {name: _OTHERS[name] for name in names.split()}
