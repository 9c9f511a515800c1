"""Vertex AI: the messages of the Gemini API with more fields, under other URLs.

The reader of the Gemini API reads all of them: ``createTime``, counts in the last message only,
citations under another name, streamed arguments
(https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference#response).
"""

from __future__ import annotations

import re
from typing import Final

from .gemini.messages import MODEL_METHOD, VERTEX_PATH, has_vertex_marks, is_answer
from .gemini.normalizer import GeminiNormalizer
from .gemini_api import read_facts, send_bare
from .provider import FirstMessages, Identity, Provider


def _detect(first: FirstMessages) -> Identity | None:
    if any(
        is_answer(message, first.has_request) and has_vertex_marks(message)
        for message in first.messages
    ):
        return Identity("vertex-ai", generates=True, streamed=first.streamed)
    return None


VERTEX_AI: Final = Provider(
    name="vertex-ai",
    title="Vertex AI",
    normalizer=GeminiNormalizer,
    oracle=read_facts,
    url=re.compile(rf"{VERTEX_PATH}{MODEL_METHOD}"),
    detect=_detect,
    wrap=send_bare,
)
