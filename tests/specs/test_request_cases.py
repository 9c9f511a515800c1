"""Request and conversation cases: their checks and their judgement, with a small request translator
instead of a dialect's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from harness.adapters import ADAPTERS
from harness.cassettes import Cassette, Exchange, Origin, Request
from harness.dialects.dialect import RequestTranslator
from harness.judging.judge import Cell, judge
from harness.providers import with_provider
from harness.specs.models import Case
from harness.specs.reader import read_spec
from harness.specs.spec_error import SpecError
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.prompt import Message, Opaque, Prompt, Text
from harness.stream.session import Session

REQUEST = """\
harness: 1
cases:
- case: hello
  requirement: A prompt is sent.
  features: [text]
  source: https://ai.google.dev/api/generate-content
  prompt: {mind: {prompt: Hi}, art: []}
  options: {art: {temperature: 0}}
  expect:
    mind: {request: {contents: []}}
    art: {error: "no messages"}
"""
CONVERSATION = """\
harness: 1
cases:
- case: weather
  requirement: The call goes back with its result.
  features: [text]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/weather
  turns:
  - prompt: {mind: {prompt: Hi}, anthropic: {messages: []}}
  - results: [{result: {celsius: 4}}, {error: no such city}]
  - say: Thanks.
  expect:
    mind: recorded
    anthropic: [{request: {}}, {request: {}, warnings: [w]}, {$any: object}]
"""


def read(text: str) -> list[Case]:
    dialects = ["agent-events", "anthropic", "art", "mind"]
    return read_spec(
        text,
        "",
        dialects=dialects,
        providers=["gemini-api"],
        features=["text"],
        losses={"mind": ["citations"]},
    )


def test_request_and_conversation_cases_are_read() -> None:
    [request], [conversation] = read(REQUEST), read(CONVERSATION)
    assert (request.kind, request.prompt["mind"], request.options) == (
        "request",
        {"prompt": "Hi"},
        {"art": {"temperature": 0}},
    )
    assert (conversation.kind, conversation.turns[2].say) == ("conversation", "Thanks.")
    assert conversation.turns[1].results is not None
    assert [outcome.model_fields_set for outcome in conversation.turns[1].results] == [
        {"result"},
        {"error"},
    ]


WRONG: list[tuple[str, str, str, int, str]] = [
    (
        REQUEST,
        "  prompt:",
        "  cassette: a/b\n  prompt:",
        7,
        "builds a request and replays nothing; remove cassette or prompt",
    ),
    (REQUEST, "art: []}", "arts: []}", 7, "unknown dialect 'arts' (did you mean art?)"),
    (
        REQUEST,
        "prompt: {mind: {prompt: Hi}, art: []}",
        "prompt: Hi",
        7,
        "a prompt is a mapping; for",
    ),
    (REQUEST, "art: []}", "shop: []}", 7, "for an adapter of your own, record the prompt with"),
    (
        REQUEST,
        ", art: []}",
        "}",
        11,
        "expect names 'art', which has no prompt here; the case has prompts for mind",
    ),
    (
        REQUEST,
        '    art: {error: "no messages"}\n',
        "",
        7,
        "there is a prompt for art, and expect has no entry for it",
    ),
    (
        REQUEST,
        "{art: {temp",
        "{anthropic: {temp",
        8,
        "options names 'anthropic', which has no prompt here; the case has prompts for mind, art",
    ),
    (
        REQUEST,
        "{error: ",
        "{errors: ",
        11,
        "expect.art must be {request: …}, {request: …, warnings: […]} or {error: …}, not a mapping with errors",
    ),
    (REQUEST, '{error: "no messages"}', "[]", 11, "or {error: …}, not a list"),
    (REQUEST, "{contents: []}}", "{contents: {$re: '('}}}", 10, "expect.mind: "),
    (
        REQUEST,
        "prompt: {mind: {prompt: Hi}, art: []}",
        "prompt: {}",
        10,
        "expect names 'mind', which has no prompt here; the case has prompts for no dialect",
    ),
    (
        CONVERSATION,
        "  - say: Thanks.\n",
        "",
        13,
        "expect.anthropic has 3 requests for 2 turns; write one for each turn",
    ),
    (
        CONVERSATION,
        "- say: Thanks.",
        "- {}",
        11,
        "a later turn has either say or results, and nothing else; this one has nothing",
    ),
    (CONVERSATION, "- say: Thanks.", "- {say: x, results: []}", 11, "this one has say, results"),
    (
        CONVERSATION,
        "- prompt: {mind: {prompt: Hi}, anthropic: {messages: []}}",
        "- say: Hi",
        9,
        "the first turn has a prompt, and nothing else",
    ),
    (
        CONVERSATION,
        "{error: no such city}",
        "{}",
        10,
        "an outcome of a call must be either a result or an error",
    ),
    (CONVERSATION, "{error: no such city}", "{fault: x}", 10, "unknown key 'fault'"),
    (
        CONVERSATION,
        "- say:",
        "- said:",
        11,
        "unknown key 'said'; known keys are prompt, say, results",
    ),
    (
        CONVERSATION,
        "mind: recorded",
        "mind: as recorded",
        13,
        "expect.mind must be recorded, a list with a request for each turn, or empty",
    ),
]


@pytest.mark.parametrize(("text", "old", "new", "line", "words"), WRONG, ids=range(len(WRONG)))
def test_each_fault_has_its_line_and_message(
    text: str, old: str, new: str, line: int, words: str
) -> None:
    assert text.count(old) == 1
    with pytest.raises(SpecError) as caught:
        read(text.replace(old, new))
    assert [
        (at, message) for at, message in caught.value.problems if words in message and at == line
    ], caught.value.problems


# ---------------------------------------------------------------- judging


def translate(prompt: Any, options: Mapping[str, Any], session: Session) -> Prompt:
    """Sends the texts of the prompt, the last one with the remembered signature."""
    if not prompt:
        raise TranslationError("messages", "there are none")
    signatures = [call.signature for call in session.calls.values() if call.signature]
    *before, last = [
        Message("user" if item["role"] == "user" else "assistant", (Text(item["said"]),))
        for item in prompt
    ]
    if signatures:
        last = replace(last, parts=(Text(prompt[-1]["said"], signature=Opaque(signatures[0])),))
    return Prompt(messages=(*before, last), model="m", settings=options, warnings=tuple(options))


def follow_up(
    prompt: Any, payloads: Sequence[dict[str, Any]], then: Sequence[ToolOutcome] | str
) -> Any:
    calls = [payload["name"] for payload in payloads if payload["type"] == "tool_code"]
    said = (
        then
        if isinstance(then, str)
        else ", ".join(f"{outcome.result} {outcome.failed}" for outcome in then)
    )
    return [*prompt, {"role": "model", "said": " ".join(calls)}, {"role": "user", "said": said}]


HALF = RequestTranslator(translate, follow_up, opening_prompt=[], sent_back=frozenset({"call"}))
URL = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
PART = b'{"functionCall":{"name":"w","args":{}},"thoughtSignature":"U0lH"}'
CALL = b'data: {"candidates":[{"content":{"parts":[%b]},"finishReason":"STOP"}]}\n\n' % PART
TEXT = b'data: {"candidates":[{"content":{"parts":[{"text":"4"}]},"finishReason":"STOP"}]}\n\n'
FIRST: list[dict[str, Any]] = [{"role": "user", "said": "Hi"}]
SENT_FIRST = {"role": "user", "parts": [{"text": "Hi"}]}
SENT_SECOND = [
    SENT_FIRST,
    {"role": "model", "parts": [{"text": "w"}]},
    {"role": "user", "parts": [{"text": "no True", "thoughtSignature": "U0lH"}]},
]


def exchange(contents: list[dict[str, Any]], answer: bytes) -> Exchange:
    body = json.dumps({"contents": contents}).encode()
    return with_provider(
        Exchange(Request("POST", URL, {}, body), 200, {}, ((None, answer),), "complete")
    )


CASSETTE = Cassette((exchange([SENT_FIRST], CALL), exchange(SENT_SECOND, TEXT)), Origin("written"))


def judged(
    column: str = "mind", half: RequestTranslator | None = HALF, **keys: Any
) -> tuple[str, list[str]]:
    case = Case(case="c", requirement="r", features=("f",), source="https://s.example", **keys)
    adapter = replace(ADAPTERS["mind"], request=half)
    result = judge(Cell(case, "a.yaml", column), lambda name: CASSETTE, adapter).result
    assert result.layer == "requests"
    return result.verdict, [finding.subject for finding in result.findings] or [result.reason]


def test_a_request_is_compared_by_its_meaning_for_the_api() -> None:
    expected = {"request": {"contents": {"role": "user", "parts": {"text": "Hi"}}}}
    assert judged(prompt={"mind": FIRST}, expect={"mind": expected}) == ("passed", [""])


def test_an_unexpected_warning_is_a_difference() -> None:
    keys: dict[str, Any] = {"prompt": {"mind": FIRST}, "options": {"mind": {"top_k": 1}}}
    request = {"contents": [SENT_FIRST], "generationConfig": {"topK": 1}}
    assert judged(**keys, expect={"mind": {"request": request}})[0] == "failed"
    assert (
        judged(**keys, expect={"mind": {"request": request, "warnings": ["top_k"]}})[0] == "passed"
    )


def test_the_order_of_warnings_has_no_meaning() -> None:
    settings = {"top_k": 1, "seed": 2}
    request = {"contents": [SENT_FIRST], "generationConfig": {"topK": 1, "seed": 2}}
    expected = {"request": request, "warnings": ["top_k", "seed"]}
    keys: dict[str, Any] = {"prompt": {"mind": FIRST}, "options": {"mind": settings}}
    assert judged(**keys, expect={"mind": expected})[0] == "passed"


def test_an_error_can_be_expected() -> None:
    assert (
        judged(prompt={"mind": [0][:0]}, expect={"mind": {"error": "messages: there are none"}})[0]
        == "passed"
    )
    assert (
        judged(prompt={"mind": FIRST}, expect={"mind": {"error": "messages: there are none"}})[0]
        == "failed"
    )
    only_listens = {"error": {"$re": "agent-events only reads answers and makes no requests; .*"}}
    assert (
        judged(
            "agent-events", None, prompt={"agent-events": {}}, expect={"agent-events": only_listens}
        )[0]
        == "passed"
    )


TURNS = [{"prompt": {"mind": FIRST}}, {"results": [{"error": "no"}]}]


def test_a_conversation_must_send_the_recorded_requests() -> None:
    keys: dict[str, Any] = {"cassette": "x/y", "expect": {"mind": "recorded"}}
    assert judged(**keys, turns=TURNS) == ("passed", [""])
    assert judged(**keys, turns=[TURNS[0], {"results": [{"result": "no"}]}]) == (
        "failed",
        ["[1].request.contents[2].parts[0].text"],
    )


def test_the_request_of_one_turn_can_be_the_recorded_one() -> None:
    keys: dict[str, Any] = {"cassette": "x/y", "turns": TURNS}
    recorded = {"request": "recorded"}
    assert judged(**keys, expect={"mind": [recorded, {"request": {"contents": SENT_SECOND}}]}) == (
        "passed",
        [""],
    )
    verdict, _ = judged(**keys, expect={"mind": [recorded, {**recorded, "warnings": ["x"]}]})
    assert verdict == "failed"


def test_a_turn_can_name_another_model() -> None:
    turns = [TURNS[0], {"say": "And?", "model": "other"}]
    error = {"error": "turns: a turn names a model, but the prompt has none"}
    expect = {"mind": [{"request": "recorded"}, error]}
    assert judged(cassette="x/y", turns=turns, expect=expect) == ("passed", [""])


def test_a_lost_signature_is_found_in_the_next_turn() -> None:
    def forgetful(prompt: Any, options: Mapping[str, Any], session: Session) -> Prompt:
        return translate(prompt, options, Session())

    verdict, places = judged(
        half=replace(HALF, translate=forgetful),
        cassette="x/y",
        turns=TURNS,
        expect={"mind": "recorded"},
    )
    assert (verdict, places[0]) == ("failed", "[1].request.contents[2].parts[0].thoughtSignature")


def test_more_turns_than_recorded_exchanges_is_an_error() -> None:
    verdict, [reason] = judged(
        cassette="x/y", turns=[*TURNS, {"say": "x"}], expect={"mind": "recorded"}
    )
    assert (verdict, reason) == ("error", "cassette x/y has 2 exchanges; the case names number 3")
