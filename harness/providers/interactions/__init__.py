"""The Interactions API of the Gemini API and of Vertex AI: answers made of steps."""

from __future__ import annotations

from typing import Final

from ..gemini.request import VENDOR
from ..provider import SHAPE, Endpoint, Provider
from ..vertex_ai import regional
from .facts import InteractionsFacts
from .history import HISTORY, read_interaction
from .messages import CREATE, PATHS, STORED, detect
from .normalizer import InteractionsNormalizer
from .order import variants_in
from .places import PLACES
from .request import NAME, write_interaction

PROVIDER: Final = Provider(
    name=NAME,
    title="Interactions API",
    normalizer=InteractionsNormalizer,
    facts_reader=InteractionsFacts,
    shape=SHAPE | {"event_type", "is_error"},
    url=CREATE,
    stored_url=STORED,
    detect=detect,
    write=write_interaction,
    read=read_interaction,
    reads_whole=True,
    history=HISTORY,
    vendor=VENDOR,
    wire="interactions",
    places=PLACES,
    endpoint=Endpoint(
        "https://generativelanguage.googleapis.com",
        "GOOGLE_GEMINI_BASE_URL",
        "/v1beta/interactions",
        PATHS,
        regional,
    ),
    framing=frozenset({"event:, id: or retry: lines", "[DONE]", "JSON lines"}),
    variants=variants_in,
    driver="harness.recording.drivers.genai:InteractionsDriver",
    variant_table="harness.judging.metamorphic.catalogue:STEPS",
)
