"""The event models that canonical events are translated into: one folder each, and this table."""

from __future__ import annotations

from typing import Final

from .agent_events import AGENT_EVENTS
from .anthropic import ANTHROPIC
from .art import ART
from .dialect import Dialect, Payload, Translator
from .mind import MIND
from .unified_llm import UNIFIED_LLM

DIALECTS: Final[dict[str, Dialect]] = {
    dialect.name: dialect for dialect in (AGENT_EVENTS, ART, UNIFIED_LLM, ANTHROPIC, MIND)
}

__all__ = ["DIALECTS", "Dialect", "Payload", "Translator"]
