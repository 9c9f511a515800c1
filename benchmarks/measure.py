"""A stream of any length to measure with, and the measuring in interleaved rounds."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import Final

from harness.cassettes import Exchange, Request
from harness.providers import with_provider

MODEL = "gemini-3-pro-preview"
URL = (
    f"https://generativelanguage.googleapis.com/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
)
CHAT_URL = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
PROMPT = b'{"contents": [{"parts": [{"text": "Tell me"}], "role": "user"}], "generationConfig": {}}'


def message(number: int, last: bool) -> bytes:
    """One message as the API writes it: a piece of text, running totals, model and id."""
    finish = '"finishReason": "STOP",' if last else ""
    return (
        f'{{"candidates": [{{"content": {{"parts": [{{"text": "piece {number} of an answer, of ordinary length "}}],"role": "model"}},'
        f'{finish}"index": 0}}],"usageMetadata": {{"promptTokenCount": 13,"candidatesTokenCount": {number},"totalTokenCount": {number + 141},'
        f'"promptTokensDetails": [{{"modality": "TEXT","tokenCount": 13}}],"thoughtsTokenCount": 128,"serviceTier": "standard"}},'
        f'"modelVersion": "{MODEL}","responseId": "-tYZasLpBuHfjrEPuu7GkQY"}}'
    ).encode()


def short_message(number: int, last: bool) -> bytes:
    """A message of less than 300 bytes: totals without details, as Vertex AI writes them."""
    finish = '"finishReason":"STOP",' if last else ""
    return (
        f'{{"candidates":[{{"content":{{"role":"model","parts":[{{"text":"piece {number} of an answer "}}]}},{finish}"index":0}}],'
        f'"usageMetadata":{{"trafficType":"ON_DEMAND"}},"modelVersion":"{MODEL}","responseId":"r1"}}'
    ).encode()


def chat_message(number: int, last: bool) -> bytes:
    """A chunk as the OpenAI-compatible endpoint writes it."""
    finish = '"finish_reason":"stop",' if last else ""
    return (
        f'{{"choices":[{{"delta":{{"content":"piece {number} of an answer, of ordinary length ","role":"assistant"}},{finish}"index":0}}],'
        f'"created":1790000000,"id":"-tYZasLpBuHfjrEPuu7GkQY","model":"{MODEL}","object":"chat.completion.chunk"}}'
    ).encode()


def exchange_of(
    frames: int,
    message: Callable[[int, bool], bytes] = message,
    reads: int | None = None,
    url: str = URL,
) -> Exchange:
    """A stream of that many frames, with one read for each, or with that many reads."""
    pieces = [b"data: " + message(n, n == frames) + b"\r\n\r\n" for n in range(1, frames + 1)]
    step = 1 if reads is None else -(-frames // reads)
    exchange = Exchange(
        Request("POST", url, {"content-type": ["application/json"]}, PROMPT),
        200,
        {"content-type": ["text/event-stream"]},
        tuple(
            (float(start + 1), b"".join(pieces[start : start + step]))
            for start in range(0, frames, step)
        ),
        "complete",
        "OK",
    )
    return with_provider(exchange)


INTERACTIONS: Final = "https://generativelanguage.googleapis.com/v1beta/interactions"
SENTENCE: Final = "a piece of the answer, about as long as the pieces of recorded streams are, "


def interaction_of(frames: int) -> Exchange:
    """A stream of the Interactions API with that many pieces of text, one read for each event."""
    piece = 3 * SENTENCE
    interaction = f'{{"id":"v1_Chd0aWRl","status":"%s","object":"interaction","model":"{MODEL}"%s}}'
    usage = ',"usage":{"total_tokens":154,"total_input_tokens":13,"total_output_tokens":141}'
    events = [
        ("interaction.created", f'"interaction":{interaction % ("in_progress", "")}'),
        ("step.start", '"index":0,"step":{"type":"model_output"}'),
        *(
            ("step.delta", f'"index":0,"delta":{{"text":"{number} {piece}","type":"text"}}')
            for number in range(frames)
        ),
        ("step.stop", '"index":0'),
        ("interaction.completed", f'"interaction":{interaction % ("completed", usage)}'),
    ]
    reads = [
        f'event: {name}\ndata: {{{fields},"event_type":"{name}"}}\n\n'.encode()
        for name, fields in events
    ]
    exchange = Exchange(
        Request("POST", INTERACTIONS, {}, b'{"input": "Tell me", "stream": true}'),
        200,
        {"content-type": ["text/event-stream"]},
        tuple((float(number), data) for number, data in enumerate(reads, 1)),
        "complete",
        "OK",
    )
    return with_provider(exchange)


def message_of_blocks(frames: int) -> Exchange:
    """A stream of Anthropic's Messages API with that many pieces of text, one read for each event."""
    message = (
        '{"model":"claude-opus-5","id":"msg_01","type":"message","role":"assistant","content":[]'
    )
    message += ',"stop_reason":null,"usage":{"input_tokens":13,"output_tokens":1}}'
    piece = 3 * SENTENCE
    delta = '"index":0,"delta":{"type":"text_delta","text":"%d %s"}'
    events = [
        ("message_start", f'"message":{message}'),
        ("content_block_start", '"index":0,"content_block":{"type":"text","text":""}'),
        *(("content_block_delta", delta % (number, piece)) for number in range(frames)),
        ("content_block_stop", '"index":0'),
        ("message_delta", '"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":141}'),
    ]
    reads = [
        f'event: {name}\ndata: {{"type":"{name}",{fields}}}\n\n'.encode() for name, fields in events
    ]
    timed = tuple((float(number), data) for number, data in enumerate(reads, 1))
    return with_provider(Exchange(None, 200, {}, timed, "complete"))


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


def processor_times(rounds: int, *sides: Callable[[], object], warm: bool = False) -> list[float]:
    """The least seconds of processor time of each side, with interleaved rounds; ``warm``: of the
    second of two runs.

    The minimum is taken because other work on the machine can only add to it.
    """
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, own in zip(sides, times, strict=True):
            if warm:
                side()
            started = process_time()
            side()
            own.append(process_time() - started)
    return [min(own) for own in times]
