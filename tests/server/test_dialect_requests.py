"""The requests of our own event models keep the rules of the API, including the strict ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import ADAPTERS, Subject
from harness.cassettes import Exchange
from harness.cassettes.load import load
from harness.dialects import DIALECTS
from harness.judging.aspects import provider_of, wire_facts
from harness.judging.judge import Cell, resolve_fixture, run_cell
from harness.judging.laws.round_trip import nothing_goes_back
from harness.pipeline.replay import frames_of
from harness.pipeline.request import ask
from harness.project.folders import yaml_files
from harness.project.project import Project, kind_of
from harness.providers import PROVIDERS, Identity
from harness.server.refusals import find_broken_rules, given_by
from harness.server.refusals.tools import TOOL_CHECKS
from harness.server.whole_answers import interaction_of
from harness.stream.generation import ToolOutcome
from tests.server.chat_message import chat_message_of

ROOT = Path(__file__).parents[2]
PROJECT = Project([ROOT / "specs"], ROOT / "cassettes")
NEWEST = "gemini-3.8-flash"
OF_THE_TRANSLATION = {*TOOL_CHECKS} - {
    "built-in-with-functions",
    "cached-content",
}
"""Rules that the translation of a prompt has to keep; a prompt itself may break the others."""


def broken_rules(body: Any, provider: str, answers: Sequence[Exchange]) -> dict[str, str]:
    """The rules that a request after these answers breaks, with the API's messages. Rules that the
    unchanged answers break can't be kept, and are not listed. The rules are Google's.
    """
    if PROVIDERS[provider].vendor != "gemini":
        return {}
    broken = _broken(body, provider, answers)
    for answer in answers:
        for name in _broken(_sent_back(answer, provider), provider, answers):
            broken.pop(name, None)
    return broken


def _sent_back(answer: Exchange, provider: str) -> dict[str, Any]:
    """The request that sends an answer back unchanged, with a result for each call."""
    match provider:
        case "interactions":
            steps = (interaction_of(answer) or {"steps": []})["steps"]
            ids = [step.get("id") for step in steps if step.get("type") == "function_call"]
            user = {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}
            results = [{"type": "function_result", "call_id": name, "result": {}} for name in ids]
            return {"model": NEWEST, "input": [user, *steps, *(results or [user])]}
        case "openai-compat":
            message = chat_message_of(answer) or {"role": "assistant", "content": ""}
            ids = [call.get("id") for call in message.get("tool_calls", ())]
            turn = {"role": "user", "content": "Hi"}
            tools = [{"role": "tool", "tool_call_id": name, "content": ""} for name in ids]
            return {"model": NEWEST, "messages": [turn, message, *(tools or [turn])]}
    text = {"role": "user", "parts": [{"text": "Hi"}]}
    model = {"role": "model", "parts": _parts_of(answer)}
    responses = [
        {"functionResponse": {**part["functionCall"], "response": {}}}
        for part in model["parts"]
        if "functionCall" in part
    ]
    return {"contents": [text, model, {"role": "user", "parts": responses} if responses else text]}


def _broken(body: Any, provider: str, answers: Sequence[Exchange]) -> dict[str, str]:
    model = next((exchange.model for exchange in answers if exchange.model), NEWEST)
    broken = find_broken_rules(
        json.dumps(body).encode(),
        Identity(provider, generates=True, model=model),
        lambda: given_by(answers),
    )
    return {item.rule.name: item.message for item in broken if item.rule.level != "warning"}


def _parts_of(exchange: Exchange) -> list[Any]:
    """The parts of an answer, as they came."""
    parts = []
    for frame in frames_of(exchange):
        message = frame.json.get("response", frame.json) if type(frame.json) is dict else {}
        for candidate in message.get("candidates", [])[:1]:
            parts += candidate.get("content", {}).get("parts", [])
    return parts


def request_cells(kind: str) -> list[Cell]:
    return [
        cell
        for path in yaml_files(ROOT / "specs")
        if kind_of(path) == "spec"
        for cell in PROJECT.cells(path)
        if cell.case.kind == kind and cell.column in DIALECTS and cell.case.expect[cell.key]
    ]


def _has_calls_in_text(cell: Cell) -> bool:
    """Whether an answer has ``<tool_code>``: the signature of its text then belongs to the call."""
    exchanges = resolve_fixture(cell.case, PROJECT.cassette).exchanges
    return any(
        wire_facts(exchange, Subject(ADAPTERS[cell.column])).blocks for exchange in exchanges
    )


def requests_of(cell: Cell) -> list[tuple[Any, str, list[Exchange]]]:
    """The requests of a cell, each with its provider and the answers before it."""
    fixture = resolve_fixture(cell.case, PROJECT.cassette)
    got = run_cell(cell, fixture).items
    turns = got if isinstance(got, list) else [got]
    # the case names one provider, and a pipeline has the others in its exchanges
    first, *rest = [exchange.provider for exchange in fixture.exchanges] or [None]
    wires = [fixture.provider, *(fixture.provider if wire == first else wire for wire in rest)]
    return [
        (
            sent["request"],
            wires[min(number, len(wires) - 1)] or fixture.provider,
            list(fixture.exchanges[:number]),
        )
        for number, sent in enumerate(turns)
        if "request" in sent
    ]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [name for name, known in DIALECTS.items() if known.request])
def test_the_next_request_after_each_shipped_answer_is_accepted(dialect: str) -> None:
    adapter = ADAPTERS[dialect]
    assert adapter.request is not None
    broken, asked = [], 0
    for path in sorted((ROOT / "cassettes").rglob("*.yaml")):
        for number, exchange in enumerate(load(path).exchanges, 1):
            if path.stem == "web-socket":
                continue  # its messages are not those of the answer of a request
            if not exchange.generates or nothing_goes_back(exchange, Subject(adapter)):
                continue
            asked += 1
            calls = wire_facts(exchange, Subject(adapter)).calls
            outcomes = [ToolOutcome({"done": True}) for _ in calls] if calls else "Go on."
            output = adapter.output(exchange)
            prompt = adapter.request.follow_up(
                adapter.request.opening_prompt, output.items, outcomes
            )
            provider = provider_of(exchange, Subject(adapter)).name
            body = ask(adapter.request, prompt, provider, {}, output.session).body
            broken += [
                f"{path.name} {number}: {name}" for name in broken_rules(body, provider, [exchange])
            ]
    assert broken == []
    assert asked > 50 or "call" not in adapter.request.sent_back


@pytest.mark.slow
def test_the_requests_of_conversations_are_accepted() -> None:
    cells = [cell for cell in request_cells("conversation") if not _has_calls_in_text(cell)]
    broken = [
        f"{cell.spec} {cell.name}: {name}"
        for cell in cells
        for body, provider, answers in requests_of(cell)
        for name in broken_rules(body, provider, answers)
    ]
    assert broken == []
    assert len(cells) > 15


@pytest.mark.slow
def test_the_tools_and_settings_of_translated_prompts_are_accepted() -> None:
    cells = request_cells("request")
    broken = [
        f"{cell.spec} {cell.name}: {name}"
        for cell in cells
        for body, provider, _ in requests_of(cell)
        for name in OF_THE_TRANSLATION & broken_rules(body, provider, []).keys()
    ]
    assert broken == []
    assert len(cells) > 100
