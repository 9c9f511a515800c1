"""Law 9: no success without understanding.

An answer in which nothing was understood, that has no finish reason, that failed or is to be
continued, or whose call was malformed never ends like a good one. The oracle of the wire decides
whether an answer is good. The law checks the recorded answer and possible replacements with the
same status and headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from harness.adapters import AdapterError, Subject
from harness.facts import CONTINUATION, Error, Finish, Transcript, View, WireFacts
from harness.stream.exchange import Exchange

from ..aspects import facts_of, provider_of, read_raw_facts, wire_facts
from ..metamorphic import blocks, chat, items, session, steps
from ..metamorphic.content import with_finish
from ..metamorphic.messages import edited
from ..metamorphic.reads import plain, with_reads
from .law import Breach, Law
from .loss import unknown_model

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
"""Description → a body in which nothing can be understood."""

ENDS: Final = {
    "the answer without its finish reason": edited(with_finish(None)),
    "the answer with a malformed call": edited(with_finish("MALFORMED_FUNCTION_CALL")),
}
"""Changes of Gemini's messages that remove the good end."""

CHAT_ENDS: Final = {
    "the answer without its finish reason": chat.edited(chat.with_finish(None)),
    "the answer with a malformed call": chat.edited(chat.with_finish("MALFORMED_FUNCTION_CALL")),
}
"""The same changes of the messages of Chat Completions."""

STEP_ENDS: Final = {
    "the answer without its last event": steps.STREAM.edited(steps.remove_completed),
    "the answer with half a call": steps.STREAM.edited(steps.cut_arguments),
    "the answer with a piece of no call": steps.STREAM.edited(steps.misplace_piece),
    "the answer that ends with an update": steps.STREAM.edited(steps.end_with_update),
    "the answer that needs another connection": steps.STREAM.edited(steps.end_with_reconnection),
    "the answer that continues": steps.STREAM.edited(steps.with_status("requires_continuation")),
    "the answer that failed": steps.STREAM.edited(steps.with_status("failed")),
}
"""Changes of the events of the Interactions API that remove the good end."""

ITEM_ENDS: Final = {
    "the response without its last event": items.STREAM.edited(items.remove_last),
    "the response with half a call": items.STREAM.edited(items.cut_arguments),
    "the response that failed": items.STREAM.edited(items.with_status("failed", items.ERROR)),
}
"""Changes of the events of the Responses API that remove the good end."""
BLOCK_ENDS: Final = {
    "the answer without its stop reason": blocks.STREAM.edited(blocks.remove_reason),
    "the answer with half of an input": blocks.STREAM.edited(blocks.cut_arguments),
    "the answer that was paused": blocks.STREAM.edited(blocks.with_reason("pause_turn")),
}
"""Changes of the events of Anthropic's Messages API that remove the good end."""


WORSE_ENDS: Final[Mapping[str, Mapping[str, Callable[[Exchange], Exchange | None]]]] = {
    "generateContent": ENDS,
    "chat/completions": CHAT_ENDS,
    "interactions": STEP_ENDS,
    "openai": {**CHAT_ENDS, **ITEM_ENDS},
    "anthropic": BLOCK_ENDS,
    "live": session.ENDS,
}
"""The wire of a provider → the changes of its answers that remove the good end."""


def success_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return one breach for each bad answer that ends like a good one."""
    breaches = []
    for name, answer in _answers(exchange, subject):
        wire = wire_facts(answer, subject)
        reason = no_good_end(wire)
        if reason and _ends_well(answer, subject, wire):
            breaches.append(Breach(f"{name} ends like a good answer, although {reason}", answer))
    return breaches


def _answers(exchange: Exchange, subject: Subject) -> Iterator[tuple[str, Exchange]]:
    """Yield the recorded answer and its possible replacements, each with a name."""
    yield "the answer", exchange
    original = replace(plain(exchange), end="complete")
    for name, body in BODIES.items():
        yield name, with_reads(original, body)
    for name, change in WORSE_ENDS.get(provider_of(exchange, subject).wire, {}).items():
        changed = change(original)
        if changed is not None:
            yield name, changed


def no_good_end(wire: WireFacts) -> str:
    """Return the reason why an answer must not end like a good one, or "".

    An answer with a call may always end as a call. This does not check errors and refusals, because
    law 3 compares them.
    """
    if not wire.understood:
        return "nothing in it was understood"
    if wire.errors or wire.block_reason is not None:
        return ""
    if wire.invalid_calls:
        name = wire.invalid_calls[0][0]
        return f"the arguments of {f'the call {name}' if name else 'a call'} are not a JSON object"
    if wire.calls or wire.blocks:
        return ""
    if wire.finish is None:
        return "it has no finish reason"
    if wire.finish in CONTINUATION:
        return "it continues in another answer"
    return "" if wire.ended_well else f"its finish reason is {wire.finish}"


def _ends_well(answer: Exchange, subject: Subject, wire: WireFacts) -> bool:
    """Return whether the adapter reports a good end. An exception is not a good end. An adapter
    that states its facts may ask again after some answers. The end of the next answer is not
    checked.
    """
    output = subject.attempt(answer)
    if isinstance(output, AdapterError):
        return False
    if output.transcript is not None:
        asked_again = wire.may_be_asked_again(output.transcript.asked_again)
        return not asked_again and states_good_end(read_raw_facts(output.transcript))
    facts = facts_of(subject.adapter, output)
    return isinstance(facts, View) and facts.ended_well


def states_good_end(transcript: Transcript) -> bool:
    """Return whether the last finish reason is a stop or a length limit, and there is no error."""
    facts = list(transcript.facts())
    if transcript.raised or any(isinstance(fact, Error) for fact in facts):
        return False
    reasons = [fact for fact in facts if isinstance(fact, Finish)]
    return bool(reasons) and reasons[-1].finish_class in ("stop", "length")


SUCCESS = Law(
    9,
    "No success without understanding",
    "An answer in which nothing was understood, that has no finish reason, that failed or is to be"
    " continued, or whose call was malformed never ends like a good one.",
    success_findings,
    unasked=unknown_model,
    feature="finish.none",
)
