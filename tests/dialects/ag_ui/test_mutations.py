"""The mutations of AG-UI events that need more than a place."""

from __future__ import annotations

from typing import Any

from harness.dialects.ag_ui.mutations import MUTATIONS


def arguments(call: str, *pieces: str) -> list[dict[str, Any]]:
    start = {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "set"}
    given = [{"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": piece} for piece in pieces]
    return [start, *given, {"type": "TOOL_CALL_END", "toolCallId": call}]


def test_an_argument_is_lost_from_arguments_in_pieces() -> None:
    change = MUTATIONS.own["argument-lost"]
    assert change is not None
    payloads = [*arguments("c1", "{}"), *arguments("c2", '{"a":', ' 1, "b"', ": 2}")]
    assert change(payloads)
    assert payloads == [*arguments("c1", "{}"), *arguments("c2", '{"a": 1}')]


def test_an_argument_is_not_lost_from_half_an_object() -> None:
    change = MUTATIONS.own["argument-lost"]
    assert change is not None
    payloads = arguments("c1", '{"a": ')
    assert not change(payloads)
    assert payloads == arguments("c1", '{"a": ')
