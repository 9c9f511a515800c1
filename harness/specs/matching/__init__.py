"""Compares an expectation with a value and reports the differences in as few findings as possible.

`compare` first decides in one pass whether the value is as expected (`equality`, `operators`), and
explains only differences. It walks down to each difference (`explain`) and compares lists by an
alignment (`lists`). One lost block is one finding, although it shifts every number after it
(`counters`). A text that was cut differently is one finding, for any number of pieces
(`fingerprint`).
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from harness.stream.json_codec import Json

from .equality import equal_if_plain
from .explain import Explainer
from .mismatch import Mismatch, MismatchKind, sides
from .operators import MAX_TRIES, Bindings
from .validate import check_expectation

__all__ = ["Mismatch", "MismatchKind", "bindings_of", "check_expectation", "compare", "sides"]

MAX_COUNTED: Final = 1_000
"""The maximum number of differences that are counted and not shown."""
DEEP: Final = "nested too deeply to be compared"
GAVE_UP: Final = (
    f"given up after {MAX_TRIES:,} tries: use fewer items with operators in $unordered and"
    " $contains, or simpler patterns"
)


def bindings_of(expected: Json, actual: Json) -> dict[str, Json] | None:
    """Return the names that ``$same`` binds, if a value is as expected; None if it is not."""
    bindings = Bindings()
    try:
        return bindings.bound if bindings.meets(expected, actual) else None
    except RecursionError:
        return None


def compare(expected: Json, actual: Json, *, limit: int = 100) -> list[Mismatch]:
    """Return the differences between an expectation and a JSON value; empty if there are none.

    Exact: true is not 1, 1 equals 1.0, key order never matters; operators of the expectation allow
    more. ``$same`` binds its name at the first use that matches, in the order of the expectation;
    inside ``$contains`` and ``$unordered`` the first choice that works for that list is kept. There
    are at most ``limit`` findings. If there are more differences, an additional finding at ``$``
    has their number, up to `MAX_COUNTED`. Raises nothing for JSON data.
    """
    try:
        bindings = Bindings()
        plainly = equal_if_plain(expected, actual)
        if plainly or (plainly is None and bindings.meets(expected, actual)):
            return []
        explainer = Explainer()
        findings = explainer.explain((), expected, actual)
        mismatches = list(islice(findings, limit)) or [Mismatch("$", "changed", expected, actual)]
        hidden = sum(1 for _ in islice(findings, MAX_COUNTED))
    except RecursionError:
        return [Mismatch("$", "changed", note=DEEP)]
    if hidden:
        number = f"{hidden:,}" if hidden < MAX_COUNTED else f"at least {hidden:,}"
        note = f"and {number} more differences that are not shown"
        mismatches.append(Mismatch("$", "changed", note=note))
    if bindings.gave_up or explainer.bindings.gave_up or explainer.loose.gave_up:
        mismatches.append(Mismatch("$", "changed", note=GAVE_UP))
    return mismatches
