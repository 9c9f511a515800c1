"""Reads the token counts of an answer."""

from __future__ import annotations

from typing import Any, Final

from harness.stream.events import Usage
from harness.stream.json_codec import Json

_OF_INPUT: Final = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)

COUNTS: Final = (*_OF_INPUT, "output_tokens")


class Counts:
    """The counts so far. Those of a ``message_delta`` replace those of ``message_start``."""

    def __init__(self) -> None:
        self._latest: dict[str, Json] = {}

    def read(self, usage: dict[str, Json]) -> Usage:
        """Return the counts of one ``usage``. ``input_tokens`` excludes the tokens that are read
        from the cache or written to it; ``output_tokens`` includes those of the thoughts.
        """
        self._latest |= {name: value for name, value in usage.items() if value is not None}
        counts: dict[str, Any] = {}
        prompt, cached, written = (_whole(self._latest.get(name)) for name in _OF_INPUT)
        if prompt is not None and any(_whole(usage.get(name)) is not None for name in _OF_INPUT):
            counts["input"] = prompt + (cached or 0) + (written or 0)
        output = _whole(self._latest.get("output_tokens"))
        thoughts = _thinking(self._latest)
        is_new = _whole(usage.get("output_tokens")) is not None or _thinking(usage) is not None
        if output is not None and is_new:
            counts["output"] = output - (thoughts or 0)
        return Usage(
            usage,
            **counts,
            reasoning=_thinking(usage),
            cached=_whole(usage.get("cache_read_input_tokens")),
            cache_write=_whole(usage.get("cache_creation_input_tokens")),
        )


def _thinking(usage: dict[str, Json]) -> int | None:
    details = usage.get("output_tokens_details")
    return _whole(details.get("thinking_tokens")) if type(details) is dict else None


def _whole(count: Json) -> int | None:
    return count if type(count) is int else None
