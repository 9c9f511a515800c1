"""Records the exchanges of real clients, and answers clients from cassettes.

`use_cassette` opens a cassette that records or answers; `transports` connect a client to it;
`register` makes a vcrpy suite keep its cassettes in our format. Names are imported when they are
first used, because pytest loads this package in every run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cassette import Mode, Playback, Recording, UnknownRequest, use_cassette
    from .persister import Persister
    from .policy import RecordingRefused
    from .transport import transports
    from .vcr import register

_HOMES = {
    "Persister": "persister",
    "register": "vcr",
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
