"""An expectation and a value, compared: equal first, explained only if they are not."""

from __future__ import annotations

from harness.stream.json_codec import Json

from .equality import equal_if_plain
from .explain import Explainer
from .mismatch import Mismatch
from .operators import MAX_TRIES, Bindings

DEEP = "nested too deeply to be compared"
GAVE_UP = (
    f"given up after {MAX_TRIES:,} tries: use fewer items with operators in $unordered and"
    " $contains, or simpler patterns"
)


def compare(expected: Json, actual: Json, *, limit: int = 100) -> list[Mismatch]:
    """What differs between an expectation and a JSON value; empty if nothing does.

    Exact: true is not 1, 1 equals 1.0, key order never matters; operators of the expectation say
    where it is not. ``$same`` binds its name at the first use that matches, in the order of the
    expectation; inside ``$contains`` and ``$unordered`` the first choice that works for that list
    is kept. At most ``limit`` findings; if there are more, one more at ``$`` says how many. Raises
    nothing for JSON data.
    """
    try:
        bindings = Bindings()
        plainly = equal_if_plain(expected, actual)
        if plainly or (plainly is None and bindings.meets(expected, actual)):
            return []
        explainer = Explainer(limit)
        explainer.explain((), expected, actual)
    except RecursionError:
        return [Mismatch("$", "changed", note=DEEP)]
    mismatches = explainer.mismatches or [Mismatch("$", "changed", expected, actual)]
    if explainer.hidden:
        mismatches.append(
            Mismatch(
                "$", "changed", note=f"and {explainer.hidden:,} more differences that are not shown"
            )
        )
    if bindings.gave_up or explainer.bindings.gave_up:
        mismatches.append(Mismatch("$", "changed", note=GAVE_UP))
    return mismatches
