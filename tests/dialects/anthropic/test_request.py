"""Messages requests, beyond the golden cases: round trips of every recording with calls,
accumulation, names, hostile prompts.
"""

from __future__ import annotations

import contextlib
import copy
import string
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.cassettes import Exchange
from harness.dialects.anthropic import DIALECT as ANTHROPIC
from harness.dialects.anthropic.contents import ROLES
from harness.dialects.anthropic.tools import MAX_NAME, wire_names
from harness.providers import PROVIDERS
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.session import Session

CASSETTES = Path(__file__).parents[3] / "cassettes"
PROMPT: dict[str, Any] = {
    "model": "gemini-3-pro",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "go"}],
}
assert ANTHROPIC.request is not None
follow_up = ANTHROPIC.request.follow_up

Json = Any


def answers_with_calls() -> Iterator[Any]:
    for path in sorted(CASSETTES.rglob("*.yaml")):
        for number, exchange in enumerate(harness.load(path).exchanges, 1):
            # Gemini refuses what Anthropic has signed or encrypted.
            if exchange.generates and exchange.provider != "anthropic":
                events = harness.replay(exchange, layer="events")
                kinds = {event["kind"] for event in events if not event.get("candidate")}
                if kinds & {"call_end", "nameless_call"} and not kinds & {"error", "incomplete"}:
                    yield pytest.param(
                        exchange, events, id=f"{path.parent.name}/{path.stem}-{number}"
                    )


def said_by(events: list[Json], texts: str) -> tuple[list[Json], list[Json]]:
    """The calls of the wire as (id, name, arguments), and every signature with its call; ``texts``:
    blocks that stayed text.
    """
    calls, signatures, open_calls = [], [], {}
    for event in events:
        if event.get("candidate"):
            continue
        on = None
        match event["kind"]:
            case "call_start":
                open_calls[event["call"]] = event
                on = event["name"]
            case "call_end" if event["call"] in open_calls:
                start = open_calls[event["call"]]
                calls.append((start.get("id") or None, start["name"], event["arguments"]))
            case "nameless_call" if event["raw"] not in texts:
                on = "?"
                calls.append((None, "?", event["payload"]))
        if event.get("signature") and event["kind"] not in LOST_PARTS:
            signatures.append((on, event["signature"]))
    return calls, signatures


LOST_PARTS = ("media", "code", "code_result", "server_call", "server_result")
"""Kinds of events that the dialect does not carry; their signatures are lost with them."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*only its maker can read it")
@pytest.mark.parametrize("provider", ["gemini-api", "code-assist"])
@pytest.mark.parametrize(("exchange", "events"), list(answers_with_calls()))
def test_every_recorded_call_goes_back_complete(
    exchange: Exchange, events: list[Json], provider: str
) -> None:
    session = Session()
    payloads = harness.replay(exchange, dialect="anthropic", session=session)
    texts = "".join(
        payload["delta"]["text"]
        for payload in payloads
        if payload.get("delta", {}).get("type") == "text_delta"
    )
    calls, signatures = said_by(events, texts)
    if PROVIDERS[exchange.provider or ""].vendor != "gemini":
        signatures = []  # only their maker can read them
    prompt = follow_up(
        PROMPT, payloads, [ToolOutcome(f"r{number}") for number in range(len(calls))]
    )
    body = harness.request(prompt, dialect="anthropic", provider=provider, session=session)
    _, *answer = body.get("request", body)["contents"]
    parts = [part for content in answer for part in content["parts"]]
    sent = [part["functionCall"] for part in parts if "functionCall" in part]
    bare = {call["name"] for call, (_, name, _) in zip(sent, calls, strict=True) if name == "?"}
    assert [
        (call.get("id"), "?" if call["name"] in bare else call["name"], call["args"])
        for call in sent
    ] == calls
    back = [
        (part.get("functionCall", {}).get("name"), part["thoughtSignature"])
        for part in parts
        if "thoughtSignature" in part
    ]
    assert [("?" if name in bare else name, signature) for name, signature in back] == signatures
    results = [part["functionResponse"] for part in answer[-1]["parts"]] if calls else []
    assert [(result.get("id"), result["name"]) for result in results] == [
        (call.get("id"), call["name"]) for call in sent
    ]
    assert [result["response"]["content"] for result in results] == [
        f"r{number}" for number in range(len(calls))
    ]


# ---------------------------------------------------------------- how an application continues


def start(index: int, **block: Any) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **piece: Any) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **piece}}


def stop(index: int) -> Json:
    return {"type": "content_block_stop", "index": index}


ANSWER: list[Json] = [
    {"type": "message_start", "message": {"content": []}},
    {"type": "unknown", "raw": {"x": 1}},
    start(0, type="thinking", thinking="", signature=""),
    delta(0, "thinking_delta", thinking="hm"),
    delta(0, "thinking_delta", thinking="m"),
    delta(0, "signature_delta", signature="S1"),
    stop(0),
    start(1, type="text", text=""),
    delta(1, "text_delta", text="Hel"),
    {"type": "unknown", "raw": {"y": 1}},
    delta(1, "text_delta", text="lo"),
    delta(1, "signature_delta", signature="dropped by the clients"),
    stop(1),
    start(2, type="thinking", thinking="", signature=""),
    delta(2, "signature_delta", signature="S2"),
    stop(2),
    start(3, type="tool_use", id="a", name="f", input={}),
    delta(3, "input_json_delta", partial_json='{"n": 1234567890123'),
    delta(3, "input_json_delta", partial_json='4567890, "s": "\\ud83d"}'),
    stop(3),
    start(4, type="tool_use", id="b", name="g", input={}),
    stop(4),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]
CONTENT: list[Json] = [
    {"type": "thinking", "thinking": "hmm", "signature": "S1"},
    {"type": "text", "text": "Hello"},
    {"type": "thinking", "thinking": "", "signature": "S2"},
    {
        "type": "tool_use",
        "id": "a",
        "name": "f",
        "input": {"n": 12345678901234567890, "s": "\ud83d"},
    },
    {"type": "tool_use", "id": "b", "name": "g", "input": {}},
]


def test_the_calls_of_an_accumulated_answer_are_answered_in_order() -> None:
    prompt, payloads = copy.deepcopy(PROMPT), copy.deepcopy(ANSWER)
    following = follow_up(
        prompt, payloads, [ToolOutcome({"°C": [4]}), ToolOutcome("no such city", failed=True)]
    )
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": '{"°C": [4]}'},
        {"type": "tool_result", "tool_use_id": "b", "content": "no such city", "is_error": True},
    ]
    added = [{"role": "assistant", "content": CONTENT}, {"role": "user", "content": results}]
    assert following == {**PROMPT, "messages": [*PROMPT["messages"], *added]}
    assert (prompt, payloads) == (PROMPT, ANSWER), "neither argument is changed"


def not_run(call_id: str) -> Json:
    content = "the call was not run"
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": True}


def test_the_user_may_continue_after_any_answer() -> None:
    assert follow_up(PROMPT, ANSWER, "Thanks.")["messages"][1:] == [
        {"role": "assistant", "content": CONTENT},
        {
            "role": "user",
            "content": [not_run("a"), not_run("b"), {"type": "text", "text": "Thanks."}],
        },
    ]
    assert follow_up(PROMPT, [], "Again.")["messages"][1:] == [
        {"role": "user", "content": "Again."}
    ]
    assert follow_up(PROMPT, ANSWER[:13], [])["messages"][1:] == [
        {"role": "assistant", "content": CONTENT[:2]}
    ]


def test_a_block_that_an_error_interrupts_is_dropped() -> None:
    broken = [*ANSWER[:9], {"type": "error", "error": {"type": "api_error", "message": "cut"}}]
    assert follow_up(PROMPT, broken, "Again.")["messages"][1]["content"] == CONTENT[:1]


@pytest.mark.parametrize(
    ("payloads", "count", "message"),
    [
        (ANSWER, 1, "the answer has 2 calls, and 1 outcomes are given"),
        ([], 1, "the answer has 0 calls, and 1 outcomes are given"),
        (
            [
                start(0, type="tool_use", id="a"),
                delta(0, "input_json_delta", partial_json='{"a'),
                stop(0),
            ],
            1,
            "are not JSON: '{\"a'",
        ),
    ],
)
def test_outcomes_that_fit_no_answer_are_refused(
    payloads: list[Json], count: int, message: str
) -> None:
    with pytest.raises(TranslationError, match=message):
        follow_up(PROMPT, payloads, [ToolOutcome("r")] * count)


# ---------------------------------------------------------------- the memory of the session


def asked_again(session: Session, **call: Any) -> Json:
    """The part of a call in the history, sent with this session."""
    block = {"type": "tool_use", "id": "c1", "name": "f", "input": {}, **call}
    messages = [*PROMPT["messages"], {"role": "assistant", "content": [block]}]
    return harness.request({**PROMPT, "messages": messages}, dialect="anthropic", session=session)[
        "contents"
    ][1]["parts"][0]


def test_signature_and_id_come_from_the_session_by_default() -> None:
    session = Session()
    session.remember("c1", "f", "S1", "w1")
    session.remember("c2", "f", None)
    assert asked_again(session) == {
        "functionCall": {"id": "w1", "name": "f", "args": {}},
        "thoughtSignature": "S1",
    }
    assert asked_again(session, signature="mine")["thoughtSignature"] == "mine"
    assert asked_again(session, id="c2") == {"functionCall": {"name": "f", "args": {}}}, (
        "a counted id is none of the wire's"
    )
    assert asked_again(session, id="c3") == {"functionCall": {"id": "c3", "name": "f", "args": {}}}
    assert asked_again(session, name="g") == {
        "functionCall": {"id": "c1", "name": "g", "args": {}}
    }, "another call with the same id"
    assert asked_again(Session()) == {"functionCall": {"id": "c1", "name": "f", "args": {}}}


def test_signatures_are_forgotten_oldest_first() -> None:
    session = Session(limit=2)
    for number in (1, 2, 3):
        session.remember(f"c{number}", "f", f"S{number}", f"c{number}")
    assert list(session.calls) == ["c2", "c3"]
    assert "thoughtSignature" not in asked_again(session)
    assert asked_again(session, id="c3")["thoughtSignature"] == "S3"
    session.remember("c2", "f", "S2 again", "c2")
    session.remember("c4", "f", "S4", "c4")
    assert list(session.calls) == ["c2", "c4"], "what was said again is young again"


def test_an_id_of_the_history_is_not_counted_again() -> None:
    """As after a restart: the history has ids that an earlier session counted."""
    session, exchange = (
        Session(),
        harness.load(CASSETTES / "code-assist/anthropic-tool-names.yaml").exchanges[1],
    )
    part = asked_again(session, id="toolu_1")
    payloads = harness.replay(exchange, dialect="anthropic", session=session)
    assert [
        payload["content_block"]["id"] for payload in payloads if "content_block" in payload
    ] == ["toolu_2"]
    assert asked_again(session, id="toolu_1") == part


def test_a_refused_prompt_leaves_the_session_as_it_was() -> None:
    session = Session(context={"project": "p"})
    bad = {
        **PROMPT,
        "tools": [{"name": "a b", "input_schema": {}}],
        "metadata": {"thread_id": "t"},
        "top_k": "x",
    }
    with pytest.raises(TranslationError, match=r"^top_k: must be a whole number, not 'x'$"):
        harness.request(bad, dialect="anthropic", session=session)
    assert (session.context, session.own_names) == ({"project": "p"}, {})
    harness.request({**bad, "top_k": 1}, dialect="anthropic", session=session)
    assert (session.context, session.own_names) == (
        {"project": "p", "session_id": "t"},
        {"a_b": "a b"},
    )


def test_a_call_comes_back_under_the_name_that_the_caller_gave() -> None:
    exchange = harness.load(CASSETTES / "gemini-api/tool-calls.yaml").exchanges[0]
    called = {
        event["name"]
        for event in harness.replay(exchange, layer="events")
        if event["kind"] == "call_start"
    }
    assert called == {"get_weather"}
    session = Session()
    tools = [{"name": "get weather", "input_schema": {}}]
    harness.request({**PROMPT, "tools": tools}, dialect="anthropic", session=session)
    payloads = harness.replay(exchange, dialect="anthropic", session=session)
    names = [
        payload["content_block"]["name"]
        for payload in payloads
        if payload.get("content_block", {}).get("type") == "tool_use"
    ]
    assert names == ["get weather"]
    following = follow_up({**PROMPT, "tools": tools}, payloads, [ToolOutcome("4 °C")])
    *_, answer, result = harness.request(following, dialect="anthropic", session=session)[
        "contents"
    ]
    assert [part["functionCall"]["name"] for part in answer["parts"] if "functionCall" in part] == [
        "get_weather"
    ]
    assert result["parts"][0]["functionResponse"]["name"] == "get_weather"


# ---------------------------------------------------------------- names

LEGAL = set(string.ascii_letters + string.digits + "_.:-")
AWKWARD = st.text(st.sampled_from("aé_1-.: /"), max_size=4) | st.text(
    st.sampled_from("ab"), min_size=62, max_size=66
)


@pytest.mark.slow
@given(st.lists(AWKWARD, max_size=12))
def test_names_are_legal_distinct_and_changed_only_if_they_must(names: list[str]) -> None:
    wire = wire_names(names)
    assert set(wire) == set(names)
    assert len(set(wire.values())) == len(wire)
    for own, name in wire.items():
        legal = (
            0 < len(own) <= MAX_NAME and set(own) <= LEGAL and (own[0].isalpha() or own[0] == "_")
        )
        assert name == own if legal else name != own
        assert 0 < len(name) <= MAX_NAME
        assert set(name) <= LEGAL
        assert name[0].isalpha() or name[0] == "_"


# ---------------------------------------------------------------- hostile prompts

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "type",
        "text",
        "thinking",
        "signature",
        "data",
        "id",
        "name",
        "input",
        "tool_use_id",
        "content",
        "source",
        "title",
    ]
)
WORDS = st.sampled_from(
    [
        "text",
        "image",
        "document",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "base64",
        "url",
        "a",
    ]
)
OBJECTS = st.recursive(
    WORDS | JSON_VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
BODY_KEYS = st.sampled_from(
    [
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "metadata",
        "max_tokens",
        "stop_sequences",
        "x",
    ]
)


@pytest.mark.slow
@given(
    st.dictionaries(BODY_KEYS, OBJECTS, max_size=4),
    st.lists(OBJECTS, max_size=4),
    st.sampled_from(list(ROLES)),
)
def test_no_prompt_raises_anything_but_a_translation_error(
    body: dict[str, Any], contents: list[Any], role: str
) -> None:
    prompt = {**body, "messages": [{"role": role, "content": content} for content in contents]}
    before = copy.deepcopy(prompt)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", harness.TranslationWarning)
        with contextlib.suppress(TranslationError):
            assert harness.request(prompt, dialect="anthropic")["contents"]
    assert prompt == before


def test_a_schema_that_nests_without_end_is_cut_with_a_warning() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        schema = {"type": "array", "items": schema}
    tools = [{"name": "f", "input_schema": {"type": "object", "properties": {"a": schema}}}]
    with pytest.warns(harness.TranslationWarning, match=r"^tools.0..input_schema: .* 40 levels"):
        harness.request({**PROMPT, "tools": tools}, dialect="anthropic")


@pytest.mark.parametrize(
    "prompt",
    [None, [], "x", {"messages": {}}, {"messages": [1]}, {"messages": [{"role": "user"}]}, {}],
)
def test_a_value_that_is_no_request_is_refused(prompt: Any) -> None:
    with pytest.raises(TranslationError):
        harness.request(prompt, dialect="anthropic")


def test_this_dialect_has_no_options() -> None:
    with pytest.raises(TranslationError, match=r"^options: a Messages request has none"):
        harness.request(PROMPT, dialect="anthropic", options={"temperature": 1})
