"""The law about what goes back (8): an answer, translated back into the request that follows it,
has lost nothing of its calls.

The event model itself says how its application goes on: the payloads of the answer are appended to
a prompt, with an outcome for each call. What the request then holds is compared with the raw answer
by the independent reader, which knows no event model.
"""

from __future__ import annotations

from harness.cassettes import Exchange
from harness.dialects import DIALECTS
from harness.pipeline.replay import DEFAULT_PROVIDER
from harness.pipeline.request import ask, wrap
from harness.providers.oracle import gather_request, return_losses
from harness.stream.events import INTERRUPTED
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.session import Session

from .replayer import BOUNDLESS, Replayer


def what_goes_back(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 8: every call, id, name, argument and signature of a whole answer sits at its part of the
    next request.

    An answer that failed, that has the results in it already, or whose calls were written into its
    text is not sent back here.
    """
    half = DIALECTS[how.dialect].request
    if half is None or nothing_goes_back(exchange, how):
        return []
    provider = how.provider or exchange.provider or DEFAULT_PROVIDER
    wire = how.provider_of(exchange).facts(exchange, how.tool_code)
    session = Session(limit=BOUNDLESS)
    payloads = how.payloads(exchange, session)
    then = [ToolOutcome({"done": True}) for _ in wire.calls] if wire.calls else "Go on."
    try:
        prompt = half.follow_up(half.opening_prompt, payloads, then)
        body = wrap(
            ask(prompt, dialect=how.dialect, options=None, session=session), provider, session
        )
    except TranslationError as error:
        return [f"{how.dialect}: the answer can't be sent back: {error}"]
    found = return_losses(wire, gather_request(body), half.sent_back - {"call"})
    return [f"{how.dialect}: {finding}" for finding in found]


def nothing_goes_back(exchange: Exchange, how: Replayer) -> str:
    """Why law 8 has nothing to look at; "" where it has."""
    half = DIALECTS[how.dialect].request
    if half is None:
        return f"{how.dialect} asks nothing"
    if "call" not in half.sent_back:
        return f"{how.dialect} declares calls as lost"
    if how.reads_lines(exchange):
        return "a program's output is not sent back"
    wire = how.provider_of(exchange).facts(exchange, how.tool_code)
    failed = (
        exchange.end in INTERRUPTED
        or wire.errors
        or wire.block_reason is not None
        or wire.open_call
    )
    if failed:
        return "the answer failed"
    if wire.blocks or wire.results:
        return "its calls are text, or have their results already"
    return "" if wire.calls or wire.signatures else "the answer has no call and no signature"
