"""The aspects that a variant of the wire excuses: those that depend on its form.

An adapter may also refuse an answer that no server documents, with an error.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from harness.facts import ACCEPTED, ASPECTS, Aspect, Finding

from .rows import Block
from .wire_variants import NOT_REQUESTED

_ALL: Final = frozenset(ASPECTS)
_CALLS: Final[frozenset[Aspect]] = frozenset({"calls", "ids", "signatures"})
_CONTENT: Final[frozenset[Aspect]] = frozenset(
    {"text", "thoughts", "calls", "media", "code", "server_tools"}
)
EXCUSED: Final[dict[str, frozenset[Aspect]]] = {
    # of messages
    "an error without a code": frozenset({"error"}),
    "enum numbers": frozenset({"finish", "blocked", "unfinished"}),
    "arguments as text": _CALLS,
    "old fields": _CALLS | {"citations", "finish", "text"},
    "two kinds of data in one part": _ALL - {"usage", "error", "blocked", "billing"},
    "snake_case": _ALL,
    NOT_REQUESTED: _ALL - {"usage", "error", "blocked", "billing"},
    "a response id that changes": frozenset(),
    # of the order of events, on which all content depends
    "events out of order": _ALL,
    "the removed schema": _ALL,
    "the WebSocket form": _ALL,
    # of Chat Completions and Responses
    "an object of another API": frozenset(),
    "a call without an index": _CALLS,
    "the old function_call": _CALLS | {"finish"},
    "a refusal in a field of its own": frozenset({"text", "finish", "blocked"}),
    "two finish reasons": frozenset({"finish"}),
    "arguments after the end of their call": _CALLS,
    "text without content_part.added": frozenset({"text"}),
    "[DONE] after the events of a response": frozenset(),
    "an item whose id changes": _CONTENT | _CALLS,
    "a text without its pieces": frozenset({"text"}),
    "a response that ends without its items": _CONTENT | _CALLS | {"citations"},
}
"""Variant → the aspects that it excuses. A variant that is not here is one of the framing: it
excuses an answer of which the adapter has read nothing.
"""


def excuse(
    variants: Sequence[str], findings: Collection[Finding], *, second_turn: bool = False
) -> tuple[Block, list[Finding]]:
    """Return the block of a cell and its findings. If a red finding does not depend on a variant,
    the cell is one of the documented wire, and the excused findings are not asked. Whether the API
    accepts the request of a second turn depends on what it has of the answer.
    """
    red = [finding for finding in findings if finding.red]
    excused = {aspect for name in variants for aspect in EXCUSED.get(name, ())}
    if second_turn and excused & {finding.subject for finding in red}:
        excused.add(ACCEPTED)
    is_framing = any(name not in EXCUSED for name in variants)
    is_read = any(finding.subject in _CONTENT for finding in findings if finding.verdict == "kept")
    refused = any(finding.subject == "needless_error" for finding in red)
    if variants and (refused or (is_framing and not is_read) or not red):
        return "variant", [*findings]
    if not any(finding.subject not in excused for finding in red):
        return ("variant" if variants else "documented"), [*findings]
    return "documented", [
        Finding(finding.subject, "not_asked", "variant", [*variants])
        if finding.red and finding.subject in excused
        else finding
        for finding in findings
    ]
