"""The reader of canonical events: gives their facts, for the comparison with the raw body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import Facts, arguments_of
from harness.stream.json_codec import Json
from harness.stream.json_path import Assembly

from .raw_facts import read_raw, read_raw_part, read_tool_result
from .wire_values import names_in

_EVENT_COUNTS = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "reasoning": "thoughtsTokenCount",
    "cached": "cachedContentTokenCount",
    "tool_use": "toolUsePromptTokenCount",
    "total": "totalTokenCount",
    "cache_write": "cacheWriteTokenCount",
}
_GOOD_ENDS = ("stop", "length", "content_filter", "other")
"""Classes of finish reasons."""
_START = {"model": "modelVersion", "id": "responseId"}


def gather_events(events: Iterable[Mapping[str, Json]]) -> Facts:
    """Return the facts of candidate 0 in canonical events (``{"kind": …}``, without fields at their
    default).
    """
    reader = _EventReader()
    for event in events:
        if event.get("candidate", 0) <= 0 or event["kind"] == "annotation":
            reader.read(event)
    reader.facts.open_call = bool(reader.open)
    reader.join_pieces()
    reader.read_open_text()
    reader.facts.ended_well = not reader.facts.invalid_calls and (
        reader.reason in _GOOD_ENDS or (reader.reason == "malformed" and bool(reader.facts.calls))
    )
    return read_raw(reader.facts)


class _EventReader:
    def __init__(self) -> None:
        self.facts = Facts()
        self.open: dict[int, Assembly] = {}
        self.texts: dict[
            int, str
        ] = {}  # arguments so far, as JSON text, of calls that have not ended
        self.reason: str | None = None

    def read(self, event: Mapping[str, Json]) -> None:
        """Note the facts of one event; other kinds have none."""
        facts, kind = self.facts, event["kind"]
        signed_as = "other"
        match kind:
            case "start":
                facts.others |= {
                    wire for name, wire in _START.items() if event.get(name) is not None
                }
            case "metadata" if event["name"] in _START:
                facts.others.add(_START[event["name"]])
            case "text" if not event.get(
                "role"
            ):  # text of any role other than the model is not answer text
                facts.add_text(event["text"])
                signed_as = "text"
            case "reasoning":
                facts.add_thought(event["text"])
                signed_as = "thought"
            case (
                "call_start"
                | "call_piece"
                | "call_text"
                | "call_end"
                | "call_invalid"
                | "nameless_call"
            ):
                signed_as = "call"
                self._read_call(kind, event)
            case "media":
                facts.media += 1
            case "code" | "code_result":
                facts.code += 1
            case "server_call" | "server_result":
                facts.server_tools += 1
            case "usage":
                facts.add_usage(event, _EVENT_COUNTS, event["raw"])
            case "finish":
                facts.finish, facts.finish_message = event["raw"], event.get("message")
                self.reason = event["reason"]
            case "blocked":
                facts.block_reason = event["reason"]
            case "error":
                self.join_pieces()
                words = filter(None, (event.get("status"), event["message"]))
                facts.add_error(event.get("code"), " ".join(words))
            case "tool_result":
                read_tool_result(facts, event)
            case "incomplete":
                facts.unfinished = True
            case "notice":
                facts.notices.append(event["message"])
            case "unknown":
                read_raw_part(facts, event.get("raw"))
        if event.get("signature") is not None:
            facts.signatures.append((signed_as, event["signature"]))
        facts.others |= names_in(event.get("raw"))

    def join_pieces(self) -> None:
        """Join the pieces of the arguments so far of the calls that are open."""
        for arguments in self.open.values():
            arguments.value()

    def read_open_text(self) -> None:
        """Read the last call, if it is still open and its arguments are text."""
        for text in self.texts.values():
            self.facts.calls[-1] = self.facts.calls[-1][0], arguments_of(text)

    def _read_call(self, kind: str, event: Mapping[str, Json]) -> None:
        match kind:
            case "call_start":
                self.open[event["call"]] = Assembly()
                self.facts.calls.append((event["name"], self.open[event["call"]].value()))
            case "call_piece" if event.get("path") and event["call"] in self.open:
                self.open[event["call"]].add(event["path"], event.get("value"))
            case "call_text" if (call := event["call"]) in self.open:
                self.texts[call] = self.texts.get(call, "") + event["text"]
            case "call_invalid" if event["call"] in self.open:
                del self.open[event["call"]]
                self.texts.pop(event["call"], None)
                self.facts.invalid_calls.append((self.facts.calls.pop()[0], event["text"]))
            case "call_end" if event["call"] in self.open:
                self.texts.pop(event["call"], None)
                started = self.open.pop(event["call"]).value()
                started.clear()
                started.update(event["arguments"])
            case "nameless_call":
                self.facts.calls.append(("", event["payload"]))
