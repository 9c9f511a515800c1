"""The Gemini Developer API: bare messages, a model in the path of the URL."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from harness.stream.framing import frame_by_content

from .gemini.facts import BOOLEANS, GeminiFacts
from .gemini.history import read_contents
from .gemini.messages import MODEL_METHOD, VERTEX_PATH
from .gemini.normalizer import GeminiNormalizer
from .gemini.places import PLACES
from .gemini.request import VENDOR, write_body
from .gemini.tools import json_schema
from .gemini.usual import decode_message
from .gemini.whole import fault_of
from .provider import GENERATE_CONTENT, SHAPE, Endpoint, Provider

PROVIDER: Final = Provider(
    name="gemini-api",
    title="Gemini API",
    fault=fault_of,
    normalizer=GeminiNormalizer,
    framer=partial(frame_by_content, strict=decode_message),
    facts_reader=GeminiFacts,
    shape=SHAPE | BOOLEANS,
    url=re.compile(rf"^(?!.*{VERTEX_PATH}).*?{MODEL_METHOD}"),
    write=write_body,
    read=read_contents,
    json_schema=json_schema,
    reads_whole=True,
    vendor=VENDOR,
    wire=GENERATE_CONTENT,
    places=PLACES,
    endpoint=Endpoint(
        "https://generativelanguage.googleapis.com",
        "GOOGLE_GEMINI_BASE_URL",
        "/v1beta/models/{model}:{method}",
    ),
    driver="harness.recording.drivers.genai:GeminiApiDriver",
    variant_table="harness.judging.metamorphic.catalogue:CONTENTS",
)
