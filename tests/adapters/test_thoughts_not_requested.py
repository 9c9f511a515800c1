"""A client that can't ask for thoughts is not asked for them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapters import ADAPTERS, Adapter
from harness.adapters.at import Question, at_of, line_of
from harness.facts import Transcript
from harness.judging.aspect_run import judge_history
from harness.judging.aspects import judge_exchange
from harness.judging.reading import Reading
from harness.stream.exchange import Exchange, Request
from tests.adapters.shims import EXCHANGE, URL, function_adapter, program_adapter

MESSAGES = [
    {"candidates": [{"content": {"parts": [{"text": "Hm", "thought": True}]}}]},
    {
        "candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 1,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 3,
            "totalTokenCount": 6,
        },
    },
]
BODY = "".join(f"data: {json.dumps(message)}\r\n\r\n" for message in MESSAGES).encode()
THINKING = replace(EXCHANGE, reads=((None, BODY),))
SHIM = """
from harness.facts import Finish, Text, Thought, Usage
THOUGHTS = {thoughts}

def replay(exchange):
    yield {{}}, [{fact}]
    yield {{}}, [Text("Hi"), Finish("stop"), Usage(input=1, output={output}, total=6)]
"""


def judged(adapter: Adapter) -> dict[str, str]:
    findings = judge_exchange(Reading(THINKING), adapter).aspects
    adapter.close()
    return {aspect: finding.verdict for aspect, finding in findings.items()}


def shim(folder: Path, thoughts: bool, fact: str = "", output: int = 2, **options: bool) -> Adapter:
    code = SHIM.format(thoughts=thoughts, fact=fact, output=output)
    return function_adapter(code, folder, **options)  # type: ignore[arg-type]  # a keyword of any type


def test_a_client_that_can_ask_for_thoughts_must_show_them(tmp_path: Path) -> None:
    verdicts = judged(shim(tmp_path, True))
    assert (verdicts["thoughts"], verdicts["usage"]) == ("lost", "lost")


def test_a_client_that_can_not_ask_for_them_is_not_asked(tmp_path: Path) -> None:
    verdicts = judged(shim(tmp_path, False))
    assert (verdicts["thoughts"], verdicts["usage"]) == ("not_asked", "kept")
    assert (verdicts["text"], verdicts["finish"]) == ("kept", "kept")


@pytest.mark.parametrize(
    ("fact", "verdict"), [('Thought("Hm")', "kept"), ('Thought("?")', "wrong")]
)
def test_thoughts_that_it_shows_are_judged(fact: str, verdict: str, tmp_path: Path) -> None:
    assert judged(shim(tmp_path, False, fact))["thoughts"] == verdict


SIGNED = {"thought": True, "text": "Hm", "thoughtSignature": "c2lnLTE="}
CALL = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2lnLTI="}


@pytest.mark.parametrize(("thoughts", "verdict"), [(True, "lost"), (False, "not_asked")])
def test_signatures_of_thoughts_are_thoughts(thoughts: bool, verdict: str, tmp_path: Path) -> None:
    answer = json.dumps(MESSAGES[1]).encode()
    body = b'data: {"candidates": [{"content": {"parts": [%s]}}]}\r\n\r\ndata: %s\r\n\r\n'
    signed = replace(THINKING, reads=((None, body % (json.dumps(SIGNED).encode(), answer)),))
    adapter = shim(tmp_path, thoughts)
    assert judge_exchange(Reading(signed), adapter).aspects["signatures"].verdict == verdict


@pytest.mark.parametrize(
    ("thoughts", "sent", "verdict"),
    [(True, [CALL], "lost"), (False, [CALL], "not_asked"), (False, [SIGNED, CALL], "kept")],
)
def test_signatures_of_thoughts_need_not_be_sent_back(
    thoughts: bool, sent: list[object], verdict: str
) -> None:
    message = {"candidates": [{"content": {"parts": [SIGNED, CALL]}, "finishReason": "STOP"}]}
    data = f"data: {json.dumps(message)}\r\n\r\n".encode()
    result = {"functionResponse": {"name": "f", "response": {"output": "result 1"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": sent},
        {"role": "user", "parts": [result]},
    ]
    findings = judge_history(
        Reading(replace(THINKING, reads=((None, data),))),
        ADAPTERS["art"],
        {"contents": contents},
        Transcript(asks_thoughts=thoughts),
        {},
    )
    verdicts = {finding.subject: finding.verdict for finding in findings}
    assert (verdicts["signatures"], verdicts["other_signatures"]) == ("kept", verdict)


def test_other_counts_are_still_judged(tmp_path: Path) -> None:
    assert judged(shim(tmp_path, False, output=4))["usage"] == "wrong"


@pytest.mark.slow
def test_a_function_in_its_own_process_says_it_too(tmp_path: Path) -> None:
    assert judged(shim(tmp_path, False, guest=True))["thoughts"] == "not_asked"


@pytest.mark.parametrize(("hello", "verdict"), [({"thoughts": False}, "not_asked"), ({}, "lost")])
def test_a_program_says_it_in_its_hello_line(
    hello: dict[str, bool], verdict: str, tmp_path: Path
) -> None:
    program = f"""
import json, os, sys
def write(**line):
    os.write(int(os.environ["HARNESS_OUT"]), json.dumps(line).encode() + b"\\n")
write(hello=1, name="p", version="1", **{hello})
for line in sys.stdin:
    write(id=json.loads(line)["id"], native=[{{}}], facts=[{{"text": "Hi"}}, {{"finish": "stop"}}])
"""
    assert judged(program_adapter(program, tmp_path))["thoughts"] == verdict


def asked(**body: object) -> Exchange:
    request = Request("POST", URL, {}, json.dumps(body).encode())
    return replace(THINKING, request=request)


SHOWN = {"includeThoughts": True}


@pytest.mark.parametrize(
    ("exchange", "thoughts"),
    [
        (asked(contents=[]), False),
        (asked(generationConfig={"thinkingConfig": SHOWN}), True),
        (asked(generation_config={"thinking_config": {"include_thoughts": True}}), True),
        (asked(generationConfig={"thinkingConfig": {"includeThoughts": False}}), False),
        (asked(request={"generationConfig": {"thinkingConfig": SHOWN}}), True),
        (asked(extra_body={"google": {"thinking_config": {"include_thoughts": True}}}), True),
        (asked(generation_config={"thinking_summaries": "auto"}), True),
        (asked(generation_config={"thinking_summaries": "none"}), False),
        (asked(contents=[{"parts": [{"functionCall": {"args": SHOWN}}]}]), False),
        (replace(THINKING, request=None), True),
        (replace(EXCHANGE, request=None), False),
    ],
)
def test_at_tells_whether_the_recording_asked_for_thoughts(
    exchange: Exchange, thoughts: bool
) -> None:
    question = Question(exchange, base_url="http://127.0.0.1:1")
    assert at_of(question).thoughts is thoughts
    assert line_of(question, 1)["thoughts"] is thoughts


@pytest.mark.parametrize(
    ("thinking", "expected"),
    [
        ({"type": "enabled", "budget_tokens": 1024}, True),
        ({"type": "adaptive", "display": "omitted"}, True),
        ({"type": "disabled"}, False),
        (None, False),
    ],
)
def test_thoughts_of_anthropic_are_requested_also_if_they_are_omitted(
    thinking: object, expected: bool
) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [], "thinking": thinking}
    request = Request(
        "POST", "https://api.anthropic.com/v1/messages", {}, json.dumps(body).encode()
    )
    question = Question(replace(EXCHANGE, request=request, provider="anthropic"))
    assert at_of(question).thoughts is expected
