"""The second readers of the wires, which `harness.proving.compare_readers` compares with ours.

A second reader reads a raw body slowly and plainly. It shares no code with framer and normalizer, so
it can't share their faults. What it counts and lists is written in the package too, on purpose: a
change of one of the two is then a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness.cassettes import Exchange
from harness.cassettes.load import load
from harness.providers import Answer, with_provider
from harness.providers.openai_compat.thoughts import thought_tag
from harness.providers.provider import EXIT_CODE, STDERR, TIER
from harness.proving.second_reader import SecondReader
from harness.stream.events import INTERRUPTED, End
from tests.readers.gemini import gather_body

from .account import Facts
from .apis import is_responses
from .chat import gather_chat, gather_compat
from .gemini_cli import gather_cli
from .interactions import gather_interactions
from .messages import gather_messages
from .responses import gather_responses

CASSETTES = Path(__file__).parents[2] / "cassettes"


def _messages(body: bytes, answer: Answer, end: End) -> Facts:
    return gather_messages(body, answer.status, interrupted=end in INTERRUPTED)


def _generate_content(body: bytes, answer: Answer, end: End) -> Facts:
    facts = gather_body(body, answer.status, tool_code=answer.tool_code)
    if "serviceTier" not in facts.billing:
        facts.add_billing("serviceTier", answer.headers.get(TIER))
    return facts


def _interactions(body: bytes, answer: Answer, end: End) -> Facts:
    return gather_interactions(body, answer.status, interrupted=end in INTERRUPTED)


def _compatible(body: bytes, answer: Answer, end: End) -> Facts:
    tag = thought_tag(answer.asked)
    return gather_compat(body, answer.status, interrupted=end in INTERRUPTED, tag=tag)


def _openai(body: bytes, answer: Answer, end: End) -> Facts:
    gather = gather_responses if is_responses(body, answer.asked) else gather_chat
    return gather(body, answer.status, interrupted=end in INTERRUPTED)


def _gemini_cli(body: bytes, answer: Answer, end: End) -> Facts:
    code = "0" if end in INTERRUPTED else answer.headers.get(EXIT_CODE, "0")
    return gather_cli(body, code, answer.headers.get(STDERR, ""))


def _second(read: Callable[[bytes, Answer, End], Facts], *without: str) -> SecondReader:
    def second(body: bytes, answer: Answer, end: End) -> dict[str, Any]:
        return read(body, answer, end).values(without)

    return second


READERS: dict[str, SecondReader] = {
    "anthropic": _second(_messages),
    "interactions": _second(_interactions),
    "openai": _second(_openai),
    "gemini-cli": _second(_gemini_cli, "order", "call_places"),
    "openai-compat": _second(_compatible),
    **dict.fromkeys(("gemini-api", "vertex-ai", "code-assist"), _second(_generate_content)),
}
"""The second readers by the name of their provider."""


def answers(provider: str) -> Iterator[tuple[str, Exchange]]:
    """Yield the place and the exchange of every shipped answer of a wire."""
    for path in sorted(CASSETTES.rglob("*.yaml")):
        for number, exchange in enumerate(load(path).exchanges, 1):
            known = with_provider(exchange)
            if known.provider == provider and (known.generates or known.request is None):
                yield f"{path.relative_to(CASSETTES)}:{number}", known
