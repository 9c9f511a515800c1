"""Adapters: what is under test, in one shape for ours, a user's function, program and client."""

from .adapter import Adapter, AdapterError, AdapterMissing, OutOfTime, Output, RunOptions
from .own import ADAPTERS, EVENTS, FRAMES, dialect_adapter, user_adapter

__all__ = [
    "ADAPTERS",
    "EVENTS",
    "FRAMES",
    "Adapter",
    "AdapterError",
    "AdapterMissing",
    "OutOfTime",
    "Output",
    "RunOptions",
    "dialect_adapter",
    "user_adapter",
]
