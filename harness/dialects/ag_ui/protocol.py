"""AG-UI 1.0: its version, how a run ends, the order of its events, and the declared losses.

Source: https://docs.ag-ui.com/spec/1.0/events/lifecycle and
https://docs.ag-ui.com/spec/1.0/basic/patterns/streaming.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from harness.facts import losses_of_model
from harness.stream import events as ev

from ..ending import EndKind
from ..losses import usual_losses

VERSION: Final = "1.0"
"""The version of the protocol that a run declares."""

LARGEST: Final = 9_007_199_254_740_991
"""The largest count that the schema allows."""

OWN: Final = "harness"
"""The key under which the metadata of an event have what the protocol has no field for."""

LOSSES: Final = losses_of_model(usual_losses("blocks"))

RunOutcome = Literal["success", "cancelled"]

OUTCOMES: Final[Mapping[EndKind, RunOutcome | None]] = {
    "nothing": None,
    "invalid_call": None,
    "blocked": None,
    "called": "success",
    "unfinished": None,
    "stop": "success",
    "length": "cancelled",
    "content_filter": None,
    "malformed": None,
    "continuation": "cancelled",
    "other": "success",
    "empty": None,
    "failed": None,
}
"""The end of an answer → the outcome of ``RUN_FINISHED``; None: ``RUN_ERROR``. A run that a limit
stopped is neither a success nor a failure, but cancelled.
"""

CANCELLED: Final = frozenset({"cancelled", "canceled"})
"""The finish words of the class other that are the protocol's own outcome ``cancelled``."""

_OPEN: Final = {
    "TEXT_MESSAGE_START": "text",
    "REASONING_START": "reasoning",
    "TOOL_CALL_START": "call",
    "TOOL_CALL_RESULT": "running",
    "RAW": "running",
    "RUN_FINISHED": "over",
    "RUN_ERROR": "over",
}

ORDER: Final[Mapping[str, Mapping[str, str]]] = {
    "fresh": {"RUN_STARTED": "running", "RUN_ERROR": "over"},
    "running": _OPEN,
    "text": {"TEXT_MESSAGE_CONTENT": "text", "RAW": "text", "TEXT_MESSAGE_END": "text ended"},
    "text ended": {"REASONING_ENCRYPTED_VALUE": "running", **_OPEN},
    "reasoning": {"REASONING_MESSAGE_START": "thought"},
    "thought": {
        "REASONING_MESSAGE_CONTENT": "thought",
        "RAW": "thought",
        "REASONING_MESSAGE_END": "thought ended",
    },
    "thought ended": {
        "REASONING_ENCRYPTED_VALUE": "thought ended",
        "REASONING_END": "running",
    },
    "call": {
        "REASONING_ENCRYPTED_VALUE": "call",
        "TOOL_CALL_ARGS": "call",
        "RAW": "call",
        "TOOL_CALL_END": "running",
        "RUN_ERROR": "over",
    },
    "over": {},
}
"""One item is open at a time, although the protocol allows more. Nothing follows the end."""


def ours(**known: Any) -> dict[str, Any]:
    """Return the metadata of an event: the known values, which may be none."""
    values = {name: value for name, value in known.items() if value is not None}
    return {"metadata": {OWN: values}} if values else {}


def describe_block(blocked: ev.Blocked) -> str:
    """Return the message of the error for a refused prompt."""
    message = f" ({blocked.message})" if blocked.message else ""
    return f"the prompt was blocked: {blocked.reason}{message}"
