"""Arguments that nest too deeply are not compared, and an answer of which only they are left is not
judged.
"""

from __future__ import annotations

from typing import Any

import msgspec

from harness.adapters import FACTS, Adapter, Output
from harness.facts import Entry, Finish, Text, Transcript
from harness.judging.aspect_run import JudgedExchange, judge_items
from harness.providers import with_provider
from harness.stream.exchange import Exchange, Request

CHAT = "https://api.openai.com/v1/chat/completions"
DEEP = '{"a":' * 400 + "1" + "}" * 400


def _chat(text: str) -> list[dict[str, Any]]:
    function = {"name": "f", "arguments": DEEP}
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


def judged(text: str, *facts: Any) -> Any:
    lines = (b"data: %s\n\n" % msgspec.json.encode(each) for each in _chat(text))
    request = Request("POST", CHAT, {}, b'{"model":"m","stream":true,"messages":[],"tools":[]}')
    body = b"".join(lines) + b"data: [DONE]\n\n"
    exchange = with_provider(Exchange(request, 200, {}, ((None, body),), "complete"))
    transcript = Transcript((Entry({"end": True}, facts),))
    adapter = Adapter(name="a", model=FACTS, run=lambda *_: Output.of_transcript(transcript))
    (cell,) = judge_items([JudgedExchange("deep", 1, exchange)], [adapter], {})
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
