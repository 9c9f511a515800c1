"""Reads the facts in ART StreamEvents: text, thoughts, counts, errors, the finish reason and
unknown parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import Facts, finish_class
from harness.stream.json_codec import Json
from harness.stream.session import Session

_COUNTS = {
    "inputTokens": "promptTokenCount",
    "outputTokens": "candidatesTokenCount",
    "thinkingTokens": "thoughtsTokenCount",
}
_BLOCKED = "Gemini API call blocked: "


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session | None = None) -> Facts:
    """Return the facts in StreamEvents."""
    facts = Facts()
    for payload in payloads:
        data = payload["data"]
        match payload["type"]:
            case "TOKEN" if payload["tokenType"].endswith("LLM_THINKING"):
                facts.add_thought(data)
            case "TOKEN":
                facts.add_text(data)
            case "METADATA":
                facts.finish = data.get("stopReason")
                facts.ended_well = finish_class(facts.finish) not in (None, "other")
                facts.add_usage(data, _COUNTS, data.get("providerRawUsage"))
            case "ERROR" if data["message"].startswith(_BLOCKED):
                facts.block_reason = data["message"].removeprefix(_BLOCKED)
            case "ERROR":
                code = data.get("code")
                facts.add_error(code if isinstance(code, int) else None, data["message"])
            case "UNKNOWN":
                facts.raw.append(data)
    return facts
