"""JSON arguments, blocks, marks, refusals and opaque thoughts in every dialect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from harness import Session
from harness.dialects import DIALECTS
from harness.facts import View
from harness.stream import events as ev

START = ev.Start("m")
STOP = ev.Finish("stop", "completed")
CALL = ev.CallStart(1, "weather", "c1", "c2ln")
PIECES = [CALL, ev.CallText(1, '{"city": '), ev.CallText(1, '"Oslo"}')]
WHOLE = [*PIECES, ev.CallEnd(1, {"city": "Oslo"})]
INVALID = [CALL, ev.CallText(1, "[1]"), ev.CallInvalid(1, "[1]")]
TEXTS = [
    ev.BlockStart("text", {"index": 0}, 0),
    ev.Text("a"),
    ev.BlockEnd({"index": 0}, 0),
    ev.BlockStart("text", {"index": 1}, 1),
    ev.Text("b"),
    ev.BlockEnd({"index": 1}, 1),
]


def replay(name: str, events: Sequence[ev.Event]) -> list[dict[str, Any]]:
    stage = DIALECTS[name].translator((), Session())
    return [payload for event in events for payload in stage.feed(event)] + stage.close()


WITH_CALLS = [name for name, dialect in DIALECTS.items() if "calls" not in map(str, dialect.losses)]


@pytest.mark.parametrize("name", WITH_CALLS)
def test_a_call_in_pieces_of_json_text_is_whole(name: str) -> None:
    dialect = DIALECTS[name]
    facts = View([*dialect.facts(replay(name, [START, *WHOLE, STOP]), Session())])
    assert facts.calls in ([("weather", {"city": "Oslo"})],)
    assert not facts.open_call


def test_unified_llm_passes_on_the_pieces_of_arguments() -> None:
    payloads = replay("unified-llm", [START, *WHOLE, STOP])
    deltas = [item["delta"] for item in payloads if item["type"] == "TOOL_CALL_DELTA"]
    assert deltas == ['{"city": ', '"Oslo"}']


@pytest.mark.parametrize("name", DIALECTS)
def test_a_call_whose_arguments_are_no_object_has_no_good_end(name: str) -> None:
    dialect = DIALECTS[name]
    payloads = replay(name, [START, *WHOLE, *INVALID, STOP])
    facts = View([*dialect.facts(payloads, Session())])
    assert not facts.ended_well
    assert "the arguments of the call weather are not a JSON object: [1]" in json.dumps(payloads)


@pytest.mark.parametrize("name", ["unified-llm", "anthropic"])
def test_the_text_of_invalid_arguments_is_carried(name: str) -> None:
    assert "[1]" in json.dumps(replay(name, [START, *INVALID, STOP])[:-1])


@pytest.mark.parametrize("name", DIALECTS)
def test_a_call_cut_in_its_json_text_is_never_shown_as_whole(name: str) -> None:
    payloads = replay(name, [START, *PIECES[:2], ev.Incomplete("cut")])
    facts = View([*DIALECTS[name].facts(payloads, Session())])
    assert facts.calls in ([], [("weather", '{"city": ')])
    assert facts.open_call or not facts.calls


def test_anthropic_keeps_two_blocks_of_the_wire_apart() -> None:
    payloads = replay("anthropic", [START, *TEXTS, STOP])
    begun = [item["index"] for item in payloads if item["type"] == "content_block_start"]
    assert begun == [0, 1]


def test_unified_llm_keeps_blocks_and_marks() -> None:
    payloads = replay("unified-llm", [START, *TEXTS, ev.Mark("keep_alive", {"type": "ping"}), STOP])
    raw = [item["raw"] for item in payloads if item["type"] == "PROVIDER_EVENT"]
    assert raw[:2] == [{"index": 0}, {"index": 0}]
    assert raw[-1] == {"kind": "mark", "name": "keep_alive", "raw": {"type": "ping"}}
    assert [item["type"] for item in payloads].count("TEXT_END") == 2


def test_a_thought_that_only_the_provider_reads_is_a_redacted_block() -> None:
    thought = ev.Reasoning("", "c2VjcmV0", id="rs_1", redacted=True)
    blocks = replay("anthropic", [START, thought, ev.Text("a"), STOP])
    assert blocks[1]["content_block"] == {"type": "redacted_thinking", "data": "c2VjcmV0"}
    final = replay("unified-llm", [START, thought, ev.Text("a"), STOP])[-1]["response"]
    assert final["message"]["content"][0]["thinking"] == {
        "text": "",
        "redacted": True,
        "id": "rs_1",
        "signature": "c2VjcmV0",
    }


def test_a_refusal_is_a_block_of_its_own() -> None:
    events = [START, ev.Text("Hm. "), ev.Text("I can't.", refusal=True), STOP]
    parts = replay("unified-llm", events)[-1]["response"]["message"]["content"]
    assert parts == [
        {"kind": "text", "text": "Hm. "},
        {"kind": "text", "text": "I can't.", "refusal": True},
    ]


def test_tokens_written_to_the_cache_are_counted() -> None:
    usage = ev.Usage({"n": 1}, input=10, cached=3, cache_write=2)
    counts = replay("anthropic", [START, ev.Text("a"), usage, STOP])[-2]["usage"]
    assert (counts["input_tokens"], counts["cache_creation_input_tokens"]) == (5, 2)
    final = replay("unified-llm", [START, usage, STOP])[-1]
    assert final["usage"]["cache_write_tokens"] == 2


@pytest.mark.parametrize("name", DIALECTS)
def test_the_order_of_every_dialect_allows_the_kinds(name: str) -> None:
    for events in (WHOLE, INVALID, TEXTS, [ev.Mark("end", "[DONE]")], PIECES[:2]):
        ending = [ev.Incomplete("cut")] if events == PIECES[:2] else [STOP]
        payloads = replay(name, [START, *events, *ending])
        state = "fresh"
        for payload in payloads:
            state = DIALECTS[name].order[state][DIALECTS[name].label(payload)]
