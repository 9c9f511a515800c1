"""The order of AG-UI events, as the official client verifies it, and its short spelling in chunks.

The client first writes each chunk as the start, the content and the end that it stands for. Then it
refuses an event that comes at a wrong place, and reads nothing after it.

Source: ``transformChunks`` and ``verifyEvents`` of `@ag-ui/client` 1.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .wire_reader import Unreadable

AgUiEvent = dict[str, Json]

_ASIDE: Final = frozenset(
    {
        *("RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE"),
        "SUBAGENT_STARTED",
    }
)
"""The events that end no chunks."""
_OF_THE_RUN: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
"""The events that end the chunks of every agent."""


@dataclass(frozen=True, slots=True)
class _Family:
    """A family of events that open, continue and close an item."""

    start: str
    content: str
    end: str
    key: str
    """The field with the id of the item."""
    owners: str
    fixed: tuple[str, ...] = ()
    """The fields of the first chunk, which later chunks may only repeat."""


_TEXT: Final = _Family(
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "messageId",
    "message",
    ("role", "name"),
)
_CALL: Final = _Family(
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "toolCallId",
    "call",
    ("toolCallName", "parentMessageId"),
)
_THOUGHT: Final = _Family(
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "messageId",
    "reasoning",
)
_SPAN: Final = _Family("REASONING_START", "", "REASONING_END", "messageId", "reasoning")
_CHUNKS: Final = {
    "TEXT_MESSAGE_CHUNK": _TEXT,
    "TOOL_CALL_CHUNK": _CALL,
    "REASONING_MESSAGE_CHUNK": _THOUGHT,
}
_FAMILIES: Final = (_TEXT, _CALL, _THOUGHT, _SPAN)
_STARTS: Final = {family.start: family for family in _FAMILIES}
_LATER: Final = {
    name: family for family in _FAMILIES for name in (family.content, family.end) if name
}


@dataclass(frozen=True, slots=True)
class _Stream:
    """An item that chunks spell: its family, and the fields of its first chunk."""

    family: _Family
    fields: dict[str, Json]

    @property
    def id(self) -> Json:
        return self.fields[self.family.key]


class Chunks:
    """Writes chunks as the events that they stand for. An agent and each of its subagents spell one
    item at a time.
    """

    def __init__(self) -> None:
        self._open: dict[Json, _Stream] = {}

    def expand(self, event: AgUiEvent) -> Iterator[AgUiEvent]:
        """Yield the events for an event. Raises `Unreadable`."""
        kind = event["type"]
        if kind in _CHUNKS:
            yield from self._chunk(event, _CHUNKS[kind])
            return
        if kind in _OF_THE_RUN:
            for owner in [*self._open]:
                yield self._end(owner)
        elif kind not in _ASIDE and event.get("subagentRunId") in self._open:
            yield self._end(event.get("subagentRunId"))
        yield event

    def _chunk(self, event: AgUiEvent, family: _Family) -> Iterator[AgUiEvent]:
        owner = self._owner(event, family)
        stream, key = self._open.get(owner), family.key
        if stream is None or stream.family is not family or event.get(key, stream.id) != stream.id:
            if stream is not None:
                yield self._end(owner)
            for name in (key, *family.fixed[:1] * (family is _CALL)):
                if name not in event:
                    raise Unreadable(f"the first {event['type']} of an item has no {name}")
            names = (key, *family.fixed, "subagentRunId")
            fields = {name: event[name] for name in names if name in event}
            if family is _TEXT:
                fields.setdefault("role", "assistant")
            stream = self._open[owner] = _Stream(family, fields)
            yield {**fields, "type": family.start}
        for name in family.fixed:
            if name in event and event[name] != stream.fields.get(name):
                raise Unreadable(
                    f"{name} of a later {event['type']} is {short_json(event[name])}; the first"
                    f" one has {short_json(stream.fields.get(name))}"
                )
        if "delta" in event or "rawEvent" in event:
            of_owner = {} if owner is None else {"subagentRunId": owner}
            delta = event.get("delta", "")
            yield {"type": family.content, key: stream.id, "delta": delta, **of_owner}

    def _owner(self, event: AgUiEvent, family: _Family) -> Json:
        """Return the agent whose item a chunk continues, or begins."""
        tag, item = event.get("subagentRunId"), event.get(family.key)
        holders = {
            owner: stream.id for owner, stream in self._open.items() if stream.family is family
        }
        if item is not None:
            holder = next((owner for owner, held in holders.items() if held == item), tag)
            if tag not in (None, holder):
                raise Unreadable(f"{event['type']} has another subagentRunId than its item")
            return holder
        if tag is not None or None in holders or not holders:
            return tag
        if len(holders) > 1:
            raise Unreadable(f"{event['type']} has no id, and {len(holders)} items are open")
        return next(iter(holders))

    def _end(self, owner: Json) -> AgUiEvent:
        stream = self._open.pop(owner)
        of_owner = {} if owner is None else {"subagentRunId": owner}
        return {"type": stream.family.end, stream.family.key: stream.id, **of_owner}


class Order:
    """Verifies the order of events without chunks. ``state``: before a run, in it, after its end,
    or after its error.
    """

    def __init__(self) -> None:
        self.state = "before"
        self._begin("before")

    def _begin(self, state: str) -> None:
        self.state = state
        self._open: dict[_Family, set[Json]] = {family: set() for family in _FAMILIES}
        self._owners: defaultdict[str, dict[Json, Json]] = defaultdict(dict)
        self._steps: set[tuple[Json, Json]] = set()
        self._subagents: set[Json] = set()
        self._closed: set[Json] = set()

    def check(self, event: AgUiEvent) -> None:
        """Raise `Unreadable` if the event comes at a wrong place."""
        kind = event["type"]
        self._check_run(kind)
        owner = event.get("subagentRunId")
        if family := _STARTS.get(kind):
            self._start(event, family, owner)
        elif family := _LATER.get(kind):
            item = event[family.key]
            if item not in self._open[family]:
                raise Unreadable(f"{kind} of {short_json(item)} has no {family.start} before it")
            self._check_owner(kind, owner, self._owners[family.owners], item)
            if kind == family.end:
                self._open[family].discard(item)
        elif kind.startswith("STEP_"):
            self._step(kind, (owner, event["stepName"]))
        elif kind.startswith("SUBAGENT_"):
            self._subagent(kind, owner, event.get("parentSubagentRunId"))
        elif kind == "REASONING_ENCRYPTED_VALUE":
            self._encrypted(event, owner)
        elif kind == "ACTIVITY_SNAPSHOT":
            if event["messageId"] not in self._owners["activity"] or event.get("replace", True):
                self._owners["activity"][event["messageId"]] = owner
        elif kind == "ACTIVITY_DELTA":
            self._check_owner(kind, owner, self._owners["activity"], event["messageId"])
        elif kind == "TOOL_CALL_RESULT":
            self._owners["message"][event["messageId"]] = owner
        elif kind == "MESSAGES_SNAPSHOT":
            self._restate(event["messages"])
        elif kind == "RUN_FINISHED":
            self._finish()

    def _check_run(self, kind: str) -> None:
        """Check whether the event may come before, in or after a run."""
        match self.state, kind:
            case "before", "RUN_STARTED":
                self._begin("running")
            case (("before" | "running" | "finished"), "RUN_ERROR"):
                self.state = "failed"
            case "before", _:
                raise Unreadable(f"{kind} comes first; expected RUN_STARTED")
            case "running", "RUN_STARTED":
                raise Unreadable("RUN_STARTED comes before the end of the last run")
            case (("finished" | "failed"), "RUN_STARTED"):
                self._begin("running")
            case "finished", _:
                raise Unreadable(f"{kind} comes after RUN_FINISHED")
            case "failed", _:
                raise Unreadable(f"{kind} comes after RUN_ERROR")

    def _start(self, event: AgUiEvent, family: _Family, owner: Json) -> None:
        kind, item, owners = event["type"], event[family.key], self._owners[family.owners]
        if item in self._open[family]:
            raise Unreadable(f"{kind} of {short_json(item)} comes before its {family.end}")
        parents, parent = self._owners["message"], event.get("parentMessageId")
        if family is _CALL and parent in parents:
            self._check_owner(kind, owner, parents, parent)
            if owner is None and item in owners and owners[item] != parents[parent]:
                raise Unreadable(f"{kind} of {short_json(item)} has a message of another agent")
            owner = parents[parent]
        self._check_owner(kind, owner, owners, item)
        self._open[family].add(item)
        owners.setdefault(item, owner)

    def _check_owner(self, kind: str, owner: Json, owners: dict[Json, Json], item: Json) -> None:
        """Check the owner: a later event of an item must not name another subagent than its first
        event.
        """
        if owner is not None and item in owners and owners[item] != owner:
            raise Unreadable(
                f"subagentRunId of {kind} is {short_json(owner)}; that of {short_json(item)} is"
                f" {short_json(owners[item])}"
            )

    def _step(self, kind: str, step: tuple[Json, Json]) -> None:
        if (step in self._steps) is (kind == "STEP_STARTED"):
            started = "is" if step in self._steps else "is not"
            raise Unreadable(f"{kind} of {short_json(step[1])}, which {started} started")
        self._steps ^= {step}

    def _subagent(self, kind: str, subagent: Json, parent: Json) -> None:
        if kind == "SUBAGENT_STARTED":
            if subagent in self._subagents | self._closed:
                raise Unreadable(f"{kind} of {short_json(subagent)} comes twice")
            if parent is not None and parent not in self._subagents | self._closed:
                raise Unreadable(f"{kind} has the parent {short_json(parent)}, which never started")
            self._subagents.add(subagent)
        elif subagent not in self._subagents:
            raise Unreadable(f"{kind} of {short_json(subagent)}, which is not active")
        else:
            self._subagents.discard(subagent)
            self._closed.add(subagent)

    def _encrypted(self, event: AgUiEvent, owner: Json) -> None:
        item, owners = event["entityId"], self._owners["call"]
        if event["subtype"] == "message":
            known = self._owners["message"]
            owners = known if item in known else self._owners["reasoning"]
        self._check_owner(event["type"], owner, owners, item)

    def _restate(self, messages: list[AgUiEvent]) -> None:
        """Note the owners of the messages that the event repeats."""
        for message in messages:
            kind = message["role"] if message["role"] in ("reasoning", "activity") else "message"
            self._owners[kind][message["id"]] = message.get("subagentRunId")
            for call in message.get("toolCalls") or ():
                if isinstance(call, dict):
                    self._owners["call"][call.get("id")] = message.get("subagentRunId")

    def _finish(self) -> None:
        for family, items in self._open.items():
            if items:
                names = ", ".join(sorted(map(short_json, items)))
                raise Unreadable(f"RUN_FINISHED comes before {family.end} of {names}")
        if self._steps or self._subagents:
            raise Unreadable("RUN_FINISHED comes before the end of all steps and subagents")
        self.state = "finished"
