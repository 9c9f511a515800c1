"""The table of dialects: the event models that canonical events are translated into."""

from __future__ import annotations

from typing import Final

from harness.stream.plugins import Table

from .dialect import Dialect, Payload, Translator

FOLDERS: Final = (
    "agent_events",
    "art",
    "unified_llm",
    "anthropic",
    "mind",
    "ag_ui",
)
"""The folders of the dialects, in the order of reports. Each has its `Dialect` as ``DIALECT``,
whose name is that of the folder, with ``-``.
"""

DEFAULT_DIALECT: Final = "unified-llm"
"""The dialect of a replay, and of the prompts of the command line, if none is named."""


DIALECTS: Final = Table("dialects", Dialect, __name__, FOLDERS, "DIALECT")
"""Ours, then those of other distributions."""

__all__ = ["DEFAULT_DIALECT", "DIALECTS", "Dialect", "Payload", "Translator"]
