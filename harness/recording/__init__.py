"""Recording: vcrpy is the machinery, our format is what it writes, and a transport of ours stands
between a client and the network.

`use_cassette` opens a cassette to be recorded or to answer, `transports` are for a client's HTTP
library, `register` makes a suite of vcrpy's own keep its cassettes in our format. Names are
imported when they are first used: pytest loads this package in every run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cassette import Mode, Playback, Recording, UnknownRequest, use_cassette
    from .persister import Persister, register
    from .policy import RecordingRefused
    from .transport import transports

_HOMES = {
    "Persister": "persister",
    "register": "persister",
    "RecordingRefused": "policy",
    "transports": "transport",
    "Mode": "cassette",
    "Playback": "cassette",
    "Recording": "cassette",
    "UnknownRequest": "cassette",
    "use_cassette": "cassette",
}

__all__ = [
    "Mode",
    "Persister",
    "Playback",
    "Recording",
    "RecordingRefused",
    "UnknownRequest",
    "register",
    "transports",
    "use_cassette",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
