"""The variants of Chat Completions: the oddities of an answer that no server documents.

A recording with such a form is written by hand. The page docs/wires-of-gemini.md lists the evidence
of each recording. Reasoning in fields of its own, content as a list and comment lines are
documented by servers that speak this API (`docs/wires-of-others.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.stream.framing import Frame
from harness.stream.oddities import Oddities

from .calls import LATE

_OF_GEMINI: Final = {
    "delta.function_call": "the old function_call",
    "delta.refusal": "a refusal in a field of its own",
    "finish_reason again": "two finish reasons",
    LATE: LATE,
}
"""The name of an oddity → the variant that it is, for which there is no public evidence that
Gemini's endpoint sends it.
"""


def variants_in(frames: Sequence[Frame], oddities: Oddities) -> list[str]:
    """Return the forms that Gemini's endpoint does not send; none for the documented wire."""
    return sorted(oddities.named(_OF_GEMINI))


def of_chat(oddities: Oddities) -> list[str]:
    """Return the forms that no server sends. The calls of a whole message have no index."""
    names = {"an object of another API": "an object of another API"}
    if "choice.delta" not in oddities:
        names["call.index"] = "a call without an index"
    return sorted(oddities.named(names))
