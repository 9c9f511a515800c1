"""Measures the cost of a replay: ``python -m benchmarks [--rounds N] [--json FILE] [--keep]``.

The harness and well-known libraries process the same bytes in the same run. Rounds are interleaved
(A B A B …), so a slower machine slows both sides. Processor times are compared by their minimum,
other times by their median. Every round reads its files and builds its stages again. Quote the
ratios: times depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import msgspec

from .growth import growth, hostile_growth
from .latency import recording_latency
from .measure import (
    CHAT_URL,
    chat_message,
    exchange_of,
    interaction_of,
    message_of_blocks,
    short_message,
)
from .other import look_up, memory
from .replaying import file_to_verdict, frame_to_payload
from .reporting import reporting
from .saving import saving
from .table import KEPT, Section, read_kept, table


def measure(rounds: int, folder: Path) -> dict[str, Section]:
    """All figures, by the title of their section."""
    results: dict[str, Section] = {}
    for frames in (200, 2000):
        for wire, exchange in (
            ("", exchange_of(frames)),
            (", short", exchange_of(frames, short_message)),
            (", Interactions API", interaction_of(frames)),
            (", Anthropic Messages", message_of_blocks(frames)),
            (", OpenAI-compatible", exchange_of(frames, chat_message, url=CHAT_URL)),
        ):
            title = f"frame to payload, {frames} frames{wire}: microseconds a frame"
            results[title] = frame_to_payload(exchange, rounds)
        verdict = file_to_verdict(frames, rounds, folder)
        results[f"file to verdict, {frames} frames: microseconds a frame"] = verdict
        results[f"vcrpy + google-genai against file to verdict, {frames} frames"] = {
            name: verdict["vcrpy + google-genai"] / verdict[name]
            for name in ("cassette", "SSE text")
        }
    results["look-up of a request"] = look_up(rounds)
    results["saving a recording: microseconds a read"] = saving(folder)
    results["report of 10,000 cells: seconds"] = reporting(folder / "report")
    results["time at 10 n against n"] = growth(rounds)
    results["processor time at 10 n against n"] = hostile_growth(rounds)
    results["memory"] = memory(folder)
    for library in ("httpx2", "httpx"):
        title = f"milliseconds later while recorded, {library}"
        results[title] = recording_latency(library, 12, folder / library)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, default=Path("reports/benchmark.json"), metavar="FILE")
    parser.add_argument(
        "--keep", action="store_true", help=f"write the figures into {KEPT.name}, for a release"
    )
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        results = measure(parsed.rounds, Path(name))
    print("\n".join(table(results, read_kept())))
    document = {
        "version": version("gemini-conformance"),
        "python": sys.version.split()[0],
        "msgspec": msgspec.__version__,
        "rounds": parsed.rounds,
        "results": results,
    }
    parsed.json.parent.mkdir(parents=True, exist_ok=True)
    for path in (parsed.json, *([KEPT] if parsed.keep else [])):
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
