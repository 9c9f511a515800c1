"""The event models that canonical events are translated into: one file each, and this table."""

from __future__ import annotations

from typing import Final

from .anthropic import ANTHROPIC
from .translation import Dialect, Payload, Translator
from .unified_llm import UNIFIED_LLM

DIALECTS: Final[dict[str, Dialect]] = {dialect.name: dialect for dialect in (UNIFIED_LLM, ANTHROPIC)}

__all__ = ["DIALECTS", "Dialect", "Payload", "Translator"]
