"""Measures the time to find a request, and the memory of many cassettes."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.pipeline.replay import replay
from harness.pipeline.request_index import RequestIndex

from .measure import URL, compared, exchange_of


def look_up(rounds: int) -> dict[str, float]:
    """Milliseconds to find the recorded exchange of a request with a body of 2 KB, among 10 and among
    10,000 exchanges; and the time that vcrpy takes.
    """
    from vcr import matchers
    from vcr.cassette import Cassette as Tape
    from vcr.request import Request as VcrRequest

    def request_body(number: int, size: int) -> bytes:
        text = f"question {number} ".ljust(size - 60, "x")
        return json.dumps(
            {"contents": [{"role": "user", "parts": [{"text": text}]}], "generationConfig": {}}
        ).encode()

    def index_of(count: int, size: int) -> RequestIndex:
        exchanges = [
            Exchange(
                Request("POST", URL, {}, request_body(number, size)),
                200,
                {},
                ((None, b"{}"),),
                "complete",
            )
            for number in range(count)
        ]
        return RequestIndex(exchanges, again=True)

    def finding(count: int, size: int) -> Callable[[], object]:
        index, body = index_of(count, size), request_body(count - 1, size)
        return lambda: [index.find("POST", URL, body) for _ in range(100)]

    tape = Tape(
        "none.yaml",
        match_on=(matchers.method, matchers.uri, matchers.body),
        allow_playback_repeats=True,
    )
    for number in range(1000):
        tape.append(
            VcrRequest("POST", URL, request_body(number, 2000), {}),
            {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": b""}},
        )
    last = VcrRequest("POST", URL, request_body(999, 2000), {})
    few, many, large, theirs = compared(
        rounds,
        finding(10, 2000),
        finding(10_000, 2000),
        finding(10, 20_000),
        lambda: tape.can_play_response_for(last),
    )
    return {
        "milliseconds, 10 exchanges": 10 * few,
        "milliseconds, 10,000 exchanges": 10 * many,
        "10,000 exchanges against 10": many / few,
        "body of 20 KB against 2 KB": large / few,
        "vcrpy, 1,000 exchanges, milliseconds": 1e3 * theirs,
    }


def memory(folder: Path) -> dict[str, float]:
    """Peak memory in MiB of judging 20 and 200 cassettes; a project keeps only the last few."""
    from harness.project.project import Project

    (folder / "cassettes").mkdir()
    text = dumps(Cassette((exchange_of(200),), Origin("written", date="2026-11-21")))
    for number in range(200):
        (folder / "cassettes" / f"c{number}.yaml").write_text(text, encoding="utf-8")
    peaks: dict[str, float] = {}
    for count in (20, 200):
        project = Project([folder / "specs"], folder / "cassettes")
        tracemalloc.start()
        for number in range(count):
            replay(project.cassette(f"c{number}").exchanges[0])
        peaks[f"{count} cassettes, MiB"] = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
    return peaks
