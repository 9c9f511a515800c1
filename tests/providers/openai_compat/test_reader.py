"""The two readers of the OpenAI-compatible endpoint agree on any stream, in any order of fields, ids
and tags; and the rest of an interrupted stream.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from harness.adapters import ADAPTERS, EVENTS, RunOptions
from harness.judging.aspects import judge_exchange
from harness.judging.reading import Reading
from harness.pipeline.replay import replay
from harness.providers import PROVIDERS, Answer
from harness.providers.openai_compat.thoughts import ThoughtSplitter, thought_tag
from harness.proving.second_reader import compare_readers
from harness.stream.exchange import Exchange
from tests.readers import READERS
from tests.support.event_order import out_of_order

PROVIDER = PROVIDERS["openai-compat"]
SEEDS = 300
TEXTS = (
    "a",
    "b ",
    "<",
    "<tho",
    "ught>",
    "<thought>",
    "</thou",
    "ght>x",
    "<thought>h</thought>y",
    "é",
)
ARGUMENTS = ("{}", '{"a":1}', '{"a":', " 1}", "1", "x", "", " ", '{"b":{"c":"}"}}', {"o": 1})
FILTERED = "function_call_filter: MALFORMED_FUNCTION_CALL"
REASONS = ("stop", "tool_calls", "length", "content_filter", "SAFETY", FILTERED, "weird", None)


def maybe(chance: Random, share: float, **fields: Any) -> dict[str, Any]:
    return fields if chance.random() < share else {}


def any_call(chance: Random) -> dict[str, Any]:
    function = maybe(chance, 0.7, name=chance.choice("fg"))
    function |= maybe(chance, 0.9, arguments=chance.choice(ARGUMENTS))
    signed = {"google": {"thought_signature": chance.choice(("Q2FM", "Q0M="))}}
    return {
        "function": function,
        **maybe(chance, 0.7, id=chance.choice(("", "c1", "c2", "c3"))),
        **maybe(chance, 0.3, index=chance.choice((0, 1))),
        **maybe(chance, 0.2, extra_content=signed),
    }


def any_delta(chance: Random) -> dict[str, Any]:
    extra = maybe(chance, 0.6, thought_signature=chance.choice(("QUJD", "")))
    extra |= maybe(chance, 0.5, thought=chance.choice((True, False)))
    return {
        **maybe(chance, 0.6, content=chance.choice((*TEXTS, "", None))),
        **maybe(chance, 0.1, refusal=chance.choice(("no", None))),
        **maybe(chance, 0.3, extra_content={chance.choice(("google", "vertex")): extra}),
        **maybe(chance, 0.1, thought_signature="QUJD"),
        **maybe(chance, 0.4, tool_calls=[any_call(chance) for _ in range(chance.choice((1, 2)))]),
        **maybe(chance, 0.05, function_call={"name": "old", "arguments": "{}"}),
    }


def any_chunk(chance: Random) -> Any:
    if chance.random() < 0.06:
        error = {"error": {"code": 503, "message": "over", "status": "UNAVAILABLE"}}
        return chance.choice((error, [error], "[DONE]"))
    first = {"delta": any_delta(chance), "index": 0}
    first |= maybe(chance, 0.15, finish_reason=chance.choice(REASONS))
    other = [{"delta": any_delta(chance), "index": 1}] if chance.random() < 0.1 else []
    counts = {"completion_tokens": chance.randint(0, 9), "prompt_tokens": 3, "total_tokens": 30}
    return {
        "choices": [first, *other],
        "created": 1,
        "id": "r",
        "model": "gemini",
        "object": "chat.completion.chunk",
        **maybe(chance, 0.2, usage=counts),
    }


def stream(*messages: Any) -> bytes:
    texts = (item if isinstance(item, str) else json.dumps(item) for item in messages)
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def answer(body: bytes, end: Any = "complete") -> Exchange:
    return Exchange(None, 200, {}, ((None, body),), end, provider=PROVIDER.name)


def faults(exchange: Exchange) -> list[str]:
    """The facts of an answer that payloads lose or invent."""
    events = replay(exchange, provider=PROVIDER.name, layer="events")
    assert out_of_order([event["kind"] for event in events]) is None
    options = RunOptions(provider=PROVIDER.name)
    judged = [
        judge_exchange(Reading(exchange, options), adapter)
        for adapter in (EVENTS, *ADAPTERS.values())
    ]
    return [each.sentence(aspect) for each in judged for aspect in each.red]


@pytest.mark.parametrize("seed", range(0, SEEDS, 10))
def test_no_stream_loses_or_invents_a_fact(seed: int) -> None:
    for number in range(seed, seed + 10):
        chance = Random(number)
        body = stream(*(any_chunk(chance) for _ in range(chance.randint(1, 6))))
        body = body[: chance.randint(0, len(body))] if chance.random() < 0.1 else body
        exchange = answer(body, chance.choice(("complete", "complete", "cut")))
        assert faults(exchange) == [], (number, body)
        assert compare_readers(PROVIDER, READERS[PROVIDER.name], [("", exchange)]) == [], number


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "index": 0}], "object": "chat.completion.chunk"}


def test_open_calls_are_the_rest_of_a_cut_stream() -> None:
    first = {"id": "c1", "function": {"name": "f", "arguments": '{"a":'}, "index": 0}
    second = {"id": "c2", "function": {"name": "g", "arguments": "{}"}, "index": 1}
    exchange = answer(stream(chunk(tool_calls=[first, second])), "cut")
    *_, last = replay(exchange, provider=PROVIDER.name, layer="events")
    rest = [json.loads(line) for line in last["rest"].splitlines()]
    assert rest == [
        {"id": "c1", "name": "f", "arguments": '{"a":'},
        {"id": "c2", "name": "g", "arguments": "{}"},
    ]


@pytest.mark.parametrize("cut", range(1, len("a<thought>b</thought>c</th")))
def test_a_tag_may_be_cut_anywhere(cut: int) -> None:
    text = "a<thought>b</thought>c</th"
    splitter = ThoughtSplitter("thought")
    pieces = [
        *splitter.feed(text[:cut], False),
        *splitter.feed(text[cut:], False),
        *splitter.close(),
    ]
    assert "".join(piece for thought, piece in pieces if thought) == "b"
    assert "".join(piece for thought, piece in pieces if thought is False) == "ac</th"
    assert "".join(piece for _, piece in pieces) == text


@pytest.mark.parametrize(
    ("asked", "tag"),
    [
        (b"", "thought"),
        (b'{"messages": [{"content": "thought_tag_marker"}]}', "thought"),
        (b'{"google": {"thought_tag_marker": "think"}}', "think"),
        (b'{"extra_body": {"google": {"thought_tag_marker": "think"}}}', "think"),
        (b'{"extra_body": {"extra_body": {"google": {"thought_tag_marker": "t"}}}}', "t"),
        (b'{"extra_body": {"google": {"thought_tag_marker": 7}}}', "thought"),
        (b'{"thought_tag_marker": "think"', "thought"),
    ],
)
def test_a_request_may_choose_the_tag(asked: bytes, tag: str) -> None:
    assert thought_tag(asked) == tag


def test_a_failed_answer_that_is_no_error_object_is_an_error() -> None:
    normalizer = PROVIDER.normalizer(Answer(503))
    (error,) = normalizer.close()
    assert getattr(error, "code", None) == 503
