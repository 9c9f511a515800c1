"""A session with much audio is judged in little memory, and in a time that grows with its length."""

from __future__ import annotations

import base64
import json
import random
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import PlayedSession
from harness.adapters.adapter import Output
from harness.adapters.named import NamedAdapter, make_adapter
from harness.facts import Entry, Finish, OutputTranscript, Text, Transcript, Usage
from harness.judging.aspect_run import JudgedExchange, plan_answers
from harness.judging.aspects import judge_output
from harness.judging.reading import Reading
from harness.judging.run import run_plan
from harness.providers import with_provider
from harness.stream.exchange import Exchange
from harness.stream.websocket import Message, write_message

ROOT = Path(__file__).parents[2]
PIECE = 16_000
"""The bytes of a piece: a third of a second of 24 kHz."""
FAITHFUL = make_adapter(
    NamedAdapter("live", "facts", "serve: tests.faulty.sessions:faithful"), ROOT
)


def server_messages(pieces: int, size: int) -> list[dict[str, Any]]:
    """One turn with these pieces of audio, words and text."""
    noise = random.Random(7)  # the same session in each run
    turn: list[dict[str, Any]] = []
    for number in range(pieces):
        sound = base64.b64encode(noise.randbytes(size)).decode()
        parts = [{"inlineData": {"mimeType": "audio/pcm", "data": sound}}, {"text": f"t{number} "}]
        words = {"text": f"w{number} "}
        turn.append(
            {"serverContent": {"modelTurn": {"parts": parts}, "outputTranscription": words}}
        )
    counts = {"promptTokenCount": 1, "responseTokenCount": 2, "totalTokenCount": 3}
    return [*turn, {"serverContent": {"turnComplete": True}, "usageMetadata": counts}]


def session(turn: list[dict[str, Any]]) -> Exchange:
    asked = {"turns": [{"role": "user", "parts": [{"text": "Go on."}]}], "turnComplete": True}
    modalities = {"generationConfig": {"responseModalities": ["AUDIO"]}}
    setup = {"model": "models/gemini-3.8-live", "outputAudioTranscription": {}, **modalities}
    messages = [
        Message("client", json.dumps({"setup": setup}).encode()),
        Message("server", b'{"setupComplete": {}}'),
        Message("client", json.dumps({"clientContent": asked}).encode()),
        *(Message("server", json.dumps(message).encode()) for message in turn),
        Message("client", b"", "close", 1000),
    ]
    reads = tuple((None, write_message(message)) for message in messages)
    return with_provider(Exchange(None, 101, {}, reads, "complete"))


def test_judging_takes_less_than_four_times_the_memory_of_the_audio() -> None:
    """Also with the messages that the adapter itself keeps, and without those of the recording."""
    list(
        run_plan(
            plan_answers([JudgedExchange("few", 1, session(server_messages(2, 9)))]), [FAITHFUL]
        )
    )
    pieces = 150
    item = JudgedExchange("live", 1, session(server_messages(pieces, PIECE)))
    tracemalloc.start()
    try:
        (row,) = run_plan(plan_answers([item]), [FAITHFUL])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert row.verdict == "passed"
    assert peak < 4 * pieces * PIECE


def seconds(pieces: int) -> float:
    """The time to compare a session of one turn with what an adapter makes of it."""
    turn = server_messages(pieces, 90)
    exchange = session(turn)
    entries = [
        Entry(message, (Text(f"t{number} "), OutputTranscript(f"w{number} ")))
        for number, message in enumerate(turn[:-1])
    ]
    entries.append(Entry(turn[-1], (Usage(input=1, output=2, total=3), Finish("turnComplete"))))
    setup = Message("client", exchange.reads[0][1].removeprefix(b"> ").strip())
    played = PlayedSession("/ws", (setup,), played=True)
    output = Output([], transcript=Transcript(tuple(entries)), played=played)
    times = []
    for _ in range(3):
        start = time.process_time()
        judged = judge_output(Reading(exchange), FAITHFUL, output)
        times.append(time.process_time() - start)
        assert judged.red == []
        assert judged.aspects["text"].verdict == "kept"
    return min(times)


@pytest.mark.slow
def test_the_time_grows_with_the_length_of_a_turn() -> None:
    assert seconds(4_000) < 8 * seconds(1_000)
