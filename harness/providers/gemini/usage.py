"""Reads token counts.

Counts are integers on the wire, but int64 ones may come as strings and JavaScript writes floats
(https://protobuf.dev/programming-guides/json/); whatever else stands there is kept in ``raw``,
which is the whole object.
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import Usage
from harness.stream.json_codec import Json

from .fields import Fields, spellings

_COUNTS: Final = (
    "promptTokenCount candidatesTokenCount thoughtsTokenCount cachedContentTokenCount"
    " toolUsePromptTokenCount totalTokenCount"
)
_SPELLINGS: Final = {
    **spellings(_COUNTS),
    **dict.fromkeys(("responseTokenCount", "response_token_count"), "candidatesTokenCount"),
}
_NAMES: Final = tuple(_COUNTS.split())


def read_usage(usage: dict[str, Json]) -> Usage:
    """The counts of one ``usageMetadata``; the Live API calls the output ``responseTokenCount``."""
    get = usage.get
    prompt, output, thoughts = (
        get("promptTokenCount"),
        get("candidatesTokenCount"),
        get("thoughtsTokenCount"),
    )
    cached, tool_use, total = (
        get("cachedContentTokenCount"),
        get("toolUsePromptTokenCount"),
        get("totalTokenCount"),
    )
    if (
        (type(prompt) is int or (prompt is None and usage.keys().isdisjoint(_SPELLINGS)))
        and (output is None or type(output) is int)
        and (thoughts is None or type(thoughts) is int)
        and (cached is None or type(cached) is int)
        and (tool_use is None or type(tool_use) is int)
        and (total is None or type(total) is int)
    ):
        return Usage(usage, prompt, output, thoughts, cached, tool_use, total)
    fields = Fields(usage, _SPELLINGS)
    return Usage(usage, *[_whole(fields.take(name)) for name in _NAMES])


def _whole(count: Json) -> int | None:
    if type(count) is int:
        return count
    if type(count) is float and count.is_integer():
        return int(count)
    if (
        type(count) is str
        and len(count) <= 20
        and count.removeprefix("-").isdecimal()
        and count.isascii()
    ):
        return int(count)
    return None
