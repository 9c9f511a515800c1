"""Reads the token counts of an answer."""

from __future__ import annotations

from typing import Final

from harness.stream.events import Usage
from harness.stream.json_codec import Json

_COUNTS: Final = (
    ("prompt_tokens", "input"),
    ("completion_tokens", "output"),
    ("total_tokens", "total"),
)
_OF_INPUT: Final = (("cached_tokens", "cached"), ("cache_write_tokens", "cache_write"))


def read_usage(usage: dict[str, Json]) -> Usage:
    """Return the counts of one ``usage``. ``completion_tokens`` includes those of the reasoning,
    except on servers whose total is the sum of prompt, completion and reasoning (xAI).
    """
    counts = _whole(usage, _COUNTS) | _whole(usage.get("prompt_tokens_details"), _OF_INPUT)
    reasoning = _whole(usage.get("completion_tokens_details"), (("reasoning_tokens", "reasoning"),))
    if reasoning and "output" in counts:
        apart = counts.get("input", 0) + counts["output"] + reasoning["reasoning"]
        if counts.get("total") != apart:
            counts["output"] -= reasoning["reasoning"]
    return Usage(usage, **counts, **reasoning)


def _whole(holder: Json, names: tuple[tuple[str, str], ...]) -> dict[str, int]:
    """Return the whole numbers of an object, by the field of `Usage`."""
    given = holder if type(holder) is dict else {}
    return {name: count for key, name in names if type(count := given.get(key)) is int}
