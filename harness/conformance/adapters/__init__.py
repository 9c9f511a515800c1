"""Adapters, the things under test: one interface for our dialects and for a user's function,
program or gateway.
"""

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
    "user_adapter",
]
