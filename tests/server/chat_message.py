"""Joins the pieces of a chat completion to its message
(https://ai.google.dev/gemini-api/docs/openai).
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from harness.cassettes import Exchange
from harness.pipeline.replay import frames_of


def chat_message_of(exchange: Exchange) -> dict[str, Any] | None:
    """The assistant's message of a chat completion, streamed or not; None if there is none."""
    message: dict[str, Any] | None = None
    calls: list[dict[str, Any]] = []
    for frame in frames_of(exchange):
        match frame.json:
            case {"choices": [{"message": dict(whole)}, *_]}:
                return whole
            case {"choices": [{"delta": dict(delta)}, *_]}:
                message = message or {"role": "assistant"}
                for name in ("content", "extra_content"):
                    match delta.get(name):
                        case str(text):
                            message[name] = message.get(name, "") + text
                        case dict(extra):
                            message[name] = _merged(message.get(name, {}), extra)
                for call in delta.get("tool_calls") or ():
                    _add_call(calls, call)
    if message is not None and calls:
        message["tool_calls"] = calls
    return message


def _add_call(calls: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    """Add a piece of a call. A piece without an id, or with the id and index of the last one,
    continues that call.
    """
    last = calls[-1] if calls else None
    same = last is not None and all(
        piece.get(key) in (None, "", last.get(key)) for key in ("id", "index")
    )
    if last is None or not same:
        calls.append(deepcopy(piece))
        return
    function = last.setdefault("function", {})
    more = piece.get("function") or {}
    function["arguments"] = function.get("arguments", "") + (more.get("arguments") or "")
    if isinstance(piece.get("extra_content"), dict):
        last["extra_content"] = _merged(last.get("extra_content", {}), piece["extra_content"])


def _merged(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The vendors' fields of both, such as ``{"google": {"thought_signature": …}}``."""
    return {
        name: {**(before.get(name) or {}), **(after.get(name) or {})}
        for name in (*before, *(name for name in after if name not in before))
    }
