"""Compares payloads. Ids that an adapter invents are compared by reference, not by their spelling.

Our dialects number the ids that the wire does not give (``call_1``, ``msg_1``). A user's adapter
may use any other text for such an id, but must use the same text in all its places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, Final

from harness.specs.matching import Mismatch, bindings_of, compare
from harness.stream.json_codec import Json

_UNCHANGED: Final = frozenset(("$re", "$same", "$literal"))
_NAME: Final = "invented id "


def compare_with_ids(expected: Json, items: list[Any], invented: Collection[str]) -> list[Mismatch]:
    """Compare as `compare`, but the ``invented`` ids of the expectation may have another spelling.
    Two different ids must not have the same spelling.
    """
    referred = _by_reference(expected, invented)
    bound = bindings_of(referred, items)
    if bound is None:
        return compare(referred, items)
    texts = {name: text for name, text in bound.items() if name.startswith(_NAME)}
    counts = Counter(str(text) for text in texts.values())
    shared = [
        name.removeprefix(_NAME)
        for name, text in texts.items()
        if not isinstance(text, str) or not text or counts[text] > 1
    ]
    # First, the invented ids are compared by their spelling, to find their places.
    return compare(_by_reference(expected, {*invented} - {*shared}), items) if shared else []


def _by_reference(expected: Json, invented: Collection[str]) -> Json:
    if isinstance(expected, str):
        return {"$same": _NAME + expected} if expected in invented else expected
    if isinstance(expected, list):
        return [_by_reference(item, invented) for item in expected]
    if not isinstance(expected, dict) or _UNCHANGED & expected.keys():
        return expected
    return {key: _by_reference(value, invented) for key, value in expected.items()}
