"""The wire variants of the Antigravity CLI: each changes a run that has every feature, every
relation holds for our event models, and faulty readers break the relations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agy_wire.changes import run_lines, written
from agy_wire.variants import OTHERS, SPELLINGS

import harness
from harness.cassettes import Exchange
from harness.dialects import DIALECTS
from harness.judging.metamorphic import breaches, reader, variants_of
from harness.providers import with_provider

ROOT = Path(__file__).parents[1]
USAGE = {
    "input_tokens": 9,
    "output_tokens": 4,
    "thinking_tokens": 1,
    "cache_read_tokens": 0,
    "total_tokens": 13,
}


def step(index: int, kind: str, state: str, **fields: Any) -> dict[str, Any]:
    payload = {"conversation_id": "c", "step_index": index, "state": state, "step_type": kind}
    return {"event": "step_update", "step_update": payload | fields}


TOOL = {"name": "ls", "parameters": {"a": 1}}
LINES = [
    {"event": "init", "conversation_id": "c", "init": {"model": "m", "cwd": "/w"}},
    step(0, "user_input", "DONE"),
    step(1, "agent_response", "DONE", usage=USAGE),
    step(2, "tool", "ACTIVE", tool_name="ls", tool_info=TOOL),
    step(2, "tool", "DONE", tool_name="ls", tool_info={**TOOL, "output": "x"}),
    step(3, "agent_response", "ACTIVE", text_delta="Hé"),
    step(3, "agent_response", "DONE", text_delta="llo\n"),
    {
        "event": "result",
        "result": {
            "conversation_id": "c",
            "status": "SUCCESS",
            "response": "Héllo\n",
            "num_turns": 1,
            "usage": USAGE,
        },
    },
]
BODY = written(LINES)
EXCHANGE = with_provider(Exchange(None, 200, {}, ((None, BODY),), "complete"))
VARIANTS = (*SPELLINGS, *OTHERS)


def test_every_variant_finds_something_in_a_run_that_has_everything() -> None:
    assert {variant.name for variant in VARIANTS} <= {
        variant.name for variant, _ in variants_of(EXCHANGE)
    }


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_variant_changes_the_output_or_its_end(variant: Any) -> None:
    changed = variant.change(EXCHANGE)
    assert (changed.body, changed.end) != (EXCHANGE.body, "complete")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_relation_holds_for_the_event_models(dialect: str) -> None:
    assert breaches(EXCHANGE, reader(dialect)) == []


@pytest.mark.parametrize("name", ["text", "tools", "runs"])
def test_every_relation_holds_for_the_recorded_runs(name: str) -> None:
    exchanges = harness.load(ROOT / "cassettes" / "agy" / f"{name}.yaml").exchanges
    assert any(run_lines(exchange) for exchange in exchanges)
    assert [breaches(exchange, reader("unified-llm")) for exchange in exchanges] == [
        [] for _ in exchanges
    ]


@pytest.mark.parametrize(
    "unfit",
    [
        replace(EXCHANGE, end="cut"),
        replace(EXCHANGE, headers={"x-exit-code": ["1"]}),
        replace(EXCHANGE, reads=((None, BODY + b"oops\n"),)),
        replace(EXCHANGE, reads=((None, written(LINES[:-1])),)),
        replace(EXCHANGE, reads=((None, BODY.replace(b"SUCCESS", b"ERROR")),)),
        replace(EXCHANGE, reads=((None, BODY.replace(b'"response":"H', b'"response":"h')),)),
    ],
)
def test_only_whole_runs_that_ended_well_are_changed(unfit: Exchange) -> None:
    assert run_lines(unfit) is None
    assert {variant.name for variant in VARIANTS}.isdisjoint(
        variant.name for variant, _ in variants_of(unfit)
    )


Fault = Callable[[bytes], bytes]


def pieces_alone(body: bytes) -> bytes:
    """The output with another response."""
    return re.sub(rb'"response": ?"[^"]+"', b'"response":"seen"', body)


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (lambda body: body.replace(b'"ERROR"', b'"SUCCESS"'), {"error-last"}),
        (pieces_alone, {"response-alone"}),
    ],
    ids=["deaf to errors", "pieces alone"],
)
def test_a_faulty_reader_breaks_a_relation(fault: Fault, names: set[str]) -> None:
    read = reader("unified-llm")
    found = breaches(EXCHANGE, lambda run: read(replace(run, reads=((None, fault(run.body)),))))
    assert names <= {finding.partition(" ")[0] for finding in found}
