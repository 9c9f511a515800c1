"""Adapters are the things under test. A dialect and a user's function, program or gateway have one
interface.
"""

from .adapter import (
    FACTS,
    NO_OPTIONS,
    Adapter,
    AdapterError,
    AdapterMissing,
    KnownFailure,
    Normalize,
    OutOfTime,
    Output,
    RunOptions,
    Subject,
)
from .asked import Asked, FailingService, FaultReaction, PlayedSession, Reaction, SentRequest
from .own import ADAPTERS, EVENTS, FRAMES, dialect_adapter, user_adapter

__all__ = [
    "ADAPTERS",
    "EVENTS",
    "FACTS",
    "FRAMES",
    "NO_OPTIONS",
    "Adapter",
    "AdapterError",
    "AdapterMissing",
    "Asked",
    "FailingService",
    "FaultReaction",
    "KnownFailure",
    "Normalize",
    "OutOfTime",
    "Output",
    "PlayedSession",
    "Reaction",
    "RunOptions",
    "SentRequest",
    "Subject",
    "dialect_adapter",
    "user_adapter",
]
