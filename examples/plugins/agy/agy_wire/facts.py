"""Reads the facts of a run of the Antigravity CLI from its events."""

from __future__ import annotations

from harness.facts import detail
from harness.facts.detail import Counts, Mended, Result
from harness.providers.event_facts import error_facts, opaque_values
from harness.providers.gemini.raw_values import count_gemini
from harness.providers.provider import Answer
from harness.providers.run_facts import RunFacts
from harness.providers.wire_values import camel, strings
from harness.stream.events import (
    Error,
    Finish,
    Metadata,
    Notice,
    Text,
    ToolResult,
    Unknown,
    Usage,
)
from harness.stream.json_codec import Json


class AgyFacts(RunFacts):
    """One run: see `harness.providers.provider.FactsReader`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._said = ""
        """The text so far."""
        self._has_turns = False
        """Whether a turn before this one has text."""

    def _text(self, event: Text) -> None:
        super()._text(event)
        self._said += "" if event.role else event.text

    def _tool_result(self, event: ToolResult) -> None:
        self._note_names(["functionResponse"])
        self.facts.append(Result.of(event.error is not None, event.response))
        self.facts += opaque_values("server_tools", *strings(event.response))

    def _notice(self, event: Notice) -> None:
        if event.severity == "denied":
            self._note_names(["deniedActions"])
        self.facts.append(detail.Notice(event.message))

    def _metadata(self, event: Metadata) -> None:
        raw = event.raw
        match event.name:
            case "session":
                self._note_names(camel(name) for name in raw)
            case "run":
                self._note_names(camel(name) for name in raw if name == "num_turns")
            case "snapshot":
                self._note_names(["response"])
                if raw["response"] and "\ufffd" in self._said and not self._has_turns:
                    self.facts.append(Mended(str(raw["response"])))
            case "command" | "structured_output" | "usage" | "status":
                self._note_names([camel(event.name)])
        self._has_turns |= event.name == "status" and bool(self._said)

    def _usage(self, event: Usage) -> None:
        self.facts.append(Counts(count_usage(event.raw)))

    def _finish(self, event: Finish) -> None:
        super()._finish(event)
        self._is_success = event.reason != "failed"
        self._has_turns |= bool(self._said)

    def _error(self, event: Error) -> None:
        self._has_turns |= bool(self._said)
        raw = event.raw
        if not isinstance(raw, dict) or "exit_code" in raw:
            super()._error(event)
            return
        detail = raw.get("AGY_ERROR")
        detail = detail if isinstance(detail, dict) else {}
        error = raw["error"] if "error" in raw else detail.get("short_error") or ""
        message = error.get("message") if isinstance(error, dict) else error
        named = {"code": detail.get("error_code"), "status": detail.get("status")}
        named["message"] = message if isinstance(message, str) else ""
        self.facts += error_facts(named)

    def _unknown(self, event: Unknown) -> None:
        """Note the names of an unknown message. Unknown fields of a step are no facts."""
        if event.where in ("frame", "rest"):
            super()._unknown(event)
        elif event.where.startswith("event ") and isinstance(event.raw, dict):
            self._note_names(camel(name) for name in event.raw)


def count_usage(usage: dict[str, Json]) -> dict[str, int]:
    """Return counts in the words of the wire, and in those of generateContent: on this wire, the
    input excludes tokens that were read from the cache, and the output includes the thoughts.
    """
    counts = {name: value for name, value in usage.items() if type(value) is int}
    cached, thoughts = counts.get("cache_read_tokens", 0), counts.get("thinking_tokens", 0)
    return count_gemini(usage) | {
        "promptTokenCount": counts.get("input_tokens", 0) + cached,
        "candidatesTokenCount": counts.get("output_tokens", 0) - thoughts,
        "thoughtsTokenCount": thoughts,
        "cachedContentTokenCount": cached,
        "totalTokenCount": counts.get("total_tokens", 0),
    }
