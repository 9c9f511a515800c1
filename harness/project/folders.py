"""The folders that belong to no project."""

from __future__ import annotations

from typing import Final

LEFT_OUT: Final = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__"})
"""Their names."""
