"""The feature and the severity of a difference, by its path in the message.

Breaking: an application that reads the recorded stream loses data or fails on the new one. Notable:
clients continue to work, but a review is necessary. Harmless: the difference is random, or
documented as optional.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from harness.providers import PROVIDERS
from harness.stream.events import FinishClass

Severity = Literal["breaking", "notable", "harmless"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""The severities, the most severe first."""


@dataclass(frozen=True, slots=True)
class Impact:
    """The severity of the differences of a field."""

    feature: str
    gone: Severity = "breaking"
    """Of a field that is missing."""
    new: Severity = "notable"
    """Of a field that is new."""
    word: Severity = "notable"
    """Of a new enum value."""


_PART: Final = r"parts\[\]\."

PLACES: Final[tuple[tuple[str, Impact], ...]] = (
    (r"^lines\[result\]", Impact("gemini-cli.errors", word="breaking")),
    (r"^lines\[error\]", Impact("gemini-cli.errors", new="breaking")),
    (r"^lines\[tool_", Impact("gemini-cli.tools")),
    (r"^lines\[(?:init|message)\]", Impact("gemini-cli.stream-json")),
    (r"^lines\[", Impact("gemini-cli.unknown")),
    (r"\berror\..*\[(?:QuotaFailure|RetryInfo)\]", Impact("errors.quota", word="breaking")),
    (
        r"(?:^|^\[\]\.|^response\.)error\b",
        Impact("errors.in-stream", new="breaking", word="breaking"),
    ),
    (r"^(?:session_id|stats|warnings)\b", Impact("gemini-cli.document")),
    (r"promptFeedback\b", Impact("finish.blocked-prompt", new="breaking", word="breaking")),
    (
        r"usageMetadata\.(?:cachedContentTokenCount|cacheTokensDetails)",
        Impact("usage.cached", "harmless", "harmless"),
    ),
    (r"usageMetadata\.thoughtsTokenCount", Impact("usage.thoughts", "notable", "notable")),
    (r"usageMetadata\.toolUse", Impact("usage.tool-use", "notable", "notable")),
    (
        r"usageMetadata\.\w+(?:Details|Tier|Type)\b",
        Impact("usage.details", "notable", "harmless"),
    ),
    (r"usageMetadata\b", Impact("usage.totals")),
    (
        r"(?:traceId|\w+Credits)\b",
        Impact("code-assist.trace-and-credits", "notable", "harmless"),
    ),
    (
        r"(?:responseId|modelVersion|createTime|modelStatus)\b",
        Impact("reply.metadata", "notable", "harmless"),
    ),
    (
        r"safetyRatings\b",
        Impact("annotations.safety-ratings", "harmless", "harmless", "harmless"),
    ),
    (r"citation(?:Metadata|s|Sources)\b", Impact("annotations.citations", "notable")),
    (r"groundingMetadata\b", Impact("annotations.grounding", "notable")),
    (r"urlContextMetadata\b", Impact("annotations.url-context", "notable")),
    (
        r"(?:logprobsResult|avgLogprobs)\b",
        Impact("annotations.logprobs", "notable", "harmless"),
    ),
    (r"finishMessage\b", Impact("finish.message", "notable", "harmless")),
    (r"finishReason\b", Impact("finish.none")),
    (_PART + r"thoughtSignature$", Impact("signatures.call")),
    (_PART + r"thought$", Impact("thoughts.summaries", "notable")),
    (_PART + r"text$", Impact("text.streaming")),
    (
        _PART + r"functionCall\.(?:partialArgs|willContinue)\b",
        Impact("tool-calls.streamed-arguments", new="breaking"),
    ),
    (_PART + r"functionCall\.id$", Impact("tool-calls.missing-id", new="harmless")),
    (_PART + r"functionCall$", Impact("tool-calls.single", new="breaking")),
    (_PART + r"functionCall\b", Impact("tool-calls.single")),
    (_PART + r"inlineData\b", Impact("media.inline", new="breaking")),
    (_PART + r"fileData\b", Impact("media.file", new="breaking")),
    (
        _PART + r"(?:executableCode|codeExecutionResult)\b",
        Impact("server-side.code-execution", word="breaking"),
    ),
    (_PART + r"(?:toolCall|toolResponse)\b", Impact("server-side.tools")),
    (_PART + r"functionResponse\b", Impact("server-side.tool-results")),
    (_PART + r"\w+$", Impact("unknown.parts", new="breaking")),
    (_PART, Impact("unknown.parts")),
    (r"candidates\[\]\.index$", Impact("candidates.several", "harmless", "harmless")),
    (
        r"(?:^|\.)(?:candidates\[\]|content|role|parts(?:\[\])?|candidates)$",
        Impact("text.empty-parts", word="breaking"),
    ),
    (r"^response$", Impact("code-assist.envelope", new="breaking")),
    (r"^(?:interaction\.)?status$", Impact("interactions.status", word="breaking")),
    (r"^(?:event_type|index|event_id)$", Impact("interactions.steps", word="breaking")),
    (r"^delta\.partialJson$", Impact("anthropic.input", new="breaking")),
    (r"^(?:delta|message)\.stop(?:Reason|Sequence|Details)\b", Impact("anthropic.stop-reasons")),
    (r"^delta\.thinking$", Impact("anthropic.thinking", new="breaking")),
    (r"^contentBlock\b", Impact("anthropic.blocks", word="breaking")),
    (r"^response\.(?:status|incompleteDetails)\b", Impact("openai.status", word="breaking")),
    (r"^(?:item|response\.output)\b", Impact("openai.items", word="breaking")),
    (r"^(?:outputIndex|contentIndex)$", Impact("openai.items", word="breaking")),
    (r"^(?:part|annotation)\b", Impact("openai.annotations")),
    (r"^delta\.arguments$", Impact("interactions.arguments", new="breaking")),
    (r"^(?:step|steps\[\]|delta)\b", Impact("interactions.steps", word="breaking")),
    (r"^choices\[\]\.finish_reason$", Impact("compat.finish")),
    (r"^choices\[\]\..*\bextra_content\b", Impact("compat.extra-content")),
    (r"^choices\[\]\..*\btool_calls$", Impact("compat.calls", new="breaking")),
    (r"^choices\[\]\..*\btool_calls\b", Impact("compat.calls")),
    (r"^choices\b", Impact("compat.chunks", word="breaking")),
    (
        r"(?:^|\.)usage\.(?:\w+_by_modality|grounding_tool_count|raw_prompt_token)",
        Impact("usage.details", "notable", "harmless"),
    ),
    (r"(?:^|\.)usage\b", Impact("usage.totals")),
    (
        r"^(?:interaction\.|interaction_)?(?:id|object|created|updated|model|agent|service_tier)$",
        Impact("reply.metadata", "notable", "harmless", "harmless"),
    ),
)
"""Pattern of a path → feature and severities. The first match is used. Paths are in camelCase."""

_OF_PROVIDERS: Final = tuple(
    (pattern, Impact(*severities))  # type: ignore[arg-type]  # Provider has the words as str
    for provider in PROVIDERS.values()
    for pattern, severities in provider.drift
)
"""The places of providers that have their own."""

ELSEWHERE: Final = Impact("unknown.fields", "notable", "notable")

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


def place_of(path: str) -> Impact:
    """Return the feature and the severities of a path in camelCase or snake_case."""
    camel = _SNAKE.sub(lambda match: match[1].upper(), path)
    return next(
        (
            place
            for pattern, place in (*_OF_PROVIDERS, *PLACES)
            if re.search(pattern, path) or re.search(pattern, camel)
        ),
        ELSEWHERE,
    )
