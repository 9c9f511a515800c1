"""Reads the facts in ART StreamEvents, and compares them with those of the wire.

ART carries text, thoughts, counts, errors, the finish reason and unknown parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import (
    Facts,
    error_findings,
    field_findings,
    finish_class,
    message_findings,
    text_findings,
    text_without_calls,
    unreadable_findings,
    usage_findings,
    value_findings,
)
from harness.stream.json_codec import Json
from harness.stream.printable import short_json
from harness.stream.session import Session

_COUNTS = {
    "inputTokens": "promptTokenCount",
    "outputTokens": "candidatesTokenCount",
    "thinkingTokens": "thoughtsTokenCount",
}
_BLOCKED = "Gemini API call blocked: "
_DECLARED = (
    *("annotations", "citationMetadata", "groundingMetadata", "groundingAttributions"),
    *("urlContextMetadata", "urlRetrievalMetadata", "blockReasonMessage"),
    *("logprobs", "logprobsResult", "avgLogprobs", "safetyRatings", "tokenCount"),
    *("responseId", "modelVersion", "partialArgs"),
    *("inlineData", "fileData", "videoMetadata", "mediaResolution"),
    *("executableCode", "codeExecutionResult", "mimeType", "sampleRate", "channels", "resolution"),
)
"""Fields of the wire that the declared losses cover."""


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session | None = None) -> Facts:
    """The facts in StreamEvents."""
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


def differences(wire: Facts, carried: Facts, interrupted: bool) -> list[str]:
    """The facts that StreamEvents lack or invent, without the declared losses."""
    wire = wire.until_the_end()
    findings = text_findings("thought", wire.thoughts, carried.thoughts)
    findings += text_findings("text", text_without_calls(wire, carried), carried.text)
    if carried.errors and "Invalid response structure" in carried.errors[0][1]:
        if wire.understood:
            findings.append(
                "answer lost: the answer has content, and the error is"
                f" {short_json(carried.errors[0][1])}"
            )
        return findings
    blocked = wire.block_reason is not None and not wire.errors
    if blocked:
        findings += value_findings("block reason", wire.block_reason, carried.block_reason)
    else:
        failed = bool(wire.invalid_calls)
        findings += error_findings(wire, carried, interrupted or failed, numbered=True)
        if failed and not (interrupted or wire.errors):
            findings += message_findings("finish", wire.malformed_reasons(()), carried)
    if not (carried.errors or blocked):
        findings += value_findings("finish", wire.finish, carried.finish)
        findings += usage_findings(wire.usage, carried.usage)
    traced = bool(carried.unreadable or carried.errors or interrupted)
    return [
        *findings,
        *field_findings(wire, carried, _DECLARED),
        *unreadable_findings(wire, traced),
    ]
