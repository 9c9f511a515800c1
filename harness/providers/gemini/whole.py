"""Whether the messages of generateContent are one answer."""

from __future__ import annotations

from collections.abc import Sequence

from harness.stream.exchange import Request
from harness.stream.framing import Frame


def fault_of(request: Request | None, frames: Sequence[Frame]) -> str:
    """Return why messages are not one answer, or "": they have several response ids."""
    messages = [frame.json for frame in frames if isinstance(frame.json, dict)]
    answers = (message.get("response", message) for message in messages)
    ids = {answer.get("responseId") for answer in answers if isinstance(answer, dict)}
    return "has two answers" if len({text for text in ids if isinstance(text, str)}) > 1 else ""
