"""The wires that are read, by name: each turns frames into canonical events."""

from __future__ import annotations

from typing import Final

from .code_assist import CODE_ASSIST
from .declarations import declared_tools
from .gemini_api import GEMINI_API
from .gemini_cli import GEMINI_CLI
from .identification import EXIT_CODE, STDERR, Identity, identified, identify
from .normalization import Answer, Normalizer, Provider
from .vertex_ai import VERTEX_AI

__all__ = ["EXIT_CODE", "PROVIDERS", "STDERR", "Answer", "Identity", "Normalizer", "Provider", "declared_tools", "identified", "identify"]

PROVIDERS: Final[dict[str, Provider]] = {provider.name: provider for provider in (GEMINI_API, VERTEX_AI, CODE_ASSIST, GEMINI_CLI)}
