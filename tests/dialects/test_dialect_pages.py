"""The pages about dialects agree with the code: tables are compared with tables, and the effect of
each event is tried. The pages that have no table of events have tests of their own.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import Session, Tool
from harness.dialects import DIALECTS
from harness.dialects.ag_ui.protocol import OUTCOMES, OWN
from harness.dialects.agent_events.response import STATUSES
from harness.dialects.art.request import DEFAULT_MODEL, FIRST_TURN, ROLES, SETTINGS
from harness.dialects.art.response import CONTEXTS, COUNTS
from harness.dialects.mind.request import ACKNOWLEDGEMENT, RECORDS
from harness.dialects.mind.request import DEFAULT_MODEL as MIND_MODEL
from harness.dialects.mind.response import RATE_LIMITED
from harness.dialects.mind.tools import DECLARATIONS, READERS
from harness.pipeline.request import request_translator
from harness.providers import PROVIDERS
from harness.providers.gemini import request as gemini
from harness.stream import events as ev
from harness.stream.generation import GenerateRequest
from harness.systems.mind.main import MAX_ROUNDS
from harness.systems.mind.shell_and_web import SHELL_SECONDS
from tests.systems.art_sdk_losses import SDK_LOSSES, SDK_REFUSALS

DOCS = Path(__file__).parents[2] / "docs"
SPECS = DOCS.parent / "specs"
_CODE = re.compile(r"`([^`]+)`")

Row = list[str]


def text(name: str) -> str:
    """The page about a dialect."""
    return (DOCS / f"dialect-{name}.md").read_text(encoding="utf-8")


def prose(name: str) -> str:
    """The page with each run of white space as one space, because a sentence may be wrapped."""
    return " ".join(text(name).split())


NAMES = tuple(name for name in DIALECTS if "\n| event |" in text(name))


def tables(name: str) -> dict[str, list[Row]]:
    """Each table of a page by the first cell of its head."""
    by_head: dict[str, list[Row]] = {}
    for table in re.findall(r"(?:^\|.*\n)+", text(name), re.MULTILINE):
        head, _, *rows = [
            [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
            for line in table.splitlines()
        ]
        assert head[0] not in by_head, f"two tables of {head[0]}"
        by_head[head[0]] = rows
    return by_head


TABLES = {name: tables(name) for name in NAMES}


def words(cell: str) -> list[str]:
    return _CODE.findall(cell)


def spread(name: str, table: str) -> dict[str, list[str]]:
    """A table as a mapping: the word in the first cell → the words in the second."""
    return {words(row[0])[0]: words(row[1]) for row in TABLES[name][table]}


@pytest.mark.parametrize("name", NAMES)
def test_losses(name: str) -> None:
    losses = {str(loss): loss.meaning for loss in DIALECTS[name].losses}
    assert {words(row[0])[0]: row[1] for row in TABLES[name]["loss"]} == losses


CALL: Sequence[ev.Event] = [
    ev.CallStart(1, "f", "c1"),
    ev.CallPiece(1, "$.a", 1),
    ev.CallEnd(1, {"a": 1}),
]
SAMPLES: Mapping[str, Sequence[ev.Event]] = {
    "start": [ev.Start("m")],
    "metadata": [ev.Metadata("created", {"createTime": "t"})],
    "text": [ev.Text("b")],
    "reasoning": [ev.Reasoning("hm")],
    "call_start": CALL,
    "call_piece": CALL,
    "call_text": [ev.CallStart(1, "f", "c1"), ev.CallText(1, '{"a": 1}'), ev.CallEnd(1, {"a": 1})],
    "call_end": CALL,
    "call_invalid": [ev.CallStart(1, "f", "c1"), ev.CallInvalid(1, "[1]")],
    "block_start": [ev.BlockStart("thought", {"index": 0})],
    "block_end": [ev.BlockEnd({"index": 0})],
    "mark": [ev.Mark("end", "[DONE]")],
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


def payloads(
    name: str, events: Sequence[ev.Event], tools: Sequence[Tool] = ()
) -> list[dict[str, Any]]:
    translator = DIALECTS[name].translator(tools, Session())
    given = [payload for event in events for payload in translator.feed(event)] + translator.close()
    return [{key: value for key, value in payload.items() if key != "eventId"} for payload in given]


def effect(name: str, kind: str) -> set[str]:
    """The types of the payloads that an event of this kind adds or changes."""
    before: list[ev.Event] = [] if kind == "start" else [ev.Start("m"), ev.Text("a")]
    if kind in ("error", "blocked", "incomplete") and name == "agent-events":
        before.append(ev.Finish("stop", "STOP"))  # without the event, the end is good
    after, base = (
        Counter(json.dumps(payload, sort_keys=True) for payload in payloads(name, events))
        for events in ([*before, *SAMPLES[kind]], before)
    )
    return {str(json.loads(payload)["type"]) for payload in after - base}


@pytest.mark.parametrize("kind", ev.KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_the_effect_of_each_event_is_as_documented(name: str, kind: str) -> None:
    (row,) = [row for row in TABLES[name]["event"] if kind in words(row[0])]
    assert set(words(row[1])) == effect(name, kind)
    assert words(row[1]) or row[1] == "nothing"


def test_every_table_lists_each_event_once() -> None:
    for name in NAMES:
        assert Counter(word for row in TABLES[name]["event"] for word in words(row[0])) == Counter(
            list(ev.KINDS)
        )


LIMITED = ev.Error("no", None, "RESOURCE_EXHAUSTED")
TODO = {"description": "A", "content": "A", "status": "pending"}
EXAMPLES: Mapping[tuple[str, str], Sequence[ev.Event]] = {
    ("ag-ui", "text"): [ev.Text("b", role="system")],
    ("ag-ui", "tool_result"): [ev.ToolResult(None, "f", 1)],
    ("art", "start"): [ev.Start("another")],
    ("art", "text"): [ev.Text("b", role="system")],
    ("art", "annotation"): [ev.Annotation("token_count", {"tokenCount": 3})],
    ("art", "usage"): [ev.Text("b"), ev.Usage({"promptTokenCount": 3}, input=3)],
    ("mind", "nameless_call"): [ev.NamelessCall(1, {"a": 1}, "raw")],
    ("mind", "tool_result"): [ev.ToolResult("c1", "f", error="no")],
    ("mind", "finish"): [ev.Finish("failed", "error")],
    ("mind", "error"): [LIMITED],
    ("agent-events", "call_end"): [
        ev.CallStart(1, "write_todos", "c2"),
        ev.CallEnd(1, {"todos": [TODO]}),
    ],
    ("agent-events", "nameless_call"): [ev.NamelessCall(1, {"todos": [TODO]}, "raw")],
    ("agent-events", "tool_result"): [*CALL, ev.ToolResult("c1", "f", "text", "no")],
    ("agent-events", "finish"): [ev.Finish("failed", "error")],
    ("agent-events", "unknown"): [ev.Unknown("rest", "oops")],
}
"""These events show the keys and texts of a row that its sample lacks."""


def strings(value: Any) -> set[str]:
    """Every key and every text in a value."""
    if isinstance(value, dict):
        return set().union(map(str, value), *map(strings, value.values()))
    return set().union(*map(strings, value)) if isinstance(value, list | tuple) else {str(value)}


def is_shown(word: str, shown: set[str]) -> bool:
    """Whether the output of the code contains a word of a table. ``{a, b}`` stands for keys and
    ``<…>`` for any text; a type may be given by its last part.
    """
    if word.startswith("{"):
        return {name.strip(" :…") for name in word.strip("{}").split(",")} <= shown
    pattern = re.sub("<[a-z]+>", ".+", re.escape(word)) + "$"
    return any(re.search(rf"(?:^|_){pattern}", payload) for payload in shown)


@pytest.mark.parametrize("kind", ev.KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_word_about_an_event_occurs_in_the_code(name: str, kind: str) -> None:
    (row,) = [row for row in TABLES[name]["event"] if kind in words(row[0])]
    examples = [
        sample
        for word in words(row[0])
        for sample in (SAMPLES[word], EXAMPLES.get((name, word), ()))
    ]
    if kind == "finish":
        examples.append([ev.Text("a"), ev.Finish("other", "other")])
    tried = [
        payloads(name, [ev.Start("m"), *events], tools)
        for events in examples
        for tools in ([], [Tool("f", {"properties": {"a": {}}})])
    ]
    shown = strings(
        [*tried, "write_todos", "todos", *RATE_LIMITED]
    )  # words of the wire that the payloads lack
    assert [word for word in words(row[2]) if not is_shown(word, shown)] == []


GEMINI = PROVIDERS["gemini-api"]
ASKED: Mapping[str, Any] = {
    "system": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
    "user": [{"role": "user", "content": "u"}],
    "assistant": [
        {
            "role": "assistant",
            "content": "a",
            "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }
    ],
    "tool_request": [{"role": "tool_request", "content": "t"}],
    "tool_result": [{"role": "tool_result", "tool_call_id": "1", "name": "f", "content": "r"}],
    "tool": [{"role": "tool", "tool_call_id": "1", "name": "f", "content": "r"}],
}


def request_of(dialect: str, prompt: Any) -> GenerateRequest:
    session = Session()
    return GEMINI.request(request_translator(dialect).translate(prompt, {}, session), session)


@pytest.mark.parametrize("role", ROLES)
def test_every_word_about_a_role_occurs_in_the_code(role: str) -> None:
    (row,) = [row for row in TABLES["art"]["role"] if words(row[0]) == [role]]
    asked = request_of("art", ASKED[role])
    assert [
        word
        for word in words(row[1])
        if not is_shown(word, strings([asked.body, ASKED[role], *ROLES]))
    ] == []
    assert ("left out with a warning" in row[1] and not asked.body["contents"]) == bool(
        asked.warnings
    )
    if words(row[1])[:1] in (["user"], ["model"]):
        assert asked.body["contents"][-1]["role"] == words(row[1])[0]


def test_every_word_about_a_record_occurs_in_the_code() -> None:
    call = {"type": "tool_code", "name": "f", "args": {}}
    history = [call, {**call, "type": "tool_result", "result": 1}]
    shown = strings(request_of("mind", {"prompt": "p", "history": history}).body)
    for record, role, how in TABLES["mind"]["record"]:
        assert [word for word in words(how) if not is_shown(word, shown)] == [], record
        assert words(role) or role == "nothing", record


def test_ag_ui() -> None:
    rows = {
        words(row[0])[0]: [word for cell in row[1:] for word in words(cell)]
        for row in TABLES["ag-ui"]["end of the answer"]
    }
    assert rows == {
        kind: ["RUN_FINISHED", outcome] if outcome else ["RUN_ERROR"]
        for kind, outcome in OUTCOMES.items()
    }
    assert f"under the key `{OWN}`" in prose("ag-ui")


def test_art() -> None:
    assert spread("art", "`callContext`") == {
        context: [begins] for context, begins in CONTEXTS.items()
    }
    assert spread("art", "count") == {count: [field] for count, field in COUNTS.items()}
    assert [words(row[0]) for row in TABLES["art"]["role"]] == [[role] for role in ROLES]
    assert spread("art", "setting") == {
        gemini.SETTINGS[setting]: list(options) for setting, (options, _) in SETTINGS.items()
    }
    assert {words(row[0])[0]: row[1] for row in TABLES["art"]["difference"]} == {
        name: loss.meaning for name, loss in SDK_LOSSES.items()
    }
    assert [row[0] for row in TABLES["art"]["refused by the SDK"]] == list(SDK_REFUSALS.values())
    assert f"`{DEFAULT_MODEL}`" in prose("art")
    assert f"`{FIRST_TURN}`" in prose("art")


def test_mind() -> None:
    assert spread("mind", "record") == {
        record: [gemini.ROLES[role]] if role else [] for record, role in RECORDS.items()
    }
    tools = {words(row[0])[0]: row[1:] for row in TABLES["mind"]["tool"]}
    assert tools == {
        name: ["always" if name in READERS else "when named", declared["description"]]
        for name, declared in DECLARATIONS.items()
    }
    for sentence in (ACKNOWLEDGEMENT, MIND_MODEL):
        assert f"`{sentence}`" in prose("mind")
    assert all(f'"{key}"' in prose("mind") for key in ("prompt", "system_prompt", "history"))
    assert f"time limit ({SHELL_SECONDS:g} s)" in prose("mind")
    assert f"after {MAX_ROUNDS} answers in a row" in prose("mind")


def listed(todo: Any) -> list[Any]:
    """The items of the to-do list that has this item."""
    (made,) = (
        payload
        for payload in payloads(
            "agent-events", [ev.CallStart(1, "write_todos"), ev.CallEnd(1, {"todos": [todo]})]
        )
        if "items" in payload
    )
    items: list[Any] = made["items"]
    return items


def test_agent_events() -> None:
    (text, status, skipped) = TABLES["agent-events"]["to-do item"]
    assert DIALECTS["agent-events"].request is None
    assert (text[0], status[0], skipped) == (
        "`description`",
        "`status`",
        ["not an object, blank text, another status", "skipped"],
    )
    to, alike = words(text[1])
    assert [listed({name: " A ", "status": "pending"}) for name in (words(text[0])[0], alike)] == [
        [{to: " A ", "status": "pending"}]
    ] * 2
    assert {
        word
        for word in words(status[1])
        if listed({**TODO, "status": word}) == [{to: "A", "status": word}]
    } == STATUSES
    assert [
        listed(todo) for todo in ("A", {**TODO, "description": " "}, {**TODO, "status": "blocked"})
    ] == [[], [], []]
