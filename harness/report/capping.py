"""What results keep of bodies where there are many: texts cut to a room each, so that all of it together fits.

The more cells differ, the less each may say. Cutting what is cut already gives what cutting the whole would have given, so that shards,
capped each on its own, merge into the same bytes as the whole run. What is cut ends with a mark; findings and lines that are left out are
counted where they stood.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from ..results import CaseResult, Evidence, Finding, Stream

ROOM: Final = 1_200_000
"""Characters that findings may take in all results together, and again the lines of layers."""
BODY_ROOM: Final = 700_000
"""The same for the beginnings of streams, and again for those of requests."""
LEAST: Final = 50
MARK: Final = " … (an excerpt)"
SIDES: Final = 2
"""No text of a finding takes more than this part of its cell's room."""


def allowance(number: int, room: int, least: int, most: int, own: int = 0) -> int:
    """How many characters each of ``number`` may take, that have taken ``own`` before."""
    return max(least, min(most, room // max(number, 1) - own))


def share(sizes: Iterable[int], room: int, least: int, most: int) -> int:
    """The same, where it is known what each would take: who needs less leaves the rest to the others."""
    waiting = sorted(sizes, reverse=True)
    while waiting and waiting[-1] <= room // len(waiting):
        room -= waiting.pop()
    return max(least, min(most, room // len(waiting))) if waiting else most


def cut(text: str, limit: int) -> str:
    """The first ``limit`` characters and a mark that says so, or the text if it has no more than that."""
    whole = text.removesuffix(MARK)
    return text if len(whole) <= limit else whole[:limit] + MARK


def rooms(results: Sequence[CaseResult], streams: int) -> tuple[int, int, int]:
    """What a cell that differs, one that does not, and a body may take in a run of these results on so many streams."""
    differ = sum(bool(result.findings) for result in results)
    others = sum(bool(not result.findings and result.evidence and result.evidence.layers) for result in results)
    differing, other = (allowance(number, ROOM, LEAST, 64_000, own=70) for number in (differ, others))
    return differing, other, allowance(streams, BODY_ROOM, LEAST, 4_000, own=270)


def cap(result: CaseResult, room: int, body: int) -> CaseResult:
    """The result within its room: its first findings, its layers or, capped, none of them, the beginning of its request."""
    evidence = result.evidence
    return replace(result, findings=_findings(result.findings, room), evidence=evidence and _evidence(evidence, room, body))


def _findings(findings: Sequence[Finding], room: int) -> tuple[Finding, ...]:
    """As many as fit, at least one. What a larger room left out no smaller one keeps: the share that a finding takes of it only grows."""
    side = room // SIDES
    left = side * SIDES
    kept: list[Finding] = []
    for finding in findings:
        texts = {name: cut(text, side) for name in _TEXTS if (text := getattr(finding, name)) is not None}
        left -= sum(len(text.removesuffix(MARK)) for text in texts.values())
        if kept and left < 0:
            break
        kept.append(replace(finding, **texts))
    return tuple(kept)


def _evidence(evidence: Evidence, room: int, body: int) -> Evidence:
    streams = {"stream": evidence.stream and _stream(evidence.stream, body), "before": tuple(_stream(one, body) for one in evidence.before)}
    if sum(len(line) for view in evidence.layers for line in view.lines) > room:
        return replace(evidence, layers=(), capped=True, **streams)
    return replace(evidence, **streams)


def _stream(stream: Stream, body: int) -> Stream:
    return replace(stream, sent=replace(stream.sent, body=cut(stream.sent.body, body))) if stream.sent else stream


_TEXTS: Final = ("path", "expected", "got", "note")
