"""Reads the facts in ART StreamEvents: text, thoughts, counts, errors, the finish reason and
unknown parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from harness.facts import Error, Fact, Finish, Raw, Text, Thought, finish_class
from harness.facts.detail import Blocked, GoodEnd, usage_of
from harness.stream.json_codec import Json
from harness.stream.session import Session

_COUNTS = {
    "inputTokens": "promptTokenCount",
    "outputTokens": "candidatesTokenCount",
    "thinkingTokens": "thoughtsTokenCount",
}
_BLOCKED = "Gemini API call blocked: "


def read_facts(
    payloads: Iterable[Mapping[str, Json]], session: Session | None = None
) -> Iterator[Fact]:
    """Yield the facts in StreamEvents."""
    finish = None
    for payload in payloads:
        data = payload["data"]
        match payload["type"]:
            case "TOKEN" if payload["tokenType"].endswith("LLM_THINKING"):
                yield Thought(data)
            case "TOKEN":
                yield Text(data)
            case "METADATA":
                finish = data.get("stopReason")
                yield from usage_of(data, _COUNTS, data.get("providerRawUsage"))
            case "ERROR" if data["message"].startswith(_BLOCKED):
                yield Blocked(data["message"].removeprefix(_BLOCKED))
            case "ERROR":
                code = data.get("code")
                yield Error(code if isinstance(code, int) else None, data["message"])
            case "UNKNOWN":
                yield Raw(data)
    yield from [Finish(finish)] if finish else []
    if finish_class(finish) not in (None, "other"):
        yield GoodEnd()
