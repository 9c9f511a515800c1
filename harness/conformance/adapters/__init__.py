"""Adapters: what is under test, in one shape for ours, a user's function, program and gateway."""

from .adapter import (
    FACTS,
    Adapter,
    AdapterError,
    AdapterMissing,
    KnownFailure,
    Normalize,
    OutOfTime,
    Output,
    RunOptions,
    second_request,
)
from .own import ADAPTERS, EVENTS, FRAMES, dialect_adapter, user_adapter

__all__ = [
    "ADAPTERS",
    "EVENTS",
    "FACTS",
    "FRAMES",
    "Adapter",
    "AdapterError",
    "AdapterMissing",
    "KnownFailure",
    "Normalize",
    "OutOfTime",
    "Output",
    "RunOptions",
    "dialect_adapter",
    "second_request",
    "user_adapter",
]
