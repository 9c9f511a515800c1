"""The reader of canonical events: gives their facts, for the comparison with the raw body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from harness.facts import Call, Error, Fact, Finish, Text, Thought, arguments_of
from harness.facts.detail import (
    Blocked,
    Content,
    Fields,
    FinishMessage,
    GoodEnd,
    InvalidCall,
    Notice,
    OpenCall,
    Signature,
    Unfinished,
    usage_of,
)
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


_PARTS: Final[dict[str, Content]] = {
    "media": Content("media"),
    **dict.fromkeys(("code", "code_result"), Content("code")),
    **dict.fromkeys(("server_call", "server_result"), Content("server_tools")),
}
_SIGNED: Final = {"text": "text", "reasoning": "thought"}


def gather_events(events: Iterable[Mapping[str, Json]]) -> list[Fact]:
    """Return the facts of candidate 0 in canonical events (``{"kind": …}``, without fields at their
    default).
    """
    reader = _EventReader()
    facts: list[Fact] = []
    for event in events:
        if event.get("candidate", 0) <= 0 or event["kind"] == "annotation":
            facts += reader.read(event)
    facts += reader.open_calls()
    if not any(isinstance(fact, InvalidCall) for fact in facts) and (
        reader.reason in _GOOD_ENDS
        or (
            reader.reason == "malformed"
            and any(isinstance(fact, Call | OpenCall) for fact in facts)
        )
    ):
        facts.append(GoodEnd())
    return read_raw(facts)


class _EventReader:
    def __init__(self) -> None:
        self.reason: str | None = None
        self._open: dict[int, tuple[str, Assembly]] = {}
        self._texts: dict[int, str] = {}
        """The arguments so far, as JSON text, of calls that have not ended."""

    def read(self, event: Mapping[str, Json]) -> Iterator[Fact]:
        """Yield the facts of one event; other kinds have none."""
        kind = event["kind"]
        match kind:
            case "start":
                names = {wire for name, wire in _START.items() if event.get(name) is not None}
                yield Fields(frozenset(names))
            case "metadata" if event["name"] in _START:
                yield Fields(frozenset({_START[event["name"]]}))
            case "text":  # text of any role other than the model is not answer text
                yield from () if event.get("role") else (Text(event["text"]),)
            case "reasoning":
                yield Thought(event["text"])
            case (
                "call_start"
                | "call_piece"
                | "call_text"
                | "call_end"
                | "call_invalid"
                | "nameless_call"
            ):
                yield from self._call(kind, event)
            case "usage":
                yield from usage_of(event, _EVENT_COUNTS, event["raw"])
            case "finish":
                yield Finish(event["raw"])
                yield FinishMessage(event.get("message"))
                self.reason = event["reason"]
            case "blocked":
                yield Blocked(event["reason"])
            case "error":
                words = filter(None, (event.get("status"), event["message"]))
                yield Error(event.get("code"), " ".join(words))
            case "tool_result":
                yield from read_tool_result(event)
            case "incomplete":
                yield Unfinished()
            case "notice":
                yield Notice(event["message"])
            case "unknown":
                yield from read_raw_part(event.get("raw"))
            case _ if kind in _PARTS:
                yield _PARTS[kind]
        if event.get("signature") is not None:
            signed_as = "call" if "call" in event else _SIGNED.get(kind, "other")
            signed_as = "other" if kind == "text" and event.get("role") else signed_as
            yield Signature(signed_as, event["signature"])
        if names := names_in(event.get("raw")):
            yield Fields(frozenset(names))

    def open_calls(self) -> Iterator[Fact]:
        """Yield the calls that have not ended, with the arguments so far."""
        for call, (name, arguments) in self._open.items():
            text = self._texts.get(call)
            yield OpenCall(name, arguments.value() if text is None else arguments_of(text))

    def _call(self, kind: str, event: Mapping[str, Json]) -> Iterator[Fact]:
        call = event["call"]
        if kind == "call_start":
            self._open[call] = event["name"], Assembly()
        elif kind == "nameless_call":
            yield Call(None, "", event["payload"])
        elif call not in self._open:
            return
        elif kind == "call_piece" and event.get("path"):
            self._open[call][1].add(event["path"], event.get("value"))
        elif kind == "call_text":
            self._texts[call] = self._texts.get(call, "") + event["text"]
        elif kind == "call_invalid":
            name, _ = self._open.pop(call)
            self._texts.pop(call, None)
            yield InvalidCall(name, event["text"])
        elif kind == "call_end":
            name, _ = self._open.pop(call)
            self._texts.pop(call, None)
            yield Call(None, name, event["arguments"])
