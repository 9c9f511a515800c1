"""Record-and-replay conformance tests for code between Gemini's stream and an application.

`load` reads a recording, `replay` translates one of its exchanges, `request` translates a prompt.
The pytest plugin and the ``harness`` command use these three functions. A name is imported when it
is first used, because a test run without specs needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.adapters.at import At
    from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request
    from harness.cassettes.load import load
    from harness.pipeline.replay import ReplayError, replay, replay_parts
    from harness.pipeline.request import request
    from harness.stream.generation import ToolOutcome, TranslationError, TranslationWarning
    from harness.stream.session import Session, Tool

    __version__: str
    """The version of the package."""

__all__ = [
    "At",
    "Cassette",
    "CassetteError",
    "Exchange",
    "Origin",
    "ReplayError",
    "Request",
    "Session",
    "Tool",
    "ToolOutcome",
    "TranslationError",
    "TranslationWarning",
    "__version__",
    "load",
    "replay",
    "replay_parts",
    "request",
]

_HOMES = {
    "At": "adapters.at",
    "Cassette": "cassettes",
    "CassetteError": "cassettes",
    "Exchange": "cassettes",
    "Origin": "cassettes",
    "Request": "cassettes",
    "load": "cassettes.load",
    "replay": "pipeline.replay",
    "replay_parts": "pipeline.replay",
    "ReplayError": "pipeline.replay",
    "request": "pipeline.request",
    "ToolOutcome": "stream.generation",
    "TranslationError": "stream.generation",
    "TranslationWarning": "stream.generation",
    "Session": "stream.session",
    "Tool": "stream.session",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # start-up time

        return version("gemini-conformance")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
