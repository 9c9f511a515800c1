"""Measures frame → payload against ``orjson.loads``, and file → verdict against vcrpy with
google-genai.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from harness import load
from harness.cassettes import Cassette, Exchange, Origin, dumps
from harness.dialects import DIALECTS
from harness.judging.judge import Cell, judge
from harness.pipeline.replay import Normalized, frames_of, replay
from harness.specs.models import Case
from harness.stream.session import Session

from .measure import MODEL, URL, exchange_of, processor_times
from .table import LIMIT, Section

TOGETHER = "the layers of a cassette together"
"""The name of the sum of the layers, each measured alone."""


def frame_to_payload(exchange: Exchange, rounds: int) -> Section:
    """Bytes → frames → events → payloads in microseconds a frame. The limit is ``orjson.loads`` of
    the same messages.
    """
    frames = len(exchange.reads)
    whole = dataclasses.replace(exchange, reads=((None, exchange.body),))
    messages = [data.rpartition(b"data: ")[2].strip() for _, data in exchange.reads]
    sides: dict[str, Callable[[], object]] = {
        f"{dialect}, {name}": partial(replay, cut, dialect=dialect)
        for dialect in ("unified-llm", "anthropic")
        for name, cut in (("a read a frame", exchange), ("one read", whole))
    }
    sides[f"{LIMIT}orjson.loads"] = lambda: [orjson.loads(message) for message in messages]
    times = processor_times(rounds, *sides.values())
    return {name: 1e6 * time / frames for name, time in zip(sides, times, strict=True)}


def file_to_verdict(frames: int, rounds: int, folder: Path) -> Section:
    """File → verdict in microseconds a frame, whole and by layer, and the same stream replayed by
    vcrpy and google-genai. The limit is reading the bytes of the file.

    Both sides load their own file in every round; vcrpy wrote its file itself, and the client of
    google-genai is made once. Each side runs twice in a round, and only the second run is measured,
    because the side before it has emptied the caches. A short stream has more rounds.
    """
    exchange = exchange_of(frames)
    cassette, text = folder / f"{frames}.yaml", folder / f"{frames}.sse"
    origin = Origin("written", date="2026-11-21")
    cassette.write_bytes(dumps(Cassette((exchange,), origin)).encode())
    text.write_bytes(exchange.body)
    loaded = load(cassette)
    answer = loaded.exchanges[0]
    dialect = DIALECTS["unified-llm"]
    case = Case(
        case="c",
        requirement="r",
        features=("f",),
        source="https://x.example",
        cassette="c",
        expect={"unified-llm": replay(exchange)},
    )

    def verdict(fixture: Callable[[], Cassette]) -> None:
        result = judge(Cell(case, "c.yaml", "unified-llm"), lambda _: fixture()).result
        assert result.verdict == "passed", result

    sides: dict[str, Callable[[], object]] = {
        "cassette": partial(verdict, partial(load, cassette)),
        "SSE text": partial(verdict, partial(load, text)),
        "load a cassette": partial(load, cassette),
        "load SSE text": partial(load, text),
        "frames": partial(frames_of, answer),
        "events": partial(Normalized, answer, None, None),
        "payloads": lambda: Normalized(answer, None, None).translate(dialect, Session()),
        "compare and result": partial(verdict, lambda: loaded),
        "vcrpy + google-genai": peer(exchange, folder / f"{frames}.vcr.yaml"),
        f"{LIMIT}raw read of the cassette": cassette.read_bytes,
    }
    rounds = max(rounds, rounds * 2000 // frames)
    measured = processor_times(rounds, *sides.values(), warm=True)
    times = dict(zip(sides, measured, strict=True))
    times[TOGETHER] = times["load a cassette"] + times["compare and result"]
    layers = ("frames", "events", "payloads", "compare and result")
    for earlier, later in reversed([*pairwise(layers)]):
        times[later] -= times[earlier]  # each measurement includes the layers before it
    return {name: 1e6 * time / frames for name, time in times.items()}


def peer(exchange: Exchange, path: Path) -> Callable[[], None]:
    """The replay of an exchange by vcrpy and google-genai, from a file that vcrpy writes."""
    import vcr
    from google import genai
    from vcr.persisters.filesystem import FilesystemPersister
    from vcr.request import Request
    from vcr.serializers import yamlserializer

    sent = exchange.request
    assert sent is not None
    request = Request(sent.method, sent.url, sent.body, {"content-type": "application/json"})
    response: dict[str, Any] = {
        "status": {"code": exchange.status, "message": exchange.reason_phrase},
        "headers": exchange.headers,
        "body": {"string": exchange.body},
    }
    recorded = {"requests": [request], "responses": [response]}
    FilesystemPersister.save_cassette(str(path), recorded, yamlserializer)
    os.environ.pop("GOOGLE_API_KEY", None)
    client = genai.Client(api_key="none")
    assert URL.startswith("https://generativelanguage.googleapis.com/v1beta/")

    def run() -> None:
        with vcr.VCR(record_mode="none").use_cassette(str(path)):
            pieces = list(
                client.models.generate_content_stream(
                    model=MODEL,
                    contents="Tell me",
                    config={"http_options": {"api_version": "v1beta"}},
                )
            )
        assert len(pieces) == len(exchange.reads)

    return run
