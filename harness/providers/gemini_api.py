"""The Gemini Developer API: bare messages, a model in the path of the URL."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from harness.facts import Facts
from harness.stream.events import End
from harness.stream.framing import frame_by_content

from .gemini.canonical_request import canonical_request
from .gemini.history import read_contents
from .gemini.messages import MODEL_METHOD, VERTEX_PATH
from .gemini.normalizer import GeminiNormalizer
from .gemini.places import PLACES
from .gemini.request import VENDOR, write_body
from .gemini.tools import json_schema
from .gemini.usual import decode_message
from .gemini.whole import fault_of
from .oracle import gather_body
from .provider import GENERATE_CONTENT, TIER, Answer, Endpoint, Provider


def read_facts(body: bytes, answer: Answer, end: End) -> Facts:
    """Return the oracle of all providers that send Gemini's messages over HTTP."""
    facts = gather_body(body, answer.status, tool_code=answer.tool_code)
    if "serviceTier" not in facts.billing:
        facts.add_billing("serviceTier", answer.headers.get(TIER))
    return facts


PROVIDER: Final = Provider(
    name="gemini-api",
    title="Gemini API",
    fault=fault_of,
    normalizer=GeminiNormalizer,
    framer=partial(frame_by_content, strict=decode_message),
    oracle=read_facts,
    url=re.compile(rf"^(?!.*{VERTEX_PATH}).*?{MODEL_METHOD}"),
    write=write_body,
    read=read_contents,
    json_schema=json_schema,
    reads_whole=True,
    vendor=VENDOR,
    wire=GENERATE_CONTENT,
    canonical=canonical_request,
    places=PLACES,
    endpoint=Endpoint(
        "https://generativelanguage.googleapis.com",
        "GOOGLE_GEMINI_BASE_URL",
        "/v1beta/models/{model}:{method}",
    ),
    driver="harness.recording.drivers.genai:GeminiApiDriver",
    variant_table="harness.judging.metamorphic.catalogue:CONTENTS",
)
