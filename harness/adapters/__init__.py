"""Adapters are the things under test. A dialect and a user's function, program or gateway have one
interface.
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
    SentRequest,
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
    "SentRequest",
    "dialect_adapter",
    "user_adapter",
]
