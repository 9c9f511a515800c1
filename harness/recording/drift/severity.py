"""The feature and the severity of a difference, by its path in the message.

Breaking: an application that reads the recorded stream loses data or fails on the new one. Notable:
clients continue to work, but a review is necessary. Harmless: the difference is random, or
documented as optional.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from harness.stream.events import FinishClass

Severity = Literal["breaking", "notable", "harmless"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""The severities, the most severe first."""


@dataclass(frozen=True, slots=True)
class Place:
    """The severity of a field that is missing (``gone``) or new (``new``), and of a new enum value
    (``word``).
    """

    feature: str
    gone: Severity = "breaking"
    new: Severity = "notable"
    word: Severity = "notable"


_PART: Final = r"parts\[\]\."

PLACES: Final[tuple[tuple[str, Place], ...]] = (
    (r"^lines\[result\]", Place("gemini-cli.errors", word="breaking")),
    (r"^lines\[error\]", Place("gemini-cli.errors", new="breaking")),
    (r"^lines\[tool_", Place("gemini-cli.tools")),
    (r"^lines\[(?:init|message)\]", Place("gemini-cli.stream-json")),
    (r"^lines\[", Place("gemini-cli.unknown")),
    (r"^step_update\.(?:tool|subagent)_", Place("agy.tools")),
    (
        r"^result\.(?:status|error|denied_actions)\b",
        Place("agy.errors", "breaking", "breaking", "breaking"),
    ),
    (r"^result\.response$", Place("agy.final-response")),
    (r"^step_update\.usage\b", Place("usage.totals")),
    (r"^result\.usage\b", Place("usage.totals")),
    (r"^step_update\.state$", Place("agy.steps", word="breaking")),
    (r"^step_update\.step_type$", Place("agy.steps")),
    (r"^(?:event|init|step_update|result)\b", Place("agy.stream-json")),
    (r"^command\b", Place("agy.commands")),
    (r"\berror\..*\[(?:QuotaFailure|RetryInfo)\]", Place("errors.quota", word="breaking")),
    (
        r"(?:^|^\[\]\.|^response\.)error\b",
        Place("errors.in-stream", new="breaking", word="breaking"),
    ),
    (r"^(?:session_id|stats|warnings)\b", Place("gemini-cli.document")),
    (r"promptFeedback\b", Place("finish.blocked-prompt", new="breaking", word="breaking")),
    (
        r"usageMetadata\.(?:cachedContentTokenCount|cacheTokensDetails)",
        Place("usage.cached", "harmless", "harmless"),
    ),
    (r"usageMetadata\.thoughtsTokenCount", Place("usage.thoughts", "notable", "notable")),
    (r"usageMetadata\.toolUse", Place("usage.tool-use", "notable", "notable")),
    (r"usageMetadata\.\w+(?:Details|Tier|Type)\b", Place("usage.details", "notable", "harmless")),
    (r"usageMetadata\b", Place("usage.totals")),
    (r"(?:traceId|\w+Credits)\b", Place("code-assist.trace-and-credits", "notable", "harmless")),
    (
        r"(?:responseId|modelVersion|createTime|modelStatus)\b",
        Place("reply.metadata", "notable", "harmless"),
    ),
    (r"safetyRatings\b", Place("annotations.safety-ratings", "harmless", "harmless", "harmless")),
    (r"citation(?:Metadata|s|Sources)\b", Place("annotations.citations", "notable")),
    (r"groundingMetadata\b", Place("annotations.grounding", "notable")),
    (r"urlContextMetadata\b", Place("annotations.url-context", "notable")),
    (r"(?:logprobsResult|avgLogprobs)\b", Place("annotations.logprobs", "notable", "harmless")),
    (r"finishMessage\b", Place("finish.message", "notable", "harmless")),
    (r"finishReason\b", Place("finish.none")),
    (_PART + r"thoughtSignature$", Place("signatures.call")),
    (_PART + r"thought$", Place("thoughts.summaries", "notable")),
    (_PART + r"text$", Place("text.streaming")),
    (
        _PART + r"functionCall\.(?:partialArgs|willContinue)\b",
        Place("tool-calls.streamed-arguments", new="breaking"),
    ),
    (_PART + r"functionCall\.id$", Place("tool-calls.missing-id", new="harmless")),
    (_PART + r"functionCall$", Place("tool-calls.single", new="breaking")),
    (_PART + r"functionCall\b", Place("tool-calls.single")),
    (_PART + r"inlineData\b", Place("media.inline", new="breaking")),
    (_PART + r"fileData\b", Place("media.file", new="breaking")),
    (
        _PART + r"(?:executableCode|codeExecutionResult)\b",
        Place("server-side.code-execution", word="breaking"),
    ),
    (_PART + r"(?:toolCall|toolResponse)\b", Place("server-side.tools")),
    (_PART + r"functionResponse\b", Place("server-side.tool-results")),
    (_PART + r"\w+$", Place("unknown.parts", new="breaking")),
    (_PART, Place("unknown.parts")),
    (r"candidates\[\]\.index$", Place("candidates.several", "harmless", "harmless")),
    (
        r"(?:^|\.)(?:candidates\[\]|content|role|parts(?:\[\])?|candidates)$",
        Place("text.empty-parts", word="breaking"),
    ),
    (r"^response$", Place("code-assist.envelope", new="breaking")),
    (r"^(?:interaction\.)?status$", Place("interactions.status", word="breaking")),
    (r"^(?:event_type|index|event_id)$", Place("interactions.steps", word="breaking")),
    (r"^delta\.arguments$", Place("interactions.arguments", new="breaking")),
    (r"^(?:step|steps\[\]|delta)\b", Place("interactions.steps", word="breaking")),
    (r"^choices\[\]\.finish_reason$", Place("compat.finish")),
    (r"^choices\[\]\..*\bextra_content\b", Place("compat.extra-content")),
    (r"^choices\[\]\..*\btool_calls$", Place("compat.calls", new="breaking")),
    (r"^choices\[\]\..*\btool_calls\b", Place("compat.calls")),
    (r"^choices\b", Place("compat.chunks", word="breaking")),
    (
        r"(?:^|\.)usage\.(?:\w+_by_modality|grounding_tool_count|raw_prompt_token)",
        Place("usage.details", "notable", "harmless"),
    ),
    (r"(?:^|\.)usage\b", Place("usage.totals")),
    (
        r"^(?:interaction\.|interaction_)?(?:id|object|created|updated|model|agent|service_tier)$",
        Place("reply.metadata", "notable", "harmless", "harmless"),
    ),
)
"""Pattern of a path → feature and severities. The first match is used. Paths are in camelCase."""

ELSEWHERE: Final = Place("unknown.fields", "notable", "notable")

FINISH: Final[dict[FinishClass, str]] = {
    "stop": "finish.stop",
    "length": "finish.length",
    "content_filter": "finish.content-filter",
    "malformed": "finish.malformed",
    "continuation": "finish.continuation",
}
"""Class of a finish reason → feature; `finish.other` for any other class."""

ENDS: Final[dict[str, str]] = {
    "complete": "stream-end.clean",
    "cut": "stream-end.cut",
    "reset": "stream-end.reset",
}

KINDS: Final[dict[str, str]] = {
    "text": "text.streaming",
    "thought": "thoughts.summaries",
    "call": "tool-calls.parallel",
    "signature": "signatures.several",
}
"""Kind of a part → the feature of its order."""

SIGNED: Final[dict[str, str]] = {
    "call": "signatures.call",
    "text": "signatures.text",
    "thought": "signatures.thought",
}
"""Kind of the part before a signature → feature."""

_SNAKE: Final = re.compile(r"_([a-z])")


def place_of(path: str) -> Place:
    """Feature and severities of a path in camelCase or snake_case."""
    camel = _SNAKE.sub(lambda match: match[1].upper(), path)
    return next(
        (
            place
            for pattern, place in PLACES
            if re.search(pattern, path) or re.search(pattern, camel)
        ),
        ELSEWHERE,
    )
