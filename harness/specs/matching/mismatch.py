"""The findings of a comparison: one `Mismatch` for each difference.

A path begins without a dot (``[3].delta``, ``usage.total``), a run of items is ``[12..14]``, a key
that is not a plain word is quoted, and the whole value is ``$``.
"""

from __future__ import annotations

import json
from typing import Final, Literal

from msgspec import Struct

from harness.stream.json_codec import Json
from harness.stream.printable import excerpt

MismatchKind = Literal["changed", "missing", "extra", "moved", "recut"]

ItemSteps = tuple[str | int | range, ...]

MAX_SHOWN: Final = 1200
"""Characters of a value in one line."""
LONG: Final = 160
"""A string that is longer is cut to its first difference."""
EQUAL_SHOWN: Final = 40
"""The number of characters that are shown before that difference."""
HERE: Final = " ▶ "
"""Marks the first difference of two strings."""


class Mismatch(Struct, frozen=True):
    """One difference."""

    path: str
    """Has indices of the expectation; for ``extra``, of the actual value."""
    kind: MismatchKind
    """``changed``, ``missing`` (expected, not got), ``extra`` (got, not expected), ``moved`` (a
    counted number is off by the same amount from here on) or ``recut`` (same text, cut
    differently).
    """
    expected: Json = None
    """A JSON value; None if there is no value, a list for a run of items."""
    got: Json = None
    """The same for the actual value."""
    note: str = ""
    """A sentence or ``""``."""
    index: int | None = None
    """The first index of the path, if the path begins with one."""


def sides(mismatch: Mismatch) -> tuple[str | None, str | None]:
    """Return the expected and the actual value as JSON text, None if there is no value. Two long
    strings are shown from shortly before their first difference, which `HERE` marks; other long
    values are shortened in the middle.
    """
    expected, got = mismatch.expected, mismatch.got
    if mismatch.kind == "changed" and expected is None and got is None:
        return None, None  # the note is about the comparison, not about a value
    if isinstance(expected, str) and isinstance(got, str):
        pairs = enumerate(zip(expected, got, strict=False))
        shorter = min(len(expected), len(got))
        same = next((at for at, (ours, theirs) in pairs if ours != theirs), shorter)
        if same > EQUAL_SHOWN and max(len(expected), len(got)) > LONG:
            return _from_difference(expected, same), _from_difference(got, same)
    near = mismatch.kind == "missing" and got is None
    return (None if mismatch.kind == "extra" else _value(expected)), (None if near else _value(got))


def _from_difference(text: str, same: int) -> str:
    """Return a string whose first ``same`` characters are equal to those of another one."""
    before = json.dumps(text[same - EQUAL_SHOWN : same], ensure_ascii=False)[1:-1]
    after = json.dumps(text[same:], ensure_ascii=False)[1:-1]
    left_out = f"({same - EQUAL_SHOWN:,} equal characters) …"
    return f'{left_out}{before}{HERE}{excerpt(after, MAX_SHOWN // 2)}"'


def _value(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return excerpt(text, MAX_SHOWN // 2, MAX_SHOWN // 2)
