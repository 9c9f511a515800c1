"""Reads the events of AG-UI 1.0 that any program writes, as the official client does.

The client writes a chunk, and an event for thoughts before 1.0, as the events that it stands for.
It refuses an event with another shape or at a wrong place, and reads nothing after it. The reader
notes why as an oddity.

Source: ``transformChunks`` and ``verifyEvents`` of `@ag-ui/client` 1.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities

from .shapes import OF_THE_RUN, Refused, checked

AgUiEvent = dict[str, Json]

_OLD_TYPES: Final = {
    "THINKING_START": "REASONING_START",
    "THINKING_END": "REASONING_END",
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}
"""The events for thoughts before 1.0, which have no ids → those that the client makes of them."""
_ASIDE: Final = frozenset(
    {
        *("RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE"),
        "SUBAGENT_STARTED",
    }
)
"""The events that end no chunks."""


class _Item(NamedTuple):
    """A kind of item: the events that open, continue and close it."""

    start: str
    content: str
    end: str
    key: str
    """The field with the id of the item."""
    ids: str
    """The kind of item that the ids are of."""
    chunk: str = ""
    fixed: tuple[str, ...] = ()
    """The fields of the first chunk, which later chunks may only repeat."""


def _item(prefix: str, content: str, key: str, ids: str, *fixed: str) -> _Item:
    start, piece, end, chunk = (f"{prefix}_{w}" for w in ("START", content, "END", "CHUNK"))
    return _Item(start, piece, end, key, ids, chunk, fixed)


_TEXT: Final = _item("TEXT_MESSAGE", "CONTENT", "messageId", "message", "role", "name")
_CALL: Final = _item("TOOL_CALL", "ARGS", "toolCallId", "call", "toolCallName", "parentMessageId")
_THOUGHT: Final = _item("REASONING_MESSAGE", "CONTENT", "messageId", "reasoning")
_SPAN: Final = _Item("REASONING_START", "", "REASONING_END", "messageId", "reasoning")
_ITEMS: Final = (_TEXT, _CALL, _THOUGHT, _SPAN)
_STARTS: Final = {item.start: item for item in _ITEMS}
_LATER: Final = {name: item for item in _ITEMS for name in (item.content, item.end)}
_CHUNKS: Final = {item.chunk: item for item in _ITEMS if item.chunk}


class _Chunked(NamedTuple):
    """An item that chunks spell, and the fields of its first chunk."""

    item: _Item
    fields: AgUiEvent

    @property
    def id(self) -> Json:
        return self.fields[self.item.key]


class AgUiReader:
    """The runs of one stream. ``state``: before a run, in it, after its end, or after its error."""

    def __init__(self) -> None:
        self.oddities = Oddities()
        self._chunked: dict[Json, _Chunked] = {}
        """The item that an agent or a subagent spells in chunks."""
        self._old_ids = 0
        self._begin("before")

    def _begin(self, state: str) -> None:
        self.state = state
        self._open: dict[_Item, set[Json]] = {item: set() for item in _ITEMS}
        self._owners: dict[tuple[str, Json], Json] = {}
        """The subagent of each item, by its kind and id."""
        self._steps: set[tuple[Json, Json]] = set()
        self._subagents: dict[Json, bool] = {}
        """Whether a subagent that started is active."""

    def feed(self, event: AgUiEvent) -> Iterator[AgUiEvent]:
        """Yield the events that an event stands for, up to the one that the client refuses."""
        if self.oddities.first:
            return
        try:
            for whole in self._expand(checked(self._renamed(event))):
                self._check(whole)
                yield whole
        except Refused as refused:
            self.oddities.note(refused.name, refused.values)

    # ---------------------------------------------------------------- other spellings

    def _renamed(self, event: AgUiEvent) -> AgUiEvent:
        kind = _OLD_TYPES.get(str(event.get("type")))
        if kind is None:
            return event
        self._old_ids += kind.endswith("_START")
        last = self._old_ids - (kind == "REASONING_END")
        named = {**event, "type": kind, "messageId": f"thinking {last}"}
        return {**named, "role": "reasoning"} if kind == "REASONING_MESSAGE_START" else named

    def _expand(self, event: AgUiEvent) -> Iterator[AgUiEvent]:
        """Yield the events for an event. An event ends the chunks of its agent, and one of the run
        those of all agents.
        """
        kind, owner = event["type"], event.get("subagentRunId")
        if kind in _CHUNKS:
            yield from self._chunk(event, _CHUNKS[kind])
            return
        ended = [] if kind in _ASIDE or owner not in self._chunked else [owner]
        for agent in [*self._chunked] if kind in OF_THE_RUN else ended:
            yield self._end(agent)
        yield event

    def _chunk(self, event: AgUiEvent, item: _Item) -> Iterator[AgUiEvent]:
        owner, key = self._owner(event, item), item.key
        first = self._chunked.get(owner)
        if first is None or first.item is not item or event.get(key, first.id) != first.id:
            if first is not None:
                yield self._end(owner)
            for name in (key, *item.fixed[: item is _CALL]):
                if name not in event:
                    raise Refused(f"the first {item.chunk} of an item has no {name}")
            names = (key, *item.fixed, "subagentRunId")
            fields = {"role": "assistant"} if item is _TEXT else {}
            fields |= {name: event[name] for name in names if name in event}
            first = self._chunked[owner] = _Chunked(item, fields)
            yield {**fields, "type": item.start}
        for name in item.fixed:
            known = first.fields.get(name)
            if event.get(name, known) != known:
                words = f"{name} of a later {item.chunk} is {{}}; the first one has {{}}"
                raise Refused(words, event[name], known)
        if "delta" in event or "rawEvent" in event:
            delta = event.get("delta", "")
            yield {"type": item.content, key: first.id, "delta": delta, **_of(owner)}

    def _owner(self, event: AgUiEvent, item: _Item) -> Json:
        """Return the agent whose item a chunk continues, or begins."""
        tag, own = event.get("subagentRunId"), event.get(item.key)
        open_ids = {agent: one.id for agent, one in self._chunked.items() if one.item is item}
        if own is not None:
            owner = next((agent for agent, held in open_ids.items() if held == own), tag)
            if tag not in (None, owner):
                raise Refused(f"{item.chunk} has another subagentRunId than its item")
            return owner
        if tag is not None or None in open_ids or not open_ids:
            return tag
        if len(open_ids) > 1:
            raise Refused(f"{item.chunk} has no id, and {{}} items are open", len(open_ids))
        return next(iter(open_ids))

    def _end(self, owner: Json) -> AgUiEvent:
        item, _ = first = self._chunked.pop(owner)
        return {"type": item.end, item.key: first.id, **_of(owner)}

    # ---------------------------------------------------------------- the order

    def _check(self, event: AgUiEvent) -> None:
        """Raise `Refused` if the event comes at a wrong place."""
        kind, owner = event["type"], event.get("subagentRunId")
        self._check_run(kind)
        if item := _STARTS.get(kind):
            self._start(event, item, owner)
        elif item := _LATER.get(kind):
            if event[item.key] not in self._open[item]:
                raise Refused(f"{kind} of {{}} has no {item.start} before it", event[item.key])
            self._check_owner(kind, owner, item.ids, event[item.key])
            if kind == item.end:
                self._open[item].discard(event[item.key])
        match kind:
            case "STEP_STARTED" | "STEP_FINISHED":
                step = owner, event["stepName"]
                if (step in self._steps) is (kind == "STEP_STARTED"):
                    started = "is" if step in self._steps else "is not"
                    raise Refused(f"{kind} of {{}}, which {started} started", step[1])
                self._steps ^= {step}
            case "SUBAGENT_STARTED":
                if owner in self._subagents:
                    raise Refused(f"{kind} of {{}} comes twice", owner)
                parent = event.get("parentSubagentRunId")
                if parent is not None and parent not in self._subagents:
                    raise Refused(f"{kind} has the parent {{}}, which never started", parent)
                self._subagents[owner] = True
            case "SUBAGENT_FINISHED" | "SUBAGENT_ERROR":
                if not self._subagents.get(owner):
                    raise Refused(f"{kind} of {{}}, which is not active", owner)
                self._subagents[owner] = False
            case "REASONING_ENCRYPTED_VALUE":
                kinds = ("message", "reasoning") if event["subtype"] == "message" else ("call",)
                known = [name for name in kinds if (name, event["entityId"]) in self._owners]
                self._check_owner(kind, owner, (known or kinds)[0], event["entityId"])
            case "ACTIVITY_SNAPSHOT":
                activity = "activity", event["messageId"]
                if activity not in self._owners or event.get("replace", True):
                    self._owners[activity] = owner
            case "ACTIVITY_DELTA":
                self._check_owner(kind, owner, "activity", event["messageId"])
            case "TOOL_CALL_RESULT":
                self._owners["message", event["messageId"]] = owner
            case "MESSAGES_SNAPSHOT":
                self._restate(event["messages"])
            case "RUN_FINISHED":
                self._finish()

    def _check_run(self, kind: str) -> None:
        """Check whether the event may come before, in or after a run."""
        if kind == "RUN_STARTED":
            if self.state == "running":
                raise Refused("RUN_STARTED comes before the end of the last run")
            self._begin("running")
        elif kind == "RUN_ERROR" and self.state != "failed":
            self.state = "failed"
        elif self.state == "before":
            raise Refused(f"{kind} comes first; expected RUN_STARTED")
        elif self.state != "running":
            last = "RUN_FINISHED" if self.state == "finished" else "RUN_ERROR"
            raise Refused(f"{kind} comes after {last}")

    def _start(self, event: AgUiEvent, item: _Item, owner: Json) -> None:
        kind, own, parent = event["type"], event[item.key], event.get("parentMessageId")
        if own in self._open[item]:
            raise Refused(f"{kind} of {{}} comes before its {item.end}", own)
        if item is _CALL and ("message", parent) in self._owners:
            self._check_owner(kind, owner, "message", parent)
            agent = self._owners["message", parent]
            if owner is None and self._owners.get(("call", own), agent) != agent:
                raise Refused(f"{kind} of {{}} has a message of another agent", own)
            owner = agent
        self._check_owner(kind, owner, item.ids, own)
        self._open[item].add(own)
        self._owners.setdefault((item.ids, own), owner)

    def _check_owner(self, kind: str, owner: Json, ids: str, own: Json) -> None:
        """Check that an event of an item doesn't name another subagent than its first event."""
        first = self._owners.get((ids, own), owner)
        if owner is not None and first != owner:
            words = f"subagentRunId of {kind} is {{}}; that of {{}} is {{}}"
            raise Refused(words, owner, own, first)

    def _restate(self, messages: list[AgUiEvent]) -> None:
        """Note the owners of the messages that the event repeats."""
        for message in messages:
            kind = message["role"] if message["role"] in ("reasoning", "activity") else "message"
            owner = message.get("subagentRunId")
            self._owners[kind, message["id"]] = owner
            calls = message.get("toolCalls", [])
            if not isinstance(calls, list):
                raise Refused("toolCalls of a message is {}; expected a list of objects", calls)
            for call in calls:
                match call:
                    case {
                        "id": str(own),
                        "type": "function",
                        "function": {"name": str(), "arguments": str()},
                    }:
                        self._owners["call", own] = owner
                    case _:
                        raise Refused("a call in a message has no function")

    def _finish(self) -> None:
        for item, own in self._open.items():
            if own:
                names = ", ".join(["{}"] * len(own))
                raise Refused(f"RUN_FINISHED comes before {item.end} of {names}", *sorted(own))
        if self._steps or any(self._subagents.values()):
            raise Refused("RUN_FINISHED comes before the end of all steps and subagents")
        self.state = "finished"


def _of(owner: Json) -> AgUiEvent:
    return {} if owner is None else {"subagentRunId": owner}
