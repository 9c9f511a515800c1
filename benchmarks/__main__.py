"""Measures what a replay costs, as ratios against well-known work on the same bytes in the same run: ``python -m benchmarks [--rounds
N] [--json FILE]``.

Rounds are interleaved (A B A B …) and medians are compared, so that a machine that gets slower does so for both sides; every round
reads its files and builds its stages anew. Times alone mean little elsewhere: quote the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import msgspec
import orjson

from harness import load
from harness.cassette import Cassette, CassetteError, Exchange, Origin, Request, dumps, loads
from harness.conformance import Cell, judge
from harness.dialects import DIALECTS
from harness.framing import frame_by_content
from harness.providers import PROVIDERS, identified
from harness.replaying import replay
from harness.request_index import RequestIndex
from harness.spec import Case, SpecError, read_spec
from harness.tool_code import Block, Splitter, parse_body
from harness.vcr_format import export

MODEL = "gemini-3-pro-preview"
URL = f"https://generativelanguage.googleapis.com/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
PROMPT = b'{"contents": [{"parts": [{"text": "Tell me"}], "role": "user"}], "generationConfig": {}}'


def message(number: int, last: bool) -> bytes:
    """One message as the API writes it: a text piece, running totals, names."""
    finish = '"finishReason": "STOP",' if last else ""
    return (
        f'{{"candidates": [{{"content": {{"parts": [{{"text": "piece {number} of an answer, of ordinary length "}}],"role": "model"}},'
        f'{finish}"index": 0}}],"usageMetadata": {{"promptTokenCount": 7,"candidatesTokenCount": {number},"totalTokenCount": {number + 7},'
        f'"promptTokensDetails": [{{"modality": "TEXT","tokenCount": 7}}]}},"modelVersion": "{MODEL}","responseId": "r1"}}'
    ).encode()


def exchange_of(frames: int) -> Exchange:
    """A stream of that many frames, one read each."""
    reads = tuple((float(n), b"data: " + message(n, n == frames) + b"\r\n\r\n") for n in range(1, frames + 1))
    request = Request("POST", URL, {"content-type": ["application/json"]}, PROMPT)
    return identified(Exchange(request, 200, {"content-type": ["text/event-stream"]}, reads, "complete", "OK"))


def compared(rounds: int, *sides: Callable[[], object]) -> list[float]:
    """The median seconds of each side, rounds interleaved; one round before them is not counted."""
    times: list[list[float]] = [[] for _ in sides]
    for round_number in range(rounds + 1):
        for side, own in zip(sides, times, strict=True):
            started = perf_counter()
            side()
            if round_number:
                own.append(perf_counter() - started)
    return [median(own) for own in times]


def frame_to_payload(frames: int, rounds: int) -> dict[str, Any]:
    """Bytes → frames → events → payloads, against ``orjson.loads`` of the same messages."""
    exchange = exchange_of(frames)
    messages = [data[6:-4] for _, data in exchange.reads]
    result: dict[str, Any] = {}
    for dialect in ("unified-llm", "anthropic"):
        ours, plain = compared(rounds, partial(replay, exchange, dialect=dialect), lambda: [orjson.loads(one) for one in messages])
        result[dialect] = {"microseconds a frame": 1e6 * ours / frames, "times orjson.loads": ours / plain}
    return result


def file_to_verdict(frames: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Our cassette file → verdict, against vcrpy + google-genai replaying the same stream from vcrpy's file; all loaded anew each round."""
    import vcr
    from google import genai

    exchange = exchange_of(frames)
    cassette = Cassette((exchange,), Origin("written", date="2026-11-21"))
    ours, theirs = folder / f"{frames}.yaml", folder / f"{frames}.vcr.yaml"
    ours.write_bytes(dumps(cassette).encode())
    theirs.write_text(export(cassette), encoding="utf-8")
    expected = replay(exchange)
    case = Case(case="c", requirement="r", features=("f",), source="https://x.example", cassette="c", expect={"unified-llm": expected})

    def verdict() -> None:
        result = judge(Cell(case, "c.yaml", "unified-llm"), lambda _: load(ours))
        assert result.verdict == "passed", result

    def sdk() -> None:
        with vcr.VCR(record_mode="none").use_cassette(str(theirs)), genai.Client(api_key="none") as client:
            pieces = list(
                client.models.generate_content_stream(model=MODEL, contents="Tell me", config={"http_options": {"api_version": "v1beta"}})
            )
        assert len(pieces) == frames

    mine, other = compared(rounds, verdict, sdk)
    return {"milliseconds": 1e3 * mine, "vcrpy + google-genai, milliseconds": 1e3 * other, "times faster": other / mine}


def look_up(rounds: int) -> dict[str, float]:
    """Milliseconds to find the recorded exchange of a request with a body of 2 KB, among few and among many; and vcrpy's own look-up."""
    from vcr.cassette import Cassette as Tape
    from vcr.matchers import body, method, uri
    from vcr.request import Request as Asked

    def sent(number: int, size: int) -> bytes:
        text = f"question {number} ".ljust(size - 60, "x")
        return json.dumps({"contents": [{"role": "user", "parts": [{"text": text}]}], "generationConfig": {}}).encode()

    def index_of(count: int, size: int) -> RequestIndex:
        exchanges = [
            Exchange(Request("POST", URL, {}, sent(number, size)), 200, {}, ((None, b"{}"),), "complete") for number in range(count)
        ]
        return RequestIndex(exchanges, again=True)

    def finding(count: int, size: int) -> Callable[[], object]:
        index, asked = index_of(count, size), sent(count - 1, size)
        return lambda: [index.find("POST", URL, asked) for _ in range(100)]

    tape = Tape("none.yaml", match_on=(method, uri, body), allow_playback_repeats=True)
    for number in range(1000):
        tape.append(
            Asked("POST", URL, sent(number, 2000), {}), {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": b""}}
        )
    last = Asked("POST", URL, sent(999, 2000), {})
    few, many, large, theirs = compared(
        rounds, finding(10, 2000), finding(10_000, 2000), finding(10, 20_000), lambda: tape.can_play_response_for(last)
    )
    return {
        "milliseconds, 10 exchanges": 10 * few,
        "milliseconds, 10,000 exchanges": 10 * many,
        "10,000 exchanges against 10": many / few,
        "body of 20 KB against 2 KB": large / few,
        "vcrpy, 1,000 exchanges, milliseconds": 1e3 * theirs,
    }


def growth(rounds: int) -> dict[str, float]:
    """Time at 10 n against n: linear is 10."""

    def one_byte_reads(size: int) -> Callable[[], object]:
        body = exchange_of(size // 400).body
        return lambda: feed(body, 1)

    def one_line(size: int) -> Callable[[], object]:
        body = b'data: {"a":"' + b"x" * size + b'"}\n\n'
        return lambda: feed(body, 4096)

    def feed(body: bytes, step: int) -> None:
        framer = frame_by_content()
        for start in range(0, len(body), step):
            framer.feed(body[start : start + step])
        framer.close()

    result = {}
    for name, make, size in (("one-byte reads, 40 KB to 400 KB", one_byte_reads, 40_000), ("one line, 1 MB to 10 MB", one_line, 1_000_000)):
        small, large = compared(rounds, make(size), make(10 * size))
        result[name] = large / small
    return result


def hostile_growth(rounds: int) -> dict[str, float]:
    """Processor time at 10 n against n of what reads bytes of others, on whole input and on input made to be slow: linear is 10."""
    result = {}
    for name, (run, make) in READERS.items():
        small, large = processor_times(rounds, partial(run, make(1)), partial(run, make(10)))
        result[name] = large / small
    return result


def processor_times(rounds: int, *sides: Callable[[], object]) -> list[float]:
    """The least seconds of processor time of each side, rounds interleaved: what others do on the machine only adds to it."""
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, own in zip(sides, times, strict=True):
            started = process_time()
            side()
            own.append(process_time() - started)
    return [min(own) for own in times]


def frames_of_body(body: bytes) -> None:
    framer = frame_by_content()
    for start in range(0, len(body), 8192):
        framer.feed(body[start : start + 8192])
    framer.close()


def events_of_body(body: bytes) -> None:
    replay(Exchange(Request("POST", URL), 200, {}, ((None, body),), "complete", "", "gemini-api", True), layer="events")


def pieces_of_text(text: str) -> None:
    splitter = Splitter()
    for start in range(0, len(text), 64):
        for piece in splitter.feed(text[start : start + 64]):
            if isinstance(piece, Block):
                parse_body(piece.body)
    splitter.close()


def cassette_of_text(text: bytes) -> None:
    with suppress(CassetteError):
        loads(text)


def cases_of_text(text: str) -> None:
    with suppress(SpecError):
        read_spec(text, "s.yaml", dialects=DIALECTS, providers=PROVIDERS, features={"text.streaming"}, losses={})


def spec_of(cases: int, expected: str = "[{type: TEXT_DELTA, delta: Hel}]") -> str:
    """A spec file of so many cases."""
    fields = "  requirement: It holds.\n  features: [text.streaming]\n  source: https://ai.google.dev/api\n  cassette: c\n"
    written = (f"- case: c-{number}\n{fields}  expect: {{unified-llm: {expected}}}\n" for number in range(cases))
    return "harness: 1\ncases:\n" + "".join(written)


READERS: dict[str, tuple[Callable[[Any], object], Callable[[int], Any]]] = {
    "framing, 200 frames": (frames_of_body, lambda times: exchange_of(200 * times).body),
    "framing, blank lines": (frames_of_body, lambda times: b"\n" * 2_000_000 * times),
    "framing, fields without an end": (frames_of_body, lambda times: b"data: x\n" * 10_000 * times),
    "framing, an array of brackets": (frames_of_body, lambda times: b"[" + b'{"a":[{}]},' * 10_000 * times),
    "normalization, 200 frames": (events_of_body, lambda times: exchange_of(200 * times).body),
    "normalization, one frame of parts": (
        events_of_body,
        lambda times: b'data: {"candidates":[{"content":{"parts":[' + b'{"text":"a"},' * 2000 * times + b'{"x":1}]}}]}\n\n',
    ),
    "normalization, pieces of arguments": (
        events_of_body,
        lambda times: b"".join(
            b'data: {"candidates":[{"content":{"parts":[{"functionCall":{%s"partialArgs":[{"jsonPath":"$.a","stringValue":"x",'
            b'"willContinue":true}],"willContinue":true}}]}}]}\n\n' % (b"" if number else b'"name":"f",')
            for number in range(300 * times)
        ),
    ),
    "tool_code, blocks": (pieces_of_text, lambda times: "a <tool_code>print(default_api.f(a='x', b=[1]))</tool_code> b" * 200 * times),
    "tool_code, a block without an end": (pieces_of_text, lambda times: "<tool_code>" + "f(a=" * 50_000 * times),
    "tool_code, beginnings of tags": (pieces_of_text, lambda times: "<tool_cod" * 5000 * times),
    "cassette loading, 200 frames": (
        cassette_of_text,
        lambda times: dumps(Cassette((exchange_of(200 * times),), Origin("written", date="2026-11-21"))).encode(),
    ),
    "cassette loading, headers": (
        cassette_of_text,
        lambda times: dumps(
            Cassette((Exchange(None, 200, {f"x-{number}": ["y"] for number in range(500 * times)}, ((None, b"a"),)),), Origin("written"))
        ).encode(),
    ),
    "cassette loading, escaped lines": (
        cassette_of_text,
        lambda times: dumps(Cassette((Exchange(None, 200, {}, ((None, b"a\x01\\\r" * 1000 * times),)),), Origin("written"))).encode(),
    ),
    "spec loading, 20 cases": (cases_of_text, lambda times: spec_of(20 * times)),
    "spec loading, one long expectation": (cases_of_text, lambda times: spec_of(1, "[" + "{a: [1]}, " * 500 * times + "]")),
    "spec loading, unknown keys": (cases_of_text, lambda times: spec_of(1) + "".join(f"  k{number}: 1\n" for number in range(300 * times))),
}
"""What is measured → who reads it, and the input at so many times its size."""


def memory(folder: Path) -> dict[str, float]:
    """Peak memory of judging 20 cassettes and 200, in MiB: a project keeps only the last few."""
    from harness.project import Project

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
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, default=Path("reports/benchmark.json"), metavar="FILE")
    parsed = parser.parse_args()
    os.environ.pop("GOOGLE_API_KEY", None)
    results: dict[str, Any] = {"python": sys.version.split()[0], "msgspec": msgspec.__version__, "rounds": parsed.rounds}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for frames in (200, 2000):
            results[f"frame to payload, {frames} frames"] = frame_to_payload(frames, parsed.rounds)
            results[f"file to verdict, {frames} frames"] = file_to_verdict(frames, parsed.rounds, folder)
        results["look-up of a request"] = look_up(parsed.rounds)
        results["time at 10 n against n"] = growth(parsed.rounds)
        results["processor time at 10 n against n"] = hostile_growth(parsed.rounds)
        results["memory"] = memory(folder)
    print(json.dumps(results, indent=2))
    parsed.json.parent.mkdir(parents=True, exist_ok=True)
    parsed.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
