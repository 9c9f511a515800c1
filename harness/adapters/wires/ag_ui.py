"""The view of AG-UI's reader as a strict reader: its events are facts, and each oddity is a fault,
because the client refuses or drops such an event. A run without an end is no error for the client,
so it gives no finish reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from harness.dialects.ag_ui.reader import AgUiReader
from harness.facts import Call, Error, Finish, Text, Thought, Usage, arguments_of
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .wire_reader import Framing, Unreadable, WireReader

_REASONS: Final = ("finishReason", "finish_reason")
"""The fields of metadata that have the finish reason."""
_COUNTS: Final = {
    "input": "inputTokens",
    "output": "outputTokens",
    "thoughts": "reasoningTokens",
    "total": "totalTokens",
}


class AgUi(WireReader):
    """The state of one answer: its messages, and the calls by id."""

    framing: ClassVar[Framing] = Framing(closes_last=True, line_feeds=True)

    def __init__(self, streamed: bool | None) -> None:
        super().__init__(None)  # a run is always a stream; it may be given as objects
        self._reader = AgUiReader()
        self._messages: set[Json] = set()
        self._calls: dict[Json, tuple[str, list[str]]] = {}
        """The name of each call and the pieces of its arguments."""
        self._ended: dict[Json, int] = {}
        """The place of the end of each call."""
        self._answered: set[Json] = set()

    def _read(self, message: dict[str, Json]) -> None:
        for event in self._reader.feed(message):
            self._note(event)
        for oddity in self._reader.oddities:
            raise Unreadable(oddity.name.format(*map(short_json, oddity.value)))

    def _note(self, event: dict[str, Json]) -> None:
        match event["type"]:
            case "TEXT_MESSAGE_START" if event.get("role", "assistant") == "assistant":
                self._messages.add(event["messageId"])
            case "TEXT_MESSAGE_CONTENT" if event["messageId"] in self._messages and event["delta"]:
                self._add(Text(event["delta"]))
            case "REASONING_MESSAGE_CONTENT" if event["delta"]:
                self._add(Thought(event["delta"]))
            case "TOOL_CALL_START":
                self._calls.setdefault(event["toolCallId"], (event["toolCallName"], []))
            case "TOOL_CALL_ARGS":
                self._calls[event["toolCallId"]][1].append(event["delta"])
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
            content, is_new = message.get("content"), message["id"] not in self._messages
            if message["role"] == "tool":
                self._answered.add(message.get("toolCallId"))
            if message["role"] == "assistant":
                self._messages.add(message["id"])
                if is_new and isinstance(content, str) and content:
                    self._add(Text(content))
                for call in message.get("toolCalls", ()):
                    if call["id"] not in self._calls:
                        function = call["function"]
                        self._calls[call["id"]] = function["name"], [function["arguments"]]
                        self._ended[call["id"]] = len(self.facts) - 1

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
        failed = self._reader.state == "failed"
        for call, place in self._ended.items():
            name, pieces = self._calls[call]
            text = "".join(pieces)
            is_whole = not failed or isinstance(arguments_of(text), dict)
            if is_whole and (failed or call not in self._answered):
                self.facts[place].append(Call(call or None, name, text))


def _finish_of(event: Mapping[str, Json], *, pending: bool) -> Finish:
    """Return the finish reason in the metadata, which is the place for it, or else the outcome.
    `cancelled` is the word for an answer that a limit stopped. A success whose calls are
    ``pending`` waits for their results.
    """
    metadata = event.get("metadata", {})
    for holder in [metadata, *(value for value in metadata.values() if isinstance(value, dict))]:
        for name in _REASONS:
            if isinstance(holder.get(name), str) and holder[name]:
                return Finish(holder[name])
    match event.get("outcome", {}).get("type"):
        case "cancelled":
            return Finish("cancelled", "length")
        case "interrupt":
            return Finish("interrupt", "other")
    return Finish("tool_calls" if pending else "success")
