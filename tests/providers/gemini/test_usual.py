"""The decoder of usual messages and the reader of all messages give the same events."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import Struct, to_builtins

from harness import load
from harness.pipeline.replay import frames_of
from harness.providers import PROVIDERS
from harness.providers.gemini.normalizer import MAX_FORMS, GeminiNormalizer
from harness.providers.gemini.usual import continuation
from harness.providers.provider import Answer
from harness.stream.events import Usage
from harness.stream.framing import Frame, frame_by_content
from tests.support.message_damage import damage

CASSETTES = Path(__file__).parents[3] / "cassettes"
FOLDERS = sorted(path.name for path in CASSETTES.iterdir() if path.is_dir())
COUNTS = {"promptTokenCount": 7, "totalTokenCount": 9}
PART = {"text": "Hi"}
CALL = {"functionCall": {"name": "f", "args": {"a": [1, None]}}}
CONTENT = {"role": "model", "parts": [PART]}
CANDIDATE = {"content": CONTENT, "index": 0}
MESSAGE = {
    "candidates": [CANDIDATE],
    "usageMetadata": COUNTS,
    "modelVersion": "gemini-x",
    "responseId": "r1",
}
FIRST = json.dumps(MESSAGE).encode()


def read(messages: Iterable[bytes], usual: bool, tool_code: bool = False) -> tuple[list[Any], int]:
    """The events of the messages, and the number of messages that the decoder of usual messages
    accepted.

    The decoder accepts only a frame whose ``json`` has not been read yet.
    """
    normalizer = GeminiNormalizer(Answer(tool_code=tool_code))
    events, taken = [], 0
    for data in messages:
        frame = Frame(0, data)
        if not usual:
            assert frame.json is not None or frame.raw is not None or data == b"null"
        events += normalizer.feed(frame)
        taken += type(frame.message) is bytes
    return [spell(to_builtins(event)) for event in [*events, *normalizer.close()]], taken


def spell(event: dict[str, Any]) -> str:
    """A form that distinguishes 1 from 1.0 and ignores the order of keys."""
    return json.dumps(event, sort_keys=True)


def taken(*messages: bytes) -> int:
    """The number of messages that the decoder accepted; both ways give the same events for all
    messages.
    """
    events, number = read(messages, usual=True)
    assert events == read(messages, usual=False)[0]
    return number


def changed(**changes: Any) -> bytes:
    return json.dumps(MESSAGE | changes).encode()


def parts(*parts: Any) -> bytes:
    return changed(candidates=[{"content": CONTENT | {"parts": parts}}])


def nested(levels: int) -> list[Any]:
    return [nested(levels - 1)] if levels else []


def recorded(folder: str) -> Iterator[list[bytes]]:
    """The messages of every answer; Code Assist's envelope counts as another form."""
    for path in sorted((CASSETTES / folder).rglob("*.yaml")):
        for exchange in load(path).exchanges:
            if exchange.generates and exchange.provider != "gemini-cli":
                frames = frames_of(exchange, provider=exchange.provider or "gemini-api")
                yield [
                    frame.message
                    if type(frame.message) is bytes
                    else json.dumps(frame.json).encode()
                    for frame in frames
                    if frame.text is None
                ]


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recording_reads_the_same(folder: str) -> None:
    for messages in recorded(folder):
        for tool_code in (False, True):
            usual, _ = read(messages, True, tool_code)
            assert usual == read(messages, False, tool_code)[0]


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_damaged_recording_reads_the_same(folder: str) -> None:
    chance = Random(16)
    for messages in recorded(folder):
        for _ in range(10):
            damaged = damage(messages, chance)
            assert taken(*damaged) <= len(damaged)


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["gemini-api", "vertex-ai"])
def test_damaged_documents_read_the_same_without_the_framers_decoder(wire: str) -> None:
    chance, strict = Random(16), 0
    for messages in recorded(wire):
        for data in [*messages, *damage(messages, chance)]:
            for end in (b"", b"\n", b" ", b"x\n"):
                events = []
                for framer in (PROVIDERS[wire].framer(1 << 20), frame_by_content(1 << 20)):
                    frames = framer.feed(data + end) + framer.close()
                    strict += sum(frame.usual is not None for frame in frames)
                    normalizer = GeminiNormalizer(Answer())
                    read = [event for frame in frames for event in normalizer.feed(frame)]
                    events.append(([spell(to_builtins(event)) for event in read], frames))
                assert events[0] == events[1]
    assert strict > 0


def test_a_message_like_the_one_before_is_usual() -> None:
    text = {"text": "more", "thoughtSignature": "c2ln"}
    more = changed(candidates=[CANDIDATE | {"content": CONTENT | {"parts": [text]}}])
    counts = changed(usageMetadata=COUNTS | {"totalTokenCount": 12})
    last = changed(candidates=[CANDIDATE | {"finishReason": "STOP"}])
    assert taken(FIRST, more, counts, last, more) == 5


def test_a_message_in_an_envelope_is_usual() -> None:
    first, second = (b'{"response": ' + FIRST + b', "traceId": "%d"}' % number for number in (1, 2))
    assert taken(first, first) == 1
    assert taken(first, second) == 0
    assert taken(first, FIRST, FIRST) == 2
    assert taken(FIRST, first) == 1


@pytest.mark.parametrize(
    "message",
    [
        changed(usageMetadata=None),
        changed(usageMetadata={}),
        changed(usageMetadata=COUNTS | {"thoughtsTokenCount": 1}),
        changed(usageMetadata=COUNTS | {"totalTokenCount": 9.0}),
        changed(usageMetadata=COUNTS | {"totalTokenCount": "9"}),
        changed(usageMetadata={"prompt_token_count": 7, "totalTokenCount": 9}),
        changed(candidates=[CANDIDATE | {"finishReason": "MAX_TOKENS"}]),
        changed(candidates=[{"index": 0}]),
        changed(candidates=[{"content": CONTENT | {"parts": []}}]),
        changed(candidates=[{"content": CONTENT | {"parts": [PART, PART]}}]),
        changed(candidates=[{"content": CONTENT | {"parts": [{"functionCall": {"name": "f"}}]}}]),
        changed(candidates=[CANDIDATE | {"finishReason": "STOP", "finishMessage": "m"}]),
        changed(candidates=[CANDIDATE | {"finishReason": ""}]),
        changed(candidates=[CANDIDATE | {"safetyRatings": []}]),
        changed(candidates=[CANDIDATE | {"safetyRatings": [{}], "avgLogprobs": -1}]),
        changed(candidates=[CANDIDATE | {"avgLogprobs": 1.0}]),
        changed(candidates=[CANDIDATE | {"citationMetadata": {"citations": []}}]),
        changed(candidates=[CANDIDATE | {"groundingMetadata": {"a": 10**30}}]),
        parts(CALL | {"thoughtSignature": "c2ln"}, {"text": "", "thought": True}, CALL),
        parts({"functionCall": {"name": "f", "args": {"a": [1.0]}, "id": ""}}, PART),
    ],
)
def test_a_message_of_another_form_is_usual(message: bytes) -> None:
    assert taken(message) == 1
    assert taken(FIRST, message, FIRST) == 3


@pytest.mark.parametrize(
    "message",
    [
        changed(modelVersion="gemini-y"),
        changed(responseId=None),
        changed(createTime="2026-01-01T00:00:00Z"),
    ],
)
def test_a_new_fact_about_the_reply_is_left_to_the_reader(message: bytes) -> None:
    assert taken(message) == 1
    assert taken(FIRST, message) == 1


@pytest.mark.parametrize(
    "message",
    [
        changed(candidates=[CANDIDATE | {"finishMessage": "m"}]),
        changed(candidates=[CANDIDATE | {"avgLogprobs": "NaN"}]),
        changed(candidates=[CANDIDATE | {"urlContextMetadata": {}}]),
        changed(candidates=[CANDIDATE | {"safetyRatings": {}}]),
        changed(usageMetadata=[]),
        parts({}),
        parts({"thoughtSignature": "c2ln"}),
        parts(CALL | PART),
        parts(PART, CALL | {"thought": True}),
        parts(PART, {"functionCall": {"name": ""}}),
        parts({"functionCall": {"name": "f", "args": "{}"}}),
        parts({"functionCall": {"name": "f", "partialArgs": []}}),
        parts({"functionCall": {"name": "f", "willContinue": False}}),
        parts({"functionCall": {"args": {}}}),
        parts({"functionCall": {"name": "f", "args": {"a": nested(300)}}}),
        changed(responseId=3),
        changed(promptFeedback={}),
        changed(other=None),
        changed(candidates=[]),
        changed(candidates=[CANDIDATE, CANDIDATE]),
        changed(candidates=[CANDIDATE | {"index": 1}]),
        changed(candidates=[CANDIDATE | {"index": 0.0}]),
        changed(candidates=[CANDIDATE | {"index": False}]),
        changed(candidates=[CANDIDATE | {"finishReason": 1}]),
        changed(candidates=[CANDIDATE | {"finish_reason": "STOP"}]),
        changed(candidates=[{"content": CONTENT | {"role": "user"}}]),
        changed(candidates=[{"content": CONTENT | {"parts": [{"text": 3}]}}]),
        changed(candidates=[{"content": CONTENT | {"parts": [PART | {"thought": 1}]}}]),
        changed(candidates=[{"content": CONTENT | {"parts": [{"text": "\ud800"}]}}]),
        FIRST.replace(b"Hi", b"\xff"),
        FIRST + FIRST,
        FIRST[:-1],
        b"[]",
        b"null",
        b"",
    ],
)
def test_an_unusual_message_is_left_to_the_reader(message: bytes) -> None:
    assert taken(message) == 0
    assert taken(FIRST, message) == 1


@pytest.mark.parametrize(
    "message",
    [
        FIRST[:-1] + b',"modelVersion":"gemini-x"}',
        FIRST.replace(b'"totalTokenCount": 9', b'"totalTokenCount": 8, "totalTokenCount": 9'),
        FIRST.replace(b'"text": "Hi"', b'"text": "Ho", "text": "Hi"'),
        FIRST.replace(b"Hi", rb"\ud83d\ude00"),
        FIRST.replace(b'"text"', rb'"\u0074ext"'),
        FIRST.replace(b'"promptTokenCount": 7', b'"promptTokenCount": %d' % 10**30),
    ],
)
def test_a_usual_message_in_another_spelling_reads_the_same(message: bytes) -> None:
    assert taken(message) == 1
    assert taken(FIRST, message) == 2


def test_text_inside_an_open_call_is_left_to_the_reader() -> None:
    call = {"name": "f", "willContinue": True}
    opened = changed(candidates=[{"content": CONTENT | {"parts": [{"functionCall": call}]}}])
    assert taken(FIRST, opened, FIRST, FIRST) == 2


def test_text_that_may_hold_a_call_is_left_to_the_reader() -> None:
    events, number = read([FIRST, FIRST], usual=True, tool_code=True)
    assert (events, number) == read([FIRST, FIRST], usual=False, tool_code=True)


def test_one_answer_makes_few_decoders() -> None:
    continuation.cache_clear()
    names = ("promptTokenCount", "totalTokenCount", "thoughtsTokenCount", "cachedContentTokenCount")
    forms = [[name for bit, name in enumerate(names) if form >> bit & 1] for form in range(16)]
    messages = [changed(usageMetadata=dict.fromkeys(form, 1)) for form in forms * 2]
    assert taken(*messages) <= len(messages)
    assert continuation.cache_info().misses <= MAX_FORMS


def test_the_message_after_an_unknown_field_is_decoded_by_its_expected_form() -> None:
    normalizer = GeminiNormalizer(Answer())
    normalizer.feed(Frame(0, changed(newField={"a": 1})))
    usage = normalizer.feed(Frame(0, FIRST))[0]
    assert isinstance(usage, Usage)
    assert isinstance(usage.wire, Struct)
