"""Measures the cost of a replay as ratios: ``python -m benchmarks [--rounds N] [--json FILE]``.

Each ratio compares the harness with well-known work on the same bytes in the same run. Rounds are
interleaved (A B A B …) and medians are compared, so a machine that slows down does so for both
sides. Every round reads its files and builds its stages again. Times depend on the machine: quote
the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import orjson

from harness import load
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cassettes.vcrpy import export
from harness.conformance.judge import Cell, judge
from harness.pipeline.replay import replay
from harness.pipeline.request_index import RequestIndex
from harness.specs import Case

from .growth import growth, hostile_growth
from .latency import recording_latency
from .measure import MODEL, URL, compared, exchange_of


def frame_to_payload(frames: int, rounds: int) -> dict[str, Any]:
    """Bytes → frames → events → payloads, against ``orjson.loads`` of the same messages."""
    exchange = exchange_of(frames)
    messages = [data[6:-4] for _, data in exchange.reads]
    result: dict[str, Any] = {}
    for dialect in ("unified-llm", "anthropic"):
        ours, plain = compared(
            rounds,
            partial(replay, exchange, dialect=dialect),
            lambda: [orjson.loads(message) for message in messages],
        )
        result[dialect] = {
            "microseconds a frame": 1e6 * ours / frames,
            "times orjson.loads": ours / plain,
        }
    return result


def file_to_verdict(frames: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Cassette file → verdict, against vcrpy and google-genai that replay the same stream.

    vcrpy reads its own file. Both sides load their file in every round.
    """
    import vcr
    from google import genai

    exchange = exchange_of(frames)
    cassette = Cassette((exchange,), Origin("written", date="2026-11-21"))
    ours, theirs = folder / f"{frames}.yaml", folder / f"{frames}.vcr.yaml"
    ours.write_bytes(dumps(cassette).encode())
    theirs.write_text(export(cassette), encoding="utf-8")
    expected = replay(exchange)
    case = Case(
        case="c",
        requirement="r",
        features=("f",),
        source="https://x.example",
        cassette="c",
        expect={"unified-llm": expected},
    )

    def verdict() -> None:
        result = judge(Cell(case, "c.yaml", "unified-llm"), lambda _: load(ours)).result
        assert result.verdict == "passed", result

    def sdk() -> None:
        with (
            vcr.VCR(record_mode="none").use_cassette(str(theirs)),
            genai.Client(api_key="none") as client,
        ):
            pieces = list(
                client.models.generate_content_stream(
                    model=MODEL,
                    contents="Tell me",
                    config={"http_options": {"api_version": "v1beta"}},
                )
            )
        assert len(pieces) == frames

    ours_seconds, theirs_seconds = compared(rounds, verdict, sdk)
    return {
        "milliseconds": 1e3 * ours_seconds,
        "vcrpy + google-genai, milliseconds": 1e3 * theirs_seconds,
        "times faster": theirs_seconds / ours_seconds,
    }


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
    from harness.conformance.project import Project

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


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, default=Path("reports/benchmark.json"), metavar="FILE")
    parsed = parser.parse_args()
    os.environ.pop("GOOGLE_API_KEY", None)
    results: dict[str, Any] = {
        "python": sys.version.split()[0],
        "msgspec": msgspec.__version__,
        "rounds": parsed.rounds,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for frames in (200, 2000):
            results[f"frame to payload, {frames} frames"] = frame_to_payload(frames, parsed.rounds)
            results[f"file to verdict, {frames} frames"] = file_to_verdict(
                frames, parsed.rounds, folder
            )
        results["look-up of a request"] = look_up(parsed.rounds)
        results["time at 10 n against n"] = growth(parsed.rounds)
        results["processor time at 10 n against n"] = hostile_growth(parsed.rounds)
        results["memory"] = memory(folder)
        for library in ("httpx2", "httpx"):
            results[f"milliseconds later while recorded, {library}"] = recording_latency(
                library, 12, folder / library
            )
    print(json.dumps(results, indent=2))
    parsed.json.parent.mkdir(parents=True, exist_ok=True)
    parsed.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
