"""Compares what only complete facts show: those that the reader of a known event model states.

Each function compares the facts of the wire with the view of payloads, for one aspect.
``traced``: the payloads report a fault.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from harness.stream.json_codec import finite_json

from .finding import AspectVerdict, Finding
from .view import View
from .wire_facts import WireFacts

UNSIGNED: Final = "part"
"""The kind of a signed part in event models that show only whether it is a call."""


def compare_signed_parts(wire: WireFacts, given: View, traced: bool) -> Finding | None:
    """Find a signature at a part of another kind, or one that the wire does not have. One beside a
    ``<tool_code>`` block may be the call's or the text's.
    """
    there, here = wire.signatures, given.signatures
    if not here:
        return None
    if wire.blocks:
        there, here = (
            [("text" if kind == "call" else kind, value) for kind, value in side]
            for side in (there, here)
        )
    if any(kind == UNSIGNED for kind, _ in here):
        there, here = (
            [(kind if kind == "call" else UNSIGNED, value) for kind, value in side]
            for side in (there, here)
        )
    finding = None
    for kind, value in (Counter(here) - Counter(there)).elements():
        wired = next((at for at, signature in there if signature == value), "no part")
        finding = Finding("signatures", "wrong", "signed-part", wired, {"at": kind, "is": value})
    return finding


def compare_invalid_calls(wire: WireFacts, given: View, traced: bool) -> Finding | None:
    """Find a call whose arguments are not a JSON object, and that is neither shown nor reported."""
    there, here = wire.invalid_calls, given.invalid_calls
    if there == here:
        return None
    made = [name for name, text in here if (name, text) not in there]
    missing = [] if traced else [call[0] for call in there if call not in here]
    if made:
        return Finding("calls", "wrong", "invalid-call-made", adapter=made[-1])
    return Finding("calls", "lost", "invalid-call-missing", missing[-1]) if missing else None


def compare_stated_reason(wire: WireFacts, given: View, traced: bool) -> Finding | None:
    """Find a reason that the payloads don't state. Another value may have the same word."""
    if wire.finish and given.finish is None and not given.errors:
        return Finding("finish", "lost", "no-finish", wire.finish)
    return None


def compare_results(wire: WireFacts, given: View, traced: bool) -> Finding | None:
    """Compare the results of tools that the provider ran, in order: whether each failed, and its
    text.
    """
    there, here = wire.results, given.results
    if not (there or here):
        return None
    if len(there) != len(here):
        verdict: AspectVerdict = "lost" if len(there) > len(here) else "wrong"
        return Finding("results", verdict, "number-of-results", len(there), len(here))
    for (failed, text), (shown_failed, shown_text) in zip(there, here, strict=True):
        if failed != shown_failed:
            return Finding("results", "wrong", "result-state", failed, shown_failed)
        if text is not None and text != shown_text and not failed:
            return Finding("results", "wrong", "result-text", text, shown_text)
    return Finding("results", "kept") if there else None


def compare_fields(wire: WireFacts, given: View, traced: bool) -> Finding | None:
    """Find lost counts, fields and pieces of the wire that no other aspect judges."""
    lost = sorted(wire.others - given.others)
    lost += [name for name, count in wire.usage.items() if given.usage.get(name) != count]
    if not traced:
        lost += [piece for piece in wire.unreadable if not _is_json(piece)]
    if lost:
        return Finding("fields", "lost", "fields-missing", list(lost))
    return Finding("fields", "kept") if wire.others else None


def _is_json(text: str) -> bool:
    try:
        finite_json(text)
    except (ValueError, RecursionError):
        return False
    return True
