"""Vertex AI: the messages of the Gemini API with more fields, under other URLs.

The reader of the Gemini API reads all of them: ``createTime``, counts in the last message only,
citations under another name, streamed arguments
(https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference#response).
"""

from __future__ import annotations

import re
from typing import Final

from .gemini.messages import MODEL_METHOD, VERTEX_PATH, has_vertex_marks, is_answer
from .gemini.provider import GeminiProvider
from .history import HistoryRules
from .provider import Endpoint, FirstMessages, Identity

_GLOBAL: Final = "https://aiplatform.googleapis.com"
_LOCATION: Final = re.compile(r"/projects/[^/]+/locations/([a-z0-9-]+)/")


def regional(path: str) -> str | None:
    """Return the base URL of the location in a path, None if there is none:
    https://cloud.google.com/vertex-ai/docs/reference/rest#service-endpoint.
    """
    location = _LOCATION.search(path)
    match location and location[1]:
        case None:
            return None
        case "global":
            return _GLOBAL
        case "us" | "eu" as region:
            return f"https://aiplatform.{region}.rep.googleapis.com"
        case region:
            return f"https://{region}-aiplatform.googleapis.com"


def _detect(first: FirstMessages) -> Identity | None:
    if any(
        is_answer(message, first.has_request) and has_vertex_marks(message)
        for message in first.messages
    ):
        return Identity("vertex-ai", generates=True, streamed=first.streamed)
    return None


PROVIDER: Final = GeminiProvider(
    name="vertex-ai",
    title="Vertex AI",
    url=re.compile(rf"{VERTEX_PATH}{MODEL_METHOD}"),
    detect=_detect,
    endpoint=Endpoint(
        _GLOBAL,
        "GOOGLE_VERTEX_BASE_URL",
        "/v1beta1/publishers/google/models/{model}:{method}",
        re.compile(VERTEX_PATH),
        regional,
    ),
    history=HistoryRules(together=True),
    driver="harness.recording.drivers.genai:VertexAiDriver",
)
