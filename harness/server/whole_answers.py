"""Assembles the interaction from the events of a stream
(https://ai.google.dev/api/interactions-api).
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from harness.pipeline.replay import frames_of
from harness.providers import Identity
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_json

STORED: Final = re.compile(r"/interactions/(?P<id>[^/:]+)(?P<cancel>[/:]cancel)?$")
"""The paths of requests about a stored interaction: to fetch, cancel or delete it."""


def asks_model(identity: Identity, url: str) -> bool:
    """Return whether a request asks a model for a new answer."""
    return identity.generates and not STORED.search(unquote(urlsplit(url).path))


def interaction_of(exchange: Exchange) -> dict[str, Any] | None:
    """Return the interaction of an answer, streamed or not; None if the answer has no
    interaction.
    """
    interaction: dict[str, Any] = {}
    steps: dict[int, dict[str, Any]] = {}
    for frame in frames_of(exchange):
        match frame.json:
            case {"event_type": str(), "interaction": dict(fields)}:
                interaction |= fields
            case {"event_type": "interaction.status_update", "status": str(status)}:
                interaction["status"] = status
            case {"event_type": "step.start", "index": int(index), "step": dict(step)}:
                steps[index] = deepcopy(step)
            case {"event_type": "step.delta", "index": int(index), "delta": dict(delta)}:
                _add(steps.setdefault(index, {}), delta)
            case {"id": str(), "status": str(), **whole}:
                return {**frame.json, "steps": whole.get("steps") or []}
    if not interaction:
        return None
    streamed = [_closed(steps[index]) for index in sorted(steps)]
    return {**interaction, "steps": streamed or interaction.get("steps") or []}


def _add(step: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a delta to its step (https://ai.google.dev/gemini-api/docs/streaming)."""
    content = step.get("content") or []
    match delta:
        case {"type": "text", "text": str(text)}:
            if content and content[-1].get("type") == "text":
                content[-1]["text"] += text
            else:
                content.append({"type": "text", "text": text})
            step["content"] = content
        case {"type": "text_annotation_delta", "annotations": list(annotations)} if content:
            content[-1]["annotations"] = [*content[-1].get("annotations", ()), *annotations]
        case {"type": "thought_summary", "content": dict(summary)}:
            step["summary"] = [*(step.get("summary") or ()), summary]
        case {"type": "thought_signature", "signature": str(signature)}:
            step["signature"] = (step.get("signature") or "") + signature
        case {"type": "arguments_delta", "arguments": str(text)}:
            had = step.get("arguments")
            step["arguments"] = (had if isinstance(had, str) else "") + text
        case {"type": "image" | "audio" | "video" | "document"}:
            step["content"] = [*content, delta]
        case _:
            step |= {name: value for name, value in delta.items() if name != "type"}


def _closed(step: dict[str, Any]) -> dict[str, Any]:
    """Return the step with its arguments as JSON, as in a unary answer."""
    if isinstance(step.get("arguments"), str):
        try:
            return {**step, "arguments": decode_json(step["arguments"].encode())}
        except ValueError:
            return step
    return step
