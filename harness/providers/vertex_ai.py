"""Vertex AI: the messages of the Gemini API, with more in them.

The reader of the Gemini API knows all of it: ``createTime``, counts in the last message only,
citations under another name, streamed arguments
(https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference#response). What
differs is where it is served: see ``identification.py``.
"""

from __future__ import annotations

from typing import Final

from .gemini.normalizer import GeminiNormalizer, send_bare
from .provider import Provider

VERTEX_AI: Final = Provider("vertex-ai", "Vertex AI", GeminiNormalizer, wrap=send_bare)
