"""The table of dialects: the event models that canonical events are translated into."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from harness.stream.plugins import installed

from .dialect import Dialect, Payload, Translator

FOLDERS: Final = (
    "agent_events",
    "art",
    "unified_llm",
    "anthropic",
    "mind",
    "ag_ui",
)
"""The folders of the dialects, in the order of reports. Each has its `Dialect` as ``DIALECT``."""

DEFAULT_DIALECT: Final = "unified-llm"
"""The dialect of a replay, and of the prompts of the command line, if none is named."""


def _dialect(folder: str) -> Dialect:
    dialect = getattr(import_module(f".{folder}", __name__), "DIALECT", None)
    if not isinstance(dialect, Dialect):
        raise TypeError(f"harness/dialects/{folder}/__init__.py must define DIALECT, a Dialect")
    return dialect


_OURS: Final = {dialect.name: dialect for dialect in map(_dialect, FOLDERS)}

DIALECTS: Final[dict[str, Dialect]] = _OURS | {
    dialect.name: dialect for dialect in installed("dialects", Dialect, _OURS)
}
"""Ours, then those of other distributions."""

__all__ = ["DEFAULT_DIALECT", "DIALECTS", "Dialect", "Payload", "Translator"]
