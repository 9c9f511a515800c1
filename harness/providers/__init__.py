"""The wires that are read, by name: each turns frames into canonical events."""

from __future__ import annotations

from typing import Final

from .code_assist import CODE_ASSIST
from .detection import EXIT_CODE, STDERR, Identity, detect_provider, with_provider
from .gemini.normalizer import GEMINI_API
from .gemini.tools import declared_tools
from .gemini_cli import GEMINI_CLI
from .provider import Answer, Normalizer, Provider
from .vertex_ai import VERTEX_AI

__all__ = [
    "EXIT_CODE",
    "PROVIDERS",
    "STDERR",
    "Answer",
    "Identity",
    "Normalizer",
    "Provider",
    "declared_tools",
    "detect_provider",
    "with_provider",
]

PROVIDERS: Final[dict[str, Provider]] = {
    provider.name: provider for provider in (GEMINI_API, VERTEX_AI, CODE_ASSIST, GEMINI_CLI)
}
