"""The classes of the reasons for which a candidate ends
(https://ai.google.dev/api/generate-content#FinishReason).
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import FinishClass

_CLASSES: Final[dict[FinishClass, str]] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": (
        "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR "
        "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
    ),
    "malformed": (
        "MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS"
        " MISSING_THOUGHT_SIGNATURE"
    ),
    "continuation": "CONTINUATION",
    "other": (
        "FINISH_REASON_UNSPECIFIED LANGUAGE OTHER IMAGE_OTHER NO_IMAGE ESCALATION"
        " PUP_LIMITED_DISABLED"
    ),
}

FINISH_REASONS: Final[dict[str, FinishClass]] = {
    word: kind for kind, words in _CLASSES.items() for word in words.split()
}
"""Every known reason → its class. A reason that is not here is ``other`` too."""

_NUMBERED: Final = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION")


def name_reason(reason: str | int) -> str:
    """Return the word of a reason. Numbers above 4 differ between the surfaces and stay ``#N``."""
    if isinstance(reason, str):
        return reason
    return _NUMBERED[reason] if 0 <= reason < len(_NUMBERED) else f"#{reason}"
