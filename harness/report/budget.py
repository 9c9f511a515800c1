"""What results keep of bodies and reads where there are many: a room each, so that all of it
together fits.

The more cells differ, and the more streams there are, the less each may say. Cutting what is cut
already gives what cutting the whole would have given, and a room is reckoned of what no cut
changes, so that shards, capped each on its own, merge into the same bytes as the whole run. A text
that is cut ends with a mark; findings, lines and reads that are left out or put together are
counted where they stood.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from harness.conformance.results import (
    MOST_READS,
    CaseResult,
    Evidence,
    Finding,
    Stream,
    fewer_reads,
)

ROOM: Final = 1_200_000
"""Characters that findings may take in all results together, and again the lines of layers."""
BODY_ROOM: Final = 700_000
"""The same for the beginnings of streams, again for those of requests, and again for their
addresses.
"""
READ_ROOM: Final = 40_000
"""Reads that all streams may have together, less `READ_OWN` for each."""
READ_OWN: Final = 16
LEAST: Final = 50
LEAST_READS: Final = 4
MARK: Final = " … (an excerpt)"
SIDES: Final = 2
"""No text of a finding takes more than this part of its cell's room."""


def allowance(number: int, room: int, least: int, most: int, own: int = 0) -> int:
    """How many characters each of ``number`` may take, that have taken ``own`` before."""
    return max(least, min(most, room // max(number, 1) - own))


def share(sizes: Iterable[int], room: int, least: int, most: int) -> int:
    """The same, where it is known what each would take: who needs less leaves the rest to the
    others.
    """
    waiting = sorted(sizes, reverse=True)
    while waiting and waiting[-1] <= room // len(waiting):
        room -= waiting.pop()
    return max(least, min(most, room // len(waiting))) if waiting else most


def cut(text: str, limit: int) -> str:
    """The first ``limit`` characters and a mark that says so, or the text if it has no more than
    that.
    """
    whole = text.removesuffix(MARK)
    return text if len(whole) <= limit else whole[:limit] + MARK


class Rooms(NamedTuple):
    """What each may take: a cell that differs, one that does not, a beginning (all in characters),
    and a stream in reads.
    """

    differing: int = LEAST
    other: int = LEAST
    body: int = LEAST
    reads: int = LEAST_READS


SMALLEST: Final = Rooms()
"""Those of a run that has no room to give."""


def rooms(results: Sequence[CaseResult]) -> Rooms:
    """Those of a run of these results, however much of each was cut before."""
    differ = sum(bool(result.findings) for result in results)
    others = sum(
        bool(not result.findings and (one := result.evidence) and (one.layers or one.capped))
        for result in results
    )
    differing, other = (
        allowance(number, ROOM, LEAST, 64_000, own=70) for number in (differ, others)
    )
    streams = sum(map(len, {_told_apart(result) for result in results}))
    body, reads = (
        allowance(streams, BODY_ROOM, LEAST, 4_000, own=300),
        allowance(streams, READ_ROOM, LEAST_READS, MOST_READS, own=READ_OWN),
    )
    return Rooms(differing, other, body, reads)


def _told_apart(result: CaseResult) -> tuple[object, ...]:
    """The streams of a result, with what tells them from those of others."""
    streams = (*result.evidence.before, result.evidence.stream) if result.evidence else (None,)
    where = (result.provider, result.cassette, result.exchange, result.origin, result.end)
    return tuple((where, stream and _stream(stream, LEAST, LEAST_READS)) for stream in streams)


def cap(result: CaseResult, given: Rooms) -> CaseResult:
    """The result within its room: its first findings, its layers or, capped, none of them, and its
    streams within theirs.
    """
    evidence = result.evidence
    room = given.differing if result.findings else given.other
    return replace(
        result,
        findings=_findings(result.findings, room),
        evidence=evidence and _evidence(evidence, room, given),
    )


def _findings(findings: Sequence[Finding], room: int) -> tuple[Finding, ...]:
    """As many as fit, at least one. What a larger room left out no smaller one keeps: the share
    that a finding takes of it only grows.
    """
    side = room // SIDES
    left = side * SIDES
    kept: list[Finding] = []
    for finding in findings:
        texts = {
            name: cut(text, side) for name in _TEXTS if (text := getattr(finding, name)) is not None
        }
        left -= sum(len(text.removesuffix(MARK)) for text in texts.values())
        if kept and left < 0:
            break
        kept.append(replace(finding, **texts))
    return tuple(kept)


def _evidence(evidence: Evidence, room: int, given: Rooms) -> Evidence:
    streams = {
        "stream": evidence.stream and _stream(evidence.stream, given.body, given.reads),
        "before": tuple(_stream(one, given.body, given.reads) for one in evidence.before),
    }
    if sum(len(line) for view in evidence.layers for line in view.lines) > room:
        return replace(evidence, layers=(), capped=True, **streams)
    return replace(evidence, **streams)


@lru_cache(maxsize=256)  # the cells of a case have one stream, and come in a row
def _stream(stream: Stream, body: int, reads: int) -> Stream:
    sent = stream.sent and replace(
        stream.sent, url=cut(stream.sent.url, body), body=cut(stream.sent.body, body)
    )
    return replace(stream, sent=sent, reads=fewer_reads(stream.reads, reads))


_TEXTS: Final = ("path", "expected", "got", "note")
