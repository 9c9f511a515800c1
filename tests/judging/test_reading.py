"""An answer is read once, for every cut, for the evidence and for the second turn."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from harness.adapters import RunOptions
from harness.adapters.adapter import FACTS, Adapter, Output
from harness.facts import Entry, Finish, Text, Transcript
from harness.judging import reading as reading_module
from harness.judging.aspect_run import FirstTurns, JudgedExchange, plan_answers, plan_second_turns
from harness.judging.run import run_plan
from harness.stream.exchange import Exchange
from harness.stream.framing import frame as frame_module
from tests.support.wire_answers import frame

FRAMES = 3


def counted(counts: Counter[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def count(*given: Any, **named: Any) -> Any:
        counts[name] += 1
        return function(*given, **named)

    return count


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counts: Counter[str] = Counter()
    for module, function, name in (
        (reading_module, "trace_of", "replays"),
        (reading_module, "choose_provider", "choices of the provider"),
        (reading_module, "variants_in", "searches for variants"),
        (frame_module, "decode_json", "decodes of frames"),
    ):
        monkeypatch.setattr(module, function, counted(counts, name, getattr(module, function)))
    return counts


def judged(counts: Counter[str], text: str) -> list[str]:
    """The verdicts of both turns of an adapter that gives this text for an answer in two reads."""
    messages = (
        frame({"text": "Hel"}),
        frame({"text": "lo"}),
        frame({"text": ""}, finishReason="STOP"),
    )
    data = b"".join(b"data: %b\n\n" % json.dumps(message).encode() for message in messages)
    reads = ((None, data[:20]), (None, data[20:]))
    item = JudgedExchange(
        "text", 1, Exchange(None, 200, {}, reads, "complete", provider="gemini-api", generates=True)
    )

    def run(exchange: Exchange, options: RunOptions) -> Output:
        counts["runs"] += 1
        return Output.of_transcript(Transcript((Entry(None, (Text(text), Finish("stop"))),)))

    def converse(exchange: Exchange, options: RunOptions) -> bytes:
        contents = b'{"role": "model", "parts": [{"text": "%b"}]}' % text.encode()
        return b'{"contents": [%b, {"role": "user", "parts": [{"text": "Go on."}]}]}' % contents

    adapter = Adapter(name="counted", model=FACTS, run=run, second_request=converse)
    first_turns: FirstTurns = {}
    cells = [
        *run_plan(plan_answers([item], first_turns=first_turns), [adapter]),
        *run_plan(plan_second_turns([item], first_turns=first_turns), [adapter]),
    ]
    return [cell.aspects["text"] for cell in cells]


def test_a_kept_answer_is_read_once(counts: Counter[str]) -> None:
    assert judged(counts, "Hello") == ["kept", "kept"]
    assert counts == {
        "replays": 1,
        "choices of the provider": 1,
        "searches for variants": 1,
        "decodes of frames": FRAMES,
        "runs": 1,
    }


def test_a_red_answer_is_read_once_in_each_turn(counts: Counter[str]) -> None:
    """It is run once more, whole. The frames are not kept between the turns, because they need
    memory.
    """
    assert judged(counts, "Hullo") == ["wrong", "wrong"]
    assert counts == {
        "replays": 2,
        "choices of the provider": 1,
        "searches for variants": 1,
        "decodes of frames": 2 * FRAMES,
        "runs": 2,
    }


OTHERS = ("anthropic", "interactions", "openai", "openai_compat", "agy", "gemini_cli")
JUDGED = """
import sys
from harness.cli.main import main

assert main(["judge", "art", "--cassettes", "gemini-api/text:1", "--questions", "none"]) == 0
print([name for name in sys.modules if name.startswith("harness.")])
"""


def test_only_the_wire_that_is_judged_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", JUDGED], capture_output=True, text=True)
    modules = set(ast.literal_eval(done.stdout.splitlines()[-1]))
    assert "harness.providers.gemini_api" in modules
    folders = ("harness.providers", "harness.adapters.wires")
    assert modules.isdisjoint(f"{folder}.{wire}" for folder in folders for wire in OTHERS)
    assert modules.isdisjoint(f"harness.dialects.{name}" for name in ("unified_llm", "ag_ui"))
