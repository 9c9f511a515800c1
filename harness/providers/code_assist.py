"""Gemini Code Assist, which the Gemini CLI and IDE clients talk to: Gemini's messages in an envelope.

The envelope (https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/code_assist/converter.ts) is read by the reader of
the Gemini API. What differs is a default: models behind it write calls as ``<tool_code>`` in their text, so it is looked for.
"""

from __future__ import annotations

from typing import Final

from .gemini_api import GeminiNormalizer
from .normalization import Provider

CODE_ASSIST: Final = Provider("code-assist", "Gemini Code Assist", GeminiNormalizer, tool_code=True)
