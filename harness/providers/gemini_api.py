"""The Gemini Developer API: bare messages, a model in the path of the URL."""

from __future__ import annotations

import re
from typing import Final

from .gemini.messages import MODEL_METHOD, VERTEX_PATH
from .gemini.provider import GeminiProvider
from .provider import Endpoint

PROVIDER: Final = GeminiProvider(
    name="gemini-api",
    title="Gemini API",
    url=re.compile(rf"^(?!.*{VERTEX_PATH}).*?{MODEL_METHOD}"),
    endpoint=Endpoint(
        "https://generativelanguage.googleapis.com",
        "GOOGLE_GEMINI_BASE_URL",
        "/v1beta/models/{model}:{method}",
    ),
    driver="harness.recording.drivers.genai:GeminiApiDriver",
)
