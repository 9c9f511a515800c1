"""Judges what only payloads of a known event model show: their reader gives a whole account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from harness.stream.json_codec import Json, finite_json

from .account import Facts
from .finding import Aspect, AspectVerdict, Finding

UNSIGNED: Final = "part"
"""The kind of a signed part in event models that show only whether it is a call."""


def judge_account(
    accounts: Sequence[Facts], carried: Facts, traced: bool
) -> Mapping[Aspect, Finding]:
    """Return the findings about signed parts, invalid calls, results of tools and all other fields,
    and about what payloads state twice. One of the ``accounts`` of the wire must be carried.
    ``traced``: the payloads report a fault.
    """
    judged = min(
        (_Findings(wire, carried, traced).findings for wire in accounts),
        key=lambda findings: sum(finding.red for finding in findings.values()),
    )
    twice = {
        aspect: Finding(aspect, "wrong", "stated-twice", first, second)
        for aspect, first, second in carried.contradictions
    }
    return {**judged, **twice}


class _Findings:
    """The findings of the comparison with one account of the wire."""

    def __init__(self, wire: Facts, carried: Facts, traced: bool) -> None:
        self.wire, self.carried = wire, carried
        self.findings: dict[Aspect, Finding] = {}
        self._signed_parts()
        self._invalid_calls(traced)
        self._finish()
        self._results()
        self._fields(traced)

    def _put(
        self,
        aspect: Aspect,
        verdict: AspectVerdict,
        reason: str = "",
        wire: Json = None,
        adapter: Json = None,
    ) -> None:
        self.findings[aspect] = Finding(aspect, verdict, reason, wire, adapter)

    def _signed_parts(self) -> None:
        """Find a signature at a part of another kind, or one that the wire does not have."""
        there, here = self._kinds(self.wire), self._kinds(self.carried)
        if any(kind == UNSIGNED for kind, _ in here):
            there, here = (
                [(kind if kind == "call" else UNSIGNED, value) for kind, value in side]
                for side in (there, here)
            )
        for kind, value in (Counter(here) - Counter(there)).elements():
            wired = next((at for at, signature in there if signature == value), "no part")
            self._put("signatures", "wrong", "signed-part", wired, {"at": kind, "is": value})

    def _kinds(self, facts: Facts) -> list[tuple[str, str]]:
        """Return the signatures. One beside a ``<tool_code>`` block may be the call's or the
        text's.
        """
        if self.wire.blocks:
            return [("text" if kind == "call" else kind, value) for kind, value in facts.signatures]
        return facts.signatures

    def _invalid_calls(self, traced: bool) -> None:
        """Find a call whose arguments are not a JSON object, and that is neither shown nor
        reported.
        """
        there, here = self.wire.invalid_calls, self.carried.invalid_calls
        for name, _ in (call for call in there if call not in here and not traced):
            self._put("calls", "lost", "invalid-call-missing", name)
        for name, _ in (call for call in here if call not in there):
            self._put("calls", "wrong", "invalid-call-made", adapter=name)

    def _finish(self) -> None:
        """Find a reason that the payloads don't state. Another value may have the same word."""
        carried = self.carried
        instead = carried.errors or carried.unfinished or carried.block_reason is not None
        if self.wire.finish and carried.finish is None and not instead:
            self._put("finish", "lost", "no-finish", self.wire.finish)

    def _results(self) -> None:
        """Compare the results of tools that the provider ran, in order: whether each failed, and
        its text.
        """
        there, here = self.wire.results, self.carried.results
        if len(there) != len(here):
            verdict: AspectVerdict = "lost" if len(there) > len(here) else "wrong"
            self._put("results", verdict, "number-of-results", len(there), len(here))
            return
        for (failed, text), (shown_failed, shown_text) in zip(there, here, strict=True):
            if failed != shown_failed:
                self._put("results", "wrong", "result-state", failed, shown_failed)
            elif text is not None and text != shown_text and not failed:
                self._put("results", "wrong", "result-text", text, shown_text)
            else:
                continue
            return
        if there:
            self._put("results", "kept")

    def _fields(self, traced: bool) -> None:
        """Find lost counts, fields and pieces of the wire that no other aspect judges."""
        wire, usage = self.wire, self.carried.usage
        lost = sorted(wire.others - self.carried.others)
        lost += [name for name, count in wire.usage.items() if usage.get(name) != count]
        if not traced:
            lost += [piece for piece in wire.unreadable if not _is_json(piece)]
        if lost:
            self._put("fields", "lost", "fields-missing", list(lost))
        elif wire.others:
            self._put("fields", "kept")


def _is_json(text: str) -> bool:
    try:
        finite_json(text)
    except (ValueError, RecursionError):
        return False
    return True
