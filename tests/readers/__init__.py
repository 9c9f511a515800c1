"""The second readers of the wires, and the comparison of their facts with those of the events.

A second reader reads a raw body slowly and plainly. It shares no code with framer and normalizer, so
it can't share their faults. What it counts and lists is written in the package too, on purpose: a
change of one of the two is then a difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness.cassettes import Exchange
from harness.cassettes.load import load
from harness.facts import Facts, Run
from harness.providers import PROVIDERS, Answer, with_provider
from harness.providers.oracle.openai import is_responses
from harness.providers.oracle.openai_compat import gather_compat
from harness.providers.provider import EXIT_CODE, STDERR, TIER
from harness.stream.decompression import unpack_before_fault
from harness.stream.events import INTERRUPTED, End
from tests.readers.gemini import gather_body

from .gemini_cli import gather_cli
from .interactions import gather_interactions
from .messages import gather_messages
from .responses import gather_responses

CASSETTES = Path(__file__).parents[2] / "cassettes"
SecondReader = Callable[[bytes, Answer, End], Facts]


def _messages(body: bytes, answer: Answer, end: End) -> Facts:
    return gather_messages(body, answer.status, interrupted=end in INTERRUPTED)


def _generate_content(body: bytes, answer: Answer, end: End) -> Facts:
    facts = gather_body(body, answer.status, tool_code=answer.tool_code)
    if "serviceTier" not in facts.billing:
        facts.add_billing("serviceTier", answer.headers.get(TIER))
    return facts


def _interactions(body: bytes, answer: Answer, end: End) -> Facts:
    return gather_interactions(body, answer.status, interrupted=end in INTERRUPTED)


def _openai(body: bytes, answer: Answer, end: End) -> Facts:
    interrupted = end in INTERRUPTED
    if is_responses(body, answer.asked):
        return gather_responses(body, answer.status, interrupted=interrupted)
    return gather_compat(body, answer.status, interrupted=interrupted, tag=None)


def _gemini_cli(body: bytes, answer: Answer, end: End) -> Facts:
    code = "0" if end in INTERRUPTED else answer.headers.get(EXIT_CODE, "0")
    return gather_cli(body, code, answer.headers.get(STDERR, ""))


READERS: dict[str, SecondReader] = {
    "anthropic": _messages,
    "interactions": _interactions,
    "openai": _openai,
    "gemini-cli": _gemini_cli,
    **dict.fromkeys(("gemini-api", "vertex-ai", "code-assist"), _generate_content),
}
"""The second readers by the name of their provider."""


def answers(provider: str) -> Iterator[tuple[str, Exchange]]:
    """Yield the place and the exchange of every shipped answer of a wire."""
    for path in sorted(CASSETTES.rglob("*.yaml")):
        for number, exchange in enumerate(load(path).exchanges, 1):
            known = with_provider(exchange)
            if known.provider == provider and (known.generates or known.request is None):
                yield f"{path.relative_to(CASSETTES)}:{number}", known


def compare(body: bytes, exchange: Exchange) -> dict[str, tuple[Any, Any]]:
    """Return the facts of a body that differ, by the name of their field: those of the events, and
    those of the second reader.
    """
    provider = PROVIDERS[str(exchange.provider)]
    answer = provider.answer(exchange, None, None)
    first = provider.read_facts(body, answer, exchange.end)
    second = READERS[provider.name](body, answer, exchange.end)
    return dict(_differences(first, second))


def body_of(exchange: Exchange) -> bytes:
    """Return the body after content decoding."""
    return unpack_before_fault(exchange.body, exchange.header("content-encoding"))[0]


def _differences(one: Facts, two: Facts, place: str = "") -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name, value in vars(one).items():
        other = vars(two)[name]
        if isinstance(value, Facts) and isinstance(other, Facts):
            yield from _differences(value, other, f"{place}{name}.")
        elif name == "unreadable":
            if _words(value) != _words(other):
                yield place + name, (value, other)
        elif name == "opaque":
            if _sorted(value) != _sorted(other):
                yield place + name, (value, other)
        elif name == "order":  # a run without characters has no place
            runs = [_merged(value), _merged(other)]
            if runs[0] != runs[1]:
                yield place + name, (runs[0], runs[1])
        elif name != "unreadable_at" and value != other:
            yield place + name, (value, other)


def _merged(order: list[Run]) -> list[Run]:
    """Return the runs with characters, in which the pieces of a part are one run."""
    merged: list[Run] = []
    for run in order:
        before = merged[-1] if merged else None
        if before and run.size and run.kind == before.kind and not run.begins:
            merged[-1] = before._replace(
                size=before.size + run.size, pieces=before.pieces + run.pieces
            )
        elif run.size or run.kind == "call":
            merged.append(run)
    return merged


def _sorted(opaque: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the values of each aspect in one order: they are looked for one by one."""
    return {aspect: sorted(values) for aspect, values in opaque.items()}


def _words(texts: list[str]) -> list[str]:
    """Return the words of unreadable texts. One reader gives a text by lines, or without its field
    name, and each escapes other bytes in its own way.
    """
    text = "\n".join(text.removeprefix("data:") for text in texts)
    plain = text.encode("ascii", "backslashreplace").decode()
    return re.sub(r"\\+(?:x|udc)..", "?", plain).split()
