"""Whether a body of generateContent is one answer."""

from __future__ import annotations

from harness.stream.decompression import unpack_before_fault
from harness.stream.exchange import Exchange
from harness.stream.framing import frames_of_body


def fault_of(exchange: Exchange) -> str:
    """Return why a body is not one answer, or "": its messages have several response ids."""
    body, _ = unpack_before_fault(exchange.body, exchange.header("content-encoding"))
    messages = (frame.json for frame in frames_of_body(body))
    answers = (
        message.get("response", message) for message in messages if isinstance(message, dict)
    )
    ids = {answer.get("responseId") for answer in answers if isinstance(answer, dict)}
    return "has two answers" if len({text for text in ids if isinstance(text, str)}) > 1 else ""
