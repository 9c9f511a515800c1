"""Law 9: no success without understanding.

An answer in which nothing was understood, that has no reason to end, that goes on, or whose call
was malformed never ends like a good one. The oracle of the wire decides that. The law asks the
recorded answer, and answers of other servers in its place: its status and headers stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from harness.facts import CONTINUATION, Facts
from harness.stream.exchange import Exchange

from ..adapters import Adapter, AdapterError, OutOfTime
from ..metamorphic.content import with_finish
from ..metamorphic.messages import edited
from .law import Breach, Law
from .loss import facts_of, unknown_model
from .variants import plain, with_reads
from .wire import provider_of, wire_facts

BODIES: Final = {
    "an empty body": b"",
    "a web page": b"<!DOCTYPE html>\n<html>\n<body>Sign in to continue</body>\n</html>\n",
    "a stream of OpenAI": (
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt","choices":'
        b'[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}\n\n'
        b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt","choices":'
        b'[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    ),
    "bytes as Python prints them": (
        b'data: b\'{"candidates": [{"content": {"parts": [{"text": "Hi"}]},'
        b' "finishReason": "STOP"}]}\'\n\n'
    ),
}
"""Bodies in which nothing is understood, by what they are."""

ENDS: Final = {
    "the answer without its finish reason": edited(with_finish(None)),
    "the answer with a malformed call": edited(with_finish("MALFORMED_FUNCTION_CALL")),
}
"""Changes of the recorded messages, which leave no good end."""


def success_findings(exchange: Exchange, adapter: Adapter) -> list[Breach]:
    """One breach for each answer that ends like a good one and is none."""
    return [
        Breach(f"{name} ends like a good answer, although {reason}", answer)
        for name, answer in _answers(exchange, adapter)
        if (reason := no_good_end(wire_facts(answer, adapter))) and _ends_well(answer, adapter)
    ]


def _answers(exchange: Exchange, adapter: Adapter) -> Iterator[tuple[str, Exchange]]:
    """The recorded answer and what may come in its place, each under a name."""
    yield "the answer", exchange
    original = replace(plain(exchange), end="complete")
    for name, body in BODIES.items():
        yield name, with_reads(original, body)
    if provider_of(exchange, adapter).gemini_messages:
        for name, change in ENDS.items():
            changed = change(original)
            if changed is not None:
                yield name, changed


def no_good_end(wire: Facts) -> str:
    """Why an answer must not end like a good one; "" where it may.

    An answer with a call may always end as a call. Errors and refusals are not looked at: law 3
    compares them.
    """
    if not wire.understood:
        return "nothing in it was understood"
    if wire.errors or wire.block_reason is not None or wire.calls or wire.blocks:
        return ""
    if wire.finish is None:
        return "it gives no reason to end"
    if wire.finish == CONTINUATION:
        return "it goes on in another answer"
    return f"its finish reason is {wire.finish}" if wire.is_malformed else ""


def _ends_well(answer: Exchange, adapter: Adapter) -> bool:
    """Whether the adapter tells a good end; an exception is none."""
    try:
        facts = facts_of(adapter, adapter.output(answer))
    except OutOfTime:
        raise
    except AdapterError:
        return False
    return isinstance(facts, Facts) and facts.ended_well


SUCCESS = Law(
    9,
    "No success without understanding",
    "An answer in which nothing was understood, that has no reason to end, that goes on, or whose"
    " call was malformed never ends like a good one.",
    success_findings,
    unasked=unknown_model,
    feature="finish.none",
)
