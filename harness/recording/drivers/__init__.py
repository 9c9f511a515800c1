"""Drivers: each sends requests to one kind of provider while the answers are recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..settings import Driver, Settings
from ..tape import Tape
from .code_assist import CodeAssistDriver
from .gemini_cli import ProgramDriver
from .genai import GeminiApiDriver, VertexAiDriver

DRIVERS: Final[dict[str, Callable[[Tape, Settings], Driver]]] = {
    "gemini-api": GeminiApiDriver,
    "vertex-ai": VertexAiDriver,
    "code-assist": CodeAssistDriver,
    "gemini-cli": ProgramDriver,
}
"""Provider → its driver, made for one recording."""
