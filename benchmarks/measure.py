"""A stream of any length to measure with, and the measuring in interleaved rounds."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time

from harness.cassettes import Exchange, Request
from harness.providers import with_provider

MODEL = "gemini-3-pro-preview"
URL = (
    f"https://generativelanguage.googleapis.com/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
)
PROMPT = b'{"contents": [{"parts": [{"text": "Tell me"}], "role": "user"}], "generationConfig": {}}'


def message(number: int, last: bool) -> bytes:
    """One message as the API writes it: a piece of text, running totals, model and id."""
    finish = '"finishReason": "STOP",' if last else ""
    return (
        f'{{"candidates": [{{"content": {{"parts": [{{"text": "piece {number} of an answer, of ordinary length "}}],"role": "model"}},'
        f'{finish}"index": 0}}],"usageMetadata": {{"promptTokenCount": 7,"candidatesTokenCount": {number},"totalTokenCount": {number + 7},'
        f'"promptTokensDetails": [{{"modality": "TEXT","tokenCount": 7}}]}},"modelVersion": "{MODEL}","responseId": "r1"}}'
    ).encode()


def exchange_of(frames: int) -> Exchange:
    """A stream of that many frames, with one read for each."""
    reads = tuple(
        (float(n), b"data: " + message(n, n == frames) + b"\r\n\r\n") for n in range(1, frames + 1)
    )
    request = Request("POST", URL, {"content-type": ["application/json"]}, PROMPT)
    return with_provider(
        Exchange(request, 200, {"content-type": ["text/event-stream"]}, reads, "complete", "OK")
    )


def compared(rounds: int, *sides: Callable[[], object]) -> list[float]:
    """The median seconds of each side; rounds are interleaved, the first round is not counted."""
    times: list[list[float]] = [[] for _ in sides]
    for round_number in range(rounds + 1):
        for side, own in zip(sides, times, strict=True):
            started = perf_counter()
            side()
            if round_number:
                own.append(perf_counter() - started)
    return [median(own) for own in times]


def processor_times(rounds: int, *sides: Callable[[], object]) -> list[float]:
    """The least seconds of processor time of each side, with interleaved rounds.

    The minimum is taken because other work on the machine can only add to it.
    """
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, own in zip(sides, times, strict=True):
            started = process_time()
            side()
            own.append(process_time() - started)
    return [min(own) for own in times]
