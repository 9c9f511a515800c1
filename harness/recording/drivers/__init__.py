"""Drivers, each of which sends requests to one kind of provider while the answers are recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..settings import Driver, Settings
from ..tape import Tape
from .agy import AgyDriver
from .anthropic import AnthropicDriver
from .code_assist import CodeAssistDriver
from .gemini_cli import ProgramDriver
from .genai import GeminiApiDriver, InteractionsDriver, VertexAiDriver
from .openai import OpenAiDriver
from .openai_compat import OpenAiCompatDriver

DRIVERS: Final[dict[str, Callable[[Tape, Settings], Driver]]] = {
    "gemini-api": GeminiApiDriver,
    "vertex-ai": VertexAiDriver,
    "code-assist": CodeAssistDriver,
    "gemini-cli": ProgramDriver,
    "interactions": InteractionsDriver,
    "openai-compat": OpenAiCompatDriver,
    "openai": OpenAiDriver,
    "anthropic": AnthropicDriver,
    "agy": AgyDriver,
}
"""Provider → the class of its driver; each recording has a new driver."""
