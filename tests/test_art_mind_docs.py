"""The pages about art, mind and agent-events say what the code does: tables are held against tables, what becomes of an event is tried."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import Session
from harness import events as ev
from harness.adapters.art_losses import SDK_LOSSES, SDK_REFUSALS
from harness.dialects import DIALECTS
from harness.dialects.agent_events import STATUSES
from harness.dialects.art import CONTEXTS, COUNTS
from harness.dialects.art_requests import DEFAULT_MODEL, FIRST_TURN, GENERATION, ROLES
from harness.dialects.mind_requests import ACKNOWLEDGEMENT, PROMPT_KEYS, RECORDS
from harness.dialects.mind_requests import DEFAULT_MODEL as MIND_MODEL
from harness.dialects.mind_tools import DECLARATIONS, READERS
from harness.mind.acting import SHELL_SECONDS
from harness.mind.program import MAX_ROUNDS

DOCS = Path(__file__).parent.parent / "docs"
NAMES = ("art", "mind", "agent-events")
_CODE = re.compile(r"`([^`]+)`")

Row = list[str]


def text(name: str) -> str:
    return (DOCS / f"dialect-{name}.md").read_text(encoding="utf-8")


def tables(name: str) -> dict[str, list[Row]]:
    """Each table of a page by the first cell of its head."""
    found: dict[str, list[Row]] = {}
    for table in re.findall(r"(?:^\|.*\n)+", text(name), re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")] for line in table.splitlines()]
        assert head[0] not in found, f"two tables of {head[0]}"
        found[head[0]] = rows
    return found


TABLES = {name: tables(name) for name in NAMES}


def words(cell: str) -> list[str]:
    return _CODE.findall(cell)


def spread(name: str, table: str) -> dict[str, list[str]]:
    """A table as a mapping: the word in the first cell → the words in the second."""
    return {words(row[0])[0]: words(row[1]) for row in TABLES[name][table]}


@pytest.mark.parametrize("name", NAMES)
def test_losses(name: str) -> None:
    assert {words(row[0])[0]: row[1] for row in TABLES[name]["loss"]} == DIALECTS[name].losses


@pytest.mark.parametrize("name", NAMES)
def test_order(name: str) -> None:
    assert spread(name, "state") == {state: list(following) for state, following in DIALECTS[name].order.items()}


CALL: Sequence[ev.Event] = [ev.CallStart(1, "f", "c1"), ev.CallPiece(1, "$.a", 1), ev.CallEnd(1, {"a": 1})]
SAMPLES: Mapping[str, Sequence[ev.Event]] = {
    "start": [ev.Start("m")],
    "metadata": [ev.Metadata("created", {"createTime": "t"})],
    "text": [ev.Text("b")],
    "reasoning": [ev.Reasoning("hm")],
    "call_start": CALL,
    "call_piece": CALL,
    "call_end": CALL,
    "nameless_call": [ev.NamelessCall(1, {"a": 1}, "raw")],
    "tool_result": [ev.ToolResult("c1", "f", {"n": 1})],
    "media": [ev.Media("image/png", {}, data="AA==")],
    "code": [ev.Code("1+1", {})],
    "code_result": [ev.CodeResult("OK", "2", {})],
    "server_call": [ev.ServerCall({"toolCall": {}})],
    "server_result": [ev.ServerResult({"toolResponse": {}})],
    "annotation": [ev.Annotation("citations", {"citationMetadata": {}})],
    "usage": [ev.Usage({"promptTokenCount": 3}, input=3)],
    "blocked": [ev.Blocked("SAFETY")],
    "finish": [ev.Finish("stop", "STOP")],
    "error": [ev.Error("no", 503)],
    "notice": [ev.Notice("warning", "loop", {"type": "error"})],
    "incomplete": [ev.Incomplete("cut")],
    "unknown": [ev.Unknown("frame", "oops")],
}


def payloads(name: str, events: Sequence[ev.Event]) -> list[dict[str, Any]]:
    translator = DIALECTS[name].translator([], Session())
    given = [payload for event in events for payload in translator.feed(event)] + translator.close()
    return [{key: value for key, value in payload.items() if key != "eventId"} for payload in given]


def effect(name: str, kind: str) -> set[str]:
    """The types of the payloads that are there, or differ, because of an event of this kind."""
    before: list[ev.Event] = [] if kind == "start" else [ev.Start("m"), ev.Text("a")]
    if kind in ("error", "blocked", "incomplete") and name == "agent-events":
        before.append(ev.Finish("stop", "STOP"))  # so that the end would have been a good one
    after, base = (
        Counter(json.dumps(one, sort_keys=True) for one in payloads(name, events)) for events in ([*before, *SAMPLES[kind]], before)
    )
    return {str(json.loads(one)["type"]) for one in after - base}


@pytest.mark.parametrize("kind", ev.KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_what_becomes_of_an_event(name: str, kind: str) -> None:
    (row,) = [row for row in TABLES[name]["event"] if kind in words(row[0])]
    assert set(words(row[1])) == effect(name, kind)
    assert words(row[1]) or row[1] == "nothing"


def test_every_event_of_the_tables_is_one() -> None:
    for name in NAMES:
        assert Counter(word for row in TABLES[name]["event"] for word in words(row[0])) == Counter(list(ev.KINDS))


def test_art() -> None:
    assert spread("art", "`callContext`") == {context: [begins] for context, begins in CONTEXTS.items()}
    assert spread("art", "count") == {count: [field] for count, field in COUNTS.items()}
    assert [words(row[0]) for row in TABLES["art"]["role"]] == [[role] for role in ROLES]
    assert spread("art", "setting") == {setting: list(options) for setting, (options, _) in GENERATION.items()}
    assert {words(row[0])[0]: row[1] for row in TABLES["art"]["difference"]} == {name: loss.meaning for name, loss in SDK_LOSSES.items()}
    assert [row[0] for row in TABLES["art"]["refused by the SDK"]] == list(SDK_REFUSALS.values())
    assert f"`{DEFAULT_MODEL}`" in text("art")
    assert f"`{FIRST_TURN}`" in text("art")


def test_mind() -> None:
    assert spread("mind", "record") == {record: [role] if role else [] for record, role in RECORDS.items()}
    tools = {words(row[0])[0]: row[1:] for row in TABLES["mind"]["tool"]}
    assert tools == {
        name: ["always" if name in READERS else "when named", declared["description"]] for name, declared in DECLARATIONS.items()
    }
    for said in (ACKNOWLEDGEMENT, MIND_MODEL):
        assert f"`{said}`" in text("mind")
    assert all(f'"{key}"' in text("mind") for key in PROMPT_KEYS)
    assert f"time limit ({SHELL_SECONDS:g} s)" in text("mind")
    assert f"after {MAX_ROUNDS} answers in a row" in text("mind")


def test_agent_events() -> None:
    assert set(spread_todo()) == STATUSES
    assert DIALECTS["agent-events"].requests is None


def spread_todo() -> list[str]:
    (row,) = [row for row in TABLES["agent-events"]["to-do item"] if row[0] == "`status`"]
    return words(row[1])
