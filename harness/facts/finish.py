"""The classes of finish reasons, with the words of all public wires."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

FinishClass = Literal["stop", "length", "filter", "other"]

CALL_WORDS: Final = frozenset(
    {
        *("TOOL_CALLS", "TOOL_CALL", "TOOL_USE", "TOOL_EXECUTION"),
        *("FUNCTION_CALL", "FUNCTION_CALLS", "REQUIRES_ACTION"),
    }
)
"""The words of class ``stop`` that say that the answer ended in order to call a tool."""

MALFORMED: Final = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
    }
)
"""Gemini's reasons for an answer whose call or text is malformed."""

CONTINUATION: Final = frozenset(
    {
        "CONTINUATION",
        "requires_continuation",
        "reconnection_required",
        "pause_turn",
        "compaction",
        "IN_PROGRESS",
    }
)
"""The reasons, of all wires, for an answer that continues in another response."""

FINISH_WORDS: Final[Mapping[FinishClass, frozenset[str]]] = {
    "stop": frozenset(
        {
            *("STOP", "END_TURN", "STOP_SEQUENCE", "EOS", "EOS_TOKEN"),
            *("COMPLETED", "COMPLETE", "DONE", "FINISH", "SUCCESS", "RESULT", "TURN_COMPLETE"),
            *CALL_WORDS,
        }
    ),
    "length": frozenset(
        {
            *("MAX_TOKENS", "MAX_OUTPUT_TOKENS", "MAX_LENGTH", "LENGTH", "MODEL_LENGTH"),
            *("TOKEN_LIMIT", "TOKEN_LIMIT_REACHED", "MODEL_CONTEXT_WINDOW_EXCEEDED"),
            *("TRUNCATED", "INCOMPLETE", "BUDGET_EXCEEDED", "PRINT_TIMEOUT"),
        }
    ),
    "filter": frozenset(
        {
            *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"),
            *("JAILBREAK", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
            *("REFUSAL", "BLOCKED", "GUARDRAIL_INTERVENED", "CONTENT_FILTER", "CONTENT_FILTERED"),
        }
    ),
}
"""The words of each class, in capitals and joined by ``_``. Every other word is ``other``."""

_CLASSES: Final = {word: kind for kind, words in FINISH_WORDS.items() for word in words}
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_JOINTS: Final = re.compile(r"[\s_-]+")
ORDINARY: Final = frozenset({"OTHER", "LANGUAGE", "ERROR", "UNKNOWN"})
"""Reasons that are ordinary words. A text names them only in capitals."""
_NONE: Final = frozenset({"", "NONE", "NULL", "UNDEFINED"})


def finish_class(raw: str | None) -> FinishClass | None:
    """Return the class of a reason in any spelling (``FinishReason.STOP``, ``tool-calls``,
    ``maxTokens``, ``end_turn``). An unknown word is ``other``; None or an empty word has no class.
    ``content_filter`` may be followed by more text.
    """
    if kind := _CLASSES.get((raw or "").upper()):  # nearly every word
        return kind
    if folded(raw or "").startswith("CONTENT_FILTER"):
        return "filter"
    word = _word(raw)
    return None if word in _NONE else _CLASSES.get(word, "other")


def is_malformed(raw: str | None) -> bool:
    """Return whether the reason reports a malformed call or text. The OpenAI-compatible endpoint
    puts ``function_call_filter: `` before the word.
    """
    return (raw or "").rpartition(": ")[2] in MALFORMED


def ends_in_call(raw: str | None) -> bool:
    """Return whether the reason says that the answer ended in order to call a tool."""
    return _word(raw) in CALL_WORDS


def ends_without_call(raw: str | None) -> bool:
    """Return whether the reason excludes a waiting call: Anthropic's event model has ``tool_use``
    for an answer with a call, and its clients run tools only then.
    """
    return _word(raw) == "END_TURN"


@lru_cache(maxsize=256)
def _pattern_of(reason: str) -> re.Pattern[str] | None:
    """Return a pattern that finds a reason in a text; None for a reason that no text can name."""
    is_word = re.fullmatch("[A-Za-z]+", reason) is not None and finish_class(reason) == "other"
    if is_word and reason.upper() in ORDINARY and not reason.isupper():
        return None
    parts = [reason] if is_word else [re.escape(part) for part in folded(reason).split("_") if part]
    if not parts:
        return None
    words = r"[\s_-]*".join(parts)
    flags = 0 if is_word else re.IGNORECASE
    return re.compile(rf"(?<![A-Za-z0-9]){words}(?![A-Za-z0-9])", flags)


def names_reason(text: str, reason: str) -> bool:
    """Return whether a text, such as that of an error, names a finish reason of the wire. Case,
    ``_``, ``-`` and spaces may differ, except for a reason of class other that is one word, such as
    ``OTHER`` or ``failed``. A reason such as ``content_filter: SAFETY`` has two parts; one is
    enough.
    """
    patterns = map(_pattern_of, {reason, *reason.split(": ")} - {""})
    return any(pattern.search(text) for pattern in patterns if pattern)


def folded(word: str) -> str:
    """Return a word in capitals, with ``_`` for spaces, hyphens and before the humps of
    camelCase.
    """
    return _JOINTS.sub("_", _HUMP.sub("_", word.strip())).upper()


def _word(raw: str | None) -> str:
    return folded((raw or "").rpartition(".")[2])
