"""Reads token counts.

Counts are integers on the wire, but int64 counts may be strings and JavaScript writes floats
(https://protobuf.dev/programming-guides/json/). Other values are kept in ``raw``, the whole object.
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import Usage
from harness.stream.json_codec import Json

from .fields import spellings

COUNTED: Final = {
    "promptTokenCount": "input",
    "candidatesTokenCount": "output",
    "thoughtsTokenCount": "reasoning",
    "cachedContentTokenCount": "cached",
    "toolUsePromptTokenCount": "tool_use",
    "totalTokenCount": "total",
}
_SPELLINGS: Final = {
    **{spelling: COUNTED[name] for spelling, name in spellings(" ".join(COUNTED)).items()},
    **dict.fromkeys(("responseTokenCount", "response_token_count"), "output"),
}
"""Spelling → field of `Usage`. The Live API calls the output ``responseTokenCount``."""

_KNOWN: Final = frozenset(_SPELLINGS) | frozenset(
    spellings(
        "promptTokensDetails candidatesTokensDetails responseTokensDetails cacheTokensDetails"
        " toolUsePromptTokensDetails rawPromptTokenCount initialPromptTokenCount"
        " trafficType serviceTier billablePromptUsage"
    )
)
"""Every field that a ``usageMetadata`` is known to have, in its spellings."""
CAMEL: Final = frozenset(name for name in _KNOWN if "_" not in name)
"""Those in camelCase."""


def unknown_counts(usage: dict[str, Json]) -> list[tuple[str, Json]]:
    """Return the fields of one ``usageMetadata`` that are not known, without those that are
    null.
    """
    if usage.keys() <= _KNOWN:
        return []
    return [(key, value) for key, value in usage.items() if key not in _KNOWN and value is not None]


def read_usage(usage: dict[str, Json]) -> Usage:
    """Return the counts of one ``usageMetadata``. If a count has several spellings, camelCase is
    read.
    """
    counts: dict[str, int | None] = {}
    for key, value in usage.items():
        field = _SPELLINGS.get(key)
        if field is not None and value is not None and (field not in counts or key in COUNTED):
            counts[field] = value if type(value) is int else _whole(value)
    return Usage(usage, **counts)


def _whole(count: Json) -> int | None:
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
