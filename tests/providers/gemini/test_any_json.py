"""Any JSON in place of a Gemini message gives events in legal order, and each of its words appears
in the output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from harness.providers import PROVIDERS, Answer
from harness.stream.events import INTERRUPTED, End
from harness.stream.framing import Frame
from tests.support.event_order import out_of_order

Json = Any

WORDS = st.integers(1000, 99999).map(lambda number: f"word{number}")
SCALARS = (
    WORDS
    | st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 2.0, -1, 2**70, "", "STOP", "model", "$.a", "<tool_code>"])
)
ANY = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.just("error"), inner, max_size=3)
    ),
    max_leaves=6,
)
SPELL: dict[str, Callable[[str], str]] = {
    "camel": lambda name: name,
    "snake": lambda name: "".join(f"_{c.lower()}" if c.isupper() else c for c in name),
}


def shape(**fields: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """An object with these fields. Each may be missing, in either spelling, of a wrong type, or
    beside an unknown field.
    """

    @st.composite
    def make(draw: Any) -> Json:
        made = {}
        for name in draw(st.lists(st.sampled_from(sorted(fields)), unique=True, max_size=4)):
            spell = SPELL[draw(st.sampled_from(["camel", "camel", "snake"]))]
            made[spell(name)] = draw(fields[name]) if draw(st.integers(0, 9)) else draw(ANY)
        if not draw(st.integers(0, 5)):
            made[draw(WORDS)] = draw(ANY)
        return made

    return make()


def often(word: str) -> st.SearchStrategy[Json]:
    return st.just(word) | WORDS


PIECE = shape(
    jsonPath=st.sampled_from(["$.a", "$.b[0].c", "$.b[1]", "$['a'].d", "$.b[99999]", "$"]) | WORDS,
    stringValue=WORDS,
    numberValue=st.integers(),
    boolValue=st.booleans(),
    nullValue=st.none(),
    willContinue=st.booleans(),
)
CALL = shape(
    id=st.sampled_from(["one", "two"]) | WORDS,
    name=often("f"),
    args=st.dictionaries(WORDS, ANY, max_size=2),
    partialArgs=st.lists(PIECE, max_size=2),
    willContinue=st.just(True),
)
TEXT = WORDS | st.sampled_from(
    [
        "",
        "<tool_code>",
        "</tool_code>",
        "<tool_",
        '{"name": "f", "args": {}}',
        "<tool_code>f(a=1)</tool_code>",
    ]
)
PART = shape(
    text=TEXT,
    thought=st.booleans(),
    thoughtSignature=WORDS,
    functionCall=CALL,
    functionResponse=shape(id=WORDS, name=WORDS, response=ANY, parts=ANY),
    inlineData=shape(mimeType=WORDS, data=WORDS),
    fileData=shape(fileUri=WORDS),
    executableCode=shape(code=WORDS),
    codeExecutionResult=shape(outcome=WORDS, output=WORDS),
    toolCall=shape(args=ANY),
    toolResponse=shape(response=ANY),
    videoMetadata=ANY,
) | CALL.map(lambda call: {"functionCall": call})
CANDIDATE = shape(
    content=shape(parts=st.lists(PART, max_size=4), role=st.just("model"))
    | st.lists(PART, max_size=4).map(lambda parts: {"parts": parts}),
    index=st.integers(0, 2),
    finishReason=often("STOP"),
    finishMessage=WORDS,
    avgLogprobs=st.floats(-5, 0),
    safetyRatings=st.lists(ANY, max_size=2),
    groundingMetadata=shape(webSearchQueries=ANY),
    citationMetadata=shape(citations=ANY),
    continuationToken=WORDS,
)
RESPONSE = shape(
    candidates=st.lists(CANDIDATE, max_size=2),
    usageMetadata=shape(promptTokenCount=st.integers(), totalTokenCount=WORDS),
    modelVersion=WORDS,
    responseId=WORDS,
    promptFeedback=shape(blockReason=WORDS, blockReasonMessage=WORDS, safetyRatings=ANY),
    functionCalls=st.lists(CALL, max_size=2),
    createTime=WORDS,
    modelStatus=ANY,
    parsed=ANY,
)
ERROR = shape(error=ANY | shape(code=st.integers(), message=WORDS, details=ANY, errors=ANY))
ENVELOPE = shape(
    response=RESPONSE,
    traceId=WORDS,
    metadata=ANY,
    consumedCredits=ANY,
    candidates=st.lists(CANDIDATE, max_size=1),
)
MESSAGE = st.one_of(
    RESPONSE,
    RESPONSE,
    CANDIDATE.map(lambda candidate: {"candidates": [candidate]}),
    ENVELOPE,
    ERROR,
    ANY,
    st.lists(RESPONSE, max_size=2),
)


def words(value: Json) -> Iterator[str]:
    """Every marked word of a message: its strings, and the names of its fields that are not null."""
    if isinstance(value, str) and value.startswith("word"):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from words(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if item is not None:
                yield from words(name)
                yield from words(item)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    messages=st.lists(MESSAGE, max_size=6),
    status=st.sampled_from([200, 200, 200, 429]),
    tool_code=st.booleans(),
    end=st.sampled_from(["complete", "unknown", "cut", "reset", "aborted"]),
)
def test_nothing_is_lost_and_the_order_is_legal(
    messages: list[Json], status: int, tool_code: bool, end: End
) -> None:
    normalizer = PROVIDERS["gemini-api"].normalizer(Answer(status, {}, None, tool_code))
    before = json.dumps(messages)
    events = [event for message in messages for event in normalizer.feed(Frame(0, message))]
    events += normalizer.close(end)
    plain = [to_builtins(event) for event in events]
    assert json.dumps(messages) == before
    assert out_of_order([event["kind"] for event in plain]) is None
    assert (plain[-1]["kind"] == "incomplete" if plain else False) == (end in INTERRUPTED)
    encoded = json.dumps(plain)
    joined = "".join(event.get("text", "") for event in plain)
    lost = {word for word in words(messages) if word not in encoded and word not in joined}
    open_call = [event["kind"] for event in plain if event["kind"].startswith("call_")][
        -1:
    ] not in ([], ["call_end"], ["call_invalid"])
    counted = any(event.get("where") == "call pieces beyond the limit" for event in plain)
    assert not lost or open_call or counted


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(messages=st.lists(MESSAGE, min_size=1, max_size=5), cut=st.integers(0, 4))
def test_a_shorter_stream_gives_fewer_events_and_the_same(messages: list[Json], cut: int) -> None:
    def events(some: list[Json], end: End) -> list[Json]:
        normalizer = PROVIDERS["code-assist"].normalizer(Answer())
        made = [event for message in some for event in normalizer.feed(Frame(0, message))]
        return [to_builtins(event) for event in [*made, *normalizer.close(end)]]

    whole, part = events(messages, "complete"), events(messages[:cut], "cut")
    assert part[:-1] == whole[: len(part) - 1]
