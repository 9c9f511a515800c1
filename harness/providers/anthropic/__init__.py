"""Anthropic's Messages API, and Claude on Vertex AI: answers made of content blocks."""

from __future__ import annotations

from typing import Final

from harness.facts import Facts
from harness.stream.events import INTERRUPTED, End

from ..oracle import gather_messages
from ..provider import Answer, Provider
from .messages import CREATE, NAME, detect
from .normalizer import MessagesNormalizer
from .order import variants_in


def _read_facts(body: bytes, answer: Answer, end: End) -> Facts:
    return gather_messages(body, answer.status, interrupted=end in INTERRUPTED)


PROVIDER: Final = Provider(
    name=NAME,
    title="Anthropic Messages",
    normalizer=MessagesNormalizer,
    oracle=_read_facts,
    url=CREATE,
    detect=detect,
    framing=frozenset({"event:, id: or retry: lines", "JSON lines"}),
    variants=variants_in,
)
