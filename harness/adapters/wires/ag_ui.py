"""The strict reader of AG-UI 1.0, as the client `@ag-ui/client` reads a run.

An event that the client refuses or drops can't be read. A run without an end is no error for the
client, so it gives no finish reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from harness.facts import Call, Error, Finish, Text, Thought, Usage, arguments_of
from harness.stream.json_codec import Json

from .ag_ui_events import checked
from .ag_ui_order import Chunks, Order
from .wire_reader import Framing, Unreadable, WireReader

_OLD_TYPES: Final = {
    "THINKING_START": "REASONING_START",
    "THINKING_END": "REASONING_END",
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}
"""The events for thoughts before 1.0, which have no ids, and those into which the client changes
them.
"""
_REASONS: Final = ("finishReason", "finish_reason")
"""The fields of metadata that have the finish reason."""


class AgUi(WireReader):
    """The state of one answer: the calls by id with the texts of their arguments, and the messages
    of the answer.
    """

    framing: ClassVar[Framing] = Framing(closes_last=True, line_feeds=True)

    def __init__(self, streamed: bool | None) -> None:
        super().__init__(None)  # a run is always a stream; it may be given as objects
        self._chunks = Chunks()
        self._order = Order()
        self._answers: set[Json] = set()
        self._names: dict[Json, str] = {}
        self._arguments: dict[Json, str] = {}
        self._ended: dict[Json, int] = {}
        self._answered: set[Json] = set()
        self._old_ids = 0

    def _read(self, message: dict[str, Json]) -> None:
        for event in self._chunks.expand(checked(self._without_old_types(message))):
            self._order.check(event)
            self._state(event)

    def _without_old_types(self, event: dict[str, Json]) -> dict[str, Json]:
        kind = _OLD_TYPES.get(str(event.get("type")))
        if kind is None:
            return event
        self._old_ids += kind.endswith("_START")
        last = self._old_ids - (kind == "REASONING_END")
        named = {**event, "type": kind, "messageId": f"thinking {last}"}
        return {**named, "role": "reasoning"} if kind == "REASONING_MESSAGE_START" else named

    def _state(self, event: dict[str, Json]) -> None:
        """Note the facts of an event at its right place."""
        match event["type"]:
            case "TEXT_MESSAGE_START" if event.get("role", "assistant") == "assistant":
                self._answers.add(event["messageId"])
            case "TEXT_MESSAGE_CONTENT" if event["messageId"] in self._answers and event["delta"]:
                self._add(Text(event["delta"]))
            case "REASONING_MESSAGE_CONTENT" if event["delta"]:
                self._add(Thought(event["delta"]))
            case "TOOL_CALL_START":
                self._names.setdefault(event["toolCallId"], event["toolCallName"])
                self._arguments.setdefault(event["toolCallId"], "")
            case "TOOL_CALL_ARGS":
                self._arguments[event["toolCallId"]] += event["delta"]
            case "TOOL_CALL_END":
                self._ended[event["toolCallId"]] = len(self.facts) - 1
            case "TOOL_CALL_RESULT":
                self._answered.add(event["toolCallId"])
            case "MESSAGES_SNAPSHOT":
                self._restate(event["messages"])
            case "RUN_FINISHED":
                self._add(_finish_of(event, pending=bool(self._ended.keys() - self._answered)))
                self._count(event)
            case "RUN_ERROR":
                self._add(Error(event.get("code"), event["message"]))
                self._count(event)

    def _restate(self, messages: list[dict[str, Json]]) -> None:
        """Read the messages that were not streamed. The snapshot repeats those of the request too:
        those before the user's last message are not part of the answer.
        """
        users = [at for at, message in enumerate(messages) if message["role"] == "user"]
        for message in messages[(users or [-1])[-1] + 1 :]:
            content, is_new = message.get("content"), message["id"] not in self._answers
            if message["role"] == "tool":
                self._answered.add(message.get("toolCallId"))
            if message["role"] == "assistant":
                self._answers.add(message["id"])
                if is_new and isinstance(content, str) and content:
                    self._add(Text(content))
                for call in message.get("toolCalls") or ():
                    self._restate_call(call)

    def _restate_call(self, call: Json) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise Unreadable("a call in a message has no function")
        if call.get("id") not in self._names:
            self._names[call.get("id")] = str(function.get("name"))
            self._arguments[call.get("id")] = str(function.get("arguments") or "")
            self._ended[call.get("id")] = len(self.facts) - 1

    def _count(self, event: dict[str, Json]) -> None:
        """Read the sums of the counts of all models."""
        counts: dict[str, int] = {}
        for usage in event.get("usage") or ():
            for name, field in _COUNTS.items():
                if field in usage:
                    counts[name] = counts.get(name, 0) + int(usage[field])
        if counts:
            self._add(Usage(**counts))

    def close(self) -> None:
        """Note the calls that ended, where their last parts came. A call with a result is not one
        for the client: the producer or the provider has run it. If the run failed, its results are
        those of interrupted calls, and a call whose arguments are no JSON object is no fact.
        """
        for call, place in self._ended.items():
            text = self._arguments[call]
            if call in self._answered and self._order.state != "failed":
                continue
            if self._order.state != "failed" or isinstance(arguments_of(text), dict):
                self.facts[place].append(Call(call or None, self._names[call], text))


_COUNTS: Final = {
    "input": "inputTokens",
    "output": "outputTokens",
    "thoughts": "reasoningTokens",
    "total": "totalTokens",
}


def _finish_of(event: Mapping[str, Json], *, pending: bool) -> Finish:
    """Return the finish reason in the metadata, which is the place for it, or else the outcome.
    `cancelled` is the word for an answer that a limit stopped. A success whose calls are
    ``pending`` waits for their results.
    """
    metadata = event.get("metadata", {})
    holders = [metadata, *(value for value in metadata.values() if isinstance(value, dict))]
    for holder in holders:
        for name in _REASONS:
            if isinstance(holder.get(name), str) and holder[name]:
                return Finish(holder[name])
    match event.get("outcome", {}).get("type"):
        case "cancelled":
            return Finish("cancelled", "length")
        case "interrupt":
            return Finish("interrupt", "other")
    return Finish("tool_calls" if pending else "success")
