"""Reads the facts of a run of the Antigravity CLI from its events."""

from __future__ import annotations

from harness.facts import Facts
from harness.providers.event_facts import note_error
from harness.providers.gemini.raw_values import count_gemini
from harness.providers.provider import Answer
from harness.providers.run_facts import RunFacts
from harness.providers.wire_values import camel, strings
from harness.stream.events import (
    Error,
    Finish,
    Metadata,
    Notice,
    Reasoning,
    ToolResult,
    Unknown,
    Usage,
)
from harness.stream.json_codec import Json


class AgyFacts(RunFacts):
    """One run: see `harness.providers.provider.FactsReader`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._has_turns = False
        """Whether a turn before this one has text."""

    def _reasoning(self, event: Reasoning) -> None:
        self.facts.add_thought(event.text)

    def _tool_result(self, event: ToolResult) -> None:
        facts = self.facts
        facts.others.add("functionResponse")
        facts.add_result(event.error is not None, event.response)
        facts.add_opaque("server_tools", *strings(event.response))

    def _notice(self, event: Notice) -> None:
        if event.severity == "denied":
            self.facts.others.add("deniedActions")
        self.facts.notices.append(event.message)

    def _metadata(self, event: Metadata) -> None:
        facts, raw = self.facts, event.raw
        match event.name:
            case "session":
                facts.others |= {camel(name) for name in raw}
            case "run":
                facts.others |= {camel(name) for name in raw if name == "num_turns"}
            case "snapshot":
                facts.others.add("response")
                if raw["response"] and "\ufffd" in facts.text and not self._has_turns:
                    facts.mended = str(raw["response"])
            case "command" | "structured_output" | "usage" | "status":
                facts.others.add(camel(event.name))
        self._has_turns |= event.name == "status" and bool(facts.text)

    def _usage(self, event: Usage) -> None:
        count_usage(self.facts, event.raw)

    def _finish(self, event: Finish) -> None:
        super()._finish(event)
        self.facts.ended_well = self._ended_well = event.reason != "failed"
        self._has_turns |= bool(self.facts.text)

    def _error(self, event: Error) -> None:
        self._has_turns |= bool(self.facts.text)
        raw = event.raw
        if not isinstance(raw, dict) or "exit_code" in raw:
            super()._error(event)
            return
        detail = raw.get("AGY_ERROR")
        detail = detail if isinstance(detail, dict) else {}
        error = raw["error"] if "error" in raw else detail.get("short_error") or ""
        message = error.get("message") if isinstance(error, dict) else error
        named = {"code": detail.get("error_code"), "status": detail.get("status")}
        note_error(self.facts, {**named, "message": message if isinstance(message, str) else ""})

    def _unknown(self, event: Unknown) -> None:
        """Note the names of an unknown message. Unknown fields of a step are no facts."""
        if event.where in ("frame", "rest"):
            super()._unknown(event)
        elif event.where.startswith("event ") and isinstance(event.raw, dict):
            self.facts.others |= {camel(name) for name in event.raw}


def count_usage(facts: Facts, usage: dict[str, Json]) -> None:
    """Note counts in the words of the wire, and in those of generateContent: on this wire, the
    input excludes tokens that were read from the cache, and the output includes the thoughts.
    """
    counts = {name: value for name, value in usage.items() if type(value) is int}
    cached, thoughts = counts.get("cache_read_tokens", 0), counts.get("thinking_tokens", 0)
    count_gemini(facts, usage)
    facts.usage |= {
        "promptTokenCount": counts.get("input_tokens", 0) + cached,
        "candidatesTokenCount": counts.get("output_tokens", 0) - thoughts,
        "thoughtsTokenCount": thoughts,
        "cachedContentTokenCount": cached,
        "totalTokenCount": counts.get("total_tokens", 0),
    }
