"""Whether the messages of Chat Completions are one answer."""

from __future__ import annotations

from collections.abc import Sequence

from harness.stream.exchange import Request
from harness.stream.framing import Frame


def fault_of(request: Request | None, frames: Sequence[Frame]) -> str:
    """Return why messages are not one answer, or "": some are after its end."""
    ends = [str(frame.raw).strip() == "[DONE]" for frame in frames]
    return "has two answers" if any(ends[:-1]) else ""
