"""Adapters: what is under test, in one shape for ours, a user's function, program and client."""

from .adapter import (
    FACTS,
    Adapter,
    AdapterError,
    AdapterMissing,
    KnownFailure,
    OutOfTime,
    Output,
    RunOptions,
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
    "OutOfTime",
    "Output",
    "RunOptions",
    "dialect_adapter",
    "user_adapter",
]
