"""The event models that canonical events are translated into: one file each, and this table."""

from __future__ import annotations

from typing import Final

from .agent_events.response import AGENT_EVENTS
from .anthropic.response import ANTHROPIC
from .art.response import ART
from .dialect import Dialect, Payload, Translator
from .mind.response import MIND
from .unified_llm.response import UNIFIED_LLM

DIALECTS: Final[dict[str, Dialect]] = {
    dialect.name: dialect for dialect in (AGENT_EVENTS, ART, UNIFIED_LLM, ANTHROPIC, MIND)
}

__all__ = ["DIALECTS", "Dialect", "Payload", "Translator"]
