"""The table of the providers. Detection asks them in this order."""

from __future__ import annotations

from typing import Final

from .code_assist import CODE_ASSIST
from .gemini_api import GEMINI_API
from .gemini_cli import GEMINI_CLI
from .provider import Provider
from .vertex_ai import VERTEX_AI

PROVIDERS: Final[dict[str, Provider]] = {
    provider.name: provider for provider in (GEMINI_API, VERTEX_AI, CODE_ASSIST, GEMINI_CLI)
}
