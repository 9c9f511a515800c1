"""The part that the three providers of Gemini's generateContent wire have in common."""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.stream.framing import frame_by_content

from ..provider import GENERATE_CONTENT, SHAPE, Provider
from .facts import BOOLEANS, GeminiFacts
from .history import read_contents
from .normalizer import GeminiNormalizer
from .places import PLACES
from .request import VENDOR, write_body
from .signatures import plain_base64
from .tools import json_schema
from .usual import decode_message
from .whole import fault_of

GeminiProvider: Final = partial(
    Provider,
    fault=fault_of,
    normalizer=GeminiNormalizer,
    framer=partial(frame_by_content, strict=decode_message),
    facts_reader=GeminiFacts,
    shape=SHAPE | BOOLEANS,
    write=write_body,
    read=read_contents,
    json_schema=json_schema,
    reads_whole=True,
    vendor=VENDOR,
    wire=GENERATE_CONTENT,
    places=PLACES,
    spell_signature=plain_base64,
    variant_table="harness.judging.metamorphic.catalogue:CONTENTS",
)
