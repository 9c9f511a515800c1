"""Whether a body of Chat Completions is one answer."""

from __future__ import annotations

from harness.stream.decompression import unpack_before_fault
from harness.stream.exchange import Exchange
from harness.stream.framing import frames_of_body


def fault_of(exchange: Exchange) -> str:
    """Return why a body is not one answer, or "": it has messages after its end."""
    body, _ = unpack_before_fault(exchange.body, exchange.header("content-encoding"))
    ends = [str(frame.raw).strip() == "[DONE]" for frame in frames_of_body(body)]
    return "has two answers" if any(ends[:-1]) else ""
