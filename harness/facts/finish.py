"""The classes of finish reasons, with the words of all public wires."""

from __future__ import annotations

from typing import Final, Literal

FinishClass = Literal["stop", "length", "filter", "other"]

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

CONTINUATION: Final = frozenset({"CONTINUATION", "requires_continuation"})
"""Gemini's reasons for an answer that continues in another response."""

_WORDS: Final[dict[FinishClass, str]] = {
    "stop": (
        "STOP END_TURN STOP_SEQUENCE COMPLETED COMPLETE DONE SUCCESS RESULT"
        " TOOL_CALLS TOOL_CALL TOOL_USE FUNCTION_CALL REQUIRES_ACTION"
    ),
    "length": (
        "MAX_TOKENS LENGTH MAX_OUTPUT_TOKENS MODEL_LENGTH INCOMPLETE BUDGET_EXCEEDED PRINT_TIMEOUT"
    ),
    "filter": (
        "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR JAILBREAK"
        " IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
        " REFUSAL"
    ),
}
_CLASSES: Final = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_JOINED: Final = str.maketrans("- ", "__")
_CALLS: Final = frozenset(
    {"TOOL_CALLS", "TOOL_CALL", "TOOL_USE", "FUNCTION_CALL", "REQUIRES_ACTION"}
)
_NONE: Final = frozenset({"", "NONE", "NULL", "UNDEFINED"})


def finish_class(raw: str | None) -> FinishClass | None:
    """The class of a reason in any wire's spelling (``FinishReason.STOP``, ``tool-calls``,
    ``end_turn``). An unknown word is ``other``; None or an empty word has no class.
    ``content_filter`` may be followed by more text.
    """
    word = _word(raw)
    if word.startswith("CONTENT_FILTER"):
        return "filter"
    return None if word in _NONE else _CLASSES.get(word, "other")


def is_malformed(raw: str | None) -> bool:
    """Whether the reason reports a malformed call or text. The OpenAI-compatible endpoint puts
    ``function_call_filter: `` before the word.
    """
    return (raw or "").rpartition(": ")[2] in MALFORMED


def ends_in_call(raw: str | None) -> bool:
    """Whether the reason says that the answer ended in order to call a tool."""
    return _word(raw) in _CALLS


def ends_without_call(raw: str | None) -> bool:
    """Whether the reason excludes a waiting call: Anthropic's event model has ``tool_use`` for an
    answer with a call, and its clients run tools only then.
    """
    return _word(raw) == "END_TURN"


def _word(raw: str | None) -> str:
    return (raw or "").rpartition(".")[2].upper().translate(_JOINED)
