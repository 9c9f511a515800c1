"""Arguments that nest too deeply are not compared, and an answer of which only they are left is not
judged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.adapters import ADAPTERS, EVENTS, FACTS, Adapter, Output
from harness.adapters.reply import checked_facts
from harness.facts import Call, Entry, Finish, Text, Transcript
from harness.judging.aspect_run import JudgedExchange, plan_answers
from harness.judging.run import run_plan
from harness.providers import with_provider
from harness.stream.exchange import Exchange, Request
from tests.adapters.shims import program_adapter

CHAT = "https://api.openai.com/v1/chat/completions"
DEEP = '{"a":' * 400 + "1" + "}" * 400
NESTED: Any = 1
for _ in range(400):
    NESTED = {"a": NESTED}


def _chat(text: str, arguments: str) -> list[dict[str, Any]]:
    function = {"name": "f", "arguments": arguments}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    deltas = [{"role": "assistant", "content": text}, {"tool_calls": [call]}, {}]
    return [
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "model": "gpt",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "tool_calls"}],
        }
        for delta in deltas
    ]  # fmt: skip


def judged(text: str, *facts: Any, arguments: str = DEEP) -> Any:
    transcript = Transcript((Entry({"end": True}, checked_facts(facts, "event 1")),))
    run = Output.of_transcript(transcript)
    return judge(text, Adapter(name="a", model=FACTS, run=lambda *_: run), arguments)


def judge(text: str, adapter: Adapter, arguments: str) -> Any:
    lines = (b"data: %s\n\n" % msgspec.json.encode(each) for each in _chat(text, arguments))
    request = Request("POST", CHAT, {}, b'{"model":"m","stream":true,"messages":[],"tools":[]}')
    body = b"".join(lines) + b"data: [DONE]\n\n"
    exchange = with_provider(Exchange(request, 200, {}, ((None, body),), "complete"))
    (cell,) = run_plan(plan_answers([JudgedExchange("deep", 1, exchange)]), [adapter])
    return cell


def test_a_call_that_is_not_compared_is_not_asked() -> None:
    alone = judged("", Finish("tool_calls"))
    beside = judged("Hello", Text("Hello"), Finish("tool_calls"))
    without_text = judged("Hello", Finish("tool_calls"))

    assert alone.verdict == "not-run"
    assert "nest too deeply" in alone.reason
    assert beside.verdict == "passed"
    assert beside.aspects["calls"] == "not_asked"
    assert without_text.verdict == "failed"


@pytest.mark.parametrize("given", [DEEP, NESTED], ids=["text", "object"])
def test_an_adapter_may_give_what_is_not_compared(given: Any) -> None:
    call = Call("call_1", "f", given)
    cell = judged("Hello", Text("Hello"), call, Finish("tool_calls"))
    assert (cell.verdict, cell.aspects["calls"]) == ("passed", "not_asked")
    made = judged("Hello", Text("Hello"), call, Finish("tool_calls"), arguments="{}")
    assert (made.verdict, made.aspects["calls"]) == ("failed", "wrong")


PROGRAM = """
import json, os, sys
out = int(os.environ["HARNESS_OUT"])
def write(line):
    data = line.encode() + b"\\n"
    while data:
        data = data[os.write(out, data):]
write('{"hello": 1, "name": "p", "version": "1"}')
for line in sys.stdin:
    deep = '{"a": ' * DEPTH + "1" + "}" * DEPTH
    call = '{"call": {"id": "call_1", "name": "f", "arguments": %s}}' % deep
    facts = '[{"text": "Hello"}, %s, {"finish": "tool_calls"}]' % call
    write('{"id": %d, "native": [%s], "facts": %s}' % (json.loads(line)["id"], deep, facts))
"""


@pytest.mark.parametrize(
    ("depth", "arguments", "verdict"),
    [
        (400, DEEP, "not_asked"),
        (100_000, DEEP, "not_asked"),
        (400, "{}", "wrong"),
        (199, '{"a":' * 199 + "1" + "}" * 199, "kept"),
    ],
)
def test_a_program_may_give_them_as_an_object(
    depth: int, arguments: str, verdict: str, tmp_path: Path
) -> None:
    program = program_adapter(PROGRAM.replace("DEPTH", str(depth)), tmp_path)
    cell = judge("Hello", program, arguments)
    program.close()
    assert (cell.aspects["text"], cell.aspects["calls"]) == ("kept", verdict)


def _messages() -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": DEEP}
    return [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": piece},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]


def _items() -> list[dict[str, Any]]:
    call = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": DEEP}
    response = {"object": "response", "status": "completed", "output": [call]}
    return [
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": response},
    ]


@pytest.mark.parametrize(
    ("provider", "events"),
    [("anthropic", _messages()), ("openai", _items())],
    ids=["anthropic", "openai"],
)
@pytest.mark.parametrize("adapter", [EVENTS, *ADAPTERS.values()], ids=lambda each: each.name)
def test_no_wire_compares_them(
    provider: str, events: list[dict[str, Any]], adapter: Adapter
) -> None:
    lines = (b"data: %s\n\n" % msgspec.json.encode(each) for each in events)
    exchange = Exchange(None, 200, {}, ((None, b"".join(lines)),), "complete", provider=provider)
    (cell,) = run_plan(plan_answers([JudgedExchange("deep", 1, exchange)]), [adapter])
    assert (cell.verdict, cell.aspects["calls"]) == ("not-run", "not_asked")
