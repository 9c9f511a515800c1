"""Readers that lose what a border of network reads cuts, on the wires of Anthropic and OpenAI."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from harness import Exchange
from harness.adapters import ADAPTERS, Adapter, Output, RunOptions
from harness.judging.aspect_run import JudgedExchange, plan_answers
from harness.judging.rows import Row
from harness.judging.run import run_plan
from tests.faulty.faults import CASSETTE

BORDER_CASSETTES: Final = {
    "anthropic": ("anthropic/borders", "anthropic/agent"),
    "chat": ("openai/chat-borders", "openai/chat-agent"),
    "responses": ("openai/responses-borders", "openai/responses-agent"),
}
"""Wire → its recordings with borders inside messages, and some without borders."""

_END_OF_MESSAGE: Final = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)")


def cut_messages(reads: Sequence[bytes]) -> list[bytes]:
    """Each read is parsed alone: the message that a border cuts is dropped."""
    parts = [_END_OF_MESSAGE.split(read) for read in reads]
    joined = b"".join(reads)
    ends = (b"\n\n", b"\r\n\r\n")
    kept, at = [], 0
    for read in parts:
        for part in read:
            begins = not at or joined[:at].endswith(ends)
            kept += [part] if begins and part.endswith(ends) else []
            at += len(part)
    return kept


def cut_characters(reads: Sequence[bytes]) -> list[bytes]:
    """Each read is decoded alone: the character that a border cuts is dropped."""
    return [read.decode("utf-8", "ignore").encode() for read in reads]


def cut_line_ends(reads: Sequence[bytes]) -> list[bytes]:
    """The line ends around each read are stripped: two messages become one."""
    return [read.strip(b"\r\n") for read in reads]


BorderFault = Callable[[Sequence[bytes]], list[bytes]]
BORDER_FAULTS: Final[dict[str, BorderFault]] = {
    fault.__name__: fault for fault in (cut_messages, cut_characters, cut_line_ends)
}


def judged_at_borders(wire: str, fault: BorderFault | None) -> list[Row]:
    """The cells of the wire's recordings, judged as by default."""
    own = ADAPTERS["unified-llm"]

    def run(exchange: Exchange, options: RunOptions) -> Output:
        reads = [data for _, data in exchange.reads]
        if fault and len(reads) > 1:
            body = b"".join(fault(reads))
            exchange = replace(exchange, reads=((None, body),))
        return own.output(exchange, options)

    adapter: Adapter = replace(own, run=run)
    items = [
        JudgedExchange(cassette, number, exchange)
        for cassette in BORDER_CASSETTES[wire]
        for number, exchange in enumerate(CASSETTE(cassette).exchanges, 1)
    ]
    return [*run_plan(plan_answers(items), [adapter])]
